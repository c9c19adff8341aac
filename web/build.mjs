// Bundles the page into web/dist. echarts is split off and loaded when a chart is first shown.
import { build } from "esbuild";
import { cpSync, mkdirSync, rmSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
mkdirSync("dist");
await build({
  entryPoints: ["src/app.tsx"],
  bundle: true,
  minify: true,
  splitting: true,
  format: "esm",
  target: "es2021",
  outdir: "dist",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
});
for (const f of ["index.html", "app.css"]) cpSync(`src/${f}`, `dist/${f}`);
