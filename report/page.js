// Shows the values of the curves under the pointer, or where the arrow keys moved the cursor.
// Without this script the page shows everything else.
for (const figure of document.querySelectorAll("figure[tabindex]")) {
  const plot = figure.querySelector(".plot");
  const output = figure.querySelector("output");
  const curves = [...plot.querySelectorAll("polyline")].filter(line => line.points.length > 0)
    .map(line => ({ name: line.dataset.name, points: [...line.points] }));
  const places = [...new Set(curves.flatMap(curve => curve.points.map(point => point.x)))]
    .sort((a, b) => a - b);
  if (places.length === 0) continue;
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
  cursor.setAttribute("class", "cursor");
  const box = plot.getBBox();
  plot.append(cursor);
  let place = -1;

  const nearest = (list, x, of) => {
    let best = 0;
    for (let i = 1; i < list.length; i++)
      if (Math.abs(of(list[i]) - x) < Math.abs(of(list[best]) - x)) best = i;
    return best;
  };
  const show = to => {
    place = Math.max(0, Math.min(places.length - 1, to));
    const x = places[place];
    cursor.setAttribute("d", `M${x} ${box.y}v${box.height}`);
    const figures = curves.map(curve => {
      const point = curve.points[nearest(curve.points, x, p => p.x)];
      return `${curve.name} ${+point.y.toPrecision(5)}`;
    });
    output.value = `${+x.toPrecision(7)}: ${figures.join(", ")}`;
  };
  figure.addEventListener("pointermove", event => {
    const at = new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(plot.getScreenCTM().inverse());
    show(nearest(places, at.x, x => x));
  });
  figure.addEventListener("keydown", event => {
    const leap = Math.ceil(places.length / 10);
    const moves = {
      ArrowLeft: place - 1, ArrowRight: place + 1, PageUp: place - leap, PageDown: place + leap,
      Home: 0, End: places.length - 1
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(moves[event.key]);
  });
}
