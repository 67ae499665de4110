// A training run of one rung. Batches, rates and seeds are those of ./train: the same options give the same weights.
// Two things differ: to answer the page soon, an evaluation reads only evenly spaced windows of a long held-out text;
// and no training ends early.
let model = 0, training = 0, failed = "";

// Leaves the text. Without it, only the model is left.
function leave() {
  call("tril_training_close", training);
  training = 0;
}
function leaveModel() {
  leave();
  call("tril_model_free", model);
  model = 0;
  failed = "";
}
// Returns the rung and its progress. A model without a training run can only be read; `failed` says why.
function describe() {
  const { step, steps, seconds } = training ? returned("tril_training_progress", "TrilProgress", training) :
    { step: 0, steps: 0, seconds: 0 };
  const { batch } = training ? returned("tril_training_options", "TrilOptions", training) : { batch: 0 };
  const { layers, heads, width, context } = returned("tril_model_sizes", "TrilOptions", model);
  return {
    rung: rungOf(model), layers, heads, width, context, batch, step, steps, seconds,
    done: step >= steps, failed, parameters: call("tril_model_parameters", model), memory: c.memory.buffer.byteLength
  };
}
const modelFile = () => written(name => must("tril_model_save", model, name, 0));
// Returns the digest of the weights, which ./train prints, too.
const digest = () => BigInt.asUintN(64, call("tril_model_digest", model)).toString(16).padStart(16, "0");
const begun = () => ({ ...describe(), model: modelFile() });

function begin(rung, chosen) {
  leaveModel();
  const record = optionsRecord(rung, chosen), { tokenizer, made } = textOf();
  model = make("tril_model_make", tokenizer, record);
  training = make("tril_training_open", model, made, record);
  return begun();
}
// Opens a checkpoint, a model or a state. A state of a training run on the page's text resumes where it stopped;
// any other begins with its weights, at a third of the rate, as --init does.
function load(bytes, chosen) {
  leaveModel();
  reading(bytes, name => {
    model = make("tril_model_load", name);
    try {
      const record = optionsRecord(rungOf(model), chosen); // checks them, the seed too
      const extended = make("tril_model_extend", model, textOf().bytes, BigInt(chosen.seed ?? 1337));
      call("tril_model_free", model);
      model = extended;
      const { made } = textOf(model), outs = room(8), state = roomFor("TrilState");
      call("tril_state_load", outs, state, name, room(1024)); // 0, and so no training, of a model
      const stored = pointerAt(outs);
      const { options } = structAt("TrilState", state);
      const status = call("tril_training_open", outs + 4, stored, made, options, room(1024));
      call("tril_model_free", status === 0 ? model : stored);
      if (status === 0)
        [training, model] = [pointerAt(outs + 4), stored];
      else
        training = make("tril_training_open", model, made, record);
    } catch (error) {
      if (isBroken(error)) throw error;
      failed = error.message;
    }
  });
  return begun();
}

// Of so many evaluations in a run, more are due at the beginning, where the losses fall fastest: in a long one,
// whenever the steps have doubled.
function isDue(step, steps, evaluations) {
  const passes = parts => Math.floor(step * parts / steps) > Math.floor((step - 1) * parts / steps);
  return Number.isInteger(Math.log2(step)) || passes(evaluations) ||
    step * evaluations < 2 * steps && passes(4 * evaluations);
}
// Trains for at least one step, if there is one left, and about `milliseconds`, and until an evaluation is due.
// Returns the progress and the loss of each step; and if an evaluation is due, the model and its digest.
function train(milliseconds, evaluations) {
  if (describe().done) return { ...describe(), losses: [] };
  const end = performance.now() + milliseconds, losses = [];
  let due = false;
  do {
    must("tril_training_step", training);
    const { step, steps, seconds, loss } = returned("tril_training_progress", "TrilProgress", training);
    losses.push([step, seconds, loss]);
    due = isDue(step, steps, evaluations);
  } while (!due && performance.now() < end);
  return { ...describe(), losses, ...due && { model: modelFile(), digest: digest() } };
}
// Returns the speed of training, in multiply-adds a second: that of the steps in the second half of the time, because
// the browser compiles the code for speed only while it runs. Some browsers round their clock, against fingerprinting,
// to tenths of a second, by which a step may take no time: training then continues until the steps have taken some.
function measure(rung, chosen, milliseconds = 200) {
  const ENDLESS = 1e9;
  try {
    begin(rung, { ...chosen, steps: ENDLESS });
    const begun = performance.now();
    const trainUntil = (part, seconds) => {
      let now;
      do now = train(0, 1); while (performance.now() - begun < part * milliseconds || now.seconds <= seconds);
      return now;
    };
    const warm = trainUntil(0.5, -1), end = trainUntil(1, warm.seconds);
    return estimate(rung, chosen).work * (end.step - warm.step) / (end.seconds - warm.seconds);
  } finally {
    leaveModel();
  }
}
function setSteps(steps) {
  must("tril_training_set_steps", training, steps);
  return describe();
}
const save = () => written(name => must("tril_training_save", training, name, 0));
