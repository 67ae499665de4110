// The text of the page and its rungs in training: openRungs(compiled, complain) returns functions that the worker
// calls. A rung is named by its index in the ladder. Failures throw an Error with a sentence.
//
// Batches, rates, seeds and evaluations are those of ./train: the same options give the same losses. Two things
// differ, so that the page gets its answers soon: of a long held-out text only evenly spaced windows are read, and no
// training ends early.
function openRungs(compiled, complain) {
  const MOST_TEXT = 32 << 20, EVALUATIONS = 40, HELD_OUT_CHARACTERS = 8192, BARS = 16;
  const POINTS = 256, LOSSES = 64; // of a curve, at most
  const TEMPERATURE = 0.8;         // of the lines that rungs write as they learn
  const CHECKPOINT = "the checkpoint", STATE = "the state"; // files in memory
  const { within, room, bytesAt, textAt, write, call, check, must, make, html, returned, at, ...c } = openModule(compiled, complain);
  // Returns the sentence of a failure. A failure of the C code itself, which should not happen, ends everything.
  const sentenceOf = error => {
    if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) throw error;
    return error.message;
  };
  const finite = number => Number.isFinite(number) ? number : null;

  const ladder = [], options = {};
  for (let rung = 0, name; (name = textAt(call("tril_rung", rung))); rung++)
    ladder.push({ rung, name, idea: textAt(call("tril_rung_idea", rung)) });
  for (let i = 0, row; (row = call("tril_option", i)); i++) {
    const { name, help, ...more } = at("TrilOption", row);
    options[textAt(name)] = { ...more, help: textAt(help) };
  }

  let text = null;           // { bytes, tokenizer, made, counts }
  let chosen = {};           // options of the rungs that are added next, by name
  const rungs = new Map();   // by number: { model, training (0: none), every, batches, heldOut, line, failed, ... }
  let seen = null;           // the line that was read last: { number, model, reading }
  let writer = 0;
  let sampling = { temperature: TEMPERATURE, top_p: 1, seed: 1337 };

  // ---- records ----

  const samplingRecord = more => write("TrilSampling", [{ ...more, counts: 1, precision: "f32", threads: 1 }]);

  function optionsRecord(rung) {
    const record = room(c.size("TrilOptions"));
    call("tril_options", record);
    for (const [name, value] of Object.entries({ ...chosen, model: ladder[rung].name, precision: "f32", threads: 1 }))
      must("tril_options_set", record, name, String(value));
    return record;
  }
  // Returns the numbers of the options that a function returns.
  function optionsOf(name, object, ...wanted) {
    const record = room(c.size("TrilOptions"));
    call(name, record, object);
    return Object.fromEntries(wanted.map(name => [name, c.number(record + options[name].member)]));
  }
  function rungOf(model) {
    const record = room(c.size("TrilOptions"));
    call("tril_model_sizes", record, model);
    const name = textAt(c.pointerAt(record + options.model.member));
    return ladder.findIndex(rung => rung.name === name);
  }
  const progressOf = rung => returned("tril_training_progress", "TrilProgress", rung.training);
  const tokenizerOf = model => call("tril_model_tokenizer", model);
  const glyphOf = (tokenizer, id) => {
    const to = room(12);
    call("web_glyph", tokenizer, id, to);
    return textAt(to);
  };
  function decode(tokenizer, ids, count) {
    const to = room(4 * count), length = room(4);
    must("tril_decode", tokenizer, ids, count, to, 4 * count, length);
    return bytesAt(to, c.pointerAt(length)).slice();
  }

  // ---- the text ----

  function drop(number) {
    const rung = rungs.get(number);
    if (!rung) return;
    if (seen?.number === number) forget();
    call("tril_training_close", rung.training);
    call("tril_model_free", rung.model);
    rungs.delete(number);
  }
  function dropText() {
    for (const number of [...rungs.keys()]) drop(number);
    call("tril_text_free", text?.made ?? 0);
    call("tril_tokenizer_free", text?.tokenizer ?? 0);
    text = null;
  }
  // Makes the text of these bytes with the ids of the tokenizer, which it takes over. Removes all rungs; after a failure
  // changes nothing.
  function makeText(tokenizer, bytes) {
    let made = 0;
    try {
      const counts = room(c.size("TrilCounts"));
      made = make("tril_text_make", tokenizer, bytes, optionsOf("tril_options", 0, "val").val);
      must("tril_text_count", made, counts);
      dropText();
      text = { bytes, tokenizer, made, counts: at("TrilCounts", counts) };
    } catch (error) {
      call("tril_text_free", made);
      call("tril_tokenizer_free", tokenizer);
      throw error;
    }
  }
  function takeText(bytes, asBytes) {
    if (bytes.length > MOST_TEXT)
      throw new Error(`a text of ${Math.round(bytes.length / 1e6)} MB is too long for this page, which takes at most ` +
        `${Math.floor(MOST_TEXT / 1e6)} MB; use ./train`);
    makeText(asBytes ? make("tril_tokenizer_of_bytes") : make("tril_tokenizer_make", bytes), bytes);
    const { characters } = returned("tril_text_extent", "TrilExtent", text.made);
    return { ...text.counts, characters, vocabulary: call("tril_tokenizer_size", text.tokenizer) };
  }

  // ---- training ----

  // Estimates the multiply-adds of a step: forward and twice as much backward, of each weight and of attention.
  const workOf = ({ batch, context, layers, width }, parameters) =>
    3 * batch * context * (parameters + layers * context * width);

  function estimate(number) {
    const to = room(c.size("TrilEstimate"));
    must("tril_estimate", optionsRecord(number), text ? call("tril_tokenizer_size", text.tokenizer) : 1, to);
    const { parameters, bytes } = at("TrilEstimate", to);
    return { parameters, bytes, work: workOf(chosen, parameters) };
  }

  // A point of the curve is the mean of `stride` steps; when there are too many, neighbors are joined.
  function traceBatch(rung, { step, seconds }, loss) {
    const mean = points => points[0].map((_, i) => points.reduce((sum, point) => sum + point[i], 0) / points.length);
    rung.pending.push([step, seconds, loss]);
    if (rung.pending.length < rung.stride) return;
    if (rung.batches.length === POINTS) {
      rung.batches = Array.from({ length: POINTS / 2 }, (_, i) => mean(rung.batches.slice(2 * i, 2 * i + 2)));
      rung.stride *= 2;
    }
    rung.batches.push(mean(rung.pending));
    rung.pending = [];
  }

  // Evaluates on the held-out text, all of it if it is short. Then writes a line.
  function evaluate(rung) {
    const loss = room(8), size = 272, line = room(size);
    must("tril_training_evaluate", rung.training, HELD_OUT_CHARACTERS, loss);
    if (rung.heldOut.length === LOSSES) rung.heldOut = rung.heldOut.filter((_, i) => i % 2 === 0);
    const { step, seconds } = progressOf(rung);
    rung.heldOut.push([step, seconds, c.number(loss)]);
    must("web_line", rung.model, samplingRecord({ length: 64, temperature: TEMPERATURE, top_p: 1, seed: rung.seed }), line, size);
    rung.line = textAt(line);
  }

  // Adds a model and its training, which it takes over. Without a training (0) the model can only be inspected.
  function addRung(number, model, training, failed = "") {
    const rung = { model, training, failed, batches: [], heldOut: [], pending: [], stride: 1, line: "", every: 1, seed: 0 };
    drop(number);
    rungs.set(number, rung);
    if (!training) return;
    try {
      const steps = progressOf(rung).steps, record = room(c.size("TrilOptions"));
      call("tril_training_options", record, training);
      rung.seed = new DataView(bytesAt(record + options.seed.member, 8).slice().buffer).getBigUint64(0, true);
      rung.every = Math.max(1, Math.floor(steps / EVALUATIONS));
      evaluate(rung);
    } catch (error) {
      drop(number);
      throw error;
    }
  }
  function add(number) {
    if (!text) throw new Error("there is no text to train on");
    const record = optionsRecord(number), model = make("tril_model_make", text.tokenizer, record);
    let training;
    drop(number);
    try {
      training = make("tril_training_open", model, text.made, record);
    } catch (error) {
      call("tril_model_free", model);
      throw error;
    }
    addRung(number, model, training);
  }

  // Evaluates more often at the beginning, where the losses fall fastest.
  const isDue = ({ every }, { step, steps }) => step === steps || step % every === 0 ||
    step < 2 * every && every >= 4 && step % Math.floor(every / 4) === 0;

  function step(rung) {
    const to = room(c.size("TrilStep"));
    must("tril_training_step", rung.training, to);
    const progress = progressOf(rung);
    traceBatch(rung, progress, at("TrilStep", to).loss);
    if (isDue(rung, progress)) evaluate(rung);
  }
  const isDone = ({ step, steps }) => step >= steps;

  // Trains for at least one step and about `milliseconds`, each step in the rung that is furthest behind, in steps or
  // in seconds. Returns false if none can continue.
  function advance(milliseconds, byTime) {
    const end = performance.now() + milliseconds;
    for (;;) {
      const [next] = [...rungs.values()].filter(rung => rung.training && !rung.failed)
        .map(rung => ({ rung, ...progressOf(rung) })).filter(progress => !isDone(progress))
        .sort((one, other) => byTime ? one.seconds - other.seconds : one.step - other.step);
      if (!next) return false;
      try { within(() => step(next.rung)); } catch (error) {
        next.rung.failed = sentenceOf(error);
      }
      if (performance.now() >= end) return true;
    }
  }

  function describe([number, rung]) {
    const sizes = optionsOf("tril_model_sizes", rung.model, "layers", "heads", "width", "context");
    const progress = rung.training ? progressOf(rung) : { step: 0, steps: chosen.steps ?? 0, seconds: 0 };
    const batch = rung.training ? optionsOf("tril_training_options", rung.training, "batch").batch : 0;
    return {
      rung: number, ...sizes, step: progress.step, steps: progress.steps, seconds: progress.seconds,
      loss: finite(progress.recent), lowest: finite(progress.lowest), heldOut: rung.heldOut.at(-1)?.[2] ?? null,
      characters: progress.step * batch * sizes.context, parameters: call("tril_model_parameters", rung.model),
      done: rung.training !== 0 && isDone(progress), sample: rung.line, failed: rung.failed
    };
  }
  const inOrder = () => [...rungs].sort(([one], [other]) => one - other);

  function drawLosses(height, byTime) {
    const curve = (number, name, points, faint) => {
      const at = room(16 * points.length), numbers = new Float64Array(points.flatMap(([step, seconds, loss]) => [byTime ? seconds : step, loss]));
      bytesAt(at, numbers.byteLength).set(new Uint8Array(numbers.buffer));
      return { name, points: at, count: points.length, color: number, faint };
    };
    const curves = inOrder().flatMap(([number, { heldOut, batches }]) => [
      curve(number, ladder[number].name, heldOut, false), curve(number, `${ladder[number].name}, training`, batches, true)]);
    const levels = text ? [["uniform", text.counts.uniform], ["counted unigram", text.counts.unigram],
      ["counted bigram", text.counts.bigram], [`counted ${text.counts.order}-gram`, text.counts.ngram]].map(([name, y]) => ({ name, y })) : [];
    return html("web_chart", write("Chart", [{
      id: "losses", title: "Loss, in nats per character: the lower, the better",
      x_name: byTime ? "seconds of training" : "steps", x_place: byTime ? "# s" : "step #",
      strong: "held-out text", faint: "training", curves: write("Curve", curves), curve_count: curves.length,
      levels: write("Level", levels), level_count: levels.length, height, decimals: 3, names: true
    }]));
  }

  // ---- looking ----

  function rungAt(number) {
    const rung = rungs.get(number);
    if (!rung) throw new Error("there is no such model yet");
    return rung;
  }
  function lineRead() {
    if (!seen) throw new Error("no line has been read");
    return seen;
  }
  function closeReading() {
    call("tril_reading_close", seen?.reading ?? 0);
    seen = null;
  }
  function closeWriter() {
    call("tril_writer_close", writer);
    writer = 0;
  }
  function forget() {
    closeReading();
    closeWriter();
  }

  // Reads a line with the current weights. An empty line is the start of a text.
  function readLine(number, line) {
    const { model } = rungAt(number);
    closeReading();
    if (line.length === 0) {
      const id = room(4);
      new DataView(bytesAt(id, 4).buffer).setInt32(id, call("tril_tokenizer_start", tokenizerOf(model)), true);
      line = decode(tokenizerOf(model), id, 1);
    }
    seen = { number, model, reading: make("tril_reading_open", model, line, 0, 1) };
    return next();
  }

  // Returns the line's glyphs and its loss, and the likeliest next characters with their probabilities, in the model and
  // in the sampler.
  function next() {
    const { model, reading } = lineRead(), tokenizer = tokenizerOf(model);
    const V = call("tril_tokenizer_size", tokenizer), T = call("tril_reading_tokens", reading), ids = call("tril_reading_ids", reading);
    const logits = call("tril_reading_logits", reading) + 4 * V * (T - 1);
    const probabilities = record => {
      const to = room(8 * V);
      must("tril_probabilities", record, logits, V, to);
      return new Float64Array(bytesAt(to, 8 * V).slice().buffer);
    };
    const p = probabilities(samplingRecord({ temperature: 1, top_p: 1 })), picked = probabilities(samplingRecord(sampling));
    const likeliest = [...p.keys()].sort((one, other) => p[other] - p[one]).slice(0, BARS);
    return {
      glyphs: Array.from({ length: T }, (_, t) => glyphOf(tokenizer, c.whole(ids + 4 * t))),
      nats: finite(call("tril_reading_loss", reading)),
      next: likeliest.map(id => ({ p: p[id], picked: picked[id], glyph: glyphOf(tokenizer, id) }))
    };
  }
  function heads() {
    const layers = room(4), heads = room(4);
    call("tril_reading_heads", lineRead().reading, layers, heads);
    return { layers: c.whole(layers), heads: c.whole(heads) };
  }
  const drawMap = (layer, head) => html("web_map", lineRead().model, seen.reading, layer, head);

  // Returns all steps from the line to its next character: reads the line again, and keeps all intermediate results.
  function explain(layer, head) {
    const { model, reading } = lineRead();
    const line = decode(tokenizerOf(model), call("tril_reading_ids", reading), call("tril_reading_tokens", reading));
    const traced = make("tril_reading_open", model, line, 1, 1);
    try { return html("web_explain", model, traced, layer, head); } finally { call("tril_reading_close", traced); }
  }

  // Begins to write after a line. writeOn then returns the next `most` characters, or fewer when its time is up.
  function prompt(number, line) {
    const { model } = rungAt(number);
    closeWriter();
    writer = make("tril_writer_open", model, samplingRecord(sampling));
    try { must("tril_writer_read", writer, line); } catch (error) { closeWriter(); throw error; }
  }
  function writeOn(most, milliseconds) {
    const end = performance.now() + milliseconds, to = room(4 * most);
    let length = 0;
    if (!writer) throw new Error("no line has been read");
    must("tril_writer_set", writer, samplingRecord(sampling));
    for (let i = 0; i < most && (i === 0 || performance.now() < end); i++) length += call("tril_writer_write", writer, to + length);
    if (length === 0) throw new Error("the model's predictions are not finite numbers");
    return new TextDecoder().decode(bytesAt(to, length));
  }

  // Measures how well a rung predicts a text, like ./sample --score.
  function score(number, bytes) {
    const { model } = rungAt(number), found = room(c.size("TrilScore"));
    must("tril_score", model, bytes, write("TrilScoring", [{ precision: "f32", threads: 1 }]), found);
    return at("TrilScore", found);
  }

  // ---- checkpoints ----

  // Returns the state of a rung as a file, or the model if it has no training.
  function save(number) {
    const { model, training } = rungAt(number), length = room(4);
    if (training) must("tril_training_save", training, STATE); else must("tril_model_save", model, STATE);
    const from = call("memfile_bytes", STATE, length), bytes = bytesAt(from, c.pointerAt(length)).slice();
    call("memfile_remove", STATE);
    return bytes;
  }

  // Opens a checkpoint, a model or a state, and removes all other rungs. A state of a training on the page's text resumes
  // where it stopped; any other begins with its weights. Without a text it can only be inspected.
  function load(bytes) {
    const to = room(4), outs = room(8);
    check(made => made === 0, "memfile_make", CHECKPOINT, bytes.length, to);
    bytesAt(c.pointerAt(to), bytes.length).set(bytes);
    let model = 0, training = 0, failed = "";
    try {
      model = make("tril_model_load", CHECKPOINT);
      const given = text?.bytes;
      dropText();
      try {
        if (!given) throw new Error("there is no text to train on");
        const extended = make("tril_model_extend", model, given, BigInt(chosen.seed ?? 0));
        call("tril_model_free", model);
        model = extended;
        makeText(make("tril_tokenizer_copy", tokenizerOf(model)), given);
        const state = room(4);
        call("tril_state_load", state, CHECKPOINT, 0); // 0, and so no training, of a model
        const status = call("tril_training_resume", outs, outs + 4, c.pointerAt(state), text.made, 0, 0);
        call("tril_state_free", c.pointerAt(state));
        if (status === 0) {
          call("tril_model_free", model);
          [training, model] = [c.pointerAt(outs), c.pointerAt(outs + 4)];
        } else
          training = make("tril_training_open", model, text.made, optionsRecord(rungOf(model)));
      } catch (error) {
        failed = sentenceOf(error);
      }
    } finally {
      call("memfile_remove", CHECKPOINT);
    }
    addRung(rungOf(model), model, training, failed);
  }

  const calls = {
    takeText, estimate, add, drop, advance, drawLosses, readLine, next, heads, drawMap, explain, prompt, writeOn, score,
    save, load,
    rungs: () => inOrder().map(describe),
    digest: number => BigInt.asUintN(64, call("tril_model_digest", rungAt(number).model)).toString(16).padStart(16, "0"),
    setOptions(values) { chosen = { seed: 1337, dropout: 0, ...values }; },
    setSampler(values) { sampling = values; },
    setSteps(number, steps) {
      const rung = rungs.get(number);
      if (rung?.training) call("tril_training_set_steps", rung.training, steps, 0);
    }
  };
  const open = { ladder, options, memory: c.memory, limit: () => call("memory_installed") };
  for (const [name, work] of Object.entries(calls)) open[name] = (...values) => within(() => work(...values));
  return open;
}
