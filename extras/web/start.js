// ---- a link ----

// The page's settings as the fragment of a link: sizes, ticked rungs, the rung, the line and the temperature; never the text.
function fragment() {
  const ticked = ticks().map(rung => ladder[rung].name).join();
  return `#${new URLSearchParams({ ...options(), rungs: ticked, rung: ladder[looked()].name, line: $("line").value, temperature: sampler().temperature })}`;
}
// Applies the settings of a link. Keeps a setting that the link lacks or for which it has no valid value.
function applyLink() {
  const settings = new URLSearchParams(location.hash.slice(1)), number = name => ladder.findIndex(rung => rung.name === name);
  const put = (id, value) => { if (value?.trim() && Number.isFinite(Number(value))) $(id).value = Number(value); };
  for (const name of Object.keys(USUAL)) put(`options-${name}`, settings.get(name));
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
  on("sampler", "input", resample);
  on("looked", "change", () => { rewound = null; look(); renew(); });
  on("moment", "input", rewind);
  on("line", "input", () => { chosen = null; look(); });
  on("set-up", "click", setUp);
  on("write", "click", writeLine);
  on("answer", "toggle", showAsked);
  on("lesson", "keydown", event => { if (event.key === "Escape") $("answer").open = false; });
  on("link", "click", copyLink);
  $("questions").append(...LESSON.map((step, i) => element("button", {
    type: "button", textContent: `${i + 1} ${step.rungs.at(-1)}`, onclick: () => chooseLesson(i) })));
  for (const tab of $("tabs").children)
    tab.onclick = () => {
      document.querySelector("main").dataset.shown = tab.dataset.tab;
      for (const other of $("tabs").children) other.setAttribute("aria-pressed", other === tab);
    };
  new ResizeObserver(renew).observe($("chart"));
  addEventListener("hashchange", () => { applyLink(); estimate(); look(); });
  addEventListener("beforeunload", event => { if (missed().length > 0) event.preventDefault(); });
}

async function start() {
  try {
    await compile();
    await Promise.all([openReader(), unpackTrained()]);
    listModels(["bigram", "multihead", "modern"]);
    listOptions();
    listSampler();
    listen();
    chooseLesson(0);
    applyLink();
    showText(new TextEncoder().encode(builtin));
    await takeText();
    speed = await reader.ask("measure");
    await estimate();
  } catch (error) {
    say("status", sentence(error.message));
  }
}

start();
