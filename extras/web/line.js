// The line that the user types: what one model makes of it, in one snapshot of its training run.
let rewound = null;   // a snapshot of the training; null: the latest
let sent = null;      // the snapshot that the reader has
let seen = { r: null, snapshot: null }; // the snapshot whose predictions and maps are shown, and its training
let head = { layer: 0, head: 0 };
let chosen = null;    // the character whose attention and step are shown; null: the last
let maps = [], glyphs = [];
let writing = 0, begunTexts = 0;
const looked = () => Number($("looked").value);
// A number that is being typed counts as the usual one until it is in range.
const inRange = ({ value, validity }) => value !== "" && !validity.rangeUnderflow && !validity.rangeOverflow;
const sampler = () => ({ ...Object.fromEntries([...$("sampler").querySelectorAll("input")].map(input =>
  [input.name, Number(inRange(input) ? input.value : input.defaultValue)])), seed: 1337 + begunTexts });
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
  $("about-snapshot").value = `${text}${!r?.built ? "" : all.length < 2 ? "; train here to see earlier snapshots" : `; only ${all.length} snapshots, train to see more`}`;
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
    const all = await reader.ask("maps");
    if (rungs.get(looked()) !== r) return; // another model was chosen meanwhile, and is looked at next
    maps = all;
    glyphs = line.glyphs;
    seen = { r, snapshot };
    showSnapshots();
    say("about-line", !Number.isFinite(line.nats) ? "" : `Loss on this line: ${nats(line.nats)} nats per character` +
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
const lookSoon = seldom(() => isCrowded() ? 1000 : 500, () => snapshotLooked() !== seen.snapshot && look());

function clearLook(why, wrong = false) {
  sent = seen.r = seen.snapshot = null;
  maps = glyphs = [];
  $("heads").dataset.key = "";
  say("about-line", why, wrong);
  for (const id of ["bars", "arcs", "maps", "about-maps"]) $(id).replaceChildren();
}

// Shows two probabilities of each character.
function showBars(next, list = $("bars"), names = ["model", "picked"], key = "faint: model; strong: picked") {
  const bar = p => element("i", { style: `width:${(100 * p).toFixed(2)}%` });
  list.replaceChildren(element("li", { className: "heading", ariaHidden: true }, element("span"), element("span", { textContent: key }),
    ...names.map(textContent => element("span", { textContent }))),
    ...next.map(({ glyph, p, picked }) => element("li", { ariaLabel: `${glyph}: ${names[0]} ${percent(p)}, ${names[1]} ${percent(picked)}` },
      element("span", { className: "glyph", textContent: glyph }), element("span", { className: "bar" }, bar(p), bar(picked)),
      element("span", { textContent: percent(p) }), element("span", { textContent: percent(picked) }))));
}

// ---- writing ----

function listSampler() {
  addNumbers("sampler", [
    { name: "temperature", help: "higher is bolder; 0: always the likeliest", min: 0, step: 0.1, defaultValue: 0.8 },
    { name: "top_k", label: "top-k", help: "choose among the k likeliest; 0: among all", min: 0, step: 1, defaultValue: 0 },
    { name: "top_p", label: "top-p", help: "of these, choose among the likeliest that together have this share", min: 0.05, max: 1, step: 0.05, defaultValue: 1 }]);
}
async function resample() {
  if (!sent) return look();
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
