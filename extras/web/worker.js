// A worker: does the tasks that the page sends, { id, task, values }, and answers { id, answer } or { id, error,
// status }. If the C code itself fails it answers { id, broken } and is useless. The page has a worker for each
// training run, and one that reads.
let tasks, within = work => work();

// Opens the compiled module. The other tasks are functions of the library, the trainer and the reader.
function open(compiled) {
  const library = openLibrary(compiled, text => console.error(text));
  const { ladder, options, takeText, countText, estimate } = library;
  const trainer = openTrainer(library);
  within = library.within;
  tasks = {
    takeText, countText, ...trainer, ...openReader(library),
    // Returns an estimate of each rung, or { error }.
    estimate: chosen => ladder.map(({ rung }) => {
      try { return estimate(rung, chosen); } catch (error) {
        if (isBroken(error)) throw error;
        return { error: error.message };
      }
    }),
    // Measures the multiply-adds per second of a small training.
    measure() {
      const GPT = 4, sizes = { layers: 2, heads: 2, width: 64, context: 32, batch: 8, steps: 1000 };
      trainer.begin(GPT, sizes);
      let progress;
      for (const end = performance.now() + 150; performance.now() < end;) progress = trainer.train(50, 1);
      trainer.close();
      return estimate(GPT, sizes).work * progress.step / progress.seconds;
    }
  };
  return { ladder, options, limit: library.call("memory_installed"), fuses: library.call("web_fuses") === 1 };
}

onmessage = ({ data: { id, task, values } }) => {
  try {
    const answer = within(() => task === "open" ? open(...values) : tasks[task](...values));
    postMessage({ id, answer });
  } catch (error) {
    const { message, status } = error;
    postMessage(isBroken(error) ? { id, broken: String(message) } : { id, error: message, status });
  }
};
