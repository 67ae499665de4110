// The model as a diagram, made from the lines of its computation (TrilLine): a row for the embedding, for each branch
// of the residual stream, and for the end. Of the layers, which have the same blocks, the first one is open. A block is
// a line; a click unfolds it in numbers, and a training step colors it by its gradient.
let drawnKey = "", unfolded = null; // the block that is unfolded: { i, does }
let explaining = null;              // the last explanation that began
const blocks = () => [...$("drawing").querySelectorAll(".block")];

/** @type {[RegExp, string][]} */
const ROLES = [[/q_proj|query/, "query"], [/k_proj|key/, "key"], [/v_proj|value/, "value"], [/qkv|c_attn/, "q, k, v"],
  [/gate_proj/, "gate"], [/up_proj|c_fc/, "up"], [/down_proj|mlp.c_proj/, "down"], [/ngram_proj/, "counts"],
  [/ngram_gate/, "trust"], [/lm_head|wte|embed_tokens/, "logits"], [/proj/, "project"]];
/** @type {Record<string, string>} */
const DOES = { // of each block, by its name or, where that says less, by its operation
  table: "Has a row for each character: how likely every character is to follow it.",
  embed: "Turns each character into a list of numbers.",
  norm: "Brings the numbers of each character to one scale, so that no character drowns the others.",
  "q, k, v": "Makes three lists for each character: what it looks for (query), what it offers (key), and what it " +
    "passes on (value).",
  query: "Says what each character looks for.", key: "Says what each character offers to those that look.",
  value: "Says what each character passes on to those that attend to it.",
  attend: "Each character takes from the earlier ones, most from those whose keys fit its query.",
  mean: "Each character takes the same share from all characters so far.",
  project: "Combines what was taken into one list for each character.",
  "+": "Adds the result to what is already known about each character.",
  up: "Compares each character with the patterns of many neurons.", gate: "Says how far each neuron opens.",
  GELU: "Lets a neuron respond where its pattern fits; where it does not, almost nothing is left.",
  SwiGLU: "Lets a neuron respond as far as its gate opens.",
  down: "Turns what the neurons respond to into numbers that can be added.",
  rotate: "Rotates queries and keys by their positions, so that attention knows how far apart two characters are.",
  conv: "Mixes into each character some of its last neighbors.",
  count: "Looks up what followed these last characters in the text.",
  counts: "Turns the counts into numbers that the network can read.",
  trust: "Says how far to trust the counts here.", trusted: "Adds what counting predicts, as far as it is trusted.",
  logits: "Gives a number to every character that may come next: the higher, the likelier."
};
const NAMES = { layernorm: "norm", rmsnorm: "norm", convolution: "conv", attention: "attend", embedding: "embed",
  counted: "count", trusted: "+", swiglu: "SwiGLU", gelu: "GELU", rotary: "rotate", add: "+" };

// Returns the two texts of a block, and what it does in plain words.
function label({ operation, heads, weights, output, alone }) {
  const [tensor] = weights, known = ROLES.find(([pattern]) => pattern.test(tensor?.name))?.[1];
  const role = operation === "linear" && (known ?? "linear");
  const shape = operation === "linear" && tensor ? `${tensor.columns}→${tensor.rows}` :
    operation === "embedding" ? `${tensor.rows}×${tensor.columns}` : operation === "attention" ? some(heads, "head") :
    operation === "convolution" ? `${tensor.rows} taps` : `${output.width}`;
  const name = role || alone && "table" || NAMES[operation] || operation;
  return { name, shape, does: DOES[operation] ?? DOES[name] ?? "" };
}

// Cuts the lines into rows: { layer, kind, lines: [{ i, depth, ... }] }. A branch ends with its sum.
function rowsOf(lines) {
  const rows = [], counts = lines.some(line => line.operation === "counted");
  let row = [];
  const end = kind => { if (row.length > 0) rows.push({ kind, layer: row.at(-1).layer, lines: row }); row = []; };
  lines.forEach((line, i) => {
    const made = number => row.find(other => other.output.number === number);
    const before = line.inputs.map(array => made(array.number)?.depth ?? -1);
    row.push({ ...line, i, alone: lines.length === 1, depth: Math.max(-1, ...before) + 1 });
    if (rows.length === 0 && line.operation === (counts ? "add" : "embedding")) end("embedding");
    else if (line.operation === "add") end(row.some(line => line.attends) ? "attention" : "MLP");
  });
  end("end");
  return rows;
}

