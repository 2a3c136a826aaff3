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
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
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
facts.verdict = await desktop.textContent(".verdict");
facts.verdictIsOnTheFirstScreen = (await desktop.locator(".verdict").first().boundingBox()).y < 900;

// Every control is reached with the keyboard.
const sorted = desktop.locator("th button").first();
if (await sorted.count()) {
  await sorted.focus();
  await desktop.keyboard.press("Enter");
  facts.sorted = await desktop.locator("th[aria-sort]").count();
}
const timeline = desktop.locator("figure[data-dur] .window").first();
if (await timeline.count()) {
  await timeline.focus();
  const seen = async () => (await timeline.locator(".spans").getAttribute("viewBox")).split(" ").map(Number);
  const whole = await seen();
  await desktop.keyboard.press("+");
  const near = await seen();
  await desktop.keyboard.press("n");
  facts.zoomed = near[2] < whole[2];
  facts.told = await desktop.locator("figure[data-dur] output").first().textContent();
}
const query = desktop.locator("details.sql summary").first();
if (await query.count()) {
  await query.focus();
  await desktop.keyboard.press("Enter");
  facts.queryOpened = await desktop.locator("details.sql[open] pre").count();
}

const phone = await opened("phone", { viewport: { width: 375, height: 812 }, isMobile: true });
await fits("phone", phone);
const without = await opened("no-script", { javaScriptEnabled: false });
facts.tablesWithoutScript = await without.locator("table").count();
facts.tables = await desktop.locator("table").count();
const paper = await opened("print");
await paper.pdf({ path: `${folder}/print.pdf`, format: "A4" });

for (const colorScheme of ["light", "dark"]) {
  // axe-core comes from outside, which the page's own policy forbids.
  const page = await opened(colorScheme, { colorScheme, bypassCSP: true });
  await page.evaluate(readFileSync(axePath, "utf8"));
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const each of violations) problems.push(`${colorScheme}: ${each.id}: ${each.nodes[0].html.slice(0, 200)}`);
}
await browser.close();
console.log(JSON.stringify({ problems, facts }));
