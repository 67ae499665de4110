"use strict";
// Draws charts of losses, maps and arcs of attention, and bars of probabilities, for the report and for the page in a
// browser tab. A figure is drawn into an element, again and again: drawChart(element, chart) and so on. It is as wide
// as the element, and drawn again when that width changes. Colors are in figures.css.
/** @type {(id: string) => any} */
const $ = id => document.getElementById(id);

// Returns a new element of HTML, or of SVG.
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}
function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
// Returns the children of an element, so many of them: makes those that it lacks, and removes the last ones.
function childrenOf(host, count, make) {
  while (host.children.length > count) host.lastChild.remove();
  while (host.children.length < count) host.append(make(host.children.length));
  return [...host.children];
}
// Shows a text in an element, which is hidden without one.
function say(id, text, isWrong = false) {
  if ($(id).textContent !== text) $(id).textContent = text || ""; // else a screen reader would speak again
  $(id).hidden = !text;
  $(id).classList.toggle("wrong", isWrong);
}
function tableRow(name, cells) {
  return element("tr", {}, element("th", { scope: "row", textContent: name }),
    ...cells.map(text => element("td", {}, element("bdi", { textContent: text }))));
}

const rungColor = name => `var(--${name}, var(--ink))`;
const percent = p => p > 0 && p < 0.0005 ? "< 0.1%" : `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)}%`;
// Returns the number of equally likely characters that would be as surprising as a loss in nats.
const unsure = nats => Math.exp(nats).toFixed(Math.exp(nats) < 9.95 ? 1 : 0);
const count = number => Math.round(number).toLocaleString("en");
const duration = seconds => seconds < 120 ? `${Math.round(seconds)} s` :
  seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;

// ---- what all figures share ----

/** @type {WeakMap<any, any>} */
const figures = new WeakMap(); // of an element: { shown, paint, width, ... }

// Returns a function that draws a figure of this class: draw(host, shown) keeps what the element shows now, beside what
// is usual, and paints it.
function figureOf(className, paint, usual) {
  return (host, shown) => {
    const figure = figures.get(host) ?? { width: -1, at: -1 };
    const repaint = () => {
      figure.width = host.clientWidth;
      if (figure.width > 0) paint(host, figure); // a hidden element is painted when it is shown
    };
    figure.shown = { ...usual, ...shown };
    if (!figures.has(host)) {
      host.classList.add(className);
      new ResizeObserver(() => host.clientWidth !== figure.width && repaint()).observe(host);
    }
    figures.set(host, figure);
    repaint();
  };
}

// Puts the parts of a figure into its SVG, in place of what it showed before. The pointer, and the keys through a
// slider that is not seen, walk through the places of the figure, which are numbers from 0 to places - 1:
//   chosen is the one where the slider begins; find(x, y) returns the place at a point of the SVG, or -1;
//   spot(place) returns its point; mark(place, x, y) what shows it; say(place, x, y) the tip;
//   value(place, x, y) what shown.point and shown.choose are told.
// A figure without places is only seen.
function put(host, figure, { label, width, height, parts, ...walk }) {
  if (!figure.svg) {
    Object.assign(figure, { svg: drawn("svg", { role: "img" }), cursor: drawn("g", { class: "cursor" }) });
    host.replaceChildren(figure.svg);
    if ("places" in walk) follow(host, figure);
  }
  const { svg, slider, cursor } = Object.assign(figure, walk);
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, "aria-label": label }))
    svg.setAttribute(name, value);
  svg.replaceChildren(...parts, cursor);
  if (!slider) return;
  slider.max = Math.max(0, figure.places - 1);
  slider.disabled = figure.places < 2;
  slider.setAttribute("aria-label", label);
  if (document.activeElement !== slider || figure.at < 0) slider.value = figure.chosen;
  showPlace(figure, figure.at < figure.places ? figure.at : -1, figure.point);
}

// Marks a place, or none, and says it in the tip and for who does not see the slider.
function showPlace(figure, place, point) {
  const { cursor, slider, places } = figure, at = Number(slider.value);
  if (place >= 0) tip.textContent = figure.say(place, ...point); else if (figure.at >= 0) tip.remove();
  Object.assign(figure, { at: place, point });
  cursor.replaceChildren(...place < 0 ? [] : figure.mark(place, ...point));
  slider.setAttribute("aria-valuetext", places > 0 ? figure.say(at, ...figure.spot(at)).replaceAll("\n", "; ") : "");
}

