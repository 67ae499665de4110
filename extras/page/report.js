// The page of a training run, made of the facts in its script element `data`, which report.c writes.
const facts = JSON.parse($("data").textContent);
const byTime = facts.place === "seconds", placeOf = row => row[facts.place];
const rungs = facts.models.filter(model => model.rows), counted = facts.models.filter(model => !model.rows);
for (const model of rungs) {
  model.rows = model.rows.map(([step, seconds, loss, rate, norm, speed]) =>
    ({ step, seconds, loss, rate, norm, speed }));
  // the best model was measured again, in float32, from its file: this is its loss everywhere
  model.evaluations = model.evaluations.map(([step, seconds, heldOut, text]) =>
    ({ step, seconds, heldOut: step === model.kept ? model.heldOut ?? heldOut : heldOut, text }));
  model.lines = model.evaluations.filter(({ text }) => text !== undefined);
}
const best = rungs.find(({ name }) => name === facts.shown), writers = rungs.filter(({ lines }) => lines.length > 0);

// Numbers have the form that they have on the terminal: programs/common.h.
const figure = (number, digits) => number === null || number === undefined ? "–" :
  Math.abs(number) < 1e5 ? number.toFixed(digits) : number.toPrecision(3);

// ---- the top ----

// Says in one sentence how good the model is.
function resultOf({ name, heldOut }) {
  if (!(heldOut > 0)) return `${name} is ${facts.idea}. Its loss is not measured yet.`;
  const [counts] = counted.filter(({ name }) => name.startsWith("counted")).sort((a, b) => a.heldOut - b.heldOut);
  const counting = counts ? `the best of counting, ${counts.name}, comes to ${unsure(counts.heldOut)}, ` : "";
  return `On text that it never saw, ${name} is as unsure about the next character as among ${unsure(heldOut)} ` +
    `equally likely ones (a loss of ${figure(heldOut, 4)} nats); ` +
    `${counting}uniform guessing, in which all are equally likely, to ${count(facts.distinct)}.`;
}

document.title = `${facts.shown}, trained on ${facts.text}`;
document.querySelector("h1").append(`${facts.shown}, trained on `, element("bdi", { textContent: facts.text }));
$("result").textContent = resultOf(best ?? { name: facts.shown });
say("failure", facts.failure && `The training ended early: ${facts.failure}`);
say("verdict", best?.verdict && `${best.name}: ${best.verdict}`);
const verdicts = rungs.filter(model => model.verdict && model !== best);
$("verdicts").hidden = verdicts.length === 0;
$("verdicts").lastElementChild.append(...verdicts.map(({ name, verdict }) =>
  element("li", { textContent: `${name}: ${verdict}` })));

// ---- writing and losses ----

// The places of the training, steps or seconds, at which models wrote; and the one that is shown.
const places = [...new Set(writers.flatMap(({ lines }) => lines.map(placeOf)))].sort((a, b) => a - b);
let place = places.length - 1;

// Shows what the models wrote at the place, and marks it in the chart of losses.
function showWriting() {
  const at = places[place], named = byTime ? `${figure(at, 1)} seconds` : `step ${at}`;
  $("about-at").value = named;
  $("at").value = String(place);
  $("at").setAttribute("aria-valuetext", named);
  writers.forEach(({ lines }, i) => {
    const text = lines.findLast(line => placeOf(line) <= at)?.text ?? "";
    $("lines").children[2 * i + 1].textContent = text.replace(/^[\s↵]+/, "");
  });
  const series = rungs.flatMap(({ name, evaluations, rows }) => [
    { name, color: name, points: evaluations.map(row => [placeOf(row), row.heldOut]) },
    { name: `${name}, training`, color: name, line: "thin", points: rows.map(row => [placeOf(row), row.loss]) }]);
  drawChart($("losses"), { series, levels: counted.map(({ name, heldOut }) => ({ name, y: heldOut })), height: 400,
    place: facts.place, at: place < places.length - 1 ? at : undefined, choose: goTo,
    form: loss => `${loss.toFixed(4)}: as unsure as among ${unsure(loss)} characters` });
}
function goTo(at) {
  place = Math.max(0, places.filter(other => other <= at).length - 1);
  showWriting();
}

$("writing").hidden = places.length === 0;
$("at").max = String(places.length - 1);
$("at").addEventListener("input", event => goTo(places[event.target.value]));
$("lines").append(...writers.flatMap(({ name }) => [
  element("dt", { textContent: name, style: `border-color: ${rungColor(name)}` }), element("dd", { dir: "auto" })]));
showWriting();
$("about-losses").textContent = "The loss says how much the next character surprises a model, in nats: lower is " +
  "better. Thick: on the held-out text, on which no model is trained; thin: on the batches of the training. " +
  (facts.settings.dropout > 0 ?
    "These are measured with dropout, which lifts the thin curve: the table below has losses without it. " :
    "Where the thin curve still falls and the thick one no longer does, a model memorizes its text. ") +
  "Dashed: counting, without training." + (!facts.live && rungs.every(({ evaluations }) => evaluations.length < 3) ?
  " With a smaller --eval-every, the thick curves have more points." : "");

// ---- attention ----

const { glyphs = [], shown: color } = facts;
const heads = (facts.heads ?? []).map((shares, i) => ({
  layer: Math.floor(i / facts.layerHeads), head: i % facts.layerHeads,
  weights: glyphs.map((_, t) => shares.slice(t * (t + 1) / 2, (t + 1) * (t + 2) / 2).map(share => share / 1000)) }));
