// The line that the user types: what one model makes of it, in one snapshot of its training run.
let rewound = null;   // a snapshot of the training; null: the latest
let sent = null;      // the snapshot that the reader has
let seen = { r: null, snapshot: null }; // the snapshot whose predictions and maps are shown, and its training
let head = { layer: 0, head: 0 };
let chosen = null;    // the character whose attention and step are shown; null: the last
let maps = [], glyphs = [];
let writing = 0, begunTexts = 0;
const looked = () => Number($("looked").value);
const sampler = () => ({ ...numbersOf("sampler"), seed: 1337 + begunTexts });
const snapshotLooked = () => rewound ?? rungs.get(looked())?.latest ?? null;

function lookAt(rung) {
  if (rung !== looked()) rewound = null;
  $("looked").value = rung;
  look();
  renew();
}

// ---- snapshots ----

function showSnapshots() {
  const r = rungs.get(looked()), all = r?.snapshots ?? [], slider = $("snapshot");
  slider.max = Math.max(1, all.length - 1); // a single snapshot is at its end
  slider.disabled = all.length < 2;
  const at = rewound ? all.findLastIndex(({ step }) => step <= rewound.step) : all.length - 1;
  if (document.activeElement !== slider || !rewound) slider.value = all.length < 2 ? 1 : at;
  const snapshot = seen.r === r && r ? seen.snapshot : snapshotLooked(), last = r?.heldOut.at(-1);
  const loss = !snapshot ? "" : snapshot.loss !== null ? `, loss ${nats(snapshot.loss)}` : last ? `; loss ${nats(last[2])} at step ${last[0]}` : "";
  const text = !snapshot ? "no model yet" : `step ${snapshot.step}${loss}`;
  slider.setAttribute("aria-valuetext", text);
  slider.title = r?.built ? "This model was trained in advance. Train it here to see more snapshots." : "";
  $("about-snapshot").value = `${text}${!r?.built ? "" : all.length < 2 ? "; train here to see earlier snapshots" : `; only ${all.length} snapshots: train here to see more`}`;
}
function rewind() {
  const all = rungs.get(looked())?.snapshots ?? [], at = Number($("snapshot").value);
  rewound = at < all.length - 1 ? all[at] : null;
  look();
  renew();
}

// ---- looking ----

// Gives the reader the model of the snapshot that is looked at, and returns the snapshot; null if there is none.
async function send() {
  const snapshot = snapshotLooked();
  if (snapshot && snapshot !== sent) await reader.ask("take", snapshot.bytes);
  return sent = snapshot;
}
const setSampler = () => reader.ask("setSampler", sampler(), LESSON[lesson].asked);
const look = seldom(() => 30, async () => {
  try {
    await showDrawing();
    const r = rungs.get(looked()), snapshot = await send();
    if (!snapshot) return clearLook("There is no model yet.");
    await setSampler();
    const line = await reader.ask("readLine", $("line").value), read = line.glyphs.length;
    maps = await reader.ask("maps");
    glyphs = line.glyphs;
    seen = { r, snapshot };
    showSnapshots();
    say("about-line", line.nats === null ? "" : `Loss on this line: ${nats(line.nats)} nats per character` +
      (read < [...$("line").value].length ? `; the model reads its last ${read} characters.` : "."));
    showBars(line.next);
    showHeads();
    showArcs();
    await showStep();
    await showDetail();
  } catch (error) {
    clearLook(sentence(error.message) + (error.status === TRIL_TEXT ? ` It knows only these characters: ${await reader.ask("known")}` : ""), true);
  }
});
// Looks again if the model has changed.
const lookSoon = seldom(() => areSeveral() ? 1000 : 500, () => snapshotLooked() !== seen.snapshot && look());

function clearLook(why, wrong = false) {
  sent = seen.r = seen.snapshot = null;
  maps = glyphs = [];
  $("heads").dataset.key = "";
  say("about-line", why, wrong);
  for (const id of ["bars", "arcs", "maps", "about-maps"]) $(id).replaceChildren();
}

// Shows two probabilities of each character.
function showBars(next, list = $("bars"), names = ["model", "picked"], key = "faint: model; strong: with these settings") {
  const bar = p => element("i", { style: `width:${(100 * p).toFixed(2)}%` });
  list.replaceChildren(element("li", { className: "heading", ariaHidden: true }, element("span"), element("span", { textContent: key }),
    ...names.map(textContent => element("span", { textContent }))),
    ...next.map(({ glyph, p, picked }) => element("li", { ariaLabel: `${glyph}: ${names[0]} ${percent(p)}, ${names[1]} ${percent(picked)}` },
      element("span", { className: "glyph", textContent: glyph }), element("span", { className: "bar" }, bar(p), bar(picked)),
      element("span", { textContent: percent(p) }), element("span", { textContent: percent(picked) }))));
}