const tip = element("div", { className: "tip", ariaHidden: "true" });
function follow(host, figure) {
  const { svg } = figure, slider = figure.slider = element("input", { type: "range", min: "0", className: "unseen" });
  const leave = () => {
    const was = figure.at;
    showPlace(figure, -1);
    if (was >= 0) figure.shown.point?.();
  };
  const move = (place, point, chooses) => {
    const MARGIN = 12, box = svg.getBoundingClientRect(), x = box.left + point[0], y = box.top + point[1];
    if (place < 0) return leave();
    showPlace(figure, place, point);
    tip.setAttribute("style", [ // beside the point, toward the middle of the window
      x < innerWidth / 2 ? `left: ${x + MARGIN}px` : `right: ${innerWidth - x + MARGIN}px`,
      y < innerHeight / 2 ? `top: ${y + MARGIN}px` : `bottom: ${innerHeight - y + MARGIN}px`].join("; "));
    document.body.append(tip);
    figure.shown.point?.(...figure.value(place, ...point));
    if (chooses) figure.shown.choose?.(...figure.value(place, ...point));
  };
  const point = event => {
    const box = svg.getBoundingClientRect(), at = [event.clientX - box.left, event.clientY - box.top];
    move(figure.find(...at), at, event.type === "pointerdown" || event.buttons & 1);
  };
  const walk = () => move(Number(slider.value), figure.spot(Number(slider.value)), true);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerleave", leave);
  slider.addEventListener("input", walk);
  slider.addEventListener("blur", leave);
  slider.addEventListener("keydown", event => {
    const rows = { ArrowUp: -1, ArrowDown: 1 }[event.key]; // a slider's values rise upward, rows downward
    if (event.key === "Escape") leave();
    if (!rows || !figure.downward) return;
    event.preventDefault();
    slider.value = String(Number(slider.value) + rows);
    walk();
  });
  host.append(slider);
}

// ---- charts ----

// Draws series of points, { name, color, points: [[x, y], ...], line, label }, with x ascending and lines that are
// "solid" or "thin", and levels, { name, y }, all named at their ends. form(y): of y in tips; log, zero: of the y axis;
// place: what x is; end: the x axis ends there or later; at: an x that is marked; choose(x): what a click does.
const drawChart = figureOf("chart", paintChart, { levels: [], place: "step" });

// Returns the round number near x: 1, 2 or 5 times a power of ten; and such a distance apart, numbers from low to high,
// about so many.
function rounded(x) {
  const ten = 10 ** Math.floor(Math.log10(x)), digit = x / ten;
  return ten * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}
function ticks(low, high, parts) {
  const step = rounded((high - low) / parts), first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
}
const round = x => x !== 0 && (Math.abs(x) >= 1e7 || Math.abs(x) < 1e-4) ? x.toExponential(1).replace(".0", "") :
  x.toLocaleString("en", { maximumSignificantDigits: 6 });

// Returns the y axis: scale(y), by which it is even, its ends in this scale, and the numbers at its ticks; on a
// logarithmic one round numbers or, where there are less than three, of as few digits as give three.
function levelAxis({ log, zero, levels }, points, parts) {
  const scale = log ? Math.log : y => y, all = [...points.map(([, y]) => y), ...levels.map(({ y }) => y)].map(scale);
  const least = zero || all.length === 0 ? 0 : Math.min(...all), most = Math.max(least, ...all);
  const size = most - least > 1e-9 * Math.abs(most) ? most - least : Math.max(1, Math.abs(least));
  const low = zero ? 0 : least - 0.04 * size, high = least + 1.04 * size, even = ticks(low, high, parts);
  const lists = [rounded, ...[1, 2, 3, 17].map(digits => y => Number(y.toPrecision(digits)))].map(near =>
    [...new Set(even.map(y => near(Math.exp(y))))].filter(y => Math.log(y) >= low && Math.log(y) <= high));
  return { scale, low, high, rows: log ? lists.find(list => list.length > 2) ?? lists.at(-1) : even };
}

