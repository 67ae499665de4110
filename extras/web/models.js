// Models that come from elsewhere or go there: those that are built in, and checkpoints.

// ---- the models that are built in ----

let trained = null; // { about: [...], files }, then also models: [...], as in rungs

async function unpackTrained() {
  const planes = await unpack($("trained").textContent), count = planes.length / 4, bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < 4; plane++)
    for (let i = 0; i < count; i++) bytes[4 * i + plane] = planes[plane * count + i];
  const end = bytes.indexOf(0x0a);
  trained = { about: JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))), files: bytes.subarray(end + 1) };
}
function showTrained() {
  let from = 0;
  trained.models ??= trained.about.map(({ rung, bytes, step, earlier, curve, ...sizes }) => {
    const snapshots = [...earlier, [step, bytes]].map(([step, bytes]) => ({
      step, seconds: 0, bytes: trained.files.slice(from, from += bytes), loss: curve.find(([at]) => at === step)[1], line: "" }));
    return { ...blank(), ...sizes, rung, name: ladder[rung].name, built: true, step, steps: step, seconds: 0, done: true,
      heldOut: curve.map(([step, loss]) => [step, 0, loss]), snapshots, latest: snapshots.at(-1) };
  });
  for (const r of trained.models) if (!rungs.has(r.rung)) rungs.set(r.rung, r);
  setState("built");
}
// Makes each of the trained models write a line.
async function writeTrained() {
  for (const r of shown().filter(r => r.built && !r.line)) {
    r.line = await reader.ask("writeLine", r.latest.bytes);
    renew();
  }
}

// ---- files ----

async function download(rung) {
  const r = rungs.get(rung), { step } = r, bytes = r.worker && !r.failed ? await r.worker.ask("save") : r.latest.bytes;
  r.downloaded = step;
  const link = element("a", { href: URL.createObjectURL(new Blob([bytes])), download: `${r.name}.safetensors` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
async function openCheckpoint(file) {
  try {
    if (file.size > limit / 4) throw new Error(`${file.name} has ${count(file.size / 1e6)} MB, which is too much for this page`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (!mayDiscard()) return;
    const r = await begun("load", bytes, options());
    if (!shown().includes(r)) return;
    for (const other of shown()) if (other !== r) drop(other.rung);
    if (isBuiltin()) showTrained();
    fromLesson = false;
    r.downloaded = r.step;
    rewound = null;
    setState(r.done && !r.failed ? "done" : "paused");
    lookAt(r.rung);
    if (r.failed) complain(`The model can write and show its attention, but cannot train: ${sentence(r.failed)}`);
  } catch (error) {
    complain(sentence(error.message));
  }
}