// ---- attention ----

const weightsIn = figure => figure.match(/data-weights="([^"]*)"/)[1].split(";").map(row => row.split(",").map(Number));

// Shows a small map of each head. The one that is chosen, or under the pointer, has its arcs on the line.
function showHeads() {
  const key = `${looked()} ${maps.map(m => `${m.layer}.${m.head}`).join()}`;
  if ($("heads").dataset.key !== key) {
    $("heads").dataset.key = key;
    if (!maps.some(m => m.layer === head.layer && m.head === head.head)) head = { layer: 0, head: 0 };
    const choose = next => { head = next; showArcs(); showDetail(); };
    $("maps").replaceChildren(...maps.map(({ layer, head }, i) => element("button", {
      type: "button", ariaLabel: `layer ${layer}, head ${head}`, onclick: () => choose({ layer, head }), onpointerenter: () => showArcs({ layer, head }),
      onpointermove: event => pointAtMap(event, i), onpointerleave: () => showArcs()
    }, element("span", { className: "map-of" }), element("span", { textContent: maps.length > 1 ? `L${layer} H${head}` : ladder[looked()].name }))));
    const shade = share => element("span", { className: "shade", style: `--share: ${Math.sqrt(share / 100)}`, textContent: `${share}%` });
    $("about-maps").replaceChildren(...maps.length === 0 ? ["No attention here: a bigram sees the last character only."] :
      ["Each row looks at the columns: ", shade(5), shade(25), shade(100), maps.length > 1 ? ". L: layers, in turn; H: heads, in parallel." : "."]);
  }
  maps.forEach(({ figure }, i) => {
    const svg = element("template", { innerHTML: figure }).content.querySelector("svg");
    const { width } = svg.viewBox.baseVal, AXIS = 19, CELL = 14, LEAST = 7.4; // AXIS and CELL: of extras/page/map.c; LEAST: pixels of a letter
    const lettered = $("maps").children[i].clientWidth * CELL >= LEAST * width;
    svg.classList.toggle("lettered", lettered);
    if (!lettered) svg.setAttribute("viewBox", `${AXIS} ${AXIS} ${width - AXIS} ${width - AXIS}`);
    svg.setAttribute("aria-hidden", true);
    for (const id of [svg, ...svg.querySelectorAll("[id], title")]) if (id.localName === "title") id.remove(); else id.removeAttribute("id");
    $("maps").children[i].firstChild.replaceChildren(svg);
  });
}

// Shows the arcs of the row under the pointer, and its cell as a tooltip.
function pointAtMap({ currentTarget: button, clientX, clientY }, i) {
  const box = button.querySelector(".cells").getScreenCTM(), { layer, head, figure } = maps[i], t = Math.floor((clientY - box.f) / box.d), s = Math.floor((clientX - box.e) / box.a);
  const weight = weightsIn(figure)[t]?.[s], title = weight === undefined ? "" : `Row “${glyphs[t]}”, column “${glyphs[s]}”: ${percent(weight / 1000)}`;
  if (title && title !== button.title) showArcs({ layer, head }, t);
  button.title = title;
}

const placeChosen = () => Math.min(chosen ?? Infinity, glyphs.length - 1);

