// The text: the built-in one, the user's, or a file's.
let given = null;   // the bytes of a file or a long text; null: the text is what the field shows
let taken = null;   // { bytes, asBytes } in use
let about = null;   // its size and the losses of counting
const SHOWN = 20000; // characters that the field shows: a browser draws a long line slowly
const builtin = $("sample").textContent.slice(1);
let firstLine = "", letters = null; // the beginning of the text in use, and its characters; null: the text is bytes
// Returns a line of the page or, if the text in use lacks its characters, the beginning of that text.
const lineFor = line => letters && ![...line].every(letter => letters.has(letter)) ? firstLine : line;
const isBuiltin = () => taken !== null && !taken.asBytes && new TextDecoder().decode(taken.bytes) === builtin;

function showText(bytes) {
  const text = new TextDecoder().decode(bytes.subarray(0, 4 * SHOWN)).slice(0, SHOWN);
  given = bytes;
  $("text").value = text.length < SHOWN ? text : `${text}\n[…]`;
}

// Uses the text that is shown. Without `again` the reader alone is new.
async function takeText(again = true) {
  const next = again ? { bytes: (given ?? new TextEncoder().encode($("text").value)).slice(), asBytes: $("bytes").checked } : taken;
  if (again) say("about-text", "Reading and counting…");
  $("take").disabled = true;
  try {
    await reader.ask("takeText", next.bytes, next.asBytes);
    taken = next;
    const text = new TextDecoder().decode(next.bytes).trimStart();
    letters = next.asBytes ? null : new Set(text);
    firstLine = [...text.slice(0, 80).split("\n")[0]].slice(0, 24).join("");
    $("line").value = lineFor($("line").value);
    if (again) {
      for (const r of everyRun()) r.worker?.end();
      aside.clear();
      dropAll();
    }
    look();
    showLadder();
    about = await reader.ask("countText", options().context || USUAL.context);
    say("about-text", `${count(about.characters)} characters, ${count(about.vocabulary)} distinct. Losses of counting: single characters ` +
      `${nats(about.unigram)}, pairs ${nats(about.bigram)}, after the last ${about.order - 1} characters ${nats(about.ngram)} ` +
      `in windows of ${about.context}, ${nats(about.running)} with all the text before.`);
    planLesson();
    renew();
    await estimate();
    await writeTrained();
  } catch (error) {
    say("about-text", `${sentence(error.message)} The previous text is still in use.`, true);
  }
}

async function openText(file) {
  const most = 64e6;
  if (file.size > most)
    return say("about-text", `${file.name} has ${count(file.size / 1e6)} MB, which is too much for this page.`, true);
  if (!mayDiscard(everyRun())) return;
  showText(new Uint8Array(await file.arrayBuffer()));
  return takeText();
}

function listenText() {
  $("take").onclick = () => mayDiscard(everyRun()) && takeText();
  $("text").oninput = ({ target: { value } }) => {
    given = null;
    if (value.length > 2 * SHOWN) showText(new TextEncoder().encode(value));
    $("take").disabled = false;
  };
  $("bytes").onchange = event => {
    if (mayDiscard(everyRun())) takeText(); else event.target.checked = !event.target.checked;
  };
  $("builtin").onclick = () => {
    if (!mayDiscard(everyRun())) return;
    showText(new TextEncoder().encode(builtin));
    takeText();
  };
  const section = $("left"), dropping = on => section.classList.toggle("dropping", on);
  section.ondragover = event => { event.preventDefault(); dropping(true); };
  section.ondragleave = () => dropping(false);
  section.ondrop = event => {
    event.preventDefault();
    dropping(false);
    const file = event.dataTransfer.files[0];
    if (file) openText(file);
  };
}
