// H5Web shows files of all formats through the provider of the package.

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { cat, check, equal, newPage } from "./support.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const PAGE = '<!doctype html><meta charset="utf-8"><title>H5Web</title><link rel="stylesheet" href="h5web.css"><body><script type="module" src="h5web.js"></script>';

export async function h5web({ context, server, program, folders, data, place, kind }) {
  fs.mkdirSync(path.join(place, "sciformats"), { recursive: true });
  const loader = { ".svg": "dataurl", ".woff2": "dataurl" };
  await build({ entryPoints: [path.join(HERE, "h5web.jsx")], bundle: true, format: "esm", jsx: "automatic", external: ["/sciformats/*"], outdir: place, loader, define: { "process.env.NODE_ENV": '"production"' }, logLevel: "error" });
  fs.writeFileSync(path.join(place, "index.html"), PAGE);
  // Its pictures need WebGL, which Firefox lacks where there is no screen.
  const draws = kind === "chromium";
  const page = await newPage(context, "H5Web", draws ? null : /WebGL|^Error$/);
  const open = async (file, object) => {
    await page.goto(`${server.origin}/h5web/index.html?file=${encodeURIComponent(file)}&path=${encodeURIComponent(object)}`);
    await page.waitForFunction(() => globalThis.api);
  };
  // Its own views draw a heat map of a variable.
  await open("/data/climate.nc", "/tas");
  await page.getByRole("tab", { name: "Heatmap" }).waitFor();
  if (draws) await page.locator("canvas").first().waitFor();
  check(await page.getByText("climate.nc").first().isVisible(), "H5Web names the file");
  const slab = await page.evaluate(async () => {
    const dataset = await api.getEntity("/tas");
    const attributes = await api.getAttrValues(dataset);
    return { type: dataset.type.class, dims: dataset.shape.dims, values: [...(await api.getValue({ dataset, selection: "3,2,:" }))], units: attributes.units, paths: await api.getSearchablePaths("/") };
  });
  equal(`${slab.type} ${slab.dims}`, "Integer 12,37,72", "a dataset as H5Web describes it");
  equal(slab.units, "K", "an attribute");
  equal(slab.paths.includes("/lat"), true, "paths can be searched");
  const wanted = await cat(program, path.join(data, "climate.nc"), "/tas", ["--raw", "--slice", "3,2,:"]);
  equal(JSON.stringify(slab.values), wanted.text, "values of a selection");
  // Every array of a file of each format has values.
  for (const name of ["hdf5/types-latest.h5", "asdf/types-big.asdf", "gsd/types.gsd", "blosc2/grid.b2nd", "rawarray/f4-big-endian.ra"]) {
    if (!fs.existsSync(path.join(folders[0], name))) continue;
    await open(`/folder0/${name}`, "/");
    const problems = await page.evaluate(async () => {
      const problems = [];
      let read = 0;
      const walk = async (at) => {
        const entity = await api.getEntity(at);
        if (entity.kind === "dataset" && entity.shape.class !== "Null") {
          try {
            const value = await api.getValue({ dataset: entity });
            const wanted = entity.shape.class === "Scalar" ? undefined : entity.shape.dims.reduce((all, length) => all * length, 1);
            if (wanted !== undefined && value.length !== wanted) problems.push(`${at} has ${value.length} values instead of ${wanted}`);
            read += 1;
          } catch (error) {
            problems.push(`${at}: ${error.message}`);
          }
        }
        for (const child of entity.children ?? []) if (child.kind !== "unresolved") await walk(child.path);
      };
      await walk("/");
      return { problems, read };
    });
    equal(problems.problems.join("; "), "", `H5Web reads all of ${name}`);
    check(problems.read > 0, `H5Web reads nothing of ${name}`);
  }
  await page.close();
}
