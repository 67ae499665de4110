// The lab: which rungs to train, in which sizes; how far each is; and one of them in full.
const USUAL = { layers: 2, heads: 4, width: 32, context: 64, batch: 16, steps: 1000, lr: "", seed: 1337 };
const options = () => {
  const { lr, ...more } = numbersIn($("options"));
  return Number.isNaN(lr) ? more : { ...more, lr };
};
const SAMPLER = [
  { name: "temperature", help: "higher is bolder; 0: always the likeliest", min: 0, step: 0.1, defaultValue: 0.8 },
  { name: "top_k", label: "top-k", help: "choose among the k likeliest; 0: among all", min: 0, defaultValue: 0 },
  { name: "top_p", label: "top-p", help: "of these, choose among the likeliest that together have this share",
    min: 0.05, max: 1, step: 0.05, defaultValue: 1 }];
let speed = 0;             // of a worker, in multiply-adds a second
let estimates = [];        // of each rung in the sizes that are typed
let looked = 0;            // the rung in full
let bench, begunTexts = 0, trouble = "";
const ticked = () => ladder.filter(({ rung }) => $(`tick-${rung}`).checked).map(({ rung }) => rung);
const own = () => sorted(lab).filter(run => !run.built);
const isTraining = () => own().some(isOpen);

function openLab() {
  looked = numberOf("gpt");
  const button = more => element("button", { type: "button", ...more });
  $("models").tBodies[0].append(...ladder.map(({ rung, name, idea }) =>
    element("tr", { id: `rung-${rung}`, title: idea, style: `--rung: ${rungColor(name)}` },
      element("th", { scope: "row" },
        element("input", { type: "checkbox", id: `tick-${rung}`, ariaLabel: `train ${name}`,
          checked: rung === looked }),
        button({ textContent: name, onclick: () => lookAt(rung) })),
      element("td"), element("td"), element("td", {}, element("span"), element("i")),
      element("td", {}, button({ textContent: "↓", ariaLabel: `Download ${name}`, title: "Download the file",
        onclick: () => download(lab.get(rung)) })))));
  // the options' ranges and help are those of ./train
  addNumbers($("options"), Object.entries(USUAL).map(([name, defaultValue]) => {
    const { help, min, max, kind } = table[name], isSeed = name === "seed";
    return { name, help, min, max: isSeed ? Number.MAX_SAFE_INTEGER : max || "", step: kind === 0 || isSeed ? 1 : "any",
      defaultValue, placeholder: defaultValue === "" ? "auto" : "" };
  }));
  addNumbers($("sampler"), SAMPLER);
  $("inside").querySelector(".time").replaceWith($("chapter").content.querySelector(".time").cloneNode(true));
  bench = openStage($("lab"), { runs: lab, rung: () => looked, start: null, compares: () => ({
    runs: sorted(lab).filter(run => run.rung === looked || !run.built || $(`tick-${run.rung}`).checked), thin: true,
    levels: !counted ? [] : [{ name: "counted characters", loss: counted.unigram },
      { name: "counted pairs", loss: counted.bigram },
      { name: `counted ${counted.order} in a row`, loss: counted.ngram }] }) });
  bench.sampler = sampler;
  bench.changed = explain;
  for (const selector of ["button", "input[type=checkbox]"]) rove($("models"), selector);
  $("train").onclick = trainAgain;
  $("pause").onclick = pause;
  $("options").oninput = estimate;
  $("models").addEventListener("change", estimate);
  $("sampler").oninput = bench.look;
  $("write").onclick = writeLine;
  $("step").ontoggle = () => { explain(); if (!$("step").open) paint([]); };
}

// A number that is being typed counts as the usual one until it is in range.
const inRange = ({ value, validity }) => value !== "" && !validity.rangeUnderflow && !validity.rangeOverflow;
const sampler = () => ({ ...Object.fromEntries([...$("sampler").querySelectorAll("input")].map(input =>
  [input.name, Number(inRange(input) ? input.value : input.defaultValue)])), seed: 1337 + begunTexts });