// Moves labels, { y, ... }, apart, so that none lies on another or below the end.
function spread(labels, end) {
  const LINE = 16;
  labels.sort((a, b) => a.y - b.y);
  labels.forEach((label, i) => { if (i > 0) label.y = Math.max(label.y, labels[i - 1].y + LINE); });
  labels.forEach((label, i) => { label.y = Math.min(label.y, end - LINE * (labels.length - 1 - i)); });
  return labels;
}

// Returns the index of the point whose x is nearest; -1 before the first and after the last.
function nearest(points, x) {
  const away = i => Math.abs(points[i][0] - x);
  if (points.length === 0 || x < points[0][0] || x > points.at(-1)[0]) return -1;
  return points.reduce((best, _, i) => away(i) < away(best) ? i : best, 0);
}

// Returns the ends of the axes in pixels, across(x) and down(y), the pixels of a point, and what is drawn of the axes.
function axesOf({ shown, width }, series) {
  const LETTER = 7.3, TOP = 8, BOTTOM = 42, { height, levels, place } = shown;
  const points = series.flatMap(one => one.points), { scale, low, high, rows } = levelAxis(shown, points, height / 55);
  const longest = texts => LETTER * Math.max(0, ...texts.map(text => text.length));
  const left = 12 + longest(rows.map(round)), bottom = height - BOTTOM;
  const right = width - 14 - longest([...series.map(one => one.label), ...levels.map(level => level.name)]);
  const end = Math.max(...points.map(point => point[0]), shown.end ?? 0, 1e-9);
  const across = x => left + x / end * (right - left);
  const down = y => bottom - (scale(y) - low) / (high - low) * (bottom - TOP);
  const columns = ticks(0, end, Math.max(2, (right - left) / 90));
  const text = (x, y, anchor, words) => drawn("text", { x, y, "text-anchor": anchor }, words);
  const parts = [
    drawn("g", { class: "grid" },
      ...rows.map(y => drawn("path", { d: `M${left} ${down(y)}H${right}` })),
      ...columns.map(x => drawn("path", { d: `M${across(x)} ${bottom}v4` })),
      drawn("path", { d: `M${left} ${bottom}H${right}` })),
    ...rows.map(y => text(left - 6, down(y) + 4, "end", round(y))),
    ...columns.map(x => text(across(x), bottom + 18, "middle", round(x))),
    text(right, bottom + 36, "end", `${place.replace(/s$/, "")}s`),
    ...levels.map(({ y }) => drawn("path", { class: "level", d: `M${left} ${down(y)}H${right}` }))];
  return { left, right, top: TOP, bottom, across, down, end, parts };
}

// Returns the thin lines, then the others, with a dot for each point if there are few, and the labels.
function curvesOf({ right, bottom, across, down }, series, levels) {
  const FEW = 30, [thin, solid] = ["thin", "solid"].map(line => series.filter(one => one.line === line));
  const lines = [...thin, ...solid].filter(one => one.points.length > 0).flatMap(({ line, color, points }) => {
    const at = points.map(([x, y]) => `${across(x).toFixed(1)} ${down(y).toFixed(1)}`);
    const path = (name, d) => drawn("path", { class: name, style: `stroke: ${rungColor(color)}`, d });
    const dots = line === "solid" && at.length <= FEW ? [path("dots", at.map(point => `M${point}h0`).join(""))] : [];
    return [path(line, `M${at.join("L")}`), ...dots];
  });
  const labels = [
    ...series.filter(one => one.label && one.points.length > 0).map(({ label, color, points }) =>
      ({ words: label, y: down(points.at(-1)[1]), color })),
    ...levels.map(({ name, y }) => ({ words: name, y: down(y), color: "counted" }))];
  return [...lines, ...spread(labels, bottom).map(({ words, y, color }) =>
    drawn("text", { x: right + 8, y: y + 4, style: `fill: ${rungColor(color)}` }, words))];
}

