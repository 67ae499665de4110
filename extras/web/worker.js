// The worker: trains, and answers the page between two slices of training.
//
// The page sends { id, task, ...what the task needs } and gets { id, answer } or { id, error }.
// While rungs train, it gets { progress } as well. If the C itself fails, which it should not, it
// gets { broken }: the worker is then of no use.
const TEXT = 0, CHECKPOINT = 1, LINE = 2;
const SLICE = 50, NEWS = 250; // milliseconds: of training at a time, between two reports

let tril, training = false, byTime = false, told = 0;
const slices = new MessageChannel(); // unlike a timer it is not delayed, also not in a hidden tab
const encode = text => new TextEncoder().encode(text);

const setSizes = s => tril.run("set_sizes", s.layers, s.heads, s.width, s.context, s.batch, s.steps, s.seed);
const setSampler = s => tril.run("set_sampler", s.temperature, s.topK, s.topP, s.seed);

function progress() {
  return {
    rungs: tril.json("rungs"), figure: tril.text("draw_losses", 340, byTime ? 1 : 0),
    training, memory: tril.memory()
  };
}

// Work a second, in multiply-adds, of a small training that is thrown away.
function measure() {
  setSizes({ layers: 2, heads: 2, width: 64, context: 32, batch: 8, steps: 1000, seed: 1 });
  const { work } = tril.json("estimate", 4);
  tril.json("add", 4);
  tril.run("advance", 150, 0);
  const { step, seconds } = tril.json("rungs")[0];
  tril.run("drop", 4);
  return work * step / seconds;
}

const tasks = {
  open({ modules }) {
    const [name, bytes] = modules.find(([, bytes]) => WebAssembly.validate(bytes)) ?? [];
    if (!bytes) throw new Error("This browser lacks WebAssembly with SIMD; a newer one has it.");
    tril = openModule(new WebAssembly.Module(bytes), text => console.error(text));
    return { name, ladder: tril.json("ladder"), limit: tril.run("memory_limit") };
  },
  text({ bytes, asBytes }) {
    tril.give(TEXT, bytes);
    training = false;
    return tril.json("take_text", asBytes ? 1 : 0);
  },
  speed: measure,
  estimate({ sizes }) {
    setSizes(sizes);
    return tril.json("ladder").map(({ rung }) => {
      try { return tril.json("estimate", rung); } catch (error) { return { error: error.message }; }
    });
  },
  // Begins anew with these rungs. What cannot begin is named, and does not stop the others.
  begin({ sizes, rungs }) {
    const failures = [];
    for (const { rung } of tril.json("rungs")) tril.run("drop", rung);
    setSizes(sizes);
    for (const rung of rungs)
      try { tril.json("add", rung); } catch (error) { failures.push(error.message); }
    return { ...progress(), failures };
  },
  go({ by }) {
    byTime = by === "time";
    if (!training) slices.port2.postMessage(0);
    training = true;
    return progress();
  },
  pause() {
    training = false;
    return progress();
  },
  share({ by }) {
    byTime = by === "time";
    return progress();
  },
  drop() {
    training = false;
    for (const { rung } of tril.json("rungs")) tril.run("drop", rung);
    return progress();
  },
  steps({ steps }) {
    for (const { rung } of tril.json("rungs")) tril.run("set_steps", rung, steps);
    return progress();
  },
  look({ rung, line, sampler, maps }) {
    setSampler(sampler);
    tril.give(LINE, encode(line));
    const next = tril.json("read_line", rung), { layers, heads } = tril.json("heads");
    next.maps = [];
    for (let layer = 0; maps && layer < layers; layer++)
      for (let head = 0; head < heads; head++)
        next.maps.push({ layer, head, figure: tril.text("draw_map", layer, head) });
    return next;
  },
  next({ sampler }) {
    setSampler(sampler);
    return tril.json("next");
  },
  explain({ layer, head }) { return tril.text("explain", layer, head); },
  prompt({ rung, line, sampler }) {
    setSampler(sampler);
    tril.give(LINE, encode(line));
    tril.call("prompt", rung);
  },
  write({ most }) { return tril.text("write_on", most, 20); },
  save({ rung }) { return tril.call("save", rung); },
  load({ bytes, sizes }) {
    training = false;
    setSizes(sizes);
    tril.give(CHECKPOINT, bytes);
    tril.json("load");
    return progress();
  }
};

function fail(error) {
  training = false;
  tril = undefined;
  postMessage({ broken: String(error.message) });
}

const isBroken = error => error instanceof WebAssembly.RuntimeError || error instanceof RangeError;

// A slice of training; then the messages that wait, then the next slice.
function train() {
  if (!training || !tril) return;
  try {
    training = tril.run("advance", SLICE, byTime ? 1 : 0) === 1;
    if (!training || performance.now() - told >= NEWS) {
      told = performance.now();
      postMessage({ progress: progress() });
    }
  } catch (error) {
    return fail(error);
  }
  if (training) slices.port2.postMessage(0);
}

slices.port1.onmessage = train;

onmessage = ({ data: { id, task, ...more } }) => {
  try {
    const answer = tasks[task](more);
    postMessage({ id, answer });
  } catch (error) {
    if (isBroken(error)) fail(error);
    else postMessage({ id, error: error.message });
  }
};
