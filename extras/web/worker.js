// The worker: trains, and answers the page between two slices of training.
//
// The page sends { id, task, ...what the task needs } and gets { id, answer } or { id, error }.
// While rungs train, it gets { progress } as well. If the C code itself fails, which it should not, it
// gets { broken }: the worker is then useless.
const SLICE = 50, NEWS = 250; // milliseconds: of training at a time, between two reports
const OPTIONS = ["layers", "heads", "width", "context", "batch", "steps"]; // that the page sets

let tril, training = false, byTime = false, told = 0;
const slices = new MessageChannel(); // unlike a timer it is not delayed, even in a hidden tab
const encode = text => new TextEncoder().encode(text);

const progress = () => ({
  rungs: tril.rungs(), figure: tril.drawLosses(340, byTime), training, memory: tril.memory()
});

function drop() {
  training = false;
  for (const { rung } of tril.rungs()) tril.drop(rung);
}

// Measures the multiply-adds per second of a small training, which is discarded.
function measure() {
  const GPT = 4;
  tril.setOptions({ layers: 2, heads: 2, width: 64, context: 32, batch: 8, steps: 1000 });
  const { work } = tril.estimate(GPT);
  tril.add(GPT);
  tril.advance(150, false);
  const { step, seconds } = tril.rungs()[0];
  tril.drop(GPT);
  return work * step / seconds;
}

// Returns the result of `work` for each item, or { error }.
const each = (list, work) => list.map(one => {
  try { return work(one); } catch (error) {
    if (isBroken(error)) throw error;
    return { error: error.message };
  }
});

const tasks = {
  open({ modules }) {
    const [name, bytes] = modules.find(([, bytes]) => WebAssembly.validate(bytes)) ?? [];
    if (!bytes) throw new Error("This browser lacks WebAssembly with SIMD; a newer one has it.");
    tril = openRungs(new WebAssembly.Module(bytes), text => console.error(text));
    return { name, ladder: tril.ladder, options: OPTIONS.map(name => ({ name, ...tril.options[name] })), limit: tril.limit() };
  },
  text({ bytes, asBytes }) {
    training = false;
    return tril.takeText(bytes, asBytes);
  },
  speed: measure,
  estimate({ options }) {
    tril.setOptions(options);
    return each(tril.ladder, ({ rung }) => tril.estimate(rung));
  },
  // Starts again with these rungs. Rungs that cannot start are named, and do not stop the others.
  begin({ options, rungs }) {
    drop();
    tril.setOptions(options);
    const failures = each(rungs, tril.add).filter(Boolean).map(({ error }) => error);
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
    drop();
    return progress();
  },
  steps({ steps }) {
    for (const { rung } of tril.rungs()) tril.setSteps(rung, steps);
    return progress();
  },
  look({ rung, line, sampler, maps }) {
    tril.setSampler(sampler);
    const next = tril.readLine(rung, encode(line)), { layers, heads } = tril.heads();
    next.maps = [];
    for (let layer = 0; maps && layer < layers; layer++)
      for (let head = 0; head < heads; head++) next.maps.push({ layer, head, figure: tril.drawMap(layer, head) });
    return next;
  },
  next({ sampler }) {
    tril.setSampler(sampler);
    return tril.next();
  },
  explain: ({ layer, head }) => tril.explain(layer, head),
  prompt({ rung, line, sampler }) {
    tril.setSampler(sampler);
    tril.prompt(rung, encode(line));
  },
  write: ({ most }) => tril.writeOn(most, 20),
  save: ({ rung }) => tril.save(rung),
  load({ bytes, options }) {
    training = false;
    tril.setOptions(options);
    tril.load(bytes);
    return progress();
  }
};

function fail(error) {
  training = false;
  tril = undefined;
  postMessage({ broken: String(error.message) });
}

const isBroken = error => error instanceof WebAssembly.RuntimeError || error instanceof RangeError;

// Trains a slice, then handles waiting messages, then trains the next slice.
function train() {
  if (!training || !tril) return;
  try {
    training = tril.advance(SLICE, byTime);
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
