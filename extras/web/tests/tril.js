"use strict";
// Opens the module as the page does, for tests under Node.
const fs = require("fs");
const path = require("path");
const v8 = require("v8");

// Node before 22 knows relaxed SIMD only if it is asked for.
if (Number(process.versions.node.split(".")[0]) < 22) v8.setFlagsFromString("--experimental-wasm-relaxed-simd");

const root = path.join(__dirname, "../../..");
const parts = ["module", "library", "trainer", "backward", "reader", "worker"];
const code = parts.map(name => fs.readFileSync(path.join(root, `extras/web/${name}.js`), "utf8")).join("\n");
const openWorker = new Function("postMessage", "console", `let onmessage; ${code}; return onmessage;`);

// extras/web/tests/tril.js: open(the folder of the build, "simd" or "relaxed") returns a worker, whose tasks are functions.
exports.open = (build, name) => {
  const bytes = fs.readFileSync(path.join(build, "web", `${name}.wasm`)), said = [];
  let answer;
  const send = openWorker(message => { answer = message; }, { error: text => said.push(text) });
  const ask = (task, ...values) => {
    send({ data: { id: 1, task, values } });
    if ("broken" in answer) throw new Error(`broken: ${answer.broken}`);
    if ("error" in answer) throw new Error(answer.error);
    return answer.answer;
  };
  ask("open", new WebAssembly.Module(bytes));
  return new Proxy({ said }, { get: (of, task) => of[task] ?? ((...values) => ask(task, ...values)) });
};
exports.bytes = text => new TextEncoder().encode(text);
