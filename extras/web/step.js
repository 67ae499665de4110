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

// Colors each block by the size of the gradient of its output, and each layer by its largest; or all by none.
function paint(sizes) {
  const show = (button, most) => {
    const size = most?.toPrecision(2) ?? "";
    button.style.setProperty("--share", size && Math.sqrt(most / Math.max(...sizes)));
    for (const [name, value] of [["data-size", size], ["aria-description", `gradient ${size}`]])
      if (size) button.setAttribute(name, value); else button.removeAttribute(name);
  };
  $("drawing").querySelectorAll(".block").forEach((block, i) => show(block, sizes[i]));
  $("drawing").querySelectorAll(".layers button").forEach((button, layer) =>
    show(button, sizes.length > 0 ? Math.max(...drawnLayers[layer].flatMap(({ lines }) => lines.map(({ i }) => sizes[i]))) : undefined));
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
  const { sizes, rate, glyph, loss, next } = await reader.ask("takeStep", place);
  if (!words.isConnected) return;
  const [before, after] = loss.map(loss => percent(Math.exp(-loss)));
  words.textContent = `“${glyph}” after “${glyphs.slice(Math.max(0, place - 8), place).join("")}”: the model gave it ${before} (faint bar), a loss of ` +
    `−ln ${Math.exp(-loss[0]).toPrecision(3)} = ${loss[0].toFixed(3)}. The gradient says how fast the loss rises with each weight. It flows back from the ` +
    `logits to the embedding: the more color, the larger it is. A small step subtracts ${rate.toPrecision(1)} times the gradient. Then the model gives it ${after} (strong bar), a loss of ${loss[1].toFixed(3)}. ` +
    "(Training does so for a batch, with an optimizer.) Click another character in the line.";
  showBars(next, bars, ["before", "after"], "");
  paint(sizes);
}
