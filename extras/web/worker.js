// A worker: does the tasks that the page sends, { id, task, values }, and answers { id, answer } or { id, error,
// status }. If the C code itself fails it answers { id, broken } and is useless. The page has a worker for each
// training run, and one that reads.
const TASKS = {
  // Opens the compiled module, before all other tasks.
  open(compiled) {
    openLibrary(compiled);
    return { ladder, options, limit: call("memory_installed"), fuses: call("web_fuses") === 1 };
  },
  takeText, countText, begin, load, train, measure, setSteps, save, close: leaveModel,
  compose, known, look, linesOfRung, numbersOf, neuronAt, takeStep, prompt, writeOn, copied,
  // Returns an estimate of each rung, or { error }.
  estimate: chosen => ladder.map(({ rung }) => {
    try { return estimate(rung, chosen); } catch (error) {
      if (isBroken(error)) throw error;
      return { error: error.message };
    }
  })
};

onmessage = ({ data: { id, task, values } }) => {
  try {
    postMessage({ id, answer: within(() => TASKS[task](...values)) });
  } catch (error) {
    const { message, status } = error;
    postMessage(isBroken(error) ? { id, broken: String(message) } : { id, error: message, status });
  }
};
