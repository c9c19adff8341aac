// The page in headless Chromium against `weft up`: every place draws, both languages, no error in the console.
// WEFT_SHOTS=DIR keeps screenshots.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const binary = process.env.WEFT_BINARY ?? fileURLToPath(new URL("../../build/weft", import.meta.url));
const shots = process.env.WEFT_SHOTS;
let weft, browser, url;

before(async () => {
  weft = spawn(binary, ["up", "lab-32", "--speed", "60", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  url = await new Promise((resolve, reject) => {
    let text = "";
    weft.stdout.on("data", (d) => { text += d; const m = text.match(/page: (\S+)/); if (m) resolve(m[1]); });
    weft.on("exit", (c) => reject(new Error("weft ended with " + c)));
  });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
}, { timeout: 60000 });
after(async () => { await browser?.close(); weft?.kill("SIGINT"); });

test("all places draw without an error, in both languages", { timeout: 120000 }, async () => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const errors = [];
  page.on("pageerror", (e) => errors.push(String(e)));
  page.on("console", (m) => m.type() === "error" && errors.push(m.text()));
  const begun = Date.now();
  await page.goto(url);
  await page.waitForSelector("canvas.site");
  assert.ok(Date.now() - begun < 5000, "first picture within seconds");
  // The first incident of the tour comes after three virtual minutes: three seconds at 60 times.
  await page.waitForFunction(async () => (await (await fetch("/api/incidents")).json()).incidents.some((i) => i.recovered), null, { timeout: 40000 });
  const shot = async (name) => shots && page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
  await page.waitForTimeout(700);
  // A click on a card selects it, a second one shows the paths between them.
  const box = await page.locator("canvas.site").boundingBox();
  await page.mouse.click(box.x + 66, box.y + 32);
  await page.mouse.click(box.x + 66 + 23, box.y + 32);
  await page.waitForFunction(() => location.hash.includes("sel="));
  await page.waitForTimeout(500);
  await shot("site");
  await page.keyboard.press("2");
  await page.waitForSelector(".chart canvas");
  await page.waitForTimeout(1200);
  await shot("jobs");
  await page.keyboard.press("3");
  await page.waitForSelector(".life");
  await page.waitForTimeout(1200);
  await shot("incidents");
  assert.match(await page.textContent("main"), /Causal graph/);
  await page.keyboard.press("4");
  await page.waitForSelector("text=card_temperature");
  await shot("inspect");
  await page.keyboard.press("5");
  await page.waitForSelector("text=intent");
  await shot("audit");
  await page.keyboard.press("l");
  await page.waitForSelector("text=审计");
  await page.keyboard.press("1");
  await page.waitForSelector("canvas.site");
  await page.waitForTimeout(500);
  await shot("site-zh");
  await page.keyboard.press("t");
  await page.waitForTimeout(300);
  await shot("site-dark");
  assert.deepEqual(errors, []);
});

test("a lost connection is told", { timeout: 60000 }, async () => {
  const page = await browser.newPage();
  await page.goto(url);
  await page.waitForSelector("canvas.site");
  weft.removeAllListeners("exit");
  weft.kill("SIGKILL");
  await page.waitForSelector(".lost", { timeout: 15000 });
});
