// The ladder: which rungs to train, in which sizes, and how far each is.
const USUAL = { layers: 2, heads: 4, width: 32, context: 64, batch: 16, steps: 1000, lr: "", seed: 1337 }; // small enough to watch
const options = () => { const { lr, ...more } = numbersOf("options"); return Number.isNaN(lr) ? more : { ...more, lr }; }; // else the rung's own
const COLORS = ["#3b82d6", "#d9722e", "#2f9e5b", "#c056a8", "#a8870c", "#d94f4f", "#16a0a8", "#7d6bd6"]; // of extras/page/chart.c
let speed = 0; // of one worker on this machine, in multiply-adds a second
const cores = Math.max(1, navigator.hardwareConcurrency || 1);
const ticks = () => ladder.filter(({ rung }) => $(`tick-${rung}`).checked).map(({ rung }) => rung);

function listModels(ticked) {
  $("models").tBodies[0].replaceChildren(...ladder.map(({ rung, name, idea }) => element("tr", { id: `rung-${rung}`, title: idea },
    element("th", { scope: "row" },
      element("input", { type: "checkbox", id: `tick-${rung}`, checked: ticked.includes(name), ariaLabel: `train ${name}`, onchange: estimate }),
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
    step: table[name].kind === WHOLE || name === "seed" ? 1 : "any", value: USUAL[name],
    placeholder: USUAL[name] === "" ? "auto" : ""
  })));
}

// Shows the parameters of all rungs, and the time and memory of the ticked ones: in all workers at once.
async function estimate() {
  const { steps } = options(), all = await reader.ask("estimate", options());
  const took = e => e.error || speed === 0 ? 0 : e.work * steps / speed; // 0 until the speed is measured
  let sum = 0, longest = 0, bytes = 0, wrong = "";
  for (const [rung, e] of all.entries()) {
    $(`parameters-${rung}`).textContent = e.error ? "–" : short(e.parameters);
    $(`parameters-${rung}`).title = e.error ?? `${count(e.parameters)} parameters, about ${duration(took(e))}`;
    if (!$(`tick-${rung}`).checked) continue;
    sum += took(e);
    longest = Math.max(longest, took(e));
    bytes = Math.max(bytes, e.bytes ?? 0);
    if (e.error) wrong = sentence(e.error);
  }
  const over = bytes > limit ? " That is too much; choose smaller sizes." : "";
  say("about-models", wrong || (ticks().length === 0 ? "No model is ticked." :
    `About ${duration(Math.max(longest, sum / cores))} together, the largest with ${count(bytes / 1e6)} MB of at most ${count(limit / 1e6)} MB.${over}`),
    wrong !== "" || over !== "");
}

// Shows how far each rung is.
function showLadder() {
  for (const { rung } of ladder) {
    const row = $(`rung-${rung}`), r = rungs.get(rung), [, , loss, steps, file] = row.cells;
    const last = r?.heldOut.at(-1), share = r && r.steps > 0 && !r.built ? r.step / r.steps : 0;
    row.classList.toggle("here", rung === looked());
    row.cells[0].querySelector("button").setAttribute("aria-pressed", rung === looked());
    loss.textContent = last ? last[2].toFixed(3) : "–";
    loss.title = last ? `${(last[2] / Math.LN2).toFixed(2)} bits per character` : "";
    steps.firstChild.textContent = r ? count(r.step) : "–";
    steps.title = !r ? "" : r.built ? "trained in advance" : `of ${count(r.steps)}, ${r.seconds.toFixed(1)} s` +
      (r.seconds > 0 ? `, ${count(r.step * r.batch * r.context / r.seconds)} characters a second` : "");
    steps.lastChild.style.width = `${100 * share}%`;
    file.firstChild.disabled = !r || r.moments.length === 0;
  }
}
