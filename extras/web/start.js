// ---- a link ----

// Returns the page's settings as the fragment of a link: the chapter, the kind of text, its line, sizes as they are
// typed, ticked rungs, the rung in full and the temperature; never the text.
function fragment() {
  const chapter = document.querySelector("#nav [aria-current]")?.getAttribute("href").slice(1) ?? "top";
  const line = $(chapter).querySelector(".line").value;
  const typed = Object.fromEntries([...$("options").querySelectorAll("input")].map(input => [input.name, input.value]));
  return `#${chapter}&${new URLSearchParams({ text: taken.kind, line, ...typed, temperature: sampler().temperature,
    rungs: ticked().map(rung => ladder[rung].name).join(), rung: ladder[looked].name })}`;
}
// Applies the settings of the link. Keeps a setting that it lacks or for which it has no valid value.
function apply() {
  const [chapter, ...more] = location.hash.slice(1).split("&"), settings = new URLSearchParams(more.join("&"));
  const box = $(chapter), line = box?.querySelector(".line");
  const put = (id, value) => { if (value?.trim() && Number.isFinite(Number(value))) $(id).value = Number(value); };
  for (const name of Object.keys(USUAL)) put(`options-${name}`, settings.get(name));
  if (settings.get("lr") === USUAL.lr) $("options-lr").value = USUAL.lr;
  put("sampler-temperature", settings.get("temperature"));
  const rungs = settings.get("rungs")?.split(",");
  if (rungs) for (const { rung, name } of ladder) $(`tick-${rung}`).checked = rungs.includes(name);
  if (line && settings.has("line")) line.value = settings.get("line").slice(0, line.maxLength);
  if (numberOf(settings.get("rung")) >= 0) lookAt(numberOf(settings.get("rung")));
  if (["own", "bytes"].includes(settings.get("text")) && isBuiltin())
    say("status", "This link was made with another text, which stayed with whoever made it. Here is the play.", true);
  if (more.length > 0) box?.scrollIntoView();
  estimate();
  renew();
}
async function copyLink() {
  history.replaceState(null, "", fragment());
  const copied = await navigator.clipboard.writeText(location.href).then(() => "Copied", () => "In the address bar");
  $("link").textContent = copied;
  setTimeout(() => { $("link").textContent = "Copy link"; }, 2000);
}

// ---- the beginning ----

// Fills the bar above, and marks in it the chapter in the middle of the window.
function followChapters() {
  const seen = new IntersectionObserver(entries => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) mark(target.id);
  }, { rootMargin: "-45% 0px -50% 0px" });
  const mark = id => [...$("nav").children].forEach(link => {
    if (link.hash !== `#${id}`) return link.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    $("nav").scrollTo({ left: link.offsetLeft - $("nav").offsetLeft - 40 });
  });
  for (const section of [...document.querySelector("main").children]) {
    $("nav").append(element("a", { href: `#${section.id}`, textContent: section.getAttribute("data-name"),
      style: `--rung: ${rungColor(section.id)}` }));
    seen.observe(section);
  }
  rove($("nav"), "a");
}

async function start() {
  try {
    await compile();
    await openReader();
    await unpackBuilt();
    openLab();
    for (const box of document.querySelectorAll(".chapter")) openChapter(box);
    listenText();
    followChapters();
    $("link").onclick = copyLink;
    addEventListener("hashchange", apply);
    addEventListener("beforeunload", event => { if (missed().length > 0) event.preventDefault(); });
    showText(new TextEncoder().encode(builtin));
    await takeText();
    apply();
  } catch (error) {
    say("status", sentence(error.message), true);
  }
}

start();
