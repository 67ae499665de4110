// The ladder: which rungs to train, in which sizes, and how far each is.
const USUAL = { layers: 2, heads: 4, width: 32, context: 64, batch: 16, steps: 1000, lr: "", seed: 1337 }; // small enough to watch
const options = () => { const { lr, ...more } = numbersOf("options"); return Number.isNaN(lr) ? more : { ...more, lr }; }; // else the rung's own
const COLORS = ["#3b82d6", "#d9722e", "#2f9e5b", "#c056a8", "#a8870c", "#d94f4f", "#16a0a8", "#7d6bd6"]; // of extras/page/chart.c
let estimates = []; // of each rung in the current sizes
let speed = 0; // of one worker on this machine, in multiply-adds a second
const cores = Math.max(1, navigator.hardwareConcurrency || 1);
const ticks = () => ladder.filter(({ rung }) => $(`tick-${rung}`).checked).map(({ rung }) => rung);

function listModels() {
  $("models").tBodies[0].replaceChildren(...ladder.map(({ rung, name, idea }) => element("tr", { id: `rung-${rung}`, title: idea },
    element("th", { scope: "row" },
      element("input", { type: "checkbox", id: `tick-${rung}`, ariaLabel: `train ${name}` }),
      element("button", { type: "button", className: "name", textContent: name, style: `border-color: ${COLORS[rung]}`, onclick: () => lookAt(rung) })),
    element("td", { id: `parameters-${rung}` }), element("td"), element("td", {}, element("span"), element("i")),
    element("td", {}, element("button", { type: "button", textContent: "↓", ariaLabel: `Download ${name}`, title: "Download the checkpoint", disabled: true, onclick: () => download(rung) })))));
  $("looked").replaceChildren(...ladder.map(({ rung, name }) => element("option", { value: rung, textContent: name })));
}

// The options' ranges and help are those of ./train.
function listOptions() {
  const WHOLE = 0;
  addNumbers("options", Object.keys(USUAL).map(name => ({
    name, help: table[name].help, min: table[name].min, max: name === "seed" ? Number.MAX_SAFE_INTEGER : table[name].max || "",
    step: table[name].kind === WHOLE || name === "seed" ? 1 : "any", defaultValue: USUAL[name],
    placeholder: USUAL[name] === "" ? "auto" : ""
  })));
}

// Returns the seconds of some rungs in all workers at once; 0 until the speed is measured.
function together(some, steps) {
  const took = some.map(e => e.error || speed === 0 ? 0 : e.work * steps / speed);
  return Math.max(0, ...took, took.reduce((sum, one) => sum + one, 0) / cores);
}

// Shows the time, parameters and memory of the ticked rungs.
async function estimate() {
  const { steps } = options();
  estimates = await reader.ask("estimate", options());
  const all = ticks().map(rung => estimates[rung]), most = key => Math.max(0, ...all.map(e => e[key] ?? 0)), failed = all.find(e => e.error);
  const over = most("bytes") > limit ? " That is too much; choose smaller sizes." : "";
  say("about-models", failed ? sentence(failed.error) : all.length === 0 ? "No model is ticked." :
    `About ${duration(together(all, steps))} at these sizes, up to ${count(most("parameters"))} parameters, ${mebibytes(most("bytes"))} of at most ${mebibytes(limit)}.${over}`,
    Boolean(failed || over));
  showLadder();
}

// Shows how far each rung is; the size of one that is not there in the sizes that are typed.
function showLadder() {
  for (const { rung } of ladder) {
    const row = $(`rung-${rung}`), r = rungs.get(rung), [, size, loss, steps, file] = row.cells;
    const { parameters = 0, error = "" } = r ?? estimates[rung] ?? {};
    size.textContent = parameters > 0 ? short(parameters) : "–";
    size.title = error || `${count(parameters)} parameters`;
    const last = r?.heldOut.at(-1), share = r && r.steps > 0 && !r.built ? r.step / r.steps : 0;
    row.classList.toggle("here", rung === looked());
    row.cells[0].querySelector("button").setAttribute("aria-pressed", rung === looked());
    loss.textContent = last ? nats(last[2]) : "–";
    loss.title = last ? `${(last[2] / Math.LN2).toFixed(3)} bits per character` : "";
    steps.firstChild.textContent = r ? `${r.step}` : "–";
    steps.title = !r ? "" : r.built ? "trained in advance" : `of ${r.steps}, ${r.seconds.toFixed(1)} s` +
      (r.seconds > 0 ? `, ${count(r.step * r.batch * r.context / r.seconds)} characters a second` : "");
    steps.lastChild.style.width = `${100 * share}%`;
    file.firstChild.disabled = !r || r.snapshots.length === 0;
  }
}
