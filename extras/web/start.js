// ---- a link ----

// The page's settings as the fragment of a link: sizes as they are typed, ticked rungs, the rung, the line and the temperature;
// never the text.
const fragment = () => `#${new URLSearchParams({ ...Object.fromEntries(Object.keys(USUAL).map(name => [name, $(`options-${name}`).value])), rungs: ticks().map(rung => ladder[rung].name).join(),
  rung: ladder[looked()].name, line: $("line").value, temperature: sampler().temperature })}`;
// Applies the settings of the link. Keeps a setting that it lacks or for which it has no valid value.
function apply() {
  const settings = new URLSearchParams(location.hash.slice(1)), number = name => ladder.findIndex(rung => rung.name === name);
  const put = (id, value) => { if (value?.trim() && Number.isFinite(Number(value))) $(id).value = Number(value); };
  for (const name of Object.keys(USUAL)) put(`options-${name}`, settings.get(name));
  if (settings.get("lr") === USUAL.lr) $("options-lr").value = USUAL.lr;
  put("sampler-temperature", settings.get("temperature"));
  if (settings.has("rungs")) for (const { rung, name } of ladder) $(`tick-${rung}`).checked = settings.get("rungs").split(",").includes(name);
  if (settings.has("line")) $("line").value = settings.get("line").slice(0, $("line").maxLength);
  if (number(settings.get("rung")) >= 0) $("looked").value = number(settings.get("rung"));
}
async function copyLink() {
  history.replaceState(null, "", fragment());
  try { await navigator.clipboard.writeText(location.href); $("link").textContent = "Copied"; } catch { $("link").textContent = "In the address bar"; }
  setTimeout(() => { $("link").textContent = "Copy link"; }, 2000);
}

// ---- the beginning ----

// Shows a part of the page, where it shows only one of them.
function showTab(part) {
  document.querySelector("main").dataset.shown = part;
  for (const tab of $("tabs").children) tab.setAttribute("aria-pressed", tab.dataset.tab === part);
}

function listen() {
  const on = (id, event, act) => $(id).addEventListener(event, act);
  listenText();
  on("train", "click", () => press());
  on("more", "click", trainOn);
  on("reset", "click", reset);
  for (const [id, open] of Object.entries({ "open-text": openText, "open-checkpoint": openCheckpoint }))
    on(id, "change", ({ target }) => {
      if (target.files[0]) open(target.files[0]);
      target.value = ""; // so that the same file can be chosen again
    });
  for (const id of ["by-steps", "by-time"]) on(id, "change", renew);
  on("options", "input", () => { estimate(); look(); });
  on("models", "change", () => { estimate(); renew(); });
  on("sampler", "input", resample);
  on("looked", "change", () => { rewound = null; look(); renew(); });
  on("snapshot", "input", rewind);
  on("line", "input", () => { chosen = null; showLesson(); look(); });
  on("set-up", "click", setUp);
  on("write", "click", writeLine);
  on("answer", "toggle", showAsked);
  on("lesson", "keydown", event => { if (event.key === "Escape") $("answer").open = false; });
  on("link", "click", copyLink);
  $("questions").append(...LESSON.map((step, i) => element("button", {
    type: "button", ariaLabel: `${i + 1} ${step.rungs.at(-1)}`, onclick: () => chooseLesson(i) }, `${i + 1}`, element("span", { textContent: ` ${step.rungs.at(-1)}` }))));
  for (const tab of $("tabs").children) tab.onclick = () => showTab(tab.dataset.tab);
  new ResizeObserver(renew).observe($("chart"));
  new ResizeObserver(() => maps.length > 0 && seen.r === rungs.get(looked()) && showHeads()).observe($("heads")); // letters on the edges, where there is room
  addEventListener("hashchange", () => { rewound = null; apply(); estimate(); look(); });
  addEventListener("beforeunload", event => { if (missed(everyRun()).length > 0) event.preventDefault(); });
}

async function start() {
  try {
    await compile();
    await Promise.all([openReader(), unpackTrained()]);
    listModels();
    listOptions();
    listSampler();
    listen();
    chooseLesson(0);
    $("looked").value = ladder.findIndex(({ name }) => name === "head"); // the first that has a map to show
    apply();
    showText(new TextEncoder().encode(builtin));
    await takeText();
    speed = await reader.ask("measure");
    planLesson();
    await estimate();
  } catch (error) {
    say("status", sentence(error.message));
  }
}

start();
