// Opens a profile in speedscope as its command line does, and prints what speedscope then saves: node speedscope.mjs
// CHROMIUM MODULES FILE PICTURE. One line of JSON: { saved, shown, problems }.
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [, , executablePath, modules, file, picture] = process.argv;
const script = `${file}.js`;
const content = JSON.stringify(readFileSync(file).toString("base64"));
writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, ${content})`);
const browser = await chromium.launch({
  executablePath,
  args: ["--headless", "--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader", "--allow-file-access-from-files"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const problems = [];
// It says so in a dialog where it cannot import a file. Drawing without a GPU fails now and then, and is not asked here.
page.on("dialog", (dialog) => { problems.push(dialog.message()); dialog.dismiss(); });
const address = `${pathToFileURL(`${modules}/speedscope/dist/release/index.html`).href}#localProfilePath=${script}`;
await page.goto(address);
await page.waitForFunction(() => document.title.includes(" - speedscope"), null, { timeout: 60000 });
await page.getByText("Export").waitFor();
const shown = { title: await page.title(), text: await page.locator("body").innerText() };
await page.screenshot({ path: picture });
const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Control+s")]);
const saved = JSON.parse(readFileSync(await download.path(), "utf-8"));
console.log(JSON.stringify({ saved, shown, problems }));
await browser.close();
