// `npm ci && node build.mjs FOLDER` writes codemirror.js and the licences of its packages. The same lock file gives the same bytes.
import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
const { metafile } = await build({
  entryPoints: ["codemirror.js"], outfile: join(folder, "codemirror.js"), bundle: true, format: "esm", minify: true,
  target: "es2022", charset: "utf8", legalComments: "none", metafile: true, logLevel: "warning",
});
const packages = Object.keys(metafile.inputs)
  .map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1])
  .filter(Boolean);
const notices = [...new Set(packages)].sort().map((name) => {
  const home = join("node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  const file = readdirSync(home).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no file with its licence`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(home, file), "utf8").trim()}\n`;
});
writeFileSync(join(folder, "codemirror.licenses.txt"), notices.join(`\n${"-".repeat(80)}\n\n`));
