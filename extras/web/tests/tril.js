"use strict";
// Opens the module as the page does, for tests under Node.
const fs = require("fs");
const path = require("path");
const v8 = require("v8");

// Node before 22 knows relaxed SIMD only if it is asked for.
if (Number(process.versions.node.split(".")[0]) < 22) v8.setFlagsFromString("--experimental-wasm-relaxed-simd");

const root = path.join(__dirname, "../../..");
const code = ["module.js", "rungs.js"].map(name => fs.readFileSync(path.join(root, "extras/web", name), "utf8")).join("");
const openRungs = new Function(`${code}; return openRungs;`)();

// extras/web/tests/tril.js: open(the folder of the build, "simd" or "relaxed") returns a new module.
exports.open = (build, name) => {
  const bytes = fs.readFileSync(path.join(build, "web", `${name}.wasm`));
  const said = [];
  const module = openRungs(new WebAssembly.Module(bytes), text => said.push(text));
  return Object.assign(module, { said });
};
// The modules that this Node runs.
exports.modules = build => ["simd", "relaxed"].filter(name =>
  WebAssembly.validate(fs.readFileSync(path.join(build, "web", `${name}.wasm`))));
exports.bytes = text => new TextEncoder().encode(text);
