// The readout of a chart: the value of each curve where the pointer or the arrow keys put the
// cursor. It reads the document anew each time, so the curves may change meanwhile.
//
// A chart is a figure that contains
//   svg.chart with data-place ("step #") and data-decimals, and in it
//   g.plot with a polyline for each curve: data-name, and its data as points, x ascending;
//   table.legend with td[data-name] for the curves' values and th.place for the place.
// Without this script the legend has the last value of each curve.
//
// readChart(figure) makes the figure answer. It sets figure.dataset.at to the place that was asked
// for while there is a cursor. moveCursor(figure, x) puts the cursor at a place; without x it takes the cursor away.

function curvesOf(figure) {
  return [...figure.querySelectorAll(".plot polyline")].map(line => ({
    name: line.dataset.name,
    colour: line.getAttribute("stroke"),
    points: (line.getAttribute("points").match(/\S+/g) || []).map(pair => pair.split(",").map(Number))
  }));
}

// The index of the number of an ascending list that is nearest to x.
function nearestIndex(list, x) {
  let low = 0, high = list.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (list[middle] < x) low = middle; else high = middle;
  }
  return list[high] - x < x - list[low] ? high : Math.max(low, 0);
}

// Where the cursor can be: at every point of every curve.
function placesOf(curves) {
  return [...new Set(curves.flatMap(curve => curve.points.map(point => point[0])))].sort((a, b) => a - b);
}

// The point of the curve that is nearest to x; null before its begin and after its end.
function pointAt(curve, x) {
  const points = curve.points;
  if (points.length === 0 || x < points[0][0] || x > points[points.length - 1][0]) return null;
  return points[nearestIndex(points.map(point => point[0]), x)];
}

// A line at x, and a dot on each of the points.
function drawCursor(figure, x, dots) {
  const plot = figure.querySelector(".plot");
  for (const old of plot.querySelectorAll(".cursor")) old.remove();
  if (x === undefined) return;
  const box = plot.ownerSVGElement.viewBox.baseVal, matrix = plot.transform.baseVal.consolidate().matrix;
  const top = -matrix.f / matrix.d, bottom = (box.height - matrix.f) / matrix.d;
  const draw = (d, colour) => {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("class", colour ? "cursor dot" : "cursor");
    path.setAttribute("d", d);
    path.setAttribute("vector-effect", "non-scaling-stroke");
    if (colour) path.setAttribute("stroke", colour);
    plot.append(path);
  };
  draw(`M${x} ${top}V${bottom}`);
  for (const { colour, point } of dots) draw(`M${point[0]} ${point[1]}h0`, colour);
}

// Writes the values into the legend, and where one was measured if that is not at the cursor.
function fillLegend(figure, x, found) {
  const { place, decimals } = figure.querySelector(".chart").dataset;
  const title = figure.querySelector("th.place");
  title.dataset.last ??= title.textContent;
  const number = value => String(+value.toPrecision(7));
  title.textContent = x === undefined ? title.dataset.last : place.replace("#", number(x));
  const said = [];
  for (const cell of figure.querySelectorAll("td[data-name]")) {
    const point = found.get(cell.dataset.name);
    cell.textContent = point ? point[1].toFixed(decimals) : "–";
    if (!point) continue;
    said.push(`${cell.dataset.name} ${cell.textContent}`);
    if (x === undefined || point[0] === x) continue;
    const note = document.createElement("small");
    note.textContent = `at ${number(point[0])}`;
    cell.prepend(note, " ");
  }
  return `${title.textContent}: ${said.join(", ") || "no values"}`;
}

function moveCursor(figure, to) {
  const svg = figure.querySelector(".chart"), curves = curvesOf(figure), places = placesOf(curves);
  if (places.length === 0) return;
  const x = to === undefined ? undefined : places[nearestIndex(places, to)];
  const found = new Map();
  for (const curve of curves) {
    const point = x === undefined ? curve.points[curve.points.length - 1] : pointAt(curve, x);
    if (point) found.set(curve.name, point);
  }
  if (x === undefined) delete figure.dataset.at; else figure.dataset.at = to;
  const shown = curves.filter(curve => found.has(curve.name));
  drawCursor(figure, x, shown.map(curve => ({ colour: curve.colour, point: found.get(curve.name) })));
  const said = fillLegend(figure, x, found);
  svg.setAttribute("aria-valuemax", places.length - 1);
  svg.setAttribute("aria-valuenow", x === undefined ? places.length - 1 : places.indexOf(x));
  svg.setAttribute("aria-valuetext", said);
}

function readChart(figure) {
  const svg = figure.querySelector(".chart");
  // a slider is what screen readers know that takes arrow keys and says what it stands for
  for (const [name, value] of Object.entries({
    tabindex: 0, role: "slider", "aria-label": svg.querySelector("title").textContent,
    "aria-valuemin": 0
  })) svg.setAttribute(name, value);
  svg.querySelector("title").textContent = ""; // else the browser shows it over the values
  moveCursor(figure);

  const point = event => {
    const plot = figure.querySelector(".plot").getScreenCTM();
    moveCursor(figure, (event.clientX - plot.e) / plot.a);
  };
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointermove", point);
  svg.addEventListener("keydown", event => {
    const places = placesOf(curvesOf(figure)), last = places.length - 1, leap = Math.ceil(places.length / 10);
    const at = figure.dataset.at === undefined ? last + 1 : nearestIndex(places, Number(figure.dataset.at));
    const moves = {
      ArrowLeft: at - 1, ArrowRight: at + 1, PageDown: at - leap, PageUp: at + leap, Home: 0, End: last
    };
    if (event.key === "Escape") return moveCursor(figure);
    if (!(event.key in moves)) return;
    event.preventDefault();
    moveCursor(figure, places[Math.max(0, Math.min(last, moves[event.key]))]);
  });
}