function paintChart(host, figure) {
  const MANY = 12, { shown, width } = figure, { height, form, place, levels, log } = shown;
  const series = shown.series.map(one => ({
    line: "solid", label: one.line === "thin" ? "" : one.name, ...one,
    points: one.points.filter(([, y]) => Number.isFinite(y) && (!log || y > 0))
  }));
  const said = series.filter(one => one.label && one.points.length > 0).map(({ name, points }) =>
    `${name} ${form(points.at(-1)[1])}`).join(", ");
  const axes = axesOf(figure, series), { left, right, top, bottom, across, down, end } = axes;
  const found = x => series.flatMap(one => {
    const i = nearest(one.points, x);
    return i < 0 ? [] : [{ ...one, point: one.points[i] }];
  });
  const mark = x => [
    drawn("path", { d: `M${across(x)} ${top}V${bottom}` }),
    ...found(x).map(({ line, color, point: [x, y] }) => drawn("path", {
      class: `dots ${line}`, style: `stroke: ${rungColor(color)}`, d: `M${across(x)} ${down(y)}h0` }))];
  const places = [...new Set(series.flatMap(one => one.points.map(point => point[0])))].sort((a, b) => a - b);
  const pairs = places.map(x => [x]), placeAt = x => nearest(pairs, Math.max(places[0], Math.min(places.at(-1), x)));
  put(host, figure, {
    label: `By ${place}: ${said || "nothing yet"}.`, width, height,
    parts: [...axes.parts, ...curvesOf(axes, series, levels),
      ...shown.at === undefined ? [] : [drawn("g", { class: "cursor" }, ...mark(shown.at))]],
    places: places.length, chosen: Math.max(0, shown.at === undefined ? places.length - 1 : placeAt(shown.at)),
    find: x => x < left - 20 || x > right + 20 ? -1 : placeAt((x - left) / (right - left) * end),
    spot: i => [across(places[i]), top], value: i => [places[i]], mark: i => mark(places[i]),
    say: i => [
      place.endsWith("s") ? `${round(places[i])} ${place}` : `${place} ${round(places[i])}`,
      ...found(places[i]).filter(({ line }) => line !== "thin" || series.length <= MANY).map(
        ({ name, point: [x, y] }) => `${name} ${form(y)}${x === places[i] ? "" : ` (at ${round(x)})`}`)].join("\n")
  });
}

// ---- attention ----

// Says where the character of a row looks most.
function sayWeights(glyphs, weights, row) {
  const SAID = 3, LEAST = 0.01;
  const best = weights.map((weight, s) => ({ weight, s })).sort((a, b) => b.weight - a.weight);
  const to = s => s === row ? "itself" : `“${glyphs[s]}” (${row - s} back)`;
  const shares = best.slice(0, SAID).filter(({ weight }) => weight >= LEAST).map(({ weight, s }, i) =>
    `${percent(weight)}${i > 0 ? "" : " of its attention"} to ${to(s)}`);
  return `“${glyphs[row]}” gives ${shares.join(", ")}.`;
}

// Draws the weights of one head: a row for each character, with the shares of its attention that it gives to itself and
// to those before it. row: the one that is emphasized; point(row, column) follows the pointer, choose(row) its clicks.
// Without letters, it is a thumbnail as wide as its element.
const drawMap = figureOf("map", paintMap, { letters: true, label: "Attention" });

// Returns the cells as paths, one for each shade. The eye sees the root: a weight of 0.05 is visible, too.
function shadesOf(weights, gap) {
  const SHADES = 16, paths = Array.from({ length: SHADES + 1 }, () => "");
  const shade = weight => Math.round(Math.sqrt(Math.max(0, Math.min(1, weight || 0))) * SHADES);
  weights.forEach((row, t) => row.forEach((weight, s) => {
    paths[shade(weight)] += `M${s + gap / 2} ${t + 0.5}h${1 - gap}`;
  }));
  return paths.flatMap((d, i) => i === 0 || d === "" ? [] : [drawn("path", { d, "stroke-opacity": i / SHADES })]);
}

