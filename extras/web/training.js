// The rungs in training, each in its own worker. A worker trains for a slice of time when it is granted one; so it can be
// paused, and as many train at once as there are processors. Snapshots of a training run are kept: its model at some steps, and
// the loss that the reader then finds.
const SLICE = 80, FRESH = 600; // milliseconds: of training at a time; between models that are sent to be looked at
const EVALUATIONS = 40, FEW = 12; // of a run; few if it is crowded, because the reader then takes time from the rungs
const SNAPSHOTS = 20, SNAPSHOT_BYTES = 64e6, POINTS = 256; // kept of a rung, at most; points of its curve
let rungs = new Map();   // by number
const aside = new Map(); // those of each question that is not shown: { rungs, state }
let state = "none";      // none, built, training, paused, done
let trouble = "";        // why the last request failed, until the state changes
let fromLesson = false;  // a question trains them
let opening = 0;         // workers that begin
const byTime = () => $("by-time").checked;
const shown = () => [...rungs.values()].sort((one, other) => one.rung - other.rung);

// ---- discarding ----

// Asks before discarding models that no file has.
const missed = (of = shown()) => of.filter(r => !r.built && r.step > 0 && r.downloaded !== r.step);
function mayDiscard(of) {
  const some = missed(of);
  return some.length === 0 || confirm(`This discards trained models: ${some.map(r => `${r.name}, step ${r.step}`).join("; ")}. ` +
    "Download them to keep them. Discard them?");
}
function drop(rung, from = rungs) {
  const r = from.get(rung);
  if (r?.worker) { r.worker.end(); r.dropped = true; }
  from.delete(rung);
}
// Discards all models. Shows those that were trained in advance on this text again.
function dropAll() {
  for (const rung of [...rungs.keys()]) drop(rung);
  rewound = null;
  setState("none");
  if (isBuiltin()) showTrained();
}
// Puts the models that a question has trained aside, paused, and shows those of another one, or those trained in advance. The
// user's own models stay.
function exchange(from, to) {
  if (from === to || !fromLesson && (opening > 0 || shown().some(r => !r.built))) return;
  if (state === "training") setState("paused");
  if (fromLesson) aside.set(from, { rungs, state });
  const kept = aside.get(to);
  aside.delete(to);
  fromLesson = Boolean(kept);
  rungs = kept?.rungs ?? new Map();
  setState(kept?.state ?? "none");
  if (!kept && isBuiltin()) showTrained();
}
const everyRun = () => [rungs, ...[...aside.values()].map(({ rungs }) => rungs)].flatMap(some => [...some.values()]);
function setState(to) {
  state = to;
  trouble = "";
  $("train").textContent = { none: "Train", built: "Train", training: "Pause", paused: "Continue", done: "Train more" }[state];
  $("more").hidden = state !== "built";
  $("reset").hidden = state === "built";
  $("reset").disabled = state === "none";
}

function complain(words) {
  trouble = words;
  renew();
}

// ---- snapshots and curves ----

const blank = () => ({ batches: [], pending: [], stride: 1, heldOut: [], snapshots: [], latest: null, line: "", busy: 0, asked: 0, failed: "" });

// A point of the curve is the mean of `stride` steps; when there are too many, neighbors are joined.
function traceBatch(r, point) {
  const mean = points => points[0].map((_, i) => points.reduce((sum, point) => sum + point[i], 0) / points.length);
  r.pending.push(point);
  if (r.pending.length < r.stride) return;
  if (r.batches.length === POINTS) {
    r.batches = Array.from({ length: POINTS / 2 }, (_, i) => mean(r.batches.slice(2 * i, 2 * i + 2)));
    r.stride *= 2;
  }
  r.batches.push(mean(r.pending));
  r.pending = [];
}

const evaluations = []; // models that the reader must evaluate: { r, snapshot }
let evaluating = false;

// Keeps the model as a snapshot. If there are too many, drops the one whose neighbors are closest by the ratio of their steps, so
// that most snapshots are early, when the model changes most.
function keepSnapshot(r, bytes, { step, seconds }) {
  const snapshot = { step, seconds, bytes, loss: null, focus: null };
  r.latest = snapshot;
  r.asked = performance.now();
  r.snapshots.push(snapshot);
  const most = Math.max(2, Math.min(SNAPSHOTS, Math.floor(SNAPSHOT_BYTES / bytes.length)));
  if (r.snapshots.length > most) {
    const ratio = i => (r.snapshots[i + 1].step + 1) / (r.snapshots[i - 1].step + 1), inner = [...r.snapshots.keys()].slice(1, -1);
    r.snapshots.splice(inner.reduce((one, other) => ratio(other) < ratio(one) ? other : one), 1);
  }
  evaluations.push({ r, snapshot });
  evaluateAll();
}
async function evaluateAll() {
  if (evaluating) return;
  evaluating = true;
  for (let next; (next = evaluations.shift());) {
    const { r, snapshot } = next;
    if (r.dropped) continue;
    try {
      const line = $("line").value, found = await reader.ask("evaluate", snapshot.bytes, line);
      Object.assign(snapshot, found, { focus: found.focus && { ...found.focus, line } });
      r.heldOut.push([snapshot.step, snapshot.seconds, found.loss]);
      r.line = found.line;
    } catch (error) { if (!error.ended) r.failed ||= error.message; }
    renew();
  }
  evaluating = false;
  settle();
}

