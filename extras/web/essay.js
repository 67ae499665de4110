// The essay: each chapter is a section of the page with its prose, to which a line, a Play button, a slider and a
// stage are added. Its id is its rung, its color the rung's.
const CAPTIONS = { // others say what is seen
  maps: "Rows look at columns: the darker a cell, the more of its attention a character gives.",
  bars: "What may come next, by this model.",
  chart: "As unsure as among so many characters. Lower is better; point at the curves for the numbers."
};
/** @type {any} */
const chapters = {}; // by id: { stage, box, line, field, rung }

function openChapter(box) {
  const name = box.dataset.rung ?? box.id, rung = () => numberOf(name), line = box.dataset.line;
  const details = box.querySelector("details"), parts = $("chapter").content.cloneNode(true);
  const field = parts.querySelector(".line"), isTop = box.id === "top";
  field.value = line;
  parts.querySelector(".stage").append(...box.dataset.figures.split(" ").map(kind => element("figure", {},
    element("div", { className: kind }),
    element("figcaption", { className: kind === "arcs" ? "looks" : "", textContent: CAPTIONS[kind] ?? "" }))));
  if (isTop) box.querySelector("p").after(parts.querySelector(".writing"), parts.querySelector(".time"));
  else details.append(element("div", { className: "ladder" }),
    element("p", { className: "note" }, "The idea, its equation and its code: ", tourLink(name)));
  box.querySelector(".controls").after(parts);
  box.style.setProperty("--rung", rungColor(name));
  const stage = openStage(box, {
    runs: essay, rung, start: () => startChapter(rung()),
    compares: () => ({
      runs: [rung() - 1, rung()].map(comparable).filter(Boolean),
      levels: name === "ngram" && counted ? [{ name: `counting ${unsure(counted.ngram)}`, loss: counted.ngram }] : []
    })
  });
  details.addEventListener("toggle", () => showLadderOf(box, rung()));
  chapters[box.id] = { stage, box, line, field, rung };
}
// A page that was copied is not beside the documents.
const tourLink = name => location.pathname.endsWith("/extras/web/tril.html") ?
  element("a", { href: `../../docs/tour.md#${name}`, textContent: `the tour, ${name}` }) : `docs/tour.md, ${name}`;

// Returns the run of a rung that is compared with others: the one in advance, whose steps are all done; on another
// text, the one that is trained here.
const comparable = rung => isBuiltin() ? built[rung] : essay.get(rung);

// Begins the run of a rung, and of the one below to compare it with, unless they are there.
async function startChapter(rung) {
  const below = rung > 0 && !essay.has(rung - 1) ? begun(essay, "begin", rung - 1, chapterOptions(rung - 1)) : null;
  below?.then(run => proceed(run, true), () => {}); // such as a text of too many characters for the bigram's table
  proceed(await begun(essay, "begin", rung, chapterOptions(rung)), true);
}

// Shows how unsure the rungs up to this one are: after the same steps, each at a good rate of its own.
function showLadderOf(box, rung) {
  const host = box.querySelector("details[open] .ladder");
  if (!host) return;
  const all = ladder.slice(0, rung + 1).map(({ rung }) => comparable(rung)).filter(run => run?.done && latest(run));
  const rows = all.map(({ name, curve }) => ({ name, color: name, step: curve.at(-1)[0], loss: curve.at(-1)[1] }));
  const loss = counted && { bigram: counted.bigram, ngram: counted.ngram }[ladder[rung].name];
  if (loss) rows.unshift({ name: "counting", color: "counted", step: 0, loss });
  const most = Math.max(...rows.map(({ loss }) => Math.exp(loss)));
  drawBars(host, { label: "How unsure the models are", rows: rows.map(({ name, loss, color, step }) =>
    ({ glyph: name, color, p: Math.exp(loss) / most, said: Math.exp(loss).toFixed(1),
      title: `${inNats(loss)}${step ? `, after ${some(step, "step")}` : ""}` })) });
  host.dataset.about = `As unsure as among so many characters, ${
    isBuiltin() ? "trained in advance" : "trained here"} for the same steps, each at a good rate of its own.`;
}

// Gives all chapters lines of the text in use, and lets the first model learn from it.
function rewriteLines() {
  for (const { field, line } of Object.values(chapters)) field.value = lineFor(line);
  bench.box.querySelector(".line").value = lineFor(chapters.top.line);
  for (const { reset } of stages) reset();
  chapters.top.stage.isEager = !isCalm;
}