function paintMap(host, figure) {
  const LEAST = 14, MOST = 30, { shown, width } = figure, { glyphs, weights, letters, label, color, row } = shown;
  const T = glyphs.length, axis = letters ? 20 : 0, gap = letters ? 0.08 : 0, chosen = row ?? T - 1;
  const cell = Math.max(letters ? LEAST : 0, Math.min(MOST, (width - axis - 2) / Math.max(1, T)));
  const side = axis + cell * T + 2, said = T > 0 ? `: ${sayWeights(glyphs, weights[chosen] ?? [], chosen)}` : "";
  const inCells = (...parts) => drawn("g", { transform: `translate(${axis} ${axis}) scale(${cell})` }, ...parts);
  const rowPath = t => drawn("path", { class: "row", d: `M0 ${t}h${t + 1}v1H0z` });
  const middle = t => axis + cell * (t + 0.5), rowAt = y => Math.floor((y - axis) / cell), columnAt = rowAt;
  const letter = (t, x, y, name = "") => drawn("text", { x, y, class: name, "text-anchor": "middle" }, glyphs[t]);
  const beside = (t, name) => letter(t, axis / 2, middle(t) + 4, name);
  const above = (s, name) => letter(s, middle(s), axis - 6, name);
  const cells = inCells(drawn("path", { class: "stairs", d: `M0 0${"h1v1".repeat(T)}H0z` }),
    drawn("g", { style: `stroke: ${rungColor(color)}`, "stroke-width": 1 - gap }, ...shadesOf(weights, gap)),
    ...row === undefined || !letters ? [] : [rowPath(row)]);
  if (!letters) return put(host, figure, { label: label + said, width: side, height: side, parts: [cells] });
  put(host, figure, {
    label: label + said, width: side, height: side,
    parts: [cells, ...glyphs.map((_, t) => beside(t)), ...glyphs.map((_, t) => above(t))],
    places: T, chosen, downward: true,
    find: (x, y) => rowAt(y) >= 0 && rowAt(y) < T && columnAt(x) <= rowAt(y) ? rowAt(y) : -1,
    spot: t => [0, middle(t)], value: (t, x) => columnAt(x) < 0 ? [t] : [t, columnAt(x)],
    mark: (t, x) => columnAt(x) < 0 ? [inCells(rowPath(t)), beside(t, "here")] :
      [inCells(drawn("path", { class: "row", d: `M${columnAt(x)} ${t}h1v1h-1z` })), beside(t, "here"),
        above(columnAt(x), "here")],
    say(t, x) {
      const s = columnAt(x), to = s === t ? "itself" : `“${glyphs[s]}”, ${t - s} back`;
      return s < 0 ? sayWeights(glyphs, weights[t] ?? [], t) :
        `“${glyphs[t]}” gives ${percent(weights[t]?.[s] ?? 0)} to ${to}`;
    }
  });
}

// Draws all heads: one large, and thumbnails that choose it, and show theirs while they are pointed at or have the
// focus. heads: [{ layer, head, weights }, ...]; chosen: an index; choose(index); row, point and chooseRow: as row,
// point and choose of drawMap.
const drawMaps = figureOf("maps", paintMaps, { chosen: 0 });

function paintMaps(host, figure) {
  const { glyphs, color, heads, row, point, ...shown } = figure.shown, last = heads.length - 1;
  const [large, thumbs] = childrenOf(host, 2, i =>
    element("div", i === 0 ? {} : { className: "thumbs", role: "group", ariaLabel: "Heads" }));
  const buttons = childrenOf(thumbs, last > 0 ? heads.length : 0, i => {
    const enlarge = over => () => { figure.over = over; paintMaps(host, figure); };
    return element("button", { type: "button", onclick: () => figure.shown.choose?.(i), onpointerenter: enlarge(i),
      onfocus: enlarge(i), onpointerleave: enlarge(), onblur: enlarge() }, element("span"));
  });
  const of = head => ({ glyphs, color, weights: head.weights, label: `Layer ${head.layer}, head ${head.head}` });
  const chosen = Math.min(shown.chosen, last), seen = heads[Math.min(figure.over ?? chosen, last)];
  buttons.forEach((button, i) => {
    button.setAttribute("aria-pressed", String(i === chosen));
    button.setAttribute("aria-label", of(heads[i]).label);
    if (figures.get(button.firstChild)?.shown.weights !== heads[i].weights)
      drawMap(button.firstChild, { ...of(heads[i]), letters: false });
  });
  if (seen) drawMap(large, { ...of(seen), row, point, choose: shown.chooseRow });
}