// Marks the blocks that the rung below does not have in the row of the same kind and layer.
function markNew(rows, below) {
  const place = ({ kind, layer }) => kind === "end" ? kind : `${kind} ${layer}`;
  const sign = (row, line) => [place(row), line.operation === "linear" ? label(line).name : line.operation,
    line.attends && line.heads].join();
  const known = new Set(below.flatMap(row => row.lines.map(line => sign(row, line))));
  for (const row of rows) for (const line of row.lines) line.fresh = !known.has(sign(row, line));
}

// Draws a row: its blocks as buttons, in a column those that need the same blocks before them.
function drawRow({ lines }) {
  const columns = [];
  for (const line of lines) (columns[line.depth] ??= []).push(line);
  return element("div", { className: "flow" }, ...columns.map(column => element("div", {}, ...column.map(line => {
    const { name, shape, does } = label(line), isNew = line.fresh ? "; new in this model" : "";
    return element("button", { type: "button", className: `block${line.fresh ? " fresh" : ""}`,
      title: `${does}\n${line.equation}`, ariaLabel: `${name}: ${does} ${shape}${isNew}`,
      ariaExpanded: "false", onclick: () => unfold(line.i, does) },
    element("b", { textContent: name }), element("span", { textContent: shape }));
  }))));
}

// Draws the model in full or, before it is trained, the one that would be trained. Does nothing if that is drawn
// already.
async function showDrawing() {
  const rung = looked, run = lab.get(rung), { layers, heads, width, context } = run ?? options();
  const key = [rung, layers, heads, width, context, taken.bytes.length].join();
  if (key === drawnKey) return;
  const small = { layers: Math.min(layers, 4), heads, width: 4 * heads, context: 8, batch: 1 };
  const sizes = run ? { layers, heads: heads || 1, width, context } : options();
  const lines = await reader.ask("linesOfRung", rung, { ...sizes, batch: 1 }), rows = rowsOf(lines);
  if (rung > 0) markNew(rows, rowsOf(await reader.ask("linesOfRung", rung - 1, small)));
  if (rung !== looked) return;
  const parts = [], isFlat = lines.at(-1).layer === 0; // one layer
  for (const row of rows) {
    const section = element("section", {}, element("h4", { textContent: row.kind }), drawRow(row)), at = row.layer;
    const isAlone = isFlat || row === rows[0] || row === rows.at(-1);
    if (!isAlone && at !== Number(parts.at(-1).dataset.layer)) {
      parts.push(element("details", { open: at === 0 }, element("summary", { textContent: `layer ${at}` })));
      parts.at(-1).dataset.layer = String(at);
    }
    if (isAlone) parts.push(section); else parts.at(-1).append(section);
  }
  drawnKey = key;
  unfolded = null;
  const { name, idea } = ladder[rung];
  $("about-drawing").replaceChildren(element("b", { textContent: name }), `: ${idea}. `, ...rung === 0 ? [] :
    [element("mark", { textContent: "Marked" }), ` blocks are not in ${ladder[rung - 1].name}. `],
  "Click a block for its numbers.");
  $("drawing").replaceChildren(...parts);
  rove($("drawing"), ".block");
  explain();
}

// ---- in numbers ----

const until = (glyphs, t, most) => glyphs.slice(Math.max(0, t + 1 - most), t + 1).join("");

// Shows the numbers of a block below its row, or hides them if they are shown.
function unfold(i, does) {
  unfolded = unfolded?.i === i ? null : { i, does };
  $("detail")?.remove();
  blocks().forEach((block, other) => block.setAttribute("aria-expanded", String(other === unfolded?.i)));
  if (unfolded)
    blocks()[i].closest("section").after(element("div", { id: "detail", role: "region", ariaLabel: "In numbers" }));
  explain();
}

