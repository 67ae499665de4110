"use strict";
// The page: hands input to the worker, and shows its answers. Computes nothing but the
// layout.
const $ = id => document.getElementById(id);
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
const say = (where, text, wrong = false) => {
  if ($(where).textContent !== text) $(where).textContent = text;
  $(where).classList.toggle("wrong", wrong);
};
const count = number => Math.round(number).toLocaleString("en");
const duration = seconds => seconds < 1 ? "a second" : seconds < 100 ? `${Math.round(seconds)} s` :
  seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
const sentence = text => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

// ---- the worker ----

let worker, ladder = [], table = [], limit = 0, waiting = new Map(), asked = 0;

// Returns the bytes that extras/web/join has compressed.
const unpack = async text => new Uint8Array(await new Response(new Blob([Uint8Array.from(atob(text), c => c.charCodeAt(0))]).stream()
  .pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());

// Takes two files apart whose pieces are in turns.
function unweave(both, length) {
  const PIECE = 8192, first = new Uint8Array(length), other = new Uint8Array(both.length - length);
  for (let at = 0, from = 0; from < both.length; at += PIECE)
    for (const file of [first, other]) {
      const piece = both.subarray(from, from + Math.max(0, Math.min(PIECE, file.length - at)));
      file.set(piece, at < file.length ? at : 0);
      from += piece.length;
    }
  return [first, other];
}

// Sends a task to the worker; the promise gets its answer, or throws its sentence.
function ask(task, more = {}) {
  return new Promise((resolve, reject) => {
    waiting.set(++asked, { resolve, reject });
    worker.postMessage({ id: asked, task, ...more });
  });
}

function hear({ data }) {
  if (data.progress) return showProgress(data.progress);
  if (data.broken) return restart(data.broken);
  const { resolve, reject } = waiting.get(data.id);
  waiting.delete(data.id);
  if (data.error) reject(new Error(data.error)); else resolve(data.answer);
}

async function startWorker() {
  const source = new Blob([$("worker").textContent], { type: "text/javascript" });
  worker = new Worker(URL.createObjectURL(source));
  worker.onmessage = hear;
  worker.onerror = event => { event.preventDefault(); restart(event.message); };
  const [length, packed] = $("modules").textContent.trim().split(" ");
  const [relaxed, simd] = unweave(await unpack(packed), Number(length));
  const opened = await ask("open", { modules: [["relaxed", relaxed], ["simd", simd]] });
  ({ ladder, options: table, limit } = opened);
  $("machine").textContent = opened.name === "relaxed" ? "Computes with SIMD and fused multiply-add." :
    "Computes with SIMD.";
}

// After a failure of the worker, starts a new one with the same text.
async function restart(why) {
  worker.terminate();
  for (const { reject } of waiting.values()) reject(new Error("the computation was ended"));
  waiting.clear();
  say("status", `The computation failed and starts again without its models (${why}).`);
  await startWorker();
  await takeText();
}

// ---- numbers ----

// Adds labeled numbers to an element: [{ name, help, value, min, max, step }].
function addNumbers(parent, rows) {
  $(parent).append(...rows.map(({ name, help, ...more }) => element("label", { className: "number" }, element("b", { textContent: name }),
    element("input", { type: "number", id: `${parent}-${name}`, name, required: true, ...more }), element("span", { className: "note", textContent: help }))));
}

// Returns the numbers of an element by name, NaN for an empty field.
const numbersOf = parent => Object.fromEntries([...$(parent).querySelectorAll("input")].map(input => [input.name, input.valueAsNumber]));

const USUAL = { layers: 2, heads: 4, width: 64, context: 64, batch: 16, steps: 1000 }; // of the options: small enough to watch
const options = () => numbersOf("options");
let drawn = 0; // texts begun so far: each gets its own random choices
const sampler = () => ({ ...numbersOf("sampler"), seed: 1337 + drawn });

// The options' ranges and help are those of ./train.
function listNumbers(rows) {
  const WHOLE = 0;
  addNumbers("options", rows.map(({ name, help, min, max, kind }) => ({ name, help, min, max, step: kind === WHOLE ? 1 : "any", value: USUAL[name] })));
  addNumbers("sampler", [
    { name: "temperature", help: "higher is bolder; 0: always the likeliest", min: 0, step: 0.1, value: 0.8 },
    { name: "top_k", help: "among the k likeliest only; 0: all", min: 0, step: 1, value: 0 },
    { name: "top_p", help: "of these, among the likeliest with this share", min: 0.05, max: 1, step: 0.05, value: 1 }]);
}

// ---- the text ----

let given = null; // a file's bytes; null: the text is what the field shows
const SHOWN = 20000; // characters of a file that the field shows
const builtin = $("sample").textContent.slice(1);

// Asks before discarding models. Those of a question are not asked about: they are quickly trained again.
function mayDiscard() {
  const missed = fromLesson ? [] : last.filter(r => r.step > 0 && downloaded[r.rung] !== r.step);
  return missed.length === 0 || confirm(`This discards trained models: ${missed.map(r =>
    `${ladder[r.rung].name}, step ${count(r.step)}`).join("; ")}. Download them to keep them. Discard them?`);
}

function showText(bytes) {
  const text = new TextDecoder().decode(bytes.subarray(0, 4 * SHOWN)).slice(0, SHOWN);
  given = bytes;
  $("text").value = text.length < SHOWN ? text : `${text}\n[…]`;
}

async function takeText() {
  const bytes = (given ?? new TextEncoder().encode($("text").value)).slice();
  say("about-text", "Reading and counting…");
  $("take").disabled = true;
  try {
    const about = await ask("text", { bytes, asBytes: $("bytes").checked });
    say("about-text", `${count(about.characters)} characters, ${count(about.vocabulary)} distinct. Losses without training, in ` +
      `nats per character: all equally likely ${about.uniform.toFixed(2)}, counted ${about.unigram.toFixed(2)}, ` +
      `counted in pairs ${about.bigram.toFixed(2)}, after the last ${about.order - 1} ${about.ngram.toFixed(2)}.`);
    showProgress(await ask("drop"));
    await estimate();
  } catch (error) {
    say("about-text", `${sentence(error.message.replace("; --bytes reads any file", ". “Bytes” reads any file"))} ` +
      "The previous text is still in use.", true);
  }
}

async function openText(file) {
  const most = 64e6;
  if (file.size > most)
    return say("about-text", `${file.name} has ${count(file.size / 1e6)} MB, which is too much for this page.`, true);
  if (!mayDiscard()) return;
  showText(new Uint8Array(await file.arrayBuffer()));
  return takeText();
}

// ---- the models ----

let speed = 0; // of this machine, in multiply-adds a second
const ticks = () => ladder.filter(({ rung }) => $(`tick-${rung}`).checked).map(({ rung }) => rung);

function listModels(ticked) {
  $("models").tBodies[0].replaceChildren(...ladder.map(({ rung, name, idea }) => element("tr", {},
    element("th", { scope: "row" }, element("label", {},
      element("input", { type: "checkbox", id: `tick-${rung}`, checked: ticked.includes(name), onchange: estimate }), ` ${name}`)),
    element("td", { className: "idea", textContent: idea }),
    element("td", { id: `parameters-${rung}` }), element("td", { id: `time-${rung}` }))));
}

// Shows the parameters, time and memory of the ticked models.
async function estimate() {
  const { steps } = options(), all = await ask("estimate", { options: options() });
  let seconds = 0, bytes = 0, wrong = "";
  for (const [rung, e] of all.entries()) {
    const took = e.error ? 0 : e.work * steps / speed;
    $(`parameters-${rung}`).textContent = e.error ? "–" : count(e.parameters);
    $(`time-${rung}`).textContent = e.error ? "–" : duration(took);
    if (!$(`tick-${rung}`).checked) continue;
    seconds += took;
    bytes += e.bytes ?? 0;
    if (e.error) wrong = sentence(e.error);
  }
  const over = bytes > limit ? " That is too much; choose smaller sizes." : "";
  say("about-models", wrong || (ticks().length === 0 ? "No model is ticked." :
    `Together about ${duration(seconds)} and ${count(bytes / 1e6)} MB, of at most ${count(limit / 1e6)} MB.${over}`),
    wrong !== "" || over !== "");
}

// ---- the training ----

let state = "none"; // none, training, paused, done
let last = [];      // the rungs of the last progress
let fromLesson = false; // a question trains them
let downloaded = {};    // the step of each rung that a file has
const by = () => $("by-time").checked ? "time" : "steps";

// Puts a new figure's content in place of the old one's, so that focus and cursor stay.
function renewFigure(old, html, read, move) {
  const fresh = element("template", { innerHTML: html }).content.firstElementChild;
  if (!old.querySelector("svg[tabindex]")) {
    old.replaceWith(fresh);
    read(fresh);
    return fresh;
  }
  const svg = old.querySelector("svg[tabindex]"), from = fresh.querySelector(".chart, .map");
  svg.replaceChildren(...from.childNodes);
  svg.querySelector("title").textContent = "";
  for (const name of ["viewBox", "data-place", "data-weights"])
    if (from.hasAttribute(name)) svg.setAttribute(name, from.getAttribute(name));
  const legend = old.querySelector(".legend");
  if (legend) legend.replaceWith(fresh.querySelector(".legend"));
  move(old);
  return old;
}

const renewChart = html => renewFigure($("chart").firstElementChild, html, readChart,
  figure => moveCursor(figure, figure.dataset.at === undefined ? undefined : Number(figure.dataset.at)));

function showRungs(rungs) {
  const body = $("rungs").tBodies[0], names = rungs.map(r => r.rung).join();
  if (body.dataset.names !== names) {
    body.dataset.names = names;
    body.replaceChildren(...rungs.map(({ rung }) => element("tr", {},
      element("th", { scope: "row", textContent: ladder[rung].name }), ...Array.from({ length: 5 }, () => element("td")),
      element("td", {}, element("button", { type: "button", textContent: "Download", ariaLabel: `Download the checkpoint of ${ladder[rung].name}`, onclick: () => download(rung) })))));
    $("samples").replaceChildren(...rungs.map(({ rung }) => element("p", {},
      element("b", { textContent: ladder[rung].name }), element("bdi"))));
    const looked = $("looked").value;
    $("looked").replaceChildren(...rungs.map(({ rung }) => element("option", { value: rung, textContent: ladder[rung].name })));
    if (rungs.some(r => String(r.rung) === looked)) $("looked").value = looked;
    else if (rungs.length > 0) $("looked").value = rungs[rungs.length - 1].rung;
  }
  const figure = (number, digits) => number === null ? "–" : number.toFixed(digits);
  for (const [i, r] of rungs.entries()) {
    const cells = body.rows[i].cells;
    const values = [`${count(r.step)} of ${count(r.steps)}`, figure(r.heldOut, 3), figure(r.heldOut === null ? null : r.heldOut / Math.LN2, 2),
      r.seconds > 0 ? count(r.characters / r.seconds) : "–", r.seconds.toFixed(1)];
    values.forEach((value, n) => { cells[n + 1].textContent = value; });
    $("samples").children[i].lastChild.textContent = r.sample;
  }
}

function showProgress({ rungs, figure, training, memory }) {
  last = rungs;
  const failed = rungs.filter(r => r.failed), open = rungs.filter(r => !r.done && !r.failed);
  state = rungs.length === 0 ? "none" : training ? "training" : open.length > 0 ? "paused" : "done";
  if (state === "none") downloaded = {};
  renewChart(figure);
  showRungs(rungs);
  $("train").textContent = { none: "Train", training: "Pause", paused: "Continue", done: "Train on" }[state];
  $("reset").disabled = state === "none";
  const words = { none: "Tick models and press Train.", training: "Training.", paused: "Paused.", done: "All steps are taken." };
  say("about-training", failed.length > 0 ? failed.map(r => sentence(r.failed)).join(" ") :
    `${words[state]} The page uses ${count(memory / 1e6)} MB of at most ${count(limit / 1e6)} MB.`, failed.length > 0);
  lookSoon();
}

// Train, Pause, Continue, Train on.
async function press(lesson = false) {
  fromLesson = lesson || fromLesson && state === "training";
  if (state === "training") return showProgress(await ask("pause"));
  if (state === "none") {
    if (ticks().length === 0) return say("about-training", "No model is ticked.", true);
    const begun = await ask("begin", { options: options(), rungs: ticks() });
    showProgress(begun);
    if (begun.failures.length > 0) say("about-models", begun.failures.map(sentence).join(" "), true);
    if (begun.rungs.length === 0) return;
  }
  if (state === "done") await ask("steps", { steps: 2 * Math.max(...last.map(r => r.steps)) });
  showProgress(await ask("go", { by: by() }));
}

async function reset() {
  showProgress(await ask("drop"));
}

async function download(rung) {
  const { step } = last.find(r => r.rung === rung), bytes = await ask("save", { rung });
  downloaded[rung] = step;
  const link = element("a", {
    href: URL.createObjectURL(new Blob([bytes])), download: `${ladder[rung].name}.last.safetensors`
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function openCheckpoint(file) {
  try {
    if (file.size > limit / 4) throw new Error(`${file.name} has ${count(file.size / 1e6)} MB, which is too much for this page`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (!mayDiscard()) return;
    showProgress(await ask("load", { bytes, options: options() }));
    fromLesson = false;
    downloaded = { [last[0].rung]: last[0].step };
    if (last[0].failed) say("about-training", `The model can write and show its attention, but cannot train: ${sentence(last[0].failed)}`, true);
  } catch (error) {
    say("about-training", sentence(error.message), true);
  }
}

// ---- inside ----

let looking = false, again = false, shownAt = 0, writing = 0;
const looked = () => Number($("looked").value);
const AT_MOST_EVERY = 500; // milliseconds, while rungs train

// Looks now or, if it is already looking, once more afterwards.
async function look() {
  if (last.length === 0) return clearLook();
  if (looking) { again = true; return; }
  looking = true;
  try {
    shownAt = performance.now();
    const seen = await ask("look", { rung: looked(), line: $("line").value, sampler: sampler(), maps: true });
    const read = seen.glyphs.length;
    say("about-line", seen.nats === null ? "" : `Loss on this line: ${seen.nats.toFixed(2)} nats per character` +
      (read < [...$("line").value].length ? `; the model reads its last ${read} characters.` : "."));
    showBars(seen.next);
    showMaps(seen.maps);
    await explainHead();
  } catch (error) {
    say("about-line", sentence(error.message), true);
  }
  looking = false;
  if (again) { again = false; look(); }
}

function lookSoon() {
  if (state !== "training" || performance.now() - shownAt > AT_MOST_EVERY) look();
}

function clearLook() {
  say("about-line", "There is no model yet.");
  $("bars").replaceChildren();
  $("maps").replaceChildren();
  delete $("maps").dataset.key;
  $("heads").replaceChildren();
  $("explanation").replaceChildren();
}

const percent = p => p > 0 && p < 0.0005 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %`;

function showBars(next) {
  const heading = element("li", { className: "heading", ariaHidden: true }, element("span"), element("span"),
    element("span", { textContent: "model" }), element("span", { textContent: "picked" }));
  const bar = p => element("i", { style: `width:${(100 * p).toFixed(2)}%` });
  $("bars").replaceChildren(heading, ...next.map(({ glyph, p, picked }) => element("li",
    { ariaLabel: `${glyph}: ${percent(p)}, picked ${percent(picked)}` },
    element("span", { className: "glyph", textContent: glyph }), element("span", { className: "bar" }, bar(p), bar(picked)),
    element("span", { textContent: percent(p) }), element("span", { textContent: percent(picked) }))));
}

let chosen = { layer: 0, head: 0 };

function showMaps(maps) {
  const key = maps.map(m => `${m.layer}.${m.head}`).join();
  if ($("maps").dataset.key !== key) {
    $("maps").dataset.key = key;
    $("maps").replaceChildren();
    chosen = { layer: 0, head: 0 };
    for (const { layer, head } of maps) {
      if (head === 0) $("maps").append(element("h3", { textContent: `Layer ${layer}` }), element("div", { className: "maps" }));
      $("maps").lastChild.append(element("figure"));
    }
    if (maps.length === 0) $("maps").append(element("p", { textContent: "A bigram attends to nothing: it sees the last character only." }));
    $("heads").replaceChildren(...maps.map(({ layer, head }) => element("button", {
      type: "button", textContent: `layer ${layer}, head ${head}`, onclick: () => choose(layer, head)
    })));
  }
  const figures = [...$("maps").querySelectorAll(".maps > figure")];
  maps.forEach(({ figure }, i) => renewFigure(figures[i], figure, readMap, old => {
    if (old.dataset.at) moveCell(old, ...old.dataset.at.split(" ").map(Number));
  }));
  markHead(maps);
}

function markHead(maps) {
  [...$("heads").children].forEach((button, i) =>
    button.setAttribute("aria-pressed", maps[i].layer === chosen.layer && maps[i].head === chosen.head));
}

function choose(layer, head) {
  chosen = { layer, head };
  explainedAt = 0;
  look();
}

// The steps in numbers are much to read: they change slowly while rungs train, and not while the
// user reads them.
let explainedAt = 0;
const READING = 4000; // milliseconds

async function explainHead() {
  const now = performance.now();
  if (!$("in-numbers").open || last.length === 0) return;
  if (state === "training" && (now - explainedAt < READING || $("explanation").matches(":focus-within"))) return;
  explainedAt = now;
  $("explanation").innerHTML = await ask("explain", $("heads").childElementCount > 0 ? chosen : { layer: -1, head: -1 });
  for (const figure of $("explanation").querySelectorAll("figure.mapped")) readMap(figure);
  for (const wide of $("explanation").querySelectorAll(".wide"))
    if (wide.scrollWidth > wide.clientWidth) {
      wide.tabIndex = 0;
      wide.setAttribute("role", "region");
      wide.ariaLabel = "numbers, wider than the page";
    }
}

async function resample() {
  if (last.length === 0) return;
  try { showBars((await ask("next", { sampler: sampler() })).next); } catch { look(); }
}

// Writes after the line, some characters at a time, until Stop or the end.
async function write() {
  const LENGTH = 1000, PIECE = 20;
  if (writing) { writing = 0; return; }
  if (last.length === 0) return say("about-line", "There is no model yet.", true);
  const own = writing = ++drawn;
  $("write").textContent = "Stop";
  try {
    await ask("prompt", { rung: looked(), line: $("line").value, sampler: sampler() });
    const out = element("span");
    $("written").replaceChildren(element("span", { className: "prompt", textContent: $("line").value }), out);
    for (let length = 0; length < LENGTH && writing === own;) {
      const text = await ask("write", { most: PIECE });
      length += [...text].length;
      out.append(text);
      $("written").scrollTop = $("written").scrollHeight;
      await new Promise(requestAnimationFrame);
    }
  } catch (error) {
    say("about-line", sentence(error.message), true);
  }
  writing = 0;
  $("write").textContent = "Write";
}

// ---- the questions ----

function showLesson(i) {
  const step = LESSON[i], rung = step.rungs.at(-1);
  [...$("lesson-steps").children].forEach((button, n) => {
    if (n === i) button.setAttribute("aria-current", "step"); else button.removeAttribute("aria-current");
  });
  $("lesson-body").replaceChildren(
    element("blockquote", { textContent: step.ask }),
    element("p", { textContent: step.look }),
    element("div", { className: "row" }, element("button", { type: "button", id: "set-up", textContent: `Train ${step.rungs.join(" and ")} for it`, onclick: () => setUp(step) })),
    element("details", {}, element("summary", { textContent: "The answer" }), element("p", { textContent: step.answer }),
      element("p", {}, "The idea, its equation and its code: ", element("a", { href: `../../docs/tour.md#${rung}`, textContent: `docs/tour.md, ${rung}` }))));
}

async function setUp(step) {
  if (!mayDiscard()) return;
  await reset();
  for (const { rung, name } of ladder) $(`tick-${rung}`).checked = step.rungs.includes(name);
  for (const [name, value] of Object.entries({ ...USUAL, ...step.sizes })) $(`options-${name}`).value = value;
  $("line").value = step.line;
  await estimate();
  await press(true);
}

// ---- the beginning ----

function listen() {
  const on = (id, event, act) => $(id).addEventListener(event, act);
  on("train", "click", () => press());
  on("reset", "click", reset);
  on("take", "click", () => mayDiscard() && takeText());
  on("text", "input", () => { given = null; $("take").disabled = false; });
  on("bytes", "change", event => {
    if (mayDiscard()) takeText(); else event.target.checked = !event.target.checked;
  });
  on("builtin", "click", () => { if (!mayDiscard()) return; showText(new TextEncoder().encode(builtin)); takeText(); });
  for (const [id, open] of [["open-text", openText], ["open-checkpoint", openCheckpoint]])
    on(id, "change", ({ target }) => {
      if (target.files[0]) open(target.files[0]);
      target.value = ""; // so that the same file can be chosen again
    });
  for (const id of ["by-steps", "by-time"]) on(id, "change", async () => showProgress(await ask("share", { by: by() })));
  on("options", "input", estimate);
  on("sampler", "input", resample);
  on("in-numbers", "toggle", () => { explainedAt = 0; look(); });
  on("looked", "change", look);
  on("line", "input", look);
  on("write", "click", write);
  const section = $("text-section");
  section.addEventListener("dragover", event => { event.preventDefault(); section.classList.add("dropping"); });
  section.addEventListener("dragleave", () => section.classList.remove("dropping"));
  section.addEventListener("drop", event => {
    event.preventDefault();
    section.classList.remove("dropping");
    const file = event.dataTransfer.files[0];
    if (file) openText(file);
  });
  $("lesson-steps").append(...LESSON.map((step, i) => element("button", {
    type: "button", textContent: `${i + 1}. ${step.rungs[step.rungs.length - 1]}`, onclick: () => showLesson(i)
  })));
}

async function start() {
  try {
    await startWorker();
    listModels(["bigram", "head", "gpt"]);
    listNumbers(table);
    listen();
    showLesson(0);
    showText(new TextEncoder().encode(builtin));
    await ask("text", { bytes: new TextEncoder().encode(builtin), asBytes: false });
    speed = await ask("speed");
    await takeText();
  } catch (error) {
    say("status", sentence(error.message));
  }
}

start();
