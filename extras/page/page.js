// Makes charts and maps answer, and updates the page of a running training.
for (const figure of document.querySelectorAll("figure.charted")) readChart(figure);
for (const figure of document.querySelectorAll("figure.mapped")) readMap(figure);
for (const hint of document.querySelectorAll(".hint")) hint.hidden = false;

// Only an element whose content is wider than itself should be reached by the Tab key.
for (const wide of document.querySelectorAll(".wide"))
  if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;

// ---- the reader's place ----

// The reader's place: the last named element that begins in the upper half of the window or before,
// and its position there; the focus, the cursors, and sideways scrolling.
function readPlace() {
  const named = [...document.querySelectorAll("main [id]")];
  const seen = named.filter(element => element.getBoundingClientRect().top <= innerHeight / 2).pop();
  const top = seen && scrollY > 0 ? { id: seen.id, y: seen.getBoundingClientRect().top } : null;
  const cursors = named.filter(element => element.dataset.at).map(figure => [figure.id, figure.dataset.at]);
  const aside = named.filter(element => element.scrollLeft > 0).map(element => [element.id, element.scrollLeft]);
  return { top, cursors, aside, focus: document.activeElement?.id };
}

function restorePlace(place) {
  const of = id => document.getElementById(id);
  for (const [id, at] of place.cursors) {
    const numbers = at.split(" ").map(Number), figure = of(id);
    if (figure) (numbers.length === 1 ? moveCursor : moveCell)(figure, ...numbers);
  }
  for (const [id, left] of place.aside) of(id)?.scrollTo({ left });
  if (place.focus) of(place.focus)?.focus({ preventScroll: true });
  if (place.top && of(place.top.id))
    scrollBy({ top: of(place.top.id).getBoundingClientRect().top - place.top.y, behavior: "instant" });
}

// ---- renewal ----

// While a training runs, the program rewrites this file about every data-every seconds, each time
// with another data-version, and the page reloads itself as often. A page from a file cannot see
// the program. So it assumes that the training is dead if the file is old, and reloads have not
// changed that. (The first reload after a pause of the whole machine finds an old file, too.)
function renew(live) {
  const SILENCE = 120, RELOADS = 3; // seconds without a new file, and reloads, until then
  const now = () => Date.now() / 1000, loaded = now();
  const every = Number(live.dataset.every), version = live.dataset.version;
  const before = history.state?.version === version ? history.state : null;
  // a server may not know how old the file is, and say that it is new
  const written = Math.min(before?.written || loaded, Date.parse(document.lastModified) / 1000);
  const reloads = before ? before.reloads + 1 : 0;
  const note = live.appendChild(document.createElement("div"));
  const age = () => {
    const seconds = Math.round(now() - written);
    return seconds < 120 ? `${seconds} s` : seconds < 7200 ? `${Math.round(seconds / 60)} min` :
      `${(seconds / 3600).toFixed(1)} h`;
  };
  const keep = place => history.replaceState({ version, written, reloads, place }, "");
  keep();
  if (loaded - written > SILENCE + 3 * every && (!before || reloads >= RELOADS)) {
    live.dataset.state = "ended";
    live.querySelector("progress").remove();
    note.textContent = `This page was written ${age()} ago, and not since: the training has ended ` +
      "or is stopped. The page no longer updates itself; reload it to look again.";
    return;
  }
  live.dataset.state = "renews";
  let held = false; // the pointer is down
  addEventListener("pointerdown", () => held = true);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => held = false);
  const tick = () => {
    note.textContent = `Written ${age()} ago. This page updates itself.`;
    const busy = held || document.hidden || String(getSelection()) !== "";
    if (busy || now() - loaded < every) return;
    clearInterval(timer);
    keep(readPlace());
    history.scrollRestoration = "manual";
    location.reload();
  };
  const timer = setInterval(tick, Math.min(1000, 1000 * every));
  tick();
}

if (history.state?.place) restorePlace(history.state.place);
history.scrollRestoration = "auto";
const live = document.getElementById("live");
if (live?.dataset.every) renew(live);
