// The workers: one that reads, and one for each rung in training.
const TRIL_TEXT = 2; // of library/tril.h: the status of an error in a text
let compiled, reader, ladder = [], table = {}, limit = 0;

// A worker. ask(task, ...values) sends it a task; the promise gets its answer, or throws its sentence. After a failure
// of the C code the worker is ended, and `broken` is called with the reason.
function openWorker(broken) {
  const source = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
  const worker = new Worker(source), waiting = new Map();
  let asked = 0;
  const end = why => {
    worker.terminate();
    for (const { reject } of waiting.values()) reject(Object.assign(new Error(why), { ended: true }));
    waiting.clear();
  };
  const fail = why => { end(why); broken(why); };
  worker.onmessage = ({ data: { id, answer, error, status, broken } }) => {
    if (broken !== undefined) return fail(broken);
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(answer); else reject(Object.assign(new Error(error), { status }));
  };
  worker.onerror = event => { event.preventDefault(); fail(event.message); };
  const ask = (task, ...values) => new Promise((resolve, reject) => {
    waiting.set(++asked, { resolve, reject });
    worker.postMessage({ id: asked, task, values });
  });
  URL.revokeObjectURL(source);
  return { ask, fail, end: () => end("the computation was ended"), opened: ask("open", compiled) };
}

// Compiles the module that this browser has: with relaxed SIMD, else with SIMD.
async function compile() {
  const [length, packed] = $("modules").textContent.trim().split(" ");
  const modules = unweave(await unpack(packed), Number(length));
  const bytes = modules.find(bytes => WebAssembly.validate(bytes));
  if (!bytes) throw new Error("This browser lacks WebAssembly with SIMD; a newer one has it.");
  compiled = await WebAssembly.compile(bytes);
}

async function openReader() {
  reader = openWorker(async why => {
    say("status", `The worker that reads the models failed (${why}) and is being restarted.`, true);
    await openReader();
    if (taken) await reader.ask("takeText", taken.bytes, taken.asBytes);
    renew();
  });
  const opened = await reader.opened;
  ({ ladder, options: table, limit } = opened);
  say("machine", opened.fuses ? "This browser fuses multiplication and addition: when all steps are done, ./train " +
    "--precision f32 with the same sizes, rate, seed and steps has the same weights, and so the same digest." :
    "This browser does not fuse multiplication and addition: the weights differ from ./train's in their last bits.");
}