// Draws a line of text, with arcs from the character of a row to those that it looks at, or with a column on each
// character, whose heights are shares of 1. Of a long line, it draws the end. point(t) and choose(t): the character
// under the pointer, and the one that is clicked.
const drawArcs = figureOf("arcs", paintArcs, { weights: [], heights: [] });

function paintArcs(host, figure) {
  const HIGH = 64, SEEN = 0.02, { shown, width } = figure;
  const { glyphs, weights, heights, color, row } = shown, style = `stroke: ${rungColor(color)}`;
  const least = glyphs.some(glyph => glyph.codePointAt(0) >= 0x2E80) ? 17 : 11, all = glyphs.length;
  const count = Math.max(1, Math.min(all, Math.floor(width / least))), from = all - count;
  const cell = Math.min(width / count, 20), x = t => cell * (t - from + 0.5), read = weights.length > 0;
  const arc = (weight, s) => {
    const rise = HIGH - Math.min(2 * HIGH, 26 + 9 * (row - s));
    return drawn("path", {
      class: "arc", style,
      "stroke-width": (0.7 + 6 * weight).toFixed(2), "stroke-opacity": (0.55 + weight / 2.5).toFixed(2),
      d: s === row ? `M${x(row) - 3} ${HIGH}c-5 -14 11 -14 6 0` :
        `M${x(row)} ${HIGH}Q${(x(s) + x(row)) / 2} ${rise} ${x(s)} ${HIGH}` });
  };
  const share = i => heights.length > 0 ? `: ${percent(heights[from + i])} of the highest` : "";
  put(host, figure, {
    label: read ? sayWeights(glyphs, weights, row) : glyphs.join(""), width, height: HIGH + 24,
    parts: [
      ...weights.flatMap((weight, s) => weight >= SEEN && s >= from && row >= from ? [arc(weight, s)] : []),
      ...heights.slice(from).map((height, i) => drawn("path", {
        class: "column", style, "stroke-width": cell - 4, d: `M${x(from + i)} ${HIGH}v${-height * HIGH}` })),
      ...glyphs.slice(from).map((glyph, i) => drawn("text", {
        x: x(from + i), y: HIGH + 17, "text-anchor": "middle",
        class: from + i === row ? "here" : from + i > row ? "later" : "" }, glyph))],
    places: count, chosen: Math.max(0, row - from),
    find: x => x >= 0 && x < cell * count ? Math.floor(x / cell) : -1,
    spot: i => [cell * (i + 0.5), HIGH], value: i => [from + i],
    mark: i => [drawn("path", { d: `M${cell * i + 1} ${HIGH + 22}h${cell - 2}` })],
    say: i => from + i === row && read ? sayWeights(glyphs, weights, row) : `“${glyphs[from + i]}”${share(i)}`
  });
}

// ---- bars ----

// Draws shares, such as the probabilities of characters, { glyph, p, after }: one bar each or, with `after`, two, which
// `names` name. A row may have a color, a title, and words in place of its percentages, `said`.
function drawBars(host, { rows, color = "", names = ["", ""], label = "The likeliest next characters" }) {
  const [note, list] = childrenOf(host, 2, i => i === 0 ? element("p", { ariaHidden: "true" }) : element("ol"));
  const items = childrenOf(list, rows.length, () => element("li", {}, element("b"),
    element("span", { className: "track" }, element("i"), element("i")), element("span")));
  host.classList.add("bars");
  list.setAttribute("aria-label", label);
  note.hidden = rows.every(row => row.after === undefined);
  note.textContent = `faint: ${names[0]}; strong: ${names[1]}`;
  rows.forEach(({ glyph, p, after, title = "", said, color: own = color }, i) => {
    const row = items[i], [name, track, words] = row.children, shares = after === undefined ? [p] : [p, after];
    row.title = title;
    row.style.setProperty("--bar", rungColor(own));
    name.textContent = glyph;
    words.textContent = said ?? shares.map(percent).join(" → ");
    track.classList.toggle("two", shares.length > 1);
    [...track.children].forEach((bar, n) => {
      bar.hidden = n >= shares.length;
      bar.style.width = `${(100 * Math.max(0, Math.min(1, shares[n] ?? 0))).toFixed(2)}%`;
    });
  });
}
