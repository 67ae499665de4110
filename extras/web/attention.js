// Attention: small maps of all heads, and on the line the arrows of one.

const weightsIn = figure => figure.match(/data-weights="([^"]*)"/)[1].split(";").map(row => row.split(",").map(Number));

// Shows a small map of each head. The one that is chosen, or under the pointer, has its arcs on the line.
function showHeads() {
  const key = `${looked()} ${maps.map(m => `${m.layer}.${m.head}`).join()}`;
  if ($("heads").dataset.key !== key) {
    $("heads").dataset.key = key;
    if (!maps.some(m => m.layer === head.layer && m.head === head.head)) head = { layer: 0, head: 0 };
    showLayer();
    $("maps").replaceChildren(...maps.map(({ layer, head }, i) => element("button", {
      type: "button", ariaLabel: `layer ${layer}, head ${head}`, onclick: () => chooseHead({ layer, head }), onpointerenter: () => showArcs({ layer, head }),
      onpointermove: event => pointAtMap(event, i), onpointerleave: () => showArcs()
    }, element("span", { className: "map-of" }), element("span", { textContent: maps.length > 1 ? `L${layer} H${head}` : ladder[looked()].name }))));
    const shade = share => element("span", { className: "shade", style: `--share: ${Math.sqrt(share / 100)}`, textContent: `${share}%` });
    $("about-maps").replaceChildren(...maps.length === 0 ? ["No attention here: a bigram sees the last character only."] :
      ["Each row looks at the columns: ", shade(5), shade(25), shade(100), maps.length > 1 ? ". L: layers, in turn; H: heads, in parallel." : "."]);
  }
  const widths = [...$("maps").children].map(button => button.clientWidth); // before they change: a layout in between takes time
  maps.forEach(({ figure }, i) => {
    const svg = element("template", { innerHTML: figure }).content.querySelector("svg");
    const { width } = svg.viewBox.baseVal, AXIS = 19, CELL = 14, LEAST = 7.4; // AXIS and CELL: of extras/page/map.c; LEAST: pixels of a letter
    const lettered = widths[i] * CELL >= LEAST * width;
    svg.classList.toggle("lettered", lettered);
    if (!lettered) svg.setAttribute("viewBox", `${AXIS} ${AXIS} ${width - AXIS} ${width - AXIS}`);
    svg.setAttribute("aria-hidden", true);
    svg.removeAttribute("id");
    svg.querySelector("title").remove();
    $("maps").children[i].firstChild.replaceChildren(svg);
  });
}

function chooseHead(next) {
  head = next;
  if (glyphs.length > 0) showArcs();
  showLayer();
  showDetail();
}

// Shows the arcs of the row under the pointer, and its cell as a tooltip.
function pointAtMap({ currentTarget: button, clientX, clientY }, i) {
  const box = button.querySelector(".cells").getScreenCTM(), { layer, head, figure } = maps[i], t = Math.floor((clientY - box.f) / box.d), s = Math.floor((clientX - box.e) / box.a);
  const weight = weightsIn(figure)[t]?.[s], title = weight === undefined ? "" : `Row “${glyphs[t]}”, column “${glyphs[s]}”: ${percent(weight / 1000)}`;
  if (title && title !== button.title) showArcs({ layer, head }, t);
  button.title = title;
}

const placeChosen = () => Math.min(chosen ?? Infinity, glyphs.length - 1);

// Draws the line, with arcs from one character to those that it attends to, as thick as the weights: from the character under
// the pointer or, without one, from the character that was chosen by a click or the keys.
function showArcs(of = head, t = placeChosen()) {
  const SHOWN = 44, FEW = 26, CELL = 13, HIGH = 62, T = glyphs.length, from = Math.max(0, T - SHOWN), map = maps.find(m => m.layer === of.layer && m.head === of.head);
  const x = s => CELL * (s - from) + CELL / 2, weights = map ? weightsIn(map.figure)[t] : [];
  const arcs = weights.flatMap((w, s) => w < 20 || s < from ? [] : [drawn("path", {
    d: s === t ? `M${x(t) - 3} ${HIGH}c-5 -12 11 -12 6 0` : `M${x(t)} ${HIGH}Q${(x(s) + x(t)) / 2} ${HIGH - Math.min(2 * HIGH, 24 + 8 * (t - s))} ${x(s)} ${HIGH}`,
    "stroke-width": (0.6 + w / 160).toFixed(2), "stroke-opacity": (0.5 + w / 2000).toFixed(2) })]);
  const letters = glyphs.slice(from).map((glyph, i) => drawn("text", {
    x: x(from + i), y: HIGH + 14, class: from + i === t ? "here" : "", "fill-opacity": from + i > t ? 0.35 : 1 }, glyph));
  const svg = drawn("svg", { viewBox: `0 0 ${CELL * Math.max(FEW, Math.min(T, SHOWN))} ${HIGH + 20}`, role: "slider", tabindex: 0, "aria-label": "The character whose attention is shown",
    "aria-valuemin": 1, "aria-valuemax": T, "aria-valuenow": t + 1 }, drawn("marker", { id: "arrow", viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 6, markerHeight: 6, markerUnits: "userSpaceOnUse", orient: "auto" }, drawn("path", { d: "M0 0L6 3L0 6z" })),
    drawn("g", { class: "arcs", "marker-end": "url(#arrow)" }, ...arcs), drawn("g", { class: "letters" }, ...letters));
  const best = weights.map((w, s) => [w, s]).sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([w]) => w > 0);
  const said = map ? `Layer ${of.layer}, head ${of.head}: “${glyphs[t]}” gives ${best.map(([w, s], i) => `${Math.round(w / 10)}%${i > 0 ? "" : " of its attention"} to ${s === t ? "itself" : `“${glyphs[s]}” (${t - s} back)`}`).join(", ")}.` : "";
  svg.setAttribute("aria-valuetext", said || `“${glyphs[t]}”`);
  const choose = to => { chosen = Math.max(0, Math.min(T - 1, to)); showArcs(of); showStep(); showDetail(); };
  const pointed = act => event => {
    const box = svg.getScreenCTM(), to = Math.floor((event.clientX - box.e) / box.a / CELL) + from;
    if (to >= from && to < T) act(to);
  };
  svg.onpointerdown = pointed(choose);
  svg.onpointermove = pointed(to => { if (to !== t) showArcs(of, to); });
  svg.onpointerleave = () => showArcs();
  svg.onkeydown = event => {
    const to = { ArrowLeft: t - 1, ArrowRight: t + 1, Home: from, End: T - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to);
  };
  const focused = $("arcs").contains(document.activeElement);
  $("arcs").replaceChildren(svg, element("p", { className: "note", textContent: said.replace(/^Layer (\d+), head (\d+): /, maps.length > 1 ? "L$1 H$2: " : "") }));
  if (focused) svg.focus({ preventScroll: true });
  [...$("heads").querySelectorAll("button")].forEach((button, i) => button.setAttribute("aria-pressed", maps[i].layer === head.layer && maps[i].head === head.head));
}
