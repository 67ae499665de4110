// One step of training, explained: the loss of predicting the chosen character, the gradient that comes back through each
// block as a color on the drawing, and the prediction before and after the step.
let stepping = false;

function toggleStep() {
  stepping = !stepping;
  $("one-step").setAttribute("aria-pressed", stepping);
  if (stepping) return showStep().then(() => { $("drawing").scrollTop = 0; });
  $("step")?.remove();
  paint([]);
}

// Colors each block by the size of the gradient of its output, or by none.
function paint(sizes) {
  [...$("drawing").querySelectorAll(".block")].forEach((block, i) => {
    const size = sizes[i]?.toPrecision(2) ?? "";
    block.style.setProperty("--share", size && Math.sqrt(sizes[i] / Math.max(...sizes)));
    for (const [name, value] of [["data-size", size], ["aria-description", `gradient ${size}`]])
      if (size) block.setAttribute(name, value); else block.removeAttribute(name);
  });
}

async function showStep() {
  if (!stepping || glyphs.length === 0) return;
  if (!$("step")) $("drawing").querySelector("p").after(element("div", { id: "step" }, element("p", { role: "status" }),
    element("ol", { className: "bars", ariaLabel: "The prediction before and after the step" })));
  const place = placeChosen(), [words, bars] = $("step").children;
  if (place === 0) {
    words.textContent = "Nothing stands before the first character, so the model cannot predict it. Click another character in the line.";
    bars.replaceChildren();
    return paint([]);
  }
  const { sizes, glyph, loss, next } = await reader.ask("takeStep", place);
  if (!words.isConnected) return;
  const [before, after] = loss.map(loss => percent(Math.exp(-loss)));
  words.textContent = `“${glyph}” after “${glyphs.slice(Math.max(0, place - 8), place).join("")}”: the model gave it ${before}, so the loss here is ` +
    `−ln ${Math.exp(-loss[0]).toPrecision(2)} = ${loss[0].toFixed(2)}. The gradient says how each number should change to make that smaller. It flows back from the ` +
    `logits to the embedding: the bluer a block, the larger the gradient there. After a small step against it the model gives ${after}, a loss of ${loss[1].toFixed(2)}. ` +
    "(Training does this for all characters of a batch together.) Click another character in the line.";
  showBars(next, bars, ["before", "after"], "faint: before; strong: after");
  paint(sizes);
}
