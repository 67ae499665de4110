// Makes charts and maps answer the pointer and the arrow keys. Readouts read the document each time,
// so it may change meanwhile. figure.dataset.at is where the cursor is, while there is one.
//
// A chart is a figure that contains
//   svg.chart with data-place ("step #") and data-decimals, and in it
//   g.plot with a polyline for each curve: data-name, and its data as points, x ascending;
//   table.legend with td[data-name] for the curves' values and th.place for the place.
// Without this script the legend has the last value of each curve.
//
// A map of attention is a figure that contains
//   svg.map with data-weights, in thousandths: a row of numbers for each token, "1000;400,600;...";
//     in it .cells, where a cell is one unit wide and high, and the tokens as .rows text and
//     .columns text;
//   an output for the readout.
//
// readChart(figure) and readMap(figure) make a figure answer. moveCursor(figure, x) and
// moveCell(figure, row, column) put the cursor at a place; without one they take it away.

// Returns a new element of an SVG.
function drawn(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Draws a part of the cursor, whose lines are as thick at every scale.
function drawPart(parent, d, color) {
  const style = color ? { class: "cursor dot", stroke: color } : { class: "cursor" };
  parent.append(drawn("path", { ...style, d, "vector-effect": "non-scaling-stroke" }));
}

// move(figure, ...place) follows the pointer, at pointed(event), and the keys, to keys()[name].
function follow(figure, svg, attributes, move, pointed, keys) {
  const title = svg.querySelector("title");
  for (const [name, value] of Object.entries({ tabindex: 0, "aria-label": title.textContent, ...attributes }))
    svg.setAttribute(name, value);
  title.textContent = ""; // else the browser shows it over the values
  for (const type of ["pointerdown", "pointermove"])
    svg.addEventListener(type, event => move(figure, ...pointed(event)));
  svg.addEventListener("keydown", event => {
    const place = event.key === "Escape" ? [] : keys()[event.key];
    if (!place) return;
    if (place.length > 0) event.preventDefault();
    move(figure, ...place);
  });
}

// ---- charts ----

function curvesOf(figure) {
  return [...figure.querySelectorAll(".plot polyline")].map(line => ({
    name: line.dataset.name,
    color: line.getAttribute("stroke"),
    points: (line.getAttribute("points").match(/\S+/g) || []).map(pair => pair.split(",").map(Number))
  }));
}

// Returns the index of the number in an ascending list that is nearest to x.
function nearestIndex(list, x) {
  let low = 0, high = list.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (list[middle] < x) low = middle; else high = middle;
  }
  return list[high] - x < x - list[low] ? high : Math.max(low, 0);
}

// Returns the places of the cursor: every point of every curve.
function placesOf(curves) {
  return [...new Set(curves.flatMap(curve => curve.points.map(point => point[0])))].sort((a, b) => a - b);
}

// Returns the point of the curve that is nearest to x, or without x the last; nothing before its
// beginning and after its end.
function pointAt(curve, x) {
  const points = curve.points;
  if (x === undefined) return points.at(-1);
  if (points.length === 0 || x < points[0][0] || x > points.at(-1)[0]) return undefined;
  return points[nearestIndex(points.map(point => point[0]), x)];
}

// Writes the values into the legend, with the place of each value that is not at the cursor.
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
  const svg = figure.querySelector(".chart"), plot = figure.querySelector(".plot");
  const curves = curvesOf(figure), places = placesOf(curves), found = new Map();
  if (places.length === 0) return;
  const x = to === undefined ? undefined : places[nearestIndex(places, to)];
  for (const old of plot.querySelectorAll(".cursor")) old.remove();
  if (x === undefined) delete figure.dataset.at; else {
    const box = plot.ownerSVGElement.viewBox.baseVal, matrix = plot.transform.baseVal.consolidate().matrix;
    figure.dataset.at = to;
    drawPart(plot, `M${x} ${-matrix.f / matrix.d}V${(box.height - matrix.f) / matrix.d}`);
  }
  for (const curve of curves) {
    const point = pointAt(curve, x);
    if (!point) continue;
    found.set(curve.name, point);
    if (x !== undefined) drawPart(plot, `M${point[0]} ${point[1]}h0`, curve.color);
  }
  svg.setAttribute("aria-valuemax", places.length - 1);
  svg.setAttribute("aria-valuenow", x === undefined ? places.length - 1 : places.indexOf(x));
  svg.setAttribute("aria-valuetext", fillLegend(figure, x, found));
}

function readChart(figure) {
  const pointed = event => {
    const plot = figure.querySelector(".plot").getScreenCTM();
    return [(event.clientX - plot.e) / plot.a];
  };
  const keys = () => {
    const places = placesOf(curvesOf(figure)), last = places.length - 1, leap = Math.ceil(places.length / 10);
    const at = figure.dataset.at === undefined ? last + 1 : nearestIndex(places, Number(figure.dataset.at));
    const place = i => [places[Math.max(0, Math.min(last, i))]];
    return { ArrowLeft: place(at - 1), ArrowRight: place(at + 1), PageDown: place(at - leap),
      PageUp: place(at + leap), Home: place(0), End: place(last) };
  };
  // screen readers know a slider, which takes arrow keys and speaks its value
  follow(figure, figure.querySelector(".chart"), { role: "slider", "aria-valuemin": 0 }, moveCursor, pointed, keys);
  moveCursor(figure);
}

// ---- maps ----

function weightsOf(figure) {
  return figure.querySelector(".map").dataset.weights.split(";").map(row => row.split(",").map(Number));
}

function moveCell(figure, toRow, toColumn) {
  const svg = figure.querySelector(".map"), output = figure.querySelector("output"), weights = weightsOf(figure);
  for (const old of svg.querySelectorAll(".cursor")) old.remove();
  for (const old of svg.querySelectorAll(".here")) old.classList.remove("here");
  output.value = "";
  delete figure.dataset.at;
  if (toRow === undefined) return;
  const row = Math.max(0, Math.min(weights.length - 1, toRow));
  const column = Math.max(0, Math.min(row, toColumn)); // no later token is attended to
  const names = [svg.querySelectorAll(".rows text")[row], svg.querySelectorAll(".columns text")[column]];
  for (const name of names) name.classList.add("here");
  drawPart(svg.querySelector(".cells"), `M${column} ${row}h1v1h-1z`);
  figure.dataset.at = `${row} ${column}`;
  const weight = (weights[row][column] / 1000).toFixed(3);
  output.value = `row ${row + 1} “${names[0].textContent}”, column ${column + 1} “${names[1].textContent}”: ${weight}`;
}

function readMap(figure) {
  const svg = figure.querySelector(".map");
  const pointed = event => {
    const cells = svg.querySelector(".cells").getScreenCTM();
    return [Math.floor((event.clientY - cells.f) / cells.d), Math.floor((event.clientX - cells.e) / cells.a)];
  };
  const keys = () => {
    const last = weightsOf(figure).length - 1;
    const [row, column] = (figure.dataset.at ?? `${last} ${last}`).split(" ").map(Number);
    return { ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column], Home: [row, 0], End: [row, row], PageUp: [0, 0], PageDown: [last, column] };
  };
  const label = `${svg.querySelector("title").textContent}; the arrow keys read its weights`;
  follow(figure, svg, { role: "application", "aria-label": label }, moveCell, pointed, keys); // leaves it the keys
}