let chosen = 0, row = glyphs.length - 1; // the head, and the character whose attention is shown

function showAttention() {
  const choose = to => { chosen = to; showAttention(); }, chooseRow = to => { row = to; showAttention(); };
  const point = (at = row) =>
    drawArcs($("arcs"), { glyphs, color, weights: heads[chosen].weights[at], row: at, choose: chooseRow });
  drawMaps($("maps"), { glyphs, color, heads, chosen, row, point, choose, chooseRow });
  point();
}

$("attention").hidden = heads.length === 0;
if (heads.length > 0) showAttention();
say("left-out", facts.allHeads > heads.length &&
  `${facts.allHeads - heads.length} more heads are left out here; ./sample --explain shows them.`);

// ---- what is folded ----

$("models").querySelector("tbody").append(...facts.models.map(m => tableRow(m.name + (m.falling ? " ↓" : ""), [
  m.parameters === null ? "–" : count(m.parameters), m.steps > 0 ? String(m.steps) : "–", figure(m.train, 4),
  (m.sampled ? "~" : "") + figure(m.heldOut, 4), m.heldOut === null ? "–" : figure(m.heldOut / Math.LN2, 3),
  figure(m.tera, m.tera < 1 ? 4 : 2), figure(m.seconds, 1)])));
const files = facts.files.length > 1 ? facts.files.map(file => ["text", file]) : [];
const settings = [...files, ["characters of the text", count(facts.characters)], ...Object.entries(facts.settings)];
$("command").querySelector("code").textContent = facts.command;
$("command").querySelector("tbody").append(...settings.map(([name, value]) => tableRow(name, [value])));
$("curves").hidden = rungs.every(({ rows }) => rows.length === 0);
const curves = [{ id: "rate", digits: 6, log: false }, { id: "norm", digits: 4, log: true },
  { id: "speed", digits: 0, log: true }]; // on a linear axis, the bigram's speed would flatten the others
for (const { id, digits, log } of curves)
  drawChart($(id), { log, zero: !log, place: facts.place, height: 240, form: y => y.toFixed(digits), series: rungs.map(
    ({ name, rows }) => ({ name, color: name, points: rows.map(row => [placeOf(row), row[id]]) })) });
$("play").textContent = "To type a line of your own and look inside this model, open the page in a browser tab, " +
  `tril.html (docs/web.md), and drop ${facts.checkpoint} on it.`;

// ---- a training that runs ----

// While a training runs, the program writes this file again about every `every` seconds, each time with another
// version, and the page reloads itself as often. A page from a file cannot see the program. So it takes the training
// for dead if the file is old and reloads have not changed that: after a pause of the machine, the first finds it old.
function renew({ name, model, models, step, seconds, end, done, every, version }) {
  const SILENCE = 120, RELOADS = 3; // seconds without a new file, and reloads, until then
  const [said, progress, note] = $("live").children, now = () => Date.now() / 1000, loaded = now();
  const before = history.state?.version === version ? history.state : null;
  const reloads = before ? before.reloads + 1 : 0;
  // a server may not know how old the file is, and say that it is new
  const written = Math.min(before?.written ?? loaded, Date.parse(document.lastModified) / 1000);
  const dead = loaded - written > SILENCE + 3 * every && (!before || reloads >= RELOADS);
  const keep = () => history.replaceState({ version, written, reloads, ...readPlace() }, "");
  const tick = () => {
    note.textContent = dead ? `This page was written ${duration(loaded - written)} ago, and not since: the training ` +
      "has ended or is stopped. The page no longer updates itself; reload it to look again." :
      `Written ${duration(now() - written)} ago. This page updates itself.`;
    const isUsed = document.querySelector(":active") || String(getSelection()) !== ""; // the pointer is down
    if (dead || isUsed || document.hidden || now() - loaded < every) return;
    clearInterval(timer);
    keep();
    location.reload();
  };
  keep();
  $("live").hidden = false;
  said.textContent = `Training ${name}, model ${model} of ${models}: ` + (step === null ? "it begins." : byTime ?
    `step ${step}, ${figure(seconds, 0)} of ${end} seconds in all.` :
    `step ${step} of ${end}, ${figure(seconds, 0)} seconds so far.`);
  progress.value = done;
  progress.hidden = dead;
  const timer = setInterval(tick, Math.min(1000, 1000 * every));
  tick();
}

// What the reader has chosen, where it is not the last, and unfolded; the browser itself remembers how far the page is
// scrolled.
function readPlace() {
  const at = place < places.length - 1 ? places[place] : null, focus = document.activeElement?.id;
  return { at, chosen, t: row < glyphs.length - 1 ? row : null, focus,
    open: [...document.querySelectorAll("details[open]")].map(({ id }) => id) };
}
function restorePlace({ at, t, focus, open, ...left }) {
  if (at !== null && places.length > 0) goTo(at);
  if (left.chosen < heads.length && (t === null || t < glyphs.length)) {
    chosen = left.chosen;
    row = t ?? row;
    showAttention();
  }
  for (const id of open) $(id).open = true;
  if (focus) $(focus)?.focus({ preventScroll: true });
}

if (history.state?.open) restorePlace(history.state);
if (facts.live) renew(facts.live);
