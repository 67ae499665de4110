// Training runs, each in its own worker, which trains for a slice of time when it is granted one: so runs can be
// paused, and as many train at once as there are processors. A run keeps snapshots, { step, bytes, digest, loss,
// text }: at some steps the file of its model, the digest of the weights, the held-out loss, and a text that it writes.
//
// A run: { rung, name, options, built, going, step, steps, seconds, done, failed, snapshots, curve, batches, ... }. The
// chapters have one of each rung, and so has the lab; `built` ones were trained in advance, on the built-in text.
const SLICE = 80, EVALUATIONS = 40;                         // milliseconds of training at a time; evaluations of a run
const SNAPSHOTS = 20, SNAPSHOT_BYTES = 64e6, POINTS = 256;  // kept of a run, at most; points of its training curve
const cores = Math.max(1, navigator.hardwareConcurrency || 1);
const essay = new Map(), lab = new Map();                   // runs by the number of their rung
let built = [];                                             // the runs that were trained in advance
const sorted = runs => [...runs.values()].sort((one, other) => one.rung - other.rung);
const everyRun = () => [...essay.values(), ...lab.values()];
const latest = run => run?.snapshots.at(-1) ?? null;
const numberOf = name => ladder.findIndex(rung => rung.name === name);

// ---- those trained in advance ----

async function unpackBuilt() {
  const bytes = await unpack($("trained").textContent);
  let from = bytes.indexOf(0x0a) + 1;
  const all = JSON.parse(new TextDecoder().decode(bytes.subarray(0, from)));
  built = all.map(({ bytes: length, step, curve, ...more }) => ({
    ...blank(), ...more, name: ladder[more.rung].name, built: true, step, steps: step, done: true, curve,
    snapshots: [{ step, bytes: bytes.slice(from, from += length), loss: curve.at(-1)[1], text: "", digest: "" }]
  }));
}
// Returns the options of a rung's run in the chapters, which are those of its run in advance.
function chapterOptions(rung) {
  const { layers, heads, width, context, batch, steps, lr } = built[rung];
  return { layers, heads, width, context, batch, steps, ...lr && { lr }, seed: 1337 };
}

// ---- discarding ----

// Asks before discarding models of the lab that no file has. (Those of the chapters come back at the press of a
// button.)
const missed = (some = [...lab.values()]) => some.filter(run => !run.built && run.step > 0 && run.saved !== run.step);
const mayDiscard = some => missed(some).length === 0 || confirm(`This discards trained models: ${
  missed(some).map(run => `${run.name}, step ${run.step}`).join("; ")}. Download them to keep them. Discard them?`);
function drop(runs, rung) {
  runs.get(rung)?.worker?.end();
  runs.delete(rung);
}
// Discards all runs of the lab or of the chapters; on the built-in text, those trained in advance are there again.
function dropAll(runs) {
  for (const rung of [...runs.keys()]) drop(runs, rung);
  if (isBuiltin()) for (const run of built) runs.set(run.rung, run);
}

// ---- snapshots and curves ----

const blank = () =>
  ({ batches: [], pending: [], stride: 1, curve: [], snapshots: [], busy: 0, going: false, failed: "" });

// A point of the curve is the mean of `stride` steps; when there are too many, neighbors are joined.
function traceBatch(run, point) {
  const mean = points => points[0].map((_, i) => points.reduce((sum, point) => sum + point[i], 0) / points.length);
  run.pending.push(point);
  if (run.pending.length < run.stride) return;
  if (run.batches.length === POINTS) {
    run.batches = Array.from({ length: POINTS / 2 }, (_, i) => mean(run.batches.slice(2 * i, 2 * i + 2)));
    run.stride *= 2;
  }
  run.batches.push(mean(run.pending));
  run.pending = [];
}

// Keeps a snapshot. If there are too many, drops the one whose neighbors are closest by the ratio of their steps, so
// that most snapshots are early, when the model changes most.
function keepSnapshot(run, snapshot) {
  const all = run.snapshots, { step, bytes, loss } = snapshot;
  const most = Math.max(2, Math.min(SNAPSHOTS, Math.floor(SNAPSHOT_BYTES / bytes.length)));
  if (Number.isFinite(loss)) run.curve.push([step, loss]);
  if (all.push(snapshot) <= most) return;
  const ratio = i => (all[i + 1].step + 1) / (all[i - 1].step + 1), inner = [...all.keys()].slice(1, -1);
  all.splice(inner.reduce((one, other) => ratio(other) < ratio(one) ? other : one), 1);
}

// ---- training ----

const isOpen = run => run.going && run.worker && !run.done && !run.failed;

// Grants slices to the runs that are furthest behind. Where each has a processor of its own, it has the next slice
// before it ends one, so that it does not wait for the page, which may be drawing.
function grant() {
  const all = everyRun(), open = all.filter(isOpen), each = open.length > cores ? 1 : 2;
  let left = each * cores - all.reduce((sum, run) => sum + run.busy, 0);
  open.sort((one, other) => one.step - other.step);
  for (const run of open) for (; run.busy < each && left > 0; left--) train(run);
}
async function train(run) {
  run.busy++;
  try {
    const { losses, snapshot, ...more } = await run.worker.ask("train", SLICE, EVALUATIONS);
    Object.assign(run, more);
    for (const point of losses) traceBatch(run, point);
    if (snapshot) keepSnapshot(run, snapshot);
    if (run.done) say("status", `${run.name} has learned for ${some(run.steps, "step")}.`);
  } catch (error) { run.failed ||= error.message; }
  run.busy--;
  renew();
  grant();
}

// Starts a run in a worker of its own: begun(runs, "begin", rung, options), begun(runs, "load", bytes, options).
async function begun(runs, task, ...values) {
  /** @type {any} */
  const run = { ...blank(), worker: openWorker(why => { run.failed = `the computation failed (${why})`; renew(); }) };
  const text = taken;
  try {
    await run.worker.opened;
    await run.worker.ask("takeText", text.bytes, text.asBytes);
    const { snapshot, ...more } = await run.worker.ask(task, ...values);
    if (text !== taken) throw Object.assign(new Error("another text was taken meanwhile"), { ended: true });
    Object.assign(run, more, { name: ladder[more.rung].name });
    drop(runs, run.rung);
    runs.set(run.rung, run);
    keepSnapshot(run, snapshot);
    return run;
  } catch (error) {
    run.worker.end();
    throw error;
  }
}
const proceed = (run, going) => { run.going = going; grant(); renew(); };

// ---- files ----

async function download(run) {
  const { step } = run, bytes = run.worker && !run.failed ? await run.worker.ask("save") : run.snapshots.at(-1).bytes;
  run.saved = step;
  const link = element("a", { href: URL.createObjectURL(new Blob([bytes])), download: `${run.name}.safetensors` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
