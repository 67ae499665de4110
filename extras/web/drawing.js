// The model as a drawing, made from the lines of its computation (TrilLine): a row for the embedding, for each branch of
// the residual stream, and for the end. Of the layers, which have the same blocks, one is shown. A block is a line; a click
// unfolds it in numbers.
const DRAWING = { width: 54, height: 25, across: 7, down: 3, left: 28 }; // of a block, between blocks, beside the stream
let drawnKey = "", unfolded = null; // the line that is unfolded: { i, layer, does }
let drawnLayers = [];               // of each layer its rows: { section, lines }

/** @type {[RegExp, string][]} */
const ROLES = [[/q_proj|query/, "query"], [/k_proj|key/, "key"], [/v_proj|value/, "value"], [/qkv|c_attn/, "q, k, v"], [/gate_proj/, "gate"], [/up_proj|c_fc/, "up"],
  [/down_proj|mlp.c_proj/, "down"], [/ngram_proj/, "counts"], [/ngram_gate/, "trust"], [/lm_head|wte|embed_tokens/, "logits"], [/proj/, "project"]];
/** @type {Record<string, string>} */
const DOES = { // of each block, by its name or, where that says less, by its operation
  table: "Has a row for each character: how likely every character is to follow it.",
  embed: "Turns each character into a list of numbers.",
  norm: "Brings the numbers of each character to one scale, so that no character drowns the others.",
  "q, k, v": "Makes three lists for each character: what it looks for (query), what it offers (key), and what it passes on (value).",
  query: "Says what each character looks for.", key: "Says what each character offers to those that look.", value: "Says what each character passes on to those that attend to it.",
  attend: "Each character takes from the earlier ones, most from those whose keys fit its query.",
  mean: "Each character takes the same share from all characters so far.",
  project: "Combines what was taken into one list for each character.",
  "+": "Adds the result to what is already known about each character.",
  up: "Compares each character with the patterns of many neurons.", gate: "Says how far each neuron opens.",
  GELU: "Lets a neuron respond where its pattern fits; where it does not, almost nothing is left.",
  SwiGLU: "Lets a neuron respond as far as its gate opens.", down: "Turns what the neurons respond to into numbers that can be added.",
  rotate: "Rotates queries and keys by their positions, so that attention knows how far apart two characters are.",
  conv: "Mixes into each character some of its last neighbors.",
  count: "Looks up what followed these last characters in the text.", counts: "Turns the counts into numbers that the network can read.",
  trust: "Says how far to trust the counts here.", trusted: "Adds what counting predicts, as far as it is trusted.",
  logits: "Gives a number to every character that may come next: the higher, the likelier."
};
const NAMES = { layernorm: "norm", rmsnorm: "norm", convolution: "conv", attention: "attend", embedding: "embed", counted: "count", trusted: "+", swiglu: "SwiGLU", gelu: "GELU", rotary: "rotate", add: "+" };

// Returns the two texts of a block, and what it does in plain words.
function label({ operation, heads, weights, output, alone }) {
  const [tensor] = weights, role = operation === "linear" && (ROLES.find(([pattern]) => pattern.test(tensor?.name))?.[1] ?? "linear");
  const shape = operation === "linear" && tensor ? `${tensor.columns}→${tensor.rows}` : operation === "embedding" ? `${tensor.rows}×${tensor.columns}` :
    operation === "attention" ? `${heads} head${heads > 1 ? "s" : ""}` : operation === "convolution" ? `${tensor.rows} taps` : `${output.width}`;
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
    if (rows.length === 0 && (line.operation === "embedding" && !counts || line.operation === "add" && counts)) end("embedding");
    else if (line.operation === "add") end(row.some(line => line.attends) ? "attention" : "MLP");
  });
  end("end");
  return rows;
}

// Marks the blocks that the rung below does not have, in the row of the same kind and layer.
function markNew(rows, below) {
  const sign = line => `${line.operation} ${line.operation === "linear" ? label(line).name : ""} ${line.operation === "attention" ? line.heads : ""}`;
  for (const { kind, layer, lines } of rows) {
    const left = (below.find(row => row.kind === kind && (row.layer === layer || kind === "end"))?.lines ?? []).map(sign);
    for (const line of lines) {
      const at = left.indexOf(sign(line));
      line.fresh = at < 0;
      if (at >= 0) left.splice(at, 1);
    }
  }
}

