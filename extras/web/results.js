// The curves, the lines that the models write, and all else that changes while they train.

// Puts a new figure's content in place of the old one's, so that focus and cursor stay.
function renewFigure(old, html, read, move) {
  const fresh = element("template", { innerHTML: html }).content.firstElementChild;
  if (!old.querySelector("svg[tabindex]")) {
    old.replaceWith(fresh);
    read(fresh);
    return;
  }
  const svg = old.querySelector("svg[tabindex]"), from = fresh.querySelector("svg");
  svg.replaceChildren(...from.childNodes);
  svg.querySelector("title").textContent = "";
  for (const name of ["height", "data-place"]) svg.setAttribute(name, from.getAttribute(name));
  old.querySelector(".legend").replaceWith(fresh.querySelector(".legend"));
  move(old);
}
// The models to compare: those trained here, the ticked ones and those that the question asks about.
const compared = () => shown().filter(r => !r.built || $(`tick-${r.rung}`).checked || LESSON[lesson].among?.includes(r.name));

async function showChart() {
  const high = $("chart").clientHeight - 24;
  if (high < 0) return; // it is hidden
  const points = list => list.map(([step, seconds, loss]) => [byTime() ? seconds : step, loss]);
  const all = compared().filter(r => !r.built || !byTime()), curves = all.flatMap(({ rung, name, heldOut, batches }) => [
    { name, points: points(heldOut), color: rung, faint: false }, { name: `${name}, training`, points: points(batches), color: rung, faint: true }]);
  const levels = about ? [["unigram", about.unigram], ["bigram", about.bigram], [`${about.order}-gram`, about.ngram]] : [];
  const html = await reader.ask("chart", curves, levels.map(([name, y]) => ({ name: `counted ${name}`, y })), high, byTime());
  renewFigure($("chart").firstElementChild, html, readChart,
    figure => moveCursor(figure, figure.dataset.at === undefined ? undefined : Number(figure.dataset.at)));
  const plot = $("chart").querySelector(".plot");
  plot?.querySelector(".snapshot")?.remove();
  if (!plot || !rewound || rewound.loss === null || !all.some(({ rung }) => rung === looked())) return; // no curve to be on
  drawPart(plot, `M${byTime() ? rewound.seconds : rewound.step} ${rewound.loss}h0`, COLORS[looked()]);
  plot.lastElementChild.setAttribute("class", "dot snapshot");
}

function showSamples() {
  const all = compared(), names = all.map(r => r.rung).join();
  $("samples").classList.toggle("few", all.length <= 4);
  if ($("samples").dataset.names !== names) {
    $("samples").dataset.names = names;
    $("samples").replaceChildren(...all.map(({ rung, name }) => element("p", {},
      element("b", { textContent: name, style: `border-color: ${COLORS[rung]}` }), element("bdi"))));
  }
  all.forEach((r, i) => { $("samples").children[i].lastChild.textContent = r.line.replace(/^[\s↵]+/, ""); });
}

// Shows the changes.
const renewSoon = seldom(() => isCrowded() ? 500 : 200, async () => {
  const failed = shown().filter(r => r.failed), words = { none: "Tick models and press Train.", built: "Trained in advance. “Train” starts the ticked ones from scratch.",
    training: "Training.", paused: "Paused.", done: "All steps are done." };
  const memory = everyRun().reduce((sum, r) => sum + (r.memory ?? 0) + r.snapshots.reduce((sum, { bytes }) => sum + bytes.length, 0), 0);
  if (trouble) say("about-training", trouble, true);
  else if (failed.length > 0) say("about-training", failed.map(r => `${r.name}: ${r.failed}.`).join(" "), true);
  else say("about-training", `${words[state]}${memory > 0 && state !== "built" ? ` ${mebibytes(memory)} in use.` : ""}`);
  $("digest").textContent = shown().filter(r => r.digest).map(r => `${r.name.padEnd(10)} ${r.digest}`).join("\n");
  $("by-time").disabled = !shown().some(r => !r.built);
  $("by-time").parentElement.title = $("by-time").disabled ? "The seconds of the models trained in advance are unknown." : "";
  if ($("by-time").disabled) $("by-steps").checked = true;
  showLadder();
  showSamples();
  showLesson();
  if ($("answer").open) showAsked();
  showSnapshots();
  await showChart();
});
function renew() {
  renewSoon();
  lookSoon();
}
