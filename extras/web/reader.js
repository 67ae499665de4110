// Reading and writing with models. Each task takes the bytes of a model's file, which a training run has sent; only the
// text that is being written lasts from one call to the next.
const BARS = 12;
const LEARNING = { temperature: 0.8, top_p: 1, seed: 1337 }; // the sampler of what rungs write as they learn
const PLAIN = { temperature: 1, top_p: 1 };
// the model that writes a text; what decodes its pieces; the bytes that it has written
let author = 0, writer = 0, decoder, wrote = [];

const modelOf = bytes => reading(bytes, name => make("tril_model_load", name));
// Returns the result of work with a model.
function withModel(bytes, work) {
  const model = modelOf(bytes);
  try { return work(model); } finally { call("tril_model_free", model); }
}
// Returns the result of work with a model's reading of a text: its address and its record, the characters read.
function withReading(model, text, traced, work) {
  const reading = make("tril_reading_open", model, text, traced, 1);
  try { return work(reading, structAt("TrilReading", reading)); } finally { call("tril_reading_close", reading); }
}
// Returns the result of work(model, reading, record) with a model's reading of a line. An empty line is the start
// of a text.
const read = (bytes, line, work) => withModel(bytes, model =>
  withReading(model, encode(line), 1, (reading, record) => work(model, reading, record)));

// Returns a text that a model begins to write: its lines, without empty ones.
function beginning(model) {
  const LENGTH = 160, to = room(4 * LENGTH), writer = make("tril_writer_open", model, samplingRecord(LEARNING));
  let length = 0;
  for (let i = 0; i < LENGTH; i++) length += call("tril_writer_write", writer, to + length);
  call("tril_writer_close", writer);
  return new TextDecoder().decode(bytesAt(to, length)).replace(/\n+/g, "\n").replace(/[^\P{C}\n]/gu, "·").trimStart();
}
const compose = bytes => withModel(bytes, beginning);
// Returns the characters that a model knows, or the first of them.
const known = (bytes, most = 100) => withModel(bytes, model => Array.from(
  { length: Math.min(most, sizeOf(tokenizerOf(model))) }, (_, id) => glyphOf(tokenizerOf(model), id)).join(""));

// ---- a line ----

// Returns the probabilities of the characters after a row of logits [V], by the model or after a sampler.
function probabilities(logits, V, values = PLAIN) {
  const to = room(8 * V);
  must("tril_probabilities", samplingRecord(values), logits, V, to);
  return new Float64Array(bytesAt(to, 8 * V).slice().buffer);
}
const likeliest = (p, most) => [...p.keys()].sort((one, other) => p[other] - p[one]).slice(0, most);

// Returns what a model makes of a line: its glyphs; the loss on it (not finite for a single one); the likeliest next
// characters, with their probabilities in the model and in the sampler; and the weights of each head.
const look = (bytes, line, sampler = PLAIN) => read(bytes, line, (model, reading, record) => {
  const { tokens, ids, logits, layers } = record, tokenizer = tokenizerOf(model), V = sizeOf(tokenizer);
  const last = logits + 4 * V * (tokens - 1), p = probabilities(last, V), picked = probabilities(last, V, sampler);
  const heads = [];
  for (let layer = 0; layer < layers; layer++)
    for (let head = 0; head < record.heads; head++)
      heads.push({ layer, head, weights: weightsOf(reading, layer, head, tokens) });
  return {
    glyphs: Array.from({ length: tokens }, (_, t) => glyphOf(tokenizer, wholeAt(ids + 4 * t))), heads,
    nats: record.loss,
    next: likeliest(p, BARS).map(id => ({ glyph: glyphOf(tokenizer, id), p: p[id], after: picked[id] }))
  };
});
function weightsOf(reading, layer, head, T) {
  const to = room(4 * T * T);
  must("tril_reading_attention", reading, layer, head, to, T * T);
  return Array.from({ length: T }, (_, t) => [...floatsAt(to + 4 * T * t, t + 1)]);
}

// Returns the lines of a reading's computation (TrilLine), without their numbers.
function linesOf(reading) {
  const all = [], to = roomFor("TrilLine");
  const list = (of, from, count) => Array.from({ length: count }, (_, n) => structAt(of, from + n * layouts[of].size));
  while (call("tril_reading_line", reading, all.length, to)) {
    const line = structAt("TrilLine", to);
    all.push({ ...line, inputs: list("TrilArray", line.inputs, 3).filter(({ number }) => number > 0),
      output: structAt("TrilArray", line.output),
      weights: list("TrilTensor", line.weights, 2).filter(({ name }) => name) });
  }
  return all;
}
// Returns the lines of a rung in these sizes.
function linesOfRung(rung, options) {
  const model = make("tril_model_make", textOf().tokenizer, optionsRecord(rung, options));
  try { return withReading(model, new Uint8Array(), 1, linesOf); } finally { call("tril_model_free", model); }
}
// Returns line i of the computation for the character at `place`: its title, its equation, and of its inputs and its
// output the width and the first numbers. Of the neurons of an MLP, also the one that is most active there, and how
// active it is at each character.
const numbersOf = (bytes, line, i, place) => read(bytes, line, (_, reading, { tokens }) => {
  const SHOWN = 12;
  const names = { attention: ["query", "key", "value"], swiglu: ["gate", "up"], add: ["x", "added"],
    rotary: ["x", "cosines and sines"], trusted: ["x", "trust", "ln p by counting"] };
  const found = linesOf(reading)[i];
  if (!found || !(place >= 0 && place < tokens)) throw new Error("the model has no such line or character");
  const { operation, title, equation, inputs, output } = found;
  const named = (name, { data, row, width }) =>
    ({ name, width, numbers: [...floatsAt(data + 4 * place * row, Math.min(width, SHOWN))] });
  const rows = [...inputs.map((array, n) => named(names[operation]?.[n] ?? "x", array)), named("y", output)];
  return { title, equation, rows, ...["gelu", "swiglu"].includes(operation) && neuronOf(output, place, tokens) };
});
function neuronOf({ data, row, width }, place, T) {
  const y = t => floatsAt(data + 4 * t * row, width), most = y(place).map(Math.abs);
  const neuron = most.indexOf(Math.max(...most));
  return { neuron, active: Array.from({ length: T }, (_, t) => y(t)[neuron]) };
}
// Returns the neuron of the last MLP that is most active at `place`, and how active it is at each character.
const neuronAt = (bytes, line, place) => read(bytes, line, (_, reading, { tokens }) => {
  const mlp = linesOf(reading).filter(({ operation }) => ["gelu", "swiglu"].includes(operation)).at(-1);
  return mlp ? neuronOf(mlp.output, Math.min(place, tokens - 1), tokens) : null;
});

