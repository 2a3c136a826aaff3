// What a frame costs while the timeline of all steps is moved: node frames.mjs CHROMIUM PAGE
// One line of JSON: the slices, the frames, and the CPU time that scripts take for a frame, ms: median and 95th percentile.
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [, , executablePath, file] = process.argv;
const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
await page.goto(pathToFileURL(file).href);
await page.evaluate(() => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
const figure = page.locator('figure.timeline[data-kind="steps"]').first();
await figure.scrollIntoViewIfNeeded();
const pane = figure.locator(".live");
await pane.focus();

async function panned() {
  await browser.startTracing(page, { categories: ["devtools.timeline"] });
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press(i % 20 < 10 ? "d" : "a");
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  return traceEvents.filter((each) => each.name === "FireAnimationFrame").map((each) => each.tdur / 1000);
}

const seen = {};
for (const [name, keys] of Object.entries({ all: ["0"], near: ["0", "w", "w", "w", "w"] })) {
  for (const key of keys) await pane.press(key);
  await page.waitForTimeout(200);
  // Frames that draw nothing are those of this script.
  const frames = (await panned()).filter((ms) => ms > 0.1).sort((a, b) => a - b);
  seen[name] = { frames: frames.length, median: frames[frames.length >> 1], p95: frames[Math.floor(frames.length * 0.95)] };
}
await browser.close();
console.log(JSON.stringify(seen));
