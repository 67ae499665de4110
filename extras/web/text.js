// The text: the built-in one, the user's, or a file's.
let given = null;    // the bytes of a file or of a long text; null: the text is what the field shows
let taken = null;    // in use: { bytes, asBytes, kind, first }: for links "builtin", "own" or "bytes"; its first words
let counted = null;  // its size and the losses of counting
const SHOWN = 20000; // characters that the field shows: a browser draws a long line slowly
const builtin = $("sample").textContent.slice(1);
const isBuiltin = () => taken?.kind === "builtin";
// Returns a line of the page or, if the text in use is the user's, the text's own first words.
const lineFor = line => isBuiltin() ? line : taken.first;

function showText(bytes) {
  const text = new TextDecoder().decode(bytes.subarray(0, 4 * SHOWN)).slice(0, SHOWN);
  given = bytes;
  $("text").value = text.length < SHOWN ? text : `${text}\n[…]`;
}

// Uses the text that is shown: all models are those of this text from then on.
async function takeText() {
  const bytes = (given ?? new TextEncoder().encode($("text").value)).slice(), asBytes = $("bytes").checked;
  say("about-text", "Reading and counting…");
  $("take").disabled = true;
  try {
    await reader.ask("takeText", bytes, asBytes);
  } catch (error) {
    return say("about-text", `${sentence(error.message)} The previous text is still in use.`, true);
  }
  const text = new TextDecoder().decode(bytes), first = text.trimStart().slice(0, 120).split("\n")[0];
  const kind = asBytes ? "bytes" : text === builtin ? "builtin" : "own";
  taken = { bytes, asBytes, kind, first: [...first].slice(0, 24).join("") };
  for (const runs of [essay, lab]) dropAll(runs);
  counted = null;
  await rewriteLines();
  try {
    counted = await reader.ask("countText", built[0].context);
    for (const span of document.querySelectorAll(".vocabulary")) span.textContent = count(counted.vocabulary);
    const { characters, vocabulary, unigram, bigram, ngram, order } = counted;
    say("about-text", `${some(characters, "character")}, ${count(vocabulary)} different ones. Without training, ` +
      `counting is as unsure as among ${unsure(unigram)} (single characters), ${unsure(bigram)} (pairs), ` +
      `${unsure(ngram)} (what followed the last ${order - 1}).` +
      (isBuiltin() ? "" : " The chapters now learn from this text."));
  } catch (error) {
    if (!error.ended) say("about-text", sentence(error.message), true);
  }
  estimate();
  renew();
}

const tooMuch = file => `${file.name} has ${count(file.size / 1e6)} MB, which is too much for this page.`;

// Opens a file, dropped or chosen: a checkpoint, or a text.
async function openFile(file) {
  const MOST = 64e6, start = new Uint8Array(await file.slice(0, 9).arrayBuffer());
  if (file.name.endsWith(".safetensors") || start[8] === 0x7b && start[7] === 0) return openCheckpoint(file);
  if (file.size > MOST) return say("about-text", tooMuch(file), true);
  if (!mayDiscard()) return;
  showText(new Uint8Array(await file.arrayBuffer()));
  return takeText();
}

function listenText() {
  $("take").onclick = () => mayDiscard() && takeText();
  $("text").oninput = ({ target: { value } }) => {
    given = null;
    if (value.length > 2 * SHOWN) showText(new TextEncoder().encode(value));
    $("take").disabled = false;
  };
  $("bytes").onchange = event => {
    if (mayDiscard()) takeText(); else event.target.checked = !event.target.checked;
  };
  $("builtin").onclick = () => {
    if (!mayDiscard()) return;
    $("bytes").checked = false;
    showText(new TextEncoder().encode(builtin));
    takeText();
  };
  for (const id of ["open-text", "open-checkpoint"]) {
    $(id).previousElementSibling.onclick = () => $(id).click();
    $(id).onchange = ({ target }) => {
      if (target.files[0]) openFile(target.files[0]);
      target.value = ""; // so that the same file can be chosen again
    };
  }
  addEventListener("dragover", event => event.preventDefault());
  addEventListener("drop", event => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
  });
}