// Draws a row: its blocks as buttons over the lines between them.
function drawRow({ kind, layer, lines }, last) {
  const { width, height, across, down, left } = DRAWING, columns = [];
  for (const line of lines) (columns[line.depth] ??= []).push(line);
  const most = Math.max(...columns.map(column => column.length)), high = most * (height + down) + down + 2, middle = (high - down) / 2;
  const place = line => {
    const column = columns[line.depth], step = height + down;
    return { x: left + line.depth * (width + across), y: middle - (column.length * step - down) / 2 + column.indexOf(line) * step + height / 2 };
  };
  const made = number => lines.find(line => line.output.number === number), paths = [];
  for (const line of lines) {
    const to = place(line), from = line.inputs.map(array => made(array.number)).filter(Boolean).map(place);
    if (line.inputs.some(array => !made(array.number)) && line.operation !== "add" && line.operation !== "rotary") from.push({ x: 12 - width, y: middle });
    for (const { x, y } of from) paths.push(`M${x + width} ${y}C${x + width + across * 0.7} ${y} ${to.x - across * 0.7} ${to.y} ${to.x} ${to.y}`);
  }
  const end = place(lines.at(-1)), wide = left + columns.length * (width + across), adds = lines.at(-1).operation === "add";
  if (adds || kind === "embedding" && !last) paths.push(`M${end.x + width} ${end.y}h6V${high - 3}H12`);
  const stream = kind !== "embedding" ? `M12 0V${last ? middle : high}` : last ? "" : `M12 ${high - 3}V${high}`;
  const svg = drawn("svg", { width: wide, height: high, "aria-hidden": true }, drawn("path", { class: "stream", d: stream }), drawn("path", { d: paths.join("") }));
  return element("div", { className: "flow", style: `width: ${wide}px; height: ${high}px` }, svg, ...lines.map(line => {
    const { x, y } = place(line), { name, shape, does } = label(line);
    return element("button", {
      type: "button", className: `block ${line.operation}${line.fresh ? " fresh" : ""}`, style: `left: ${x}px; top: ${y - height / 2}px`, title: `${does}\n${line.equation}`,
      ariaLabel: `${name}: ${does} ${shape}${line.fresh ? "; new in this model" : ""}`, onclick: () => unfold({ ...line, does })
    }, element("b", { textContent: name }), element("span", { textContent: shape }));
  }));
}

// Draws the model that is looked at or, before it is trained, the one that would be trained. Does nothing if that is drawn already.
async function showDrawing() {
  const rung = looked(), r = rungs.get(rung), { layers, heads, width, context } = r ?? options(), key = [rung, layers, heads, width, context, taken.bytes.length].join();
  if (key === drawnKey) return showLayer();
  const small = { layers: Math.min(layers, 4), heads, width: 4 * heads, context: 8, batch: 1 };
  const lines = await reader.ask("linesOfRung", rung, { ...(r ? { layers, heads: heads > 0 ? heads : 1, width, context } : options()), batch: 1 });
  const below = rung === 0 ? [] : rowsOf(await reader.ask("linesOfRung", rung - 1, small)), rows = rowsOf(lines);
  if (rung > 0) markNew(rows, below);
  const sections = rows.map((row, n) => element("section", { className: row.kind }, element("h3", { textContent: row.kind }),
    element("div", { className: "wide" }, drawRow(row, n === rows.length - 1))));
  drawnKey = key;
  unfolded = null;
  drawnLayers = [];
  rows.slice(1, -1).forEach(({ layer, lines }, n) => (drawnLayers[layer] ??= []).push({ section: sections[n + 1], lines }));
  $("drawing").scrollTop = 0;
  $("drawing").replaceChildren(
    element("p", { className: "note" }, element("b", { textContent: ladder[rung].name }), `: ${LESSON[rung].plain} `,
      ...(rung > 0 ? [element("mark", { textContent: "Marked" }), ` blocks are not in ${ladder[rung - 1].name}. `] : []), "Click a block for its numbers.",
      element("span", { className: "row" }, element("button", { type: "button", id: "one-step", textContent: "A training step", ariaPressed: stepping, onclick: toggleStep }))),
    sections[0], element("div", { className: "repeated" },
      element("div", { className: "row layers", hidden: drawnLayers.length < 2 }, "layer", ...drawnLayers.map((_, layer) =>
        element("button", { type: "button", textContent: layer, ariaLabel: `layer ${layer}`, onclick: () => chooseHead({ ...head, layer }) }))),
      ...sections.slice(1, -1)), ...sections.slice(1).slice(-1));
  showLayer();
}

