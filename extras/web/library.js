// The library in one worker: what training and reading share, records, the options, characters, and the text. Failures
// throw an Error with a sentence.
const MOST_TEXT = 32 << 20;
const FILE = "the checkpoint"; // the name of the file in memory, which messages contain
const ladder = [], options = {};

function openLibrary(compiled) {
  openModule(compiled);
  for (let rung = 0, name; (name = textAt(call("tril_rung", rung))); rung++)
    ladder.push({ rung, name, idea: textAt(call("tril_rung_idea", rung)) });
  for (let i = 0, row; (row = call("tril_option", i)); i++) {
    const option = structAt("TrilOption", row);
    options[option.name] = option;
  }
}

let text = null; // { bytes, made, tokenizer }; the tokenizer is a part of what was made

// ---- records ----

const samplingRecord = more => write("TrilSampling", { ...more, counts: 1, precision: "f32", threads: 1 });

// Returns the options of a training run of a rung, with those that the page sets, by name.
function optionsRecord(rung, chosen) {
  const record = roomFor("TrilOptions");
  call("tril_options", record);
  const own = { model: ladder[rung].name, precision: "f32", threads: 1 };
  for (const [name, value] of Object.entries({ seed: 1337, dropout: 0, ...chosen, ...own })) {
    if (Number.isNaN(value)) throw new Error(`${name}: enter a number`);
    must("tril_options_set", record, name, String(value));
  }
  return record;
}
function rungOf(model) {
  const { rung } = returned("tril_model_sizes", "TrilOptions", model);
  return ladder.findIndex(({ name }) => name === rung);
}
const sizeOf = tokenizer => structAt("TrilTokenizer", tokenizer).size; // of its vocabulary
const tokenizerOf = model => call("tril_model_tokenizer", model);
const glyphOf = (tokenizer, id) => {
  const glyph = room(16); // programs/glyph.h: begins with its text
  call("glyph_of", glyph, tokenizer, id);
  return textAt(glyph);
};
function decode(tokenizer, ids, count) {
  const to = room(4 * count), length = room(4);
  must("tril_decode", tokenizer, ids, count, to, 4 * count, length);
  return bytesAt(to, pointerAt(length)).slice();
}

// ---- files in memory ----

// Returns the bytes of a file that work writes.
function written(work) {
  const length = room(4);
  work(FILE);
  const from = call("memfile_bytes", length), bytes = bytesAt(from, pointerAt(length)).slice();
  call("memfile_remove");
  return bytes;
}
// Returns the result of work, which may read a file with these bytes.
function reading(bytes, work) {
  const to = check(made => made === 0, "memfile_make", bytes.length);
  bytesAt(to, bytes.length).set(bytes);
  try { return work(FILE); } finally { call("memfile_remove"); }
}

// ---- the text ----

// Makes the text of these bytes with the ids of a tokenizer. After a failure changes nothing.
function makeText(tokenizer, bytes) {
  const made = make("tril_text_make", tokenizer, bytes, returned("tril_options", "TrilOptions").held_out);
  leave();
  call("tril_text_free", text?.made ?? 0);
  text = { bytes, made, tokenizer: structAt("TrilText", made).vocab };
}
function takeText(bytes, asBytes) {
  if (bytes.length > MOST_TEXT)
    throw new Error(`a text of ${Math.round(bytes.length / 1e6)} MB is too long for this page, which takes at most ` +
      `${Math.floor(MOST_TEXT / 1e6)} MB; use ./train`);
  const tokenizer = asBytes ? make("tril_tokenizer_make", 0, 0) : make("tril_tokenizer_make", bytes);
  try { makeText(tokenizer, bytes); } finally { call("tril_tokenizer_free", tokenizer); }
}
// Returns the text; with a model, made with the model's ids.
function textOf(model) {
  if (!text) throw new Error("there is no text to train on");
  if (model && !call("tril_tokenizer_same", text.tokenizer, tokenizerOf(model)))
    makeText(tokenizerOf(model), text.bytes);
  return text;
}
// Returns the size of the text, and the losses of counting alone, in windows of the context.
function countText(context) {
  const counts = roomFor("TrilCounts");
  must("tril_text_count", text.made, context, counts);
  const { characters } = structAt("TrilText", text.made);
  return { ...structAt("TrilCounts", counts), characters, vocabulary: sizeOf(text.tokenizer) };
}

// Estimates the memory of a rung's training, and the multiply-adds of a step: forward and twice as much backward, of
// each weight and of attention, which is in each layer of the rungs that can have more than one.
function estimate(rung, chosen) {
  const sized = layers => {
    const to = room(16), vocabulary = text ? sizeOf(text.tokenizer) : 1;
    must("tril_estimate", optionsRecord(rung, { ...chosen, layers }), vocabulary, to, to + 8);
    return { parameters: pointerAt(to), bytes: numberAt(to + 8) };
  };
  const { batch, context, layers, width } = chosen, { parameters, bytes } = sized(layers);
  const depth = sized(2).parameters > sized(1).parameters ? layers : 1;
  return { parameters, bytes, work: 3 * batch * context * (parameters + depth * context * width) };
}
