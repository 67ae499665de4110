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
  /** @type {any} */
  const stage = { box, shown: null, seen: null, looks: 0, row: null, head: 0, playing: false, isEager: false,
    isVisible: false, look, refresh, play, reset };
  const line = () => part("line").value;
  let rewound = null, tried = {}, timer = 0; // a snapshot, null for the latest; the last look: { snapshot, text }
  let starting = null;                         // the start that a training waits for

  const snapshots = () => run()?.snapshots.filter(({ loss }) => loss !== null) ?? [];
  const bars = part("bars"), arcs = part("arcs"); // not those of the ladder and of the neuron, which come later
  const current = () => rewound && snapshots().findLast(({ step }) => step <= rewound.step) || latest(run());

  // ---- time ----

  function beat() {
    const all = snapshots(), at = all.indexOf(current());
    timer = 0;
    if (!stage.playing) return;
    if (at < all.length - 1) show(all[at + 1]);
    else if (run()?.failed || !run()?.built && run()?.done && latest(run()).step === run().step) stage.playing = false;
    renew();
  }
  function show(snapshot) {
    rewound = snapshot;
    look();
  }
  async function play() {
    const all = snapshots(), own = run() && !run().built;
    if (!own && !start) return;
    stage.playing = !stage.playing;
    if (own && !run().done) proceed(run(), stage.playing);
    if (starting) return renew(); // it heeds `playing` once it has begun
    if (stage.playing && !own) {
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
      rewound = snapshots()[0] ?? run()?.snapshots[0] ?? null;
    } else if (stage.playing && current() === all.at(-1) && run().done) show(all[0]);
    renew();
  }
  function showTime() {
    const all = snapshots(), slider = part("steps"), snapshot = stage.shown, own = run() && !run().built;
    const said = snapshot ? `step ${count(snapshot.step)}: as unsure as among ${unsure(snapshot.loss)} characters` : "";
    part("play").hidden = !own && !start;
    part("play").textContent = stage.playing ? "Pause" : !own ? "Watch it learn" :
      run().done && current() === all.at(-1) ? "Play again" : "Play";
    slider.max = Math.max(1, all.length - 1);
    slider.disabled = all.length < 2;
    slider.value = all.length < 2 ? 1 : all.indexOf(snapshot);
    slider.setAttribute("aria-valuetext", said);
    part("said").textContent = run()?.failed ? sentence(run().failed) : said ||
      (run() ? "" : "No model has read this text yet.");
    part("said").title = snapshot ? inNats(snapshot.loss) : "";
  }

  // ---- a look ----

  // Looks at the line with the model of the snapshot, and shows what it finds.
  const looking = seldom(40, async () => {
    const snapshot = current(), text = line(), own = run();
    if (!stage.isVisible) return;
    tried = { snapshot, text };
    showChart();
    if (!snapshot) return own ? undefined : clear("");
    if (part("writing") && !snapshot.text) snapshot.text = await reader.ask("compose", snapshot.bytes);
    try {
      const seen = await reader.ask("look", snapshot.bytes, text, stage.sampler?.());
      if (own !== run()) return look(); // another model meanwhile
      Object.assign(stage, { shown: snapshot, seen: { ...seen, snapshot, text }, looks: stage.looks + 1 });
      box.classList.remove("empty");
      part("trouble").textContent = "";
    } catch (error) {
      if (error.ended) return;
      const known = error.status === TRIL_TEXT ? await reader.ask("known", snapshot.bytes) : "";
      return clear(`${sentence(error.message)}${known && ` It knows these characters: ${known}`}`, snapshot);
    }
    await draw();
  });
  function look() { return looking(); }
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
  const place = () => Math.min(stage.row ?? Infinity, stage.seen.glyphs.length - 1);

  // Draws what was seen, around the character that was chosen or is pointed at.
  async function draw(row = place()) {
    const { glyphs, heads, next } = stage.seen, color = name(), head = heads[Math.min(stage.head, heads.length - 1)];
    const choose = row => { stage.row = row; draw(); stage.chosen?.(); }, point = row => draw(row ?? place());
    if (part("writing")) part("writing").textContent = stage.shown.text;
    const rows = next.map(({ glyph, p, after }) => ({ glyph, p, ...stage.sampler && { after } }));
    if (bars)
      drawBars(bars, { rows, color, names: ["model", "picked"], label: "What may come next" });
    if (arcs) drawArcs(arcs, { glyphs, weights: head?.weights[row] ?? [], row, color, choose, point });
    if (part("maps")) {
      part("maps").hidden = heads.length === 0;
      if (head) drawMaps(part("maps"), { glyphs, color, heads, chosen: heads.indexOf(head), row, point,
        chooseRow: choose, choose: index => { stage.head = index; draw(); stage.chosen?.(); } });
    }
    if (part("looks")) part("looks").textContent = head ? sayWeights(glyphs, head.weights[row], row) : "";
    if (part("neuron")) await drawNeuron(part("neuron"), row, choose);
    showTime();
  }
  // Draws how active the neuron is along the line that is most active at one of its characters.
  async function drawNeuron(box, row, choose) {
    const { glyphs, snapshot, text } = stage.seen, found = await reader.ask("neuronAt", snapshot.bytes, text, row);
    if (!found || stage.seen?.snapshot !== snapshot) return;
    const most = Math.max(...found.active.map(Math.abs)), heights = found.active.map(y => Math.max(0, y) / most);
    drawArcs(box, { glyphs, heights, row, color: name(), choose });
    box.nextSibling.textContent =
      `At “${glyphs[row]}”, neuron ${found.neuron} answers most. Columns: how much it answers to each character.`;
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
  stages.push(stage);
  return stage;
}

const renew = seldom(120, () => {
  for (const stage of stages) stage.refresh();
  for (const { box, rung } of Object.values(chapters)) showLadderOf(box, rung());
  showLab();
});