function lookAt(rung) {
  looked = rung;
  bench.reset();
  renew();
}
function complain(words) {
  trouble = words;
  renew();
}

// Shows the parameters, memory and time of the ticked rungs.
const estimate = seldom(50, async () => {
  speed ||= await reader.ask("measure", looked, chapterOptions(looked));
  estimates = await reader.ask("estimate", options());
  const all = ticked().map(rung => estimates[rung]), most = key => Math.max(0, ...all.map(e => e[key] ?? 0));
  const failed = all.find(e => e.error), over = most("bytes") > limit ? " That is too much; choose smaller sizes." : "";
  const took = all.map(e => e.work * options().steps / speed);
  const together = Math.max(0, ...took, took.reduce((sum, one) => sum + one, 0) / cores);
  say("about-models", failed ? sentence(failed.error) : all.length === 0 ? "No model is selected." :
    `About ${duration(Math.max(1, together))}; at most ${some(most("parameters"), "parameter")}, and ${
      mebibytes(most("bytes"))} of ${mebibytes(limit)}.${over}`,
  Boolean(failed || over));
  renew();
});

// Shows how far each rung is; the size of one that is not there in the sizes that are typed.
function showLab() {
  if (!bench?.isVisible || !taken) return;
  for (const { rung } of ladder) {
    const row = $(`rung-${rung}`), run = lab.get(rung), last = run?.curve.at(-1);
    const [, size, loss, steps, file] = row.cells;
    const { parameters = 0, error = "" } = run ?? estimates[rung] ?? {};
    size.textContent = parameters > 0 ? short(parameters) : "–";
    size.title = error || some(parameters, "parameter");
    row.querySelector("button").setAttribute("aria-pressed", rung === looked);
    loss.textContent = last ? Math.exp(last[1]).toFixed(1) : "–";
    loss.title = last ? inNats(last[1]) : "";
    steps.firstChild.textContent = run ? count(run.step) : "–";
    steps.title = !run ? "" : run.built ? "trained in advance" : `of ${count(run.steps)}, ${run.seconds.toFixed(1)} s` +
      (run.seconds > 0 ? `, ${count(run.step * run.batch * run.context / run.seconds)} characters a second` : "");
    steps.lastChild.style.width = `${run && run.steps > 0 && !run.built ? 100 * run.step / run.steps : 0}%`;
    file.firstChild.disabled = !run;
  }
  const all = own(), failed = all.filter(run => run.failed), training = isTraining(), done = all.every(run => run.done);
  const held = all.flatMap(run => [run.memory, ...run.snapshots.map(({ bytes }) => bytes.length)]);
  const memory = held.reduce((sum, bytes) => sum + bytes, 0);
  const words = all.length === 0 ? `${lab.size === 0 ? "" : "All models here were trained in advance, for the same " +
    "steps, each at a good rate of its own. "}Select some to train them, in any size.` :
    `${training ? "Training" : done ? "All steps are done" : "Paused"}: ${mebibytes(memory)} in use.`;
  const isSaid = trouble === $("about-models").textContent; // of the sizes
  const why = !isSaid && trouble || failed.map(run => `${run.name}: ${run.failed}.`).join(" ");
  say("about-training", why || words, Boolean(why));
  $("pause").hidden = all.length === 0;
  $("pause").textContent = training ? "Pause" : done ? "Train longer" : "Continue";
  $("digest").textContent = all.map(run =>
    `${run.name.padEnd(10)}${latest(run).digest}  step ${latest(run).step} of ${run.steps}`).join("\n");
  $("looked").textContent = `Inside ${ladder[looked].name}`;
  $("lab").style.setProperty("--rung", rungColor(ladder[looked].name));
  showDrawing().catch(() => {}); // fails for sizes that are being typed
}

// ---- training ----

