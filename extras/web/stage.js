// A stage: what a model makes of a line at one of its snapshots. A box may have a .line to type, a .writing, .arcs,
// .maps, .bars, .neuron and a .chart, and .time: a Play button and a slider of steps that moves all of these
// together.
const BEAT = 650; // milliseconds between two snapshots
const stages = [];

// Opens a stage of the runs of the chapters or of the lab. rung() is the number of its model; start(), if there is one,
// begins its training; compares() returns what its chart shows, { runs, levels, thin: their losses in training, too }.
// A stage that isEager plays once it is visible.
function openStage(box, { runs, rung, start, compares }) {
  /** @type {(name: string) => any} */
  const part = name => box.querySelector(`.${name}`);
  const run = () => runs.get(rung()), name = () => ladder[rung()].name;
  const line = () => part("line").value;
  let rewound = null, tried = {}, timer = 0; // a snapshot, null for the latest; the last look: { snapshot, text }
  let starting = null;                         // the start that a training waits for

  const own = () => run() && !run().built && !run().failed; // is trained here
  const snapshots = () => run()?.snapshots ?? [];
  const bars = part("bars"), arcs = part("arcs"); // not those of the ladder and of the neuron, which come later
  const current = () => rewound && snapshots().findLast(({ step }) => step <= rewound.step) || latest(run());

  // ---- time ----

  function beat() {
    const all = snapshots(), at = all.indexOf(current());
    timer = 0;
    if (!stage.playing) return;
    if (at < all.length - 1) show(all[at + 1]);
    else if (run()?.failed || own() && run().done) stage.playing = false;
    renew();
  }
  function show(snapshot) {
    rewound = snapshot;
    look();
  }
  async function play() {
    const all = snapshots(), goesOn = own();
    if (!goesOn && !start) return;
    stage.playing = !stage.playing;
    if (goesOn && !run().done) proceed(run(), stage.playing);
    if (starting) return renew(); // it heeds `playing` once it has begun
    if (stage.playing && !goesOn) {
      const now = starting = {};
      rewound = null;
      try {
        await start();
        if (!stage.playing) proceed(run(), false); // paused meanwhile
      } catch (error) {
        if (now === starting) stage.playing = false;
        if (!error.ended) say("status", sentence(error.message), true);
      }
      if (now !== starting) return; // reset meanwhile
      starting = null;
      rewound = snapshots()[0] ?? null;
    } else if (stage.playing && current() === all.at(-1) && run().done) show(all[0]);
    renew();
  }
  function showTime() {
    const all = snapshots(), slider = part("steps"), snapshot = stage.shown;
    const known = Number.isFinite(snapshot?.loss); // else the model cannot be trained here
    const said = !snapshot ? "" : `step ${count(snapshot.step)}${
      known ? `: as unsure as among ${unsure(snapshot.loss)} characters` : ""}`;
    part("play").hidden = !own() && !start;
    part("play").textContent = stage.playing ? "Pause" : !own() ? "Watch it learn" :
      run().done && current() === all.at(-1) ? "Play again" : "Play";
    const learns = own() && !run().done; // the slider has room for what is to come
    slider.max = (learns ? SNAPSHOTS : all.length) - 1;
    slider.disabled = all.length < 2;
    slider.value = all.indexOf(snapshot);
    slider.setAttribute("aria-valuetext", said);
    part("said").textContent = run()?.failed ? sentence(run().failed) : said ||
      (run() ? "" : "No model has read this text yet.");
    part("said").title = known ? inNats(snapshot.loss) : "";
  }

  // ---- a look ----

  // Looks at the line with the model of the snapshot, and shows what it finds.
  const look = seldom(40, async () => {
    const snapshot = current(), text = line(), read = run();
    if (!stage.isVisible) return;
    tried = { snapshot, text };
    showChart();
    if (!snapshot) return read ? undefined : clear("");
    if (part("writing") && !snapshot.text) snapshot.text = await reader.ask("compose", snapshot.bytes);
    try {
      const seen = await reader.ask("look", snapshot.bytes, text, stage.sampler?.());
      if (read !== run()) return look(); // another model meanwhile
      Object.assign(stage, { shown: snapshot, seen: { ...seen, snapshot, text } });
      showChart(); // marks what is shown now
      box.classList.remove("empty");
      part("trouble").textContent = "";
    } catch (error) {
      if (error.ended) return;
      const known = error.status === TRIL_TEXT ? await reader.ask("known", snapshot.bytes) : "";
      return clear(`${sentence(error.message)}${known && ` It knows these characters: ${known}`}`, snapshot);
    }
    await draw();
    stage.changed?.();
  });
  function reset() {
    Object.assign(stage, { row: null, playing: false });
    rewound = starting = null;
    tried = {};
    look();
  }
  function refresh() {
    if (!stage.isVisible) return;
    if (stage.isEager && !stage.playing) play();
    stage.isEager = false;
    if (stage.playing && !timer) timer = setTimeout(beat, BEAT);
    if (tried.snapshot !== current() || tried.text !== line()) look(); else showChart();
    showTime();
  }
  function clear(why, snapshot = null) {
    Object.assign(stage, { shown: snapshot, seen: null });
    part("trouble").textContent = why;
    box.classList.add("empty");
    showTime();
  }
  // Draws what was seen, around the character that is pointed at or was chosen, or the last one.
  async function draw(row = Math.min(stage.row ?? Infinity, stage.seen?.glyphs.length - 1)) {
    if (!stage.seen) return; // as where the pointer leaves what an unknown character has hidden
    const { glyphs, heads, next } = stage.seen, color = name(), head = heads[Math.min(stage.head, heads.length - 1)];
    const choose = row => { stage.row = row; draw(); stage.changed?.(); }, point = row => draw(row);
    if (part("writing")) part("writing").textContent = stage.shown.text;
    const rows = next.map(({ glyph, p, after }) => ({ glyph, p, ...stage.sampler && { after } }));
    if (bars)
      drawBars(bars, { rows, color, names: ["model", "picked"], label: "What may come next" });
    if (arcs) drawArcs(arcs, { glyphs, weights: head?.weights[row] ?? [], row, color, choose, point });
    if (part("maps")) {
      part("maps").hidden = heads.length === 0;
      if (head) drawMaps(part("maps"), { glyphs, color, heads, chosen: heads.indexOf(head), row, point,
        chooseRow: choose, choose: index => { stage.head = index; draw(); stage.changed?.(); } });
    }
    if (part("looks")) part("looks").textContent = head ? sayWeights(glyphs, head.weights[row], row) : "";
    showTime();
    const { snapshot, text } = stage.seen, neuron = part("neuron");
    const found = neuron && await reader.ask("neuronAt", snapshot.bytes, text, row);
    if (found && stage.seen?.snapshot === snapshot) drawNeuron(neuron, found, { glyphs, row, color, choose });
  }
  function showChart() {
    if (!part("chart")) return;
    const { runs: all, levels = [], thin = false } = compares();
    const points = curve => curve.map(([step, loss]) => [step, Math.exp(loss)]);
    drawChart(part("chart"), { series: all.flatMap(({ name, curve, batches }) => [
      { name, color: name, points: points(curve), label: `${name} ${unsure(curve.at(-1)?.[1] ?? 0)}` },
      ...thin ? [{ name: `${name} in training`, color: name, line: "thin", points: points(batches) }] : []]),
    levels: levels.map(({ name, loss }) => ({ name, y: Math.exp(loss) })), log: true, form: y => y.toFixed(2),
    at: stage.shown?.step, end: Math.max(1, ...all.map(({ steps }) => steps)), height: 300 });
  }

  part("line").addEventListener("input", () => { stage.row = null; look(); });
  part("play").addEventListener("click", play);
  part("steps").addEventListener("input", ({ target }) => {
    const all = snapshots(), at = Number(target.value);
    stage.playing = false;
    show(at < all.length - 1 ? all[at] : null);
    refresh();
  });
  new IntersectionObserver(entries => {
    stage.isVisible = entries.at(-1).isIntersecting;
    renew();
  }, { rootMargin: "200px" }).observe(box);
  /** @type {any} */
  const stage = { box, shown: null, seen: null, row: null, head: 0, playing: false, isEager: false,
    isVisible: false, look, refresh, play, reset };
  stages.push(stage);
  return stage;
}

// Draws how active a neuron is along a line, that which is most active at one of its characters; the caption says so.
function drawNeuron(box, { neuron, active }, { glyphs, row, ...more }) {
  const most = Math.max(...active.map(Math.abs));
  drawArcs(box, { glyphs, row, heights: active.map(y => Math.max(0, y) / most), ...more });
  box.nextSibling.textContent =
    `At “${glyphs[row]}”, neuron ${neuron} answers most. Columns: how much it answers to each character.`;
}

const renew = seldom(120, () => {
  for (const stage of stages) stage.refresh();
  for (const { box, rung } of Object.values(chapters)) showLadderOf(box, rung());
  showLab();
});
