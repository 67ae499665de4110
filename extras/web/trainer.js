// A training run of one rung. Batches, rates and seeds are those of ./train: the same options give the same weights.
// Two things differ: to answer the page soon, an evaluation reads only evenly spaced windows of a long held-out text;
// and no training ends early.
const HELD_OUT_CHARACTERS = 8192, BATCH = 16; // of an evaluation, and windows at a time
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
// Returns what the page keeps of the model as it is now: its file; the digest of its weights, which ./train prints,
// too; its loss on the held-out text (on all of it if it is short), not a number if the model cannot be trained on the
// text; and a text that it writes.
function snapshot() {
  const loss = room(8);
  if (!failed) must("tril_text_evaluate", textOf(model).made, model, 0, HELD_OUT_CHARACTERS, BATCH, 1, 0, 0, loss);
  return {
    step: describe().step, bytes: written(name => must("tril_model_save", model, name, 0)),
    digest: BigInt.asUintN(64, call("tril_model_digest", model)).toString(16).padStart(16, "0"),
    loss: failed ? NaN : numberAt(loss), text: beginning(model)
  };
}
const begun = () => ({ ...describe(), snapshot: snapshot() });

function open(rung, chosen) {
  leaveModel();
  const record = optionsRecord(rung, chosen), { tokenizer, made } = textOf();
  model = make("tril_model_make", tokenizer, record);
  training = make("tril_training_open", model, made, record);
}
function begin(rung, chosen) {
  open(rung, chosen);
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
// Returns the progress and the loss of each step; and if an evaluation is due, a snapshot.
function train(milliseconds, evaluations) {
  const end = performance.now() + milliseconds, losses = [];
  let due = describe().done;
  while (!due && (losses.length === 0 || performance.now() < end)) {
    must("tril_training_step", training);
    const { step, steps, loss } = returned("tril_training_progress", "TrilProgress", training);
    losses.push([step, loss]);
    due = isDue(step, steps, evaluations);
  }
  return { ...describe(), losses, snapshot: due && losses.length > 0 ? snapshot() : null };
}
// Returns the speed of training, in multiply-adds a second, by steps that take so long. Their number doubles until they
// do: then the browser has compiled the code for speed, and a clock that it rounds, against fingerprinting, has moved.
function measure(rung, chosen, milliseconds = 100) {
  const ENDLESS = 1e9, { work } = estimate(rung, chosen);
  try {
    open(rung, { ...chosen, steps: ENDLESS });
    for (let steps = 1, before = 0; ; steps *= 2) {
      for (let i = 0; i < steps; i++) must("tril_training_step", training);
      const { seconds } = returned("tril_training_progress", "TrilProgress", training);
      if (1000 * (seconds - before) >= milliseconds) return work * steps / (seconds - before);
      before = seconds;
    }
  } finally {
    leaveModel();
  }
}
function setSteps(steps) {
  must("tril_training_set_steps", training, steps);
  return describe();
}
const save = () => written(name => must("tril_training_save", training, name, 0));