// ---- a step of training ----

// Takes a step of gradient descent on the loss of one character, the one at `place` of the line. The step is at
// most `longest` long, and is halved until the loss changes by at least half of what the gradient foretells.
// Returns its rate, the loss before and after, the size of each line's gradient, and the predictions before and
// after.
const takeStep = (bytes, line, place, longest = 0.03) => read(bytes, line, (model, reading, record) => {
  const HALVINGS = 20, lossOf = p => -Math.log(p[target]);
  const tokenizer = tokenizerOf(model), V = sizeOf(tokenizer);
  if (!(place > 0 && place < record.tokens))
    throw new Error("nothing stands before the first character, so the model cannot predict it");
  const ids = Int32Array.from({ length: place }, (_, t) => wholeAt(record.ids + 4 * t));
  const target = wholeAt(record.ids + 4 * place);
  const text = decode(tokenizer, record.ids, place), before = probabilities(record.logits + 4 * V * (place - 1), V);
  const dlogits = before.map((p, id) => p - Number(id === target));
  const { sizes, tensors, size } = sendBack(linesOf(reading), ids, dlogits, floatsAt);
  const kept = tensors.map(({ data }) => [data.byteOffset, data.slice()]);
  const step = rate => {
    kept.forEach(([address, weights], n) =>
      floatsAt(address, weights.length).set(weights.map((w, i) => w - rate * tensors[n].d[i])));
    return withReading(model, text, 0, (_, { tokens, logits }) => probabilities(logits + 4 * V * (tokens - 1), V));
  };
  let rate = longest / Math.max(1, size), after = step(rate);
  for (let n = 0; n < HALVINGS && (lossOf(before) - lossOf(after)) / (rate * size * size) < 0.5; n++)
    after = step(rate /= 2);
  const some = likeliest(before, 5);
  return {
    sizes, size, rate, glyph: glyphOf(tokenizer, target), loss: [before, after].map(lossOf),
    next: (some.includes(target) ? some : [...some.slice(0, 4), target])
      .map(id => ({ glyph: glyphOf(tokenizer, id), p: before[id], after: after[id] }))
  };
});

// ---- writing ----

// Begins to write after a line. writeOn then returns the next `most` characters, or fewer when its time is up.
function prompt(bytes, line, sampler) {
  call("tril_writer_close", writer);
  call("tril_model_free", author);
  writer = author = 0;
  author = modelOf(bytes);
  decoder = new TextDecoder();
  wrote = [];
  writer = make("tril_writer_open", author, samplingRecord(sampler));
  must("tril_writer_append", writer, encode(line));
}
function writeOn(most, milliseconds, sampler) {
  const end = performance.now() + milliseconds, to = room(4 * most);
  let length = 0;
  if (!writer) throw new Error("no line has been read");
  must("tril_writer_set", writer, samplingRecord(sampler));
  for (let i = 0; i < most && (i === 0 || performance.now() < end); i++)
    length += call("tril_writer_write", writer, to + length);
  if (length === 0) throw new Error("the model's predictions are not finite numbers");
  wrote.push(...bytesAt(to, length));
  return decoder.decode(bytesAt(to, length), { stream: true }); // bytes may end in the middle of a character
}
// Returns the text that has been written in pieces, { text, characters, passage }: the length of the longest passage
// around each character that the training part of the text has, too.
function copied() {
  if (wrote.length === 0) throw new Error("nothing has been written");
  const { made } = textOf(author), tokenizer = tokenizerOf(author), decoder = new TextDecoder();
  const [ids, lengths] = [wrote, wrote].map(bytes => room(4 * bytes.length)), to = room(4), pieces = [];
  must("tril_encode", tokenizer, Uint8Array.from(wrote), ids, wrote.length, to);
  const count = wholeAt(to), passageAt = i => wholeAt(lengths + 4 * i);
  must("tril_text_copied", made, ids, count, lengths);
  for (let from = 0, end = 1; from < count; from = end++) {
    const passage = passageAt(from);
    while (end < count && passageAt(end) === passage) end++;
    const text = decoder.decode(decode(tokenizer, ids + 4 * from, end - from), { stream: true });
    pieces.push({ text, characters: end - from, passage });
  }
  return pieces;
}