// Draws the line, with arcs from one character to those that it attends to, as thick as the weights: from the character under
// the pointer or, without one, from the character that was chosen by a click or the keys.
function showArcs(of = head, t = placeChosen()) {
  const SHOWN = 44, FEW = 26, CELL = 13, HIGH = 62, T = glyphs.length, from = Math.max(0, T - SHOWN), map = maps.find(m => m.layer === of.layer && m.head === of.head);
  const x = s => CELL * (s - from) + CELL / 2, weights = map ? weightsIn(map.figure)[t] : [];
  const arcs = weights.flatMap((w, s) => w < 20 || s < from ? [] : [drawn("path", {
    d: s === t ? `M${x(t) - 3} ${HIGH}c-5 -12 11 -12 6 0` : `M${x(t)} ${HIGH}Q${(x(s) + x(t)) / 2} ${HIGH - Math.min(2 * HIGH, 24 + 8 * (t - s))} ${x(s)} ${HIGH}`,
    "stroke-width": (0.6 + w / 160).toFixed(2), "stroke-opacity": (0.5 + w / 2000).toFixed(2) })]);
  const letters = glyphs.slice(from).map((glyph, i) => drawn("text", {
    x: x(from + i), y: HIGH + 14, class: from + i === t ? "here" : "", "fill-opacity": from + i > t ? 0.35 : 1 }, glyph));
  const svg = drawn("svg", { viewBox: `0 0 ${CELL * Math.max(FEW, Math.min(T, SHOWN))} ${HIGH + 20}`, role: "slider", tabindex: 0, "aria-label": "The character whose attention is shown",
    "aria-valuemin": 1, "aria-valuemax": T, "aria-valuenow": t + 1 }, drawn("g", { class: "arcs" }, ...arcs), drawn("g", { class: "letters" }, ...letters));
  const best = weights.map((w, s) => [w, s]).sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([w]) => w > 0);
  const said = map ? `Layer ${of.layer}, head ${of.head}: “${glyphs[t]}” gives ${best.map(([w, s], i) => `${Math.round(w / 10)}%${i > 0 ? "" : " of its attention"} to ${s === t ? "itself" : `“${glyphs[s]}” (${t - s} back)`}`).join(", ")}.` : "";
  svg.setAttribute("aria-valuetext", said || `“${glyphs[t]}”`);
  const choose = to => { chosen = Math.max(0, Math.min(T - 1, to)); showArcs(of); showStep(); showDetail(); };
  const pointed = act => event => {
    const box = svg.getScreenCTM(), to = Math.floor((event.clientX - box.e) / box.a / CELL) + from;
    if (to >= from && to < T) act(to);
  };
  svg.onpointerdown = pointed(choose);
  svg.onpointermove = pointed(to => { if (to !== t) showArcs(of, to); });
  svg.onpointerleave = () => showArcs();
  svg.onkeydown = event => {
    const to = { ArrowLeft: t - 1, ArrowRight: t + 1, Home: from, End: T - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to);
  };
  const focused = $("arcs").contains(document.activeElement);
  $("arcs").replaceChildren(svg, element("p", { className: "note", textContent: said.replace(/^Layer (\d+), head (\d+): /, maps.length > 1 ? "L$1 H$2: " : "") }));
  if (focused) svg.focus({ preventScroll: true });
  [...$("heads").querySelectorAll("button")].forEach((button, i) => button.setAttribute("aria-pressed", maps[i].layer === head.layer && maps[i].head === head.head));
}

// ---- writing ----

function listSampler() {
  addNumbers("sampler", [
    { name: "temperature", help: "higher is bolder; 0: always the likeliest", min: 0, step: 0.1, defaultValue: 0.8 },
    { name: "top_k", label: "top-k", help: "choose among the k likeliest; 0: among all", min: 0, step: 1, defaultValue: 0 },
    { name: "top_p", label: "top-p", help: "of these, choose among the likeliest that together have this share", min: 0.05, max: 1, step: 0.05, defaultValue: 1 }]);
}
async function resample() {
  if (!sent) return;
  try {
    await setSampler();
    showBars((await reader.ask("next")).next);
  } catch { look(); }
}

// Shows the text that a model writes or, without a name, the lines of all.
function showWritten(name) {
  $("about-samples").textContent = name ? `${name} continues` : "What they write";
  $("write").textContent = name ? "Stop" : "Continue the line";
  $("written").hidden = !name;
  $("samples").hidden = Boolean(name);
}
function closeWritten() {
  writing = 0;
  showWritten("");
}

// Continues the line, some characters at a time, until Stop or the end. Close then shows the lines of all models again.
async function writeLine() {
  const LENGTH = 1000, PIECE = 20;
  if (writing) { writing = 0; return; }
  if (!$("written").hidden) return closeWritten();
  if (!await send()) return say("about-line", "There is no model yet.", true);
  const own = writing = ++begunTexts;
  showWritten(ladder[looked()].name);
  try {
    await setSampler();
    await reader.ask("prompt", sent.bytes, $("line").value);
    const out = element("span");
    $("written").replaceChildren(element("span", { className: "prompt", textContent: $("line").value }), out);
    for (let length = 0; length < LENGTH && writing === own;) {
      await setSampler();
      const text = await reader.ask("writeOn", PIECE, 20);
      length += [...text].length;
      out.append(text);
      $("written").scrollTop = $("written").scrollHeight;
      await new Promise(requestAnimationFrame);
    }
  } catch (error) {
    say("about-line", sentence(error.message), true);
  }
  if (begunTexts !== own || $("written").hidden) return; // closed meanwhile
  writing = 0;
  $("write").textContent = "Close";
}