// ---- training ----

const isOpen = r => r.worker && !r.done && !r.failed;
const isCrowded = () => state === "training" && shown().filter(r => r.worker).length >= cores; // no processor is left

// Grants slices to the rungs that are furthest behind, in steps or in seconds. Where each has a processor of its own, it has
// the next slice before it ends one, so that it does not wait for the page, which may be drawing.
function grant() {
  if (state !== "training") return;
  const all = shown(), open = all.filter(isOpen), each = open.length > cores ? 1 : 2;
  let left = each * cores - all.reduce((sum, r) => sum + r.busy, 0);
  open.sort((one, other) => byTime() ? one.seconds - other.seconds : one.step - other.step);
  for (const r of open) for (; r.busy < each && left > 0; left--) train(r);
  settle();
}
// `busy` counts a rung's slices; `asked` is when it was last asked for its model.
async function train(r) {
  r.busy++;
  try {
    const now = performance.now(), wanted = r.rung === looked() && now > r.asked + FRESH;
    if (wanted) r.asked = now;
    const { losses, due, model, ...more } = await r.worker.ask("train", SLICE, wanted, isCrowded() ? FEW : EVALUATIONS);
    Object.assign(r, more);
    for (const point of losses) traceBatch(r, point);
    if (due) keepSnapshot(r, model, more);
    else if (model) r.latest = { step: more.step, seconds: more.seconds, bytes: model, loss: null };
  } catch (error) { r.failed ||= error.message; }
  r.busy--;
  renew();
  grant();
}
// The training is done when no rung is open and all is evaluated.
function settle() {
  if (state === "training" && !shown().some(r => isOpen(r) || r.busy) && !evaluating) setState("done");
  renew();
}

// Starts a worker for a rung: begun("begin", rung, options), begun("load", bytes, options).
async function begun(task, ...values) {
  /** @type {any} */
  const r = { ...blank(), worker: openWorker(why => { r.failed = `the computation failed (${why})`; renew(); }) }, into = rungs; // perhaps aside, then
  opening++;
  try {
    await r.worker.opened;
    await r.worker.ask("takeText", taken.bytes, taken.asBytes);
    const { model, ...more } = await r.worker.ask(task, ...values);
    Object.assign(r, more, { name: ladder[more.rung].name });
    drop(r.rung, into);
    into.set(r.rung, r);
    keepSnapshot(r, model, more);
    return r;
  } catch (error) {
    r.worker.end();
    throw error;
  } finally { opening--; }
}

// Trains the ticked rungs from scratch.
async function begin() {
  if (ticks().length === 0) return complain("No model is ticked.");
  if (state !== "built" && !mayDiscard()) return;
  const failures = [], wanted = ticks(), into = rungs;
  dropAll();
  setState("paused");
  await Promise.all(wanted.map(rung => begun("begin", rung, options()).catch(error => failures.push(error.message))));
  if (rungs !== into) return; // another question is shown
  if (failures.length > 0) say("about-models", failures.map(sentence).join(" "), true);
  const own = shown().filter(r => !r.built);
  if (own.length === 0) return dropAll();
  if (!own.some(({ rung }) => rung === looked())) lookAt(own.at(-1).rung);
  setState("training");
  grant();
}

// Train, Pause, Continue, Train more.
async function press(lesson = false) {
  fromLesson = lesson || fromLesson && (state === "training" || state === "paused");
  if (state === "training") return setState("paused");
  if (state === "none" || state === "built") return begin();
  if (state === "done") {
    const own = shown().filter(r => r.worker && !r.failed), steps = 2 * Math.max(...own.map(r => r.steps));
    for (const r of own) Object.assign(r, await r.worker.ask("setSteps", steps));
  }
  setState("training");
  grant();
}

// Continues to train the ticked rungs, among those trained in advance, from the weights that they have.
async function trainOn() {
  const wanted = shown().filter(r => ticks().includes(r.rung));
  if (wanted.length === 0) return complain("No model is ticked.");
  fromLesson = false;
  try {
    await Promise.all(wanted.map(r => begun("load", r.latest.bytes, options())));
  } catch (error) {
    return complain(sentence(error.message));
  }
  setState("training");
  grant();
}

async function reset() {
  if (!mayDiscard()) return;
  dropAll();
  fromLesson = false;
  renew();
  await writeTrained();
}
