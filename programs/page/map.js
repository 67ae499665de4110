// The readout of a map of attention: the weight under the pointer, or where the arrow keys put the
// cursor. It reads the document anew each time, so the weights may change meanwhile.
//
// A map is a figure that contains
//   svg.map with data-weights, in thousandths: a row of numbers for each token, "1000;400,600;...";
//     in it .cells, where a cell is one unit wide and high, and the tokens as .rows text and
//     .columns text;
//   an output for the readout.
//
// readMap(figure) makes the figure answer. It sets figure.dataset.at to "ROW COLUMN" while there is
// a cursor. moveCell(figure, row, column) puts the cursor at a cell; without them it takes the
// cursor away.

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
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("d", `M${column} ${row}h1v1h-1z`);
  cursor.setAttribute("vector-effect", "non-scaling-stroke");
  svg.querySelector(".cells").append(cursor);
  figure.dataset.at = `${row} ${column}`;
  const weight = (weights[row][column] / 1000).toFixed(3);
  output.value = `row ${row + 1} “${names[0].textContent}”, column ${column + 1} “${names[1].textContent}”: ${weight}`;
}

function readMap(figure) {
  const svg = figure.querySelector(".map"), title = svg.querySelector("title");
  svg.setAttribute("tabindex", 0);
  svg.setAttribute("role", "application"); // screen readers leave it the arrow keys
  svg.setAttribute("aria-label", `${title.textContent}; the arrow keys read its weights`);
  title.textContent = ""; // else the browser shows it over the cells

  const point = event => {
    const cells = svg.querySelector(".cells").getScreenCTM();
    const row = Math.floor((event.clientY - cells.f) / cells.d);
    moveCell(figure, row, Math.floor((event.clientX - cells.e) / cells.a));
  };
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointermove", point);
  svg.addEventListener("keydown", event => {
    const last = weightsOf(figure).length - 1;
    const [row, column] = (figure.dataset.at ?? `${last} ${last}`).split(" ").map(Number);
    const moves = {
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column], Home: [row, 0], End: [row, row], PageUp: [0, 0], PageDown: [last, column]
    };
    if (event.key === "Escape") return moveCell(figure);
    if (!(event.key in moves)) return;
    event.preventDefault();
    moveCell(figure, ...moves[event.key]);
  });
}
