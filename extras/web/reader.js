// A model that is read: openReader(library) returns functions that the worker calls. It reads one model at a time, a
// file that a training run has sent.
function openReader(library) {
  const HELD_OUT_CHARACTERS = 8192, BATCH = 16, BARS = 12;
  const LEARNING = { temperature: 0.8, top_p: 1, seed: 1337 }; // the sampler of the lines that rungs write as they learn
  const { room, bytesAt, floatsAt, pointerAt, textAt, call, must, make, html, write, number, whole, size, at, samplingRecord, sizeOf, tokenizerOf, textOf, glyphOf, decode,
    reading } = library;
  let model = 0, seen = 0;             // seen: the reading of a line
  let author = 0, writer = 0, decoder; // the model that continues the line while another is read; decodes its text
  let sampling = LEARNING, asked = ""; // the glyph that a question asks about

  // ---- models ----

  const load = bytes => reading(bytes, name => make("tril_model_load", name));
  function closeWriter() {
    call("tril_writer_close", writer);
    call("tril_model_free", author);
    writer = author = 0;
  }
  function forget() {
    call("tril_reading_close", seen);
    seen = 0;
  }
  // Reads with this model from now on.
  function take(bytes) {
    const next = load(bytes);
    forget();
    call("tril_model_free", model);
    model = next;
  }
  // Returns the result of work with another model.
  function withModel(bytes, work) {
    const own = load(bytes);
    try { return work(own); } finally { call("tril_model_free", own); }
  }
  // Returns the beginning of a text that a model writes, on one line.
  function lineOf(own) {
    const LENGTH = 64, to = room(4 * LENGTH), writer = make("tril_writer_open", own, samplingRecord(LEARNING));
    let length = 0;
    for (let i = 0; i < LENGTH; i++) length += call("tril_writer_write", writer, to + length);
    call("tril_writer_close", writer);
    return new TextDecoder().decode(bytesAt(to, length)).replace(/\n/g, "↵").replace(/\p{C}/gu, "·");
  }
  const writeLine = bytes => withModel(bytes, lineOf);
  // Returns the loss of a model on the held-out text (on all of it if it is short), a line that it writes, and focusOf(line).
  const evaluate = (bytes, line) => withModel(bytes, own => {
    const loss = room(8);
    must("tril_text_evaluate", textOf(own).made, own, 0, HELD_OUT_CHARACTERS, BATCH, 1, 0, 0, loss);
    return { loss: number(loss), line: lineOf(own), focus: focusOf(own, encode(line)) };
  });
  // Returns the glyph to which the first head attends most from the end of the line, its weight and an even one. Returns null
  // for a rung without heads, and for a line that the model cannot read.
  function focusOf(own, line) {
    const to = room(4);
    if (line.length === 0 || call("tril_reading_open", to, own, line, 0, 1, room(1024)) !== 0) return null;
    const reading = pointerAt(to), T = recordOf(reading).tokens, weights = room(4 * T * T);
    const failed = call("tril_reading_attention", reading, 0, 0, weights, T * T, room(1024)) !== 0;
    const row = floatsAt(weights + 4 * T * (T - 1), T), weight = Math.max(...row), id = whole(recordOf(reading).ids + 4 * row.indexOf(weight));
    call("tril_reading_close", reading);
    return failed ? null : { weight, even: 1 / T, glyph: glyphOf(tokenizerOf(own), id) };
  }

  // ---- a line ----

  const recordOf = reading => at("TrilReading", reading);
  // Returns the result of work with a model's reading of a line; if it is traced, with the numbers of its computation.
  function withReading(own, line, traced, work) {
    const reading = make("tril_reading_open", own, line, traced, 1);
    try { return work(reading); } finally { call("tril_reading_close", reading); }
  }
  function lineRead() {
    if (!seen) throw new Error("no line has been read");
    return seen;
  }
  // Reads a line with the current weights. An empty line is the start of a text.
  function readLine(line) {
    if (!model) throw new Error("there is no such model yet");
    forget();
    seen = make("tril_reading_open", model, encode(line), 1, 1);
    return next();
  }

  // Returns the probabilities of the characters after a row of logits [V]: by the model or, given the values of a sampler, after that.
  function probabilities(logits, V, values = { temperature: 1, top_p: 1 }) {
    const to = room(8 * V);
    must("tril_probabilities", samplingRecord(values), logits, V, to);
    return new Float64Array(bytesAt(to, 8 * V).slice().buffer);
  }
  // Returns the logits after a reading.
  const logitsOf = (reading, V) => recordOf(reading).logits + 4 * V * (recordOf(reading).tokens - 1);
  const likeliest = (p, most) => [...p.keys()].sort((one, other) => p[other] - p[one]).slice(0, most);

  // Returns the line's glyphs and its loss (not finite for a single one), and the likeliest next characters, after the one that
  // is asked about, with their probabilities, in the model and in the sampler.
  function next() {
    const tokenizer = tokenizerOf(model), V = sizeOf(tokenizer), T = recordOf(lineRead()).tokens;
    const ids = recordOf(seen).ids, logits = logitsOf(seen, V), p = probabilities(logits, V), picked = probabilities(logits, V, sampling);
    return {
      glyphs: Array.from({ length: T }, (_, t) => glyphOf(tokenizer, whole(ids + 4 * t))),
      nats: call("tril_reading_loss", seen),
      next: likeliest(p.map((p, id) => p + Number(asked && glyphOf(tokenizer, id) === asked)), BARS).map(id => ({ p: p[id], picked: picked[id], glyph: glyphOf(tokenizer, id) }))
    };
  }
  // Returns the probability of a character after a line, in another model.
  const chance = (bytes, line, glyph) => withModel(bytes, own => {
    const tokenizer = tokenizerOf(own), V = sizeOf(tokenizer);
    const p = withReading(own, encode(line), 0, reading => probabilities(logitsOf(reading, V), V));
    return p.find((_, id) => glyphOf(tokenizer, id) === glyph) ?? 0;
  });
  // Returns the characters that the model knows, or the first of them.
  const known = (most = 100) => Array.from({ length: Math.min(most, sizeOf(tokenizerOf(model))) }, (_, id) => glyphOf(tokenizerOf(model), id)).join("");
  // Returns line i of the computation for the character at `place`: its title, its equation, and of its inputs and its output the
  // width and the first numbers. Of the neurons of an MLP, also the one that is most active there, and where else it is.
  function numbersOf(i, place) {
    const SHOWN = 12, NAMES = { attention: ["query", "key", "value"], swiglu: ["gate", "up"], add: ["x", "added"], rotary: ["x", "cosines and sines"], trusted: ["x", "trust", "ln p by counting"] };
    const line = linesOf(lineRead())[i];
    if (!line || !(place >= 0 && place < recordOf(seen).tokens)) throw new Error("the model has no such line or character");
    const { operation, title, equation, inputs, output } = line;
    const named = (name, { data, row, width }) => ({ name, width, numbers: [...floatsAt(data + 4 * place * row, Math.min(width, SHOWN))] });
    const found = { title, equation, rows: [...inputs.map((array, n) => named(NAMES[operation]?.[n] ?? "x", array)), named("y", output)] };
    if (!["gelu", "swiglu"].includes(operation)) return found;
    const { data, row, width } = output, y = t => floatsAt(data + 4 * t * row, width), active = y(place).map(Math.abs), neuron = active.indexOf(Math.max(...active));
    const places = Array.from({ length: recordOf(seen).tokens }, (_, t) => ({ t, y: y(t)[neuron] })).sort((one, other) => Math.abs(other.y) - Math.abs(one.y));
    return { ...found, neuron, places: places.slice(0, 6) };
  }
  // Returns the maps of all heads, in order.
  function maps() {
    const { layers, heads } = recordOf(lineRead()), all = [];
    for (let layer = 0; layer < layers; layer++)
      for (let head = 0; head < heads; head++) all.push({ layer, head, figure: html("web_map", model, seen, layer, head) });
    return all;
  }
  // Returns the lines of a reading's computation (TrilLine), without their numbers.
  function linesOf(reading) {
    const all = [], to = room(size("TrilLine"));
    const list = (of, from, count) => Array.from({ length: count }, (_, n) => at(of, from + n * size(of)));
    for (let i = 0; call("tril_reading_line", reading, i, to); i++) {
      const { operation, title, equation, layer, heads, attends, inputs, output, weights } = at("TrilLine", to);
      all.push({
        operation: textAt(operation), title: textAt(title), equation: textAt(equation), layer, heads, attends,
        inputs: list("TrilArray", inputs, 3).filter(array => array.number > 0), output: at("TrilArray", output),
        weights: list("TrilTensor", weights, 2).filter(({ name }) => name > 0).map(tensor => ({ ...tensor, name: textAt(tensor.name) }))
      });
    }
    return all;
  }
  // Returns the lines of a rung in these sizes.
  function linesOfRung(rung, options) {
    const own = make("tril_model_make", textOf().tokenizer, library.optionsRecord(rung, options));
    try { return withReading(own, new Uint8Array(), 1, linesOf); } finally { call("tril_model_free", own); }
  }

  // ---- a step of training ----

  // Takes a step of gradient descent on the loss of one character, the one at `place` of the line; then undoes it. The step is at
  // most `longest` long, and is halved until the loss changes by at least half of what the gradient foretells. Returns its rate, the
  // loss before and after, the size of each line's gradient, and the predictions before and after.
  function takeStep(place, longest = 0.03) {
    const HALVINGS = 20, lossOf = p => -Math.log(p[target]);
    const tokenizer = tokenizerOf(model), V = sizeOf(tokenizer);
    if (!(place > 0 && place < recordOf(lineRead()).tokens)) throw new Error("nothing stands before the first character, so the model cannot predict it");
    const at = recordOf(seen).ids, ids = Int32Array.from({ length: place }, (_, t) => whole(at + 4 * t)), target = whole(at + 4 * place);
    const before = probabilities(recordOf(seen).logits + 4 * V * (place - 1), V);
    const { sizes, tensors, size } = sendBack(linesOf(seen), ids, before.map((p, id) => p - Number(id === target)), floatsAt);
    const kept = tensors.map(({ data }) => [data.byteOffset, data.slice()]);
    const step = rate => {
      kept.forEach(([address, weights], n) => floatsAt(address, weights.length).set(weights.map((w, i) => w - rate * tensors[n].d[i])));
      return withReading(model, decode(tokenizer, at, place), 0, reading => probabilities(logitsOf(reading, V), V));
    };
    try {
      let rate = longest / Math.max(1, size), after = step(rate);
      for (let n = 0; n < HALVINGS && (lossOf(before) - lossOf(after)) / (rate * size * size) < 0.5; n++) after = step(rate /= 2);
      const some = likeliest(before, 5);
      return {
        sizes, size, rate, glyph: glyphOf(tokenizer, target), loss: [before, after].map(lossOf),
        next: (some.includes(target) ? some : [...some.slice(0, 4), target]).map(id => ({ glyph: glyphOf(tokenizer, id), p: before[id], picked: after[id] }))
      };
    } finally {
      for (const [address, weights] of kept) floatsAt(address, weights.length).set(weights);
    }
  }

  // ---- writing ----

  // Begins to write after a line. writeOn then returns the next `most` characters, or fewer when its time is up.
  function prompt(bytes, line) {
    closeWriter();
    author = load(bytes);
    decoder = new TextDecoder();
    writer = make("tril_writer_open", author, samplingRecord(sampling));
    try { must("tril_writer_read", writer, encode(line)); } catch (error) { closeWriter(); throw error; }
  }
  function writeOn(most, milliseconds) {
    const end = performance.now() + milliseconds, to = room(4 * most);
    let length = 0;
    if (!writer) throw new Error("no line has been read");
    must("tril_writer_set", writer, samplingRecord(sampling));
    for (let i = 0; i < most && (i === 0 || performance.now() < end); i++) length += call("tril_writer_write", writer, to + length);
    if (length === 0) throw new Error("the model's predictions are not finite numbers");
    return decoder.decode(bytesAt(to, length), { stream: true }); // a model of bytes may end in the middle of a character
  }

  // ---- figures ----

  // Draws the losses: curves [{ name, points, color, faint }] with points [[x, y]], and levels [{ name, y }].
  function chart(curves, levels, height, byTime) {
    const records = curves.map(({ points, ...more }) => {
      const at = room(16 * points.length), numbers = new Float64Array(points.flat());
      bytesAt(at, numbers.byteLength).set(new Uint8Array(numbers.buffer));
      return { ...more, points: at, count: points.length };
    });
    return html("web_chart", write("Chart", [{
      id: "losses", title: "Loss (0.7: the next character was given 50%; 2.3: 10%)", x_name: "",
      x_place: byTime ? "# s" : "step #", strong: "held-out text", faint: "training", curves: write("Curve", records),
      curve_count: curves.length, levels: write("Level", levels), level_count: levels.length, height, decimals: 3, names: true
    }]));
  }

  return {
    take, evaluate, takeStep, writeLine, readLine, next, maps, linesOfRung, prompt, writeOn, chart,
    chance, known, numbersOf,
    setSampler(values, glyph = "") { sampling = values; asked = glyph; }
  };
}
