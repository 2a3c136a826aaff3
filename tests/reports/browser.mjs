// Opens a report in Chromium as its readers do and says what is wrong with it: node browser.mjs CHROMIUM AXE PAGE FOLDER
// One line of JSON: { problems: [...], facts: {...} }. FOLDER gets screenshots and the page as PDF.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [, , executablePath, axePath, file, folder] = process.argv;
const address = pathToFileURL(file).href;
const problems = [];
const facts = {};
const browser = await chromium.launch({
  executablePath,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
});

async function opened(view, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(`${view}: console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`${view}: ${error}`));
  page.on("dialog", (dialog) => { problems.push(`${view}: dialog ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (request.url() !== address) problems.push(`${view}: asks for ${request.url()}`); });
  await page.goto(address);
  await page.screenshot({ path: `${folder}/${view}.png` });
  return page;
}

async function fits(view, page) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (over > 0) problems.push(`${view}: ${over} px wider than the window`);
}

const desktop = await opened("desktop");
await fits("desktop", desktop);
facts.cutNavigation = await desktop.evaluate(() => [...document.querySelectorAll("nav ul")].filter((each) => each.scrollWidth > each.clientWidth).length);
facts.verdict = await desktop.textContent(".verdict");
facts.verdictIsOnTheFirstScreen = (await desktop.locator(".verdict").first().boundingBox()).y < 900;

// Every control is reached with the keyboard.
facts.tables = await desktop.locator("table").count();
const sorted = desktop.locator("th button:visible").first();
if (await sorted.count()) {
  await sorted.focus();
  await desktop.keyboard.press("Enter");
  facts.sorted = await desktop.locator("th[aria-sort]").count();
}
// Timelines and flame graphs are as good as their data: nothing stays a picture where there is a script.
async function allAlive(view, page) {
  for (const figure of await page.locator("figure.timeline, figure.flame").all()) {
    await figure.scrollIntoViewIfNeeded();
    await figure.locator(".live canvas").waitFor({ timeout: 10_000 }).catch(() => problems.push(`${view}: a drawing stays still`));
  }
}
await desktop.evaluate(() => document.querySelectorAll("details.section").forEach((each) => { each.open = true; }));
await allAlive("desktop", desktop);
const timeline = desktop.locator('figure.timeline[data-kind="steps"]').first();
if (await timeline.count()) {
  const pane = timeline.locator(".live");
  const about = () => timeline.locator(".about").textContent();
  const picture = () => timeline.locator("canvas").evaluate((canvas) => canvas.toDataURL());
  const changes = async (what, act) => {
    const before = await picture();
    await act();
    await desktop.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    if (before === await picture()) problems.push(`timeline: ${what} changes nothing`);
  };
  await pane.focus();
  await changes("w", () => desktop.keyboard.press("w"));
  await changes("d", () => desktop.keyboard.press("d"));
  await changes("0", () => desktop.keyboard.press("0"));
  await changes(".", () => desktop.keyboard.press("."));
  facts.told = await about();
  const whole = await picture();
  await desktop.keyboard.press("f");
  await desktop.waitForTimeout(100);
  facts.fits = whole !== await picture();
  await changes("ArrowUp", () => desktop.keyboard.press("ArrowUp"));
  await desktop.keyboard.press("r");
  facts.sums = await timeline.locator(".about table").count();
  await changes("Escape", () => desktop.keyboard.press("Escape"));
  facts.cleared = (await about()) === "";
  await desktop.keyboard.press("0");
  await pane.scrollIntoViewIfNeeded();
  const box = await timeline.locator("canvas").boundingBox();
  const middle = [box.x + box.width / 2, box.y + 5];
  await changes("the wheel", async () => { await desktop.mouse.move(...middle); await desktop.mouse.wheel(0, -300); });
  await changes("dragging", async () => {
    await desktop.mouse.down();
    await desktop.mouse.move(middle[0] - 100, middle[1], { steps: 4 });
    await desktop.mouse.up();
  });
  await desktop.keyboard.down("Shift");
  await desktop.mouse.move(...middle);
  await desktop.mouse.down();
  await desktop.mouse.move(middle[0] - 200, middle[1], { steps: 4 });
  await desktop.mouse.up();
  await desktop.keyboard.up("Shift");
  facts.range = await timeline.locator(".about .title").textContent();
  await desktop.mouse.move(middle[0] - 50, middle[1] + 1);
  facts.tip = await timeline.locator(".tip").isVisible();
  await desktop.mouse.click(...middle);
  facts.clicked = await about();
  const input = timeline.locator("input");
  await input.fill("e");
  await input.press("Enter");
  facts.found = await timeline.locator("output").first().textContent();
}
const flame = desktop.locator("figure.flame").first();
if (await flame.count()) {
  await flame.locator(".live").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await desktop.keyboard.press(key);
  facts.frame = await flame.locator(".about").textContent();
  await flame.locator("input").first().fill("e");
  facts.framesFound = await flame.locator("output").first().textContent();
  await flame.locator(".live").focus();
  await desktop.keyboard.press("Escape");
}
const dots = desktop.locator(".chart.asked").first();
if (await dots.count()) {
  await dots.locator(".live").focus();
  await desktop.keyboard.press("ArrowRight");
  facts.dot = await dots.locator("output").first().textContent();
  const box = await dots.locator("svg[role]:visible circle").first().boundingBox();
  await desktop.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  facts.dotTip = await dots.locator(".tip").textContent();
}
const query = desktop.locator("details.sql:has(> pre) > summary").first();
if (await query.count()) {
  await query.focus();
  await desktop.keyboard.press("Enter");
  facts.queryOpened = await desktop.locator("details.sql[open] pre").count();
}

const phone = await opened("phone", { viewport: { width: 375, height: 812 }, isMobile: true });
await phone.evaluate(() => document.querySelectorAll("details.section").forEach((each) => { each.open = true; }));
await allAlive("phone", phone);
await fits("phone", phone);
facts.smallestLetters = await phone.evaluate(() => Math.min(...[...document.querySelectorAll(".chart svg[role]")]
  .filter((each) => each.clientWidth)
  .map((each) => Number(each.getAttribute("font-size")) * (each.clientWidth / each.viewBox.baseVal.width))));
const without = await opened("no-script", { javaScriptEnabled: false });
facts.tablesWithoutScript = await without.locator("table").count();
facts.picturesWithoutScript = await without.locator(".still > svg").count();
facts.pictures = await desktop.locator(".still").count();
facts.chartsWithoutScript = await without.locator("figure.chart > svg:visible").evaluateAll((charts) => charts.map((each) => each.id));
const paper = await opened("print");
await paper.emulateMedia({ media: "print" });
facts.unprinted = await paper.locator(".on-paper:visible").count();
await paper.pdf({ path: `${folder}/print.pdf`, format: "A4" });

for (const colorScheme of ["light", "dark"]) {
  // axe-core comes from outside, which the page's own policy forbids.
  const page = await opened(colorScheme, { colorScheme, bypassCSP: true });
  await page.evaluate(() => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
  await allAlive(colorScheme, page);
  for (const pane of await page.locator(".timeline .live").all()) for (const key of [".", "r"]) await pane.press(key);
  await page.evaluate(readFileSync(axePath, "utf8"));
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const each of violations) problems.push(`${colorScheme}: ${each.id}: ${each.nodes[0].html.slice(0, 200)}`);
}
await browser.close();
console.log(JSON.stringify({ problems, facts }));