// Shows the step and the numbers of the character that is chosen.
async function explain() {
  const { seen, row } = bench, stepping = $("step").open, own = explaining = {};
  if (!seen || !unfolded && !stepping) return;
  const place = Math.min(row ?? Infinity, seen.glyphs.length - 1);
  const ask = (task, ...values) => reader.ask(task, seen.snapshot.bytes, seen.text, ...values);
  let line, step;
  try {
    line = unfolded && await ask("numbersOf", unfolded.i, place);
    step = stepping && place > 0 && await ask("takeStep", place);
  } catch { return; } // such as for a line that is being read again
  if (own !== explaining) return; // another character or block meanwhile, or none
  if (line) showDetail(line, seen.glyphs, place);
  if (stepping) showStep(step, seen.glyphs, place);
}

function showDetail({ title, rows, equation, neuron, active = [] }, glyphs, place) {
  const columns = element("div"), caption = element("p", { className: "note" });
  $("detail").replaceChildren(element("h4", { textContent: title }), element("p", { textContent: unfolded.does }),
    element("p", { className: "note", textContent: `For “${until(glyphs, place, 9)}”${place === glyphs.length - 1 ?
      ", the end of the line. Click another character of the line for its numbers" : ", which was chosen"}.` }),
    element("div", { className: "wide", tabIndex: 0, role: "group", ariaLabel: "numbers, wider than the page" },
      element("table", { id: "numbers" }, element("tbody", {}, ...rows.map(({ name, width, numbers }) =>
        tableRow(name, [...numbers.map(x => x.toFixed(3)), width > numbers.length ? `… ${width} numbers` : ""]))))),
    element("p", { className: "note", textContent: `${equation}.` }),
    ...active.length > 0 ? [columns, caption] : []);
  if (active.length > 0) drawNeuron(columns, { neuron, active }, { glyphs, row: place, color: ladder[looked].name });
}

// Colors each block by the size of the gradient of its output, and each layer by its largest; or all by none.
function paint(sizes) {
  const most = Math.max(...sizes), size = new Map(blocks().map((block, i) => [block, sizes[i]]));
  for (const summary of $("drawing").querySelectorAll("summary"))
    size.set(summary, Math.max(...[...summary.parentElement.querySelectorAll(".block")].map(block => size.get(block))));
  for (const [box, own] of size) {
    box.style.setProperty("--share", Math.sqrt(own / most) || "");
    for (const [name, word] of [["data-size", ""], ["aria-description", "gradient "]])
      if (own >= 0) box.setAttribute(name, word + own.toPrecision(2)); else box.removeAttribute(name);
  }
}

// Explains a step: the loss of predicting the chosen character, the gradient that comes back through each block as a
// color on the diagram, and the prediction before and after the step.
function showStep(step, glyphs, place) {
  const [, words, bars] = $("step").children;
  bars.hidden = !step;
  paint(step?.sizes ?? []);
  if (!step) {
    words.textContent = "Nothing stands before the first character, so the model cannot predict it. Click another one.";
    return;
  }
  const { rate, glyph, loss, next } = step, [before, after] = loss.map(loss => percent(Math.exp(-loss)));
  words.textContent = `“${glyph}” after “${until(glyphs, place - 1, 8)}”: the model gave it ${before} (faint bar), ` +
    `a loss of −ln ${Math.exp(-loss[0]).toPrecision(3)} = ${loss[0].toFixed(3)}. The gradient says how fast the loss ` +
    "rises with each weight. It flows back from the logits to the embedding: the more color, the larger it is. A " +
    `small step subtracts ${rate.toPrecision(1)} times the gradient. Then the model gives it ${after} (strong bar), ` +
    `a loss of ${loss[1].toFixed(3)}. (Training does so for a batch, with an optimizer.) Click another character of ` +
    "the line.";
  drawBars(bars, { rows: next, color: ladder[looked].name, names: ["before", "after"], label: "Before and after" });
}