// Trains the ticked rungs from nothing.
async function trainAgain() {
  const wanted = ticked();
  if (wanted.length === 0 || !mayDiscard()) return;
  trouble = "";
  dropAll(lab);
  const begins = await Promise.allSettled(wanted.map(rung => begun(lab, "begin", rung, options())));
  const runs = begins.flatMap(one => one.status === "fulfilled" ? [one.value] : []);
  const failures = begins.flatMap(one => one.status === "rejected" ? [one.reason] : []);
  for (const run of runs) run.going = true;
  if (failures.length > 0) complain(failures.map(error => sentence(error.message)).join(" "));
  if (runs.length > 0 && !runs.some(({ rung }) => rung === looked)) lookAt(runs.at(-1).rung);
  grant();
  renew();
}
// Pauses, continues, or trains twice as long.
async function pause() {
  const runs = own().filter(run => !run.failed), going = !isTraining();
  if (going && runs.every(run => run.done))
    for (const run of runs) Object.assign(run, await run.worker.ask("setSteps", 2 * run.steps));
  for (const run of runs) proceed(run, going);
}
async function openCheckpoint(file) {
  trouble = "";
  try {
    if (file.size > limit / 4) throw new Error(tooMuch(file));
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (!mayDiscard()) return;
    const run = await begun(lab, "load", bytes, options());
    for (const other of own()) if (other !== run) drop(lab, other.rung);
    if (isBuiltin()) for (const run of built) if (!lab.has(run.rung)) lab.set(run.rung, run);
    run.saved = run.step;
    for (const name of ["layers", "heads", "width", "context"]) if (run[name]) $(`options-${name}`).value = run[name];
    estimate();
    lookAt(run.rung);
    $("inside").scrollIntoView();
    if (run.failed) complain(`The model can write and show its attention, but cannot train: ${sentence(run.failed)}`);
  } catch (error) {
    if (!error.ended) complain(sentence(error.message));
  }
}

// ---- writing ----

// Continues the line, some characters at a time; another click begins another text.
async function writeLine() {
  const LENGTH = 600, PIECE = 20, line = bench.box.querySelector(".line").value, own = ++begunTexts;
  if (!bench.shown) return;
  const out = element("span");
  $("written").hidden = false;
  $("copied").hidden = true;
  $("written").replaceChildren(element("b", { textContent: line }), out);
  try {
    await reader.ask("prompt", bench.shown.bytes, line, sampler());
    for (let length = 0; length < LENGTH && own === begunTexts;) {
      const text = await reader.ask("writeOn", PIECE, 20, sampler());
      length += [...text].length;
      out.append(text);
      $("written").scrollTop = $("written").scrollHeight;
      await new Promise(requestAnimationFrame);
    }
    if (own === begunTexts) showCopied(out, await reader.ask("copied"));
  } catch (error) {
    if (!error.ended) out.append(sentence(error.message));
  }
}

// Colors each passage that stands in the text, too, and says how much of the writing they are.
function showCopied(out, pieces) {
  const PASSAGE = 20, STRONGEST = 100;
  const longest = pieces.reduce((one, other) => other.passage > one.passage ? other : one);
  const isCopied = ({ passage }) => passage >= PASSAGE, share = passage => (passage - PASSAGE) / (STRONGEST - PASSAGE);
  const lengthOf = pieces => pieces.reduce((sum, { characters }) => sum + characters, 0);
  const mark = (textContent, passage, title = "") => element("span",
    { className: "passage", textContent, title, style: `--share: ${Math.min(1, share(passage))}` });
  out.replaceChildren(...pieces.map(piece => isCopied(piece) ?
    mark(piece.text, piece.passage, `in a passage of ${some(piece.passage, "character")}`) : piece.text));
  const [words, legend] = $("copied").children;
  $("copied").hidden = false;
  words.textContent = `${percent(lengthOf(pieces.filter(isCopied)) / lengthOf(pieces))} of it stands in the training ` +
    `text, too, in passages of ${PASSAGE} characters or more. The longest passage of it that stands there has ${
      some(longest.passage, "character")}: “${[...longest.text].slice(0, longest.passage).join("")}”.`;
  legend.replaceChildren("Marked by length: ", mark("20", 20), " ", mark("60", 60), " ", mark("100 or more", 100));
}