// Shows the rows of the layer of the head that is chosen, and there the numbers of the block that was unfolded in another.
function showLayer() {
  const layer = Math.min(head.layer, drawnLayers.length - 1), blocks = $("drawing").querySelectorAll(".block");
  drawnLayers.forEach((rows, other) => rows.forEach(({ section }) => { section.hidden = other !== layer; }));
  $("drawing").querySelectorAll(".layers button").forEach((button, other) => button.setAttribute("aria-pressed", other === layer));
  const of = drawnLayers.map(rows => rows.flatMap(({ lines }) => lines.map(({ i }) => i))), at = unfolded ? of[unfolded.layer]?.indexOf(unfolded.i) ?? -1 : -1;
  if (at >= 0 && unfolded.layer !== layer) blocks[of[layer][at]].click();
}

// ---- in numbers ----

// Shows the numbers of a line below its row, or hides them if they are shown.
function unfold({ i, layer, does }) {
  unfolded = unfolded?.i === i ? null : { i, layer, does };
  document.querySelector("#detail")?.remove();
  for (const block of $("drawing").querySelectorAll("button")) block.removeAttribute("aria-expanded");
  if (!unfolded) return;
  const button = [...$("drawing").querySelectorAll(".block")][i], row = button.closest(".wide");
  button.setAttribute("aria-expanded", true);
  row.after(element("div", { id: "detail", tabIndex: 0, role: "region", ariaLabel: "In numbers" }));
  showDetail().then(() => row.scrollIntoView({ block: "start" }));
}

// Writes the numbers of the unfolded line, but during a training run not so often that the user cannot read them.
let detailAt = 0;
async function showDetail() {
  const READING = 4000, box = $("detail");
  if (!unfolded || !box || maps === null || glyphs.length === 0) return;
  if (state === "training" && box.childElementCount > 0 && (performance.now() - detailAt < READING || box.matches(":focus-within"))) return;
  detailAt = performance.now();
  const place = placeChosen(), { i, does } = unfolded;
  let line;
  try {
    line = await reader.ask("numbersOf", i, place);
  } catch (error) { // also while the line is read again; its numbers follow then
    return say("about-line", sentence(error.message), true);
  }
  const cells = numbers => numbers.map(x => element("td", { textContent: x.toFixed(3) }));
  const end = t => glyphs.slice(Math.max(0, t - 5), t + 1).join("");
  const rows = line.rows.map(({ name, width, numbers }) => element("tr", {}, element("th", { textContent: name, scope: "row" }), ...cells(numbers),
    element("td", { textContent: width > numbers.length ? `… ${width} numbers` : "" })));
  const active = (line.places ?? []).map(({ t, y }) => element("tr", {}, element("th", { textContent: end(t), scope: "row" }), element("td", { textContent: y.toFixed(2) })));
  box.replaceChildren(element("h2", { textContent: line.title }), element("p", { textContent: does }),
    element("p", { className: "note", textContent: `For “${glyphs.slice(Math.max(0, place - 8), place + 1).join("")}”, ` + (place === glyphs.length - 1 ?
      "the end of the line. Click another character in the line for its numbers." : "the character chosen in the line.") }),
    element("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: "numbers, wider than the page" }, element("table", { className: "numbers" }, element("tbody", {}, ...rows))),
    ...(active.length > 0 ? [element("p", { textContent: `Neuron ${line.neuron} is the most active there. Where it is most active in the line:` }),
      element("table", { id: "neuron" }, element("tbody", {}, ...active))] : []),
    element("p", { className: "note", textContent: `${line.equation}.` }));
}
