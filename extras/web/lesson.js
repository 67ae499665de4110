// The questions, one for each rung: the rung in plain words, the rungs to train, a line to type, the parts of the page to look at, and the answer.
const LESSON = [
  {
    plain: "a table of which character follows which; it sees only the last one.",
    rungs: ["bigram"], line: "[The clock stops.", sizes: { steps: 400 }, marks: ["bars", "reading"], seen: "still no bar changes without “[”", asked: "]", among: ["bigram", "head"],
    ask: "Why can't the bigram close a bracket?",
    look: "With the model “bigram”, delete the “[” in the box “line”: no bar changes. With “head”, the bar of “]” shrinks.",
    answer: "The bigram sees only the last character. It is a table that says, for each character, how likely every character is to come next. The bracket was opened " +
      "long before, as a quotation would be, so the bigram can't know that it should be closed. The model “head” can look back at it: “]” is still unlikely, but more likely than without the " +
      "“[”. Training brings the bigram's loss close to that of counting pairs, a little above or below it, because the best possible table is almost the table of counted pairs."
  },
  {
    plain: "each character is a list of numbers; the average of all so far predicts the next one.",
    rungs: ["bigram", "average"], line: "the eht", sizes: { steps: 400 }, marks: ["bars", "reading", "heads"],
    ask: "The average sees every earlier character. Why is it hardly better?",
    look: "Swap two letters of the line, but not the last one: no bar changes. Each row of the map has one shade.",
    answer: "It turns each character into a list of numbers and predicts from the plain average of all the lists so far. An average forgets the order. Telling the model " +
      "where each character stands does not help, because the average of the places is the same in any order. And fifty characters far away drown out the one that " +
      "matters. Besides the average, the model adds the last character by itself (the box “+”). So it sees everything but can't single anything out. (The loss on the line does change " +
      "when you swap letters: it also counts how well each earlier letter was predicted.)"
  },
  {
    plain: "each character chooses how much it takes from each earlier one.",
    rungs: ["average", "head"], line: "the man and the ", sizes: { steps: 600, lr: 0.01 }, marks: ["heads", "arcs"], follow: true,
    ask: "What does one head of attention look for?",
    look: "Watch its map while it trains: even at first, then some cells get a strong color. The slider “snapshot” shows when.",
    answer: "It looks back along the line. A thick arrow, or a cell of strong color, is a large weight: the share of its attention that one character gives to another. Each character " +
      "asks a question (its query), and each earlier one has a label (its key); the better the label fits, the larger the weight. In the average all weights were equal; " +
      "here they are learned. The loss falls first because the model learns which letters are common; attention comes later: in the 600 steps here it begins at about step 60, and is strong by step 210 (at half of the usual rate lr, which is easier to watch). It learns to look for certain " +
      "letters, such as “e” and “a”, wherever they stand. The one trained in advance, for 3,000 steps, looks mostly at the last three characters, enough to know the " +
      "word that is being written, but still notices an open “[” from far away (question 1)."
  },
  {
    plain: "several small heads of attention, which can look for different things.",
    rungs: ["head", "multihead"], line: "the man and the ", sizes: { steps: 600 }, marks: ["heads", "chart"],
    ask: "Why are several small heads better than one large head?",
    look: "Both have the same number of parameters. Compare the four maps with the one of the model “head”.",
    answer: "A head has 100% of attention to give. If it gives most of it to the last character, little is left for the beginning of the word. Several heads look at " +
      "several places at once, and the step after them (“project” in the drawing) combines what they found."
  },
  {
    plain: "attention, then a small network (MLP) that computes with what was found.",
    rungs: ["multihead", "gpt"], line: "The king said to his ", sizes: { steps: 600, lr: 0.005 }, marks: ["heads", "drawing"], place: 17, layer: 1,
    ask: "What does the MLP add, and what does a second layer?",
    look: "The “h” of “his” is chosen. Before you train, click “GELU”, in layer 1: to which letters does it respond?",
    answer: "Attention fetches what earlier characters hold. The MLP, a small network in each layer, computes what this means together: each of its neurons responds to some pattern, often a combination of " +
      "letters, and adds what usually follows it. “GELU” in layer 1 shows the neuron that is most active at the “h” of “his”: in the gpt trained in advance it responds to the first letters of “king” and " +
      "“his”, and not to the “h” of “The”. The second layer reads the results of the first, not single characters. Sums (+) add each result to what is already known, " +
      "and norms keep the numbers in range. (The rate lr is 0.005 for both here, so that only the models differ.)"
  },
  {
    plain: "gpt with newer parts: rotated positions, gates in the MLP, a faster optimizer.",
    rungs: ["gpt", "modern"], line: "The king said to his ", sizes: { steps: 600 }, marks: ["chart", "samples"],
    ask: "Same layers, same width: why does modern learn faster?",
    look: "Compare the curves by steps, then by seconds (a step of modern costs more), and what both models write.",
    answer: "Three things changed. Positions (“rotate” in the drawing) now say how far apart two characters are, not where each one stands. The MLP multiplies two " +
      "numbers; in gpt it only applies a curve (GELU) to one. And Muon, its optimizer, changes a matrix equally in all directions, so it can take larger steps."
  },
  {
    plain: "modern, but each character first mixes in its last three neighbors.",
    rungs: ["modern", "conv"], line: "The king said to his ", sizes: { steps: 200 }, marks: ["heads", "chart"],
    ask: "What must attention learn first, and how can a model skip that?",
    look: "Early in the training, compare the maps L0 of both models: how many heads look at the character just before?",
    answer: "Most heads of the first layer learn to look at the characters just before, and each needs many steps to learn that. In conv, a convolution gives every " +
      "character its last three neighbors from the start, with four learned numbers for each channel. So attention is free to look farther back, and the loss falls " +
      "sooner. On a short text, such as the built-in one, it also memorizes sooner: train longer, and its loss on unseen text rises again."
  },
  {
    plain: "conv and a table of what followed before, which it learns to correct and to trust.",
    rungs: ["conv", "ngram"], line: "The king said to his ", sizes: { steps: 200 }, marks: ["drawing", "chart"],
    ask: "Counting beats a small network. What is left for the network?",
    look: "Click “count” and “trust” in the drawing. Does the curve of ngram begin near the lowest dashed line, counting?",
    answer: "Counting needs no training: whatever followed these very characters before is likely to follow again, and the text itself is the table. A network must " +
      "press all of that into its weights, step by step. But counting knows little where the match is short: a new name, a rare word, a rhyme. So ngram begins with the " +
      "counts, and its network adds to them. It learns only what they miss, and how far to trust them."
  }
];

// ---- on the page ----

let lesson = 0;      // the question that is shown
let plan = "";       // the work that its button begins

function chooseLesson(i) {
  const { ask, look, answer, rungs: names, marks } = LESSON[i], rung = names.at(-1);
  exchange(lesson, i);
  lesson = i;
  [...$("questions").children].forEach((button, n) => {
    if (n === i) button.setAttribute("aria-current", "step"); else button.removeAttribute("aria-current");
  });
  $("question").textContent = ask;
  $("hint").textContent = look;
  $("answer").open = false;
  $("answer-text").textContent = answer;
  $("tour").textContent = `The idea, its equation and its code: docs/tour.md, ${rung}`;
  if (location.pathname.endsWith("/extras/web/tril.html")) $("tour").href = `../../docs/tour.md#${rung}`; // a page that was copied is not beside the documents
  $("set-up").textContent = `Train ${names.join(" and ")}`;
  for (const part of document.querySelectorAll(".marked")) part.classList.remove("marked");
  for (const id of marks) $(id).classList.add("marked");
  showTab($(marks[0]).closest("section").id);
  closeWritten();
  view();
  planLesson();
  renew();
}

// Sets up what the question needs: its rungs, sizes, model and line; all else as it was when the page opened.
async function view() {
  const { rungs: names, line, sizes, place = null, layer = 0 } = LESSON[lesson];
  for (const { rung, name } of ladder) $(`tick-${rung}`).checked = names.includes(name);
  for (const [name, value] of Object.entries({ ...USUAL, ...sizes })) $(`options-${name}`).value = value;
  for (const input of $("sampler").querySelectorAll("input")) input.value = input.defaultValue;
  $("by-steps").checked = true;
  $("line").value = lineFor(line);
  head = { layer, head: 0 };
  chosen = place;
  rewound = null;
  if (stepping) toggleStep();
  if (unfolded) unfold(unfolded);
  for (const id of ["middle", "drawing", "right"]) $(id).scrollTop = 0;
  if (!taken) return;
  lookAt(ladder.findIndex(({ name }) => name === names.at(-1)));
  await estimate();
}

// Says what the button of the question begins.
const planLesson = seldom(() => 100, async () => {
  const { lr, ...sizes } = { ...USUAL, ...LESSON[lesson].sizes }, names = LESSON[lesson].rungs;
  const seconds = together((await reader.ask("estimate", sizes)).filter((_, rung) => names.includes(ladder[rung].name)), sizes.steps);
  plan = `${sizes.steps} steps from scratch${seconds > 0 ? `: about ${duration(seconds)}` : ""}.`;
  showLesson();
});

// Shows the progress of the question's rungs, and what they wrote and reached.
function showLesson() {
  const { rungs: names, follow, seen: watch = "look at the framed parts" } = LESSON[lesson], all = names.map(name => shown().find(r => r.name === name)), there = all.filter(Boolean);
  const own = fromLesson && there.length === all.length && !there.some(r => r.built), sum = (list, of) => list.reduce((sum, r) => sum + of(r), 0);
  $("lesson-progress").value = own ? sum(there, r => r.step) / sum(there, r => r.steps) : 0;
  say("lesson-said", !own ? plan : state === "done" ? `Done: ${watch}. “Reset” is below the ladder.` :
    `${Math.round(100 * $("lesson-progress").value)}%: ${watch}.`);
  const strong = there.at(-1)?.snapshots.filter(({ focus }) => focus?.line === $("line").value && focus.weight > 2 * focus.even) ?? [];
  const turns = strong.filter(({ focus }, i) => focus.glyph !== strong[i - 1]?.focus.glyph).slice(-4);
  const learned = turns.length > 0 && follow ? ` At the end of the line, ${there.at(-1).name} gives more than twice an even share of its attention to: ` +
    `${[...new Set([...turns, strong.at(-1)])].map(({ step, focus }) => `“${focus.glyph}” at step ${step}, ${percent(focus.weight)}`).join("; ")}.` : "";
  const ready = r => !r.built && isBuiltin() ? ` (in advance: ${nats(trained.models[r.rung].heldOut.at(-1)[2])} after ${trained.models[r.rung].step})` : "";
  $("answer-seen").textContent = there.filter(r => r.heldOut.length > 0).map(r =>
    `Here ${r.name} has a loss of ${nats(r.heldOut.at(-1)[2])} after ${r.step} steps${ready(r)}${r === there.at(-1) ? ` and writes “${r.line}”` : ""}.`).join(" ") + learned +
    (about ? ` Counting pairs gives ${nats(about.bigram)}; counting what follows the last ${about.order - 1} characters, ${nats(about.ngram)}.` : "");
}

// Says how likely some models find the character that the question asks about, with the first character of the line and without.
const showAsked = seldom(() => 1000, async () => {
  const { asked, among, line } = LESSON[lesson], said = [];
  for (const r of asked && isBuiltin() ? shown().filter(({ name }) => among.includes(name)) : []) {
    const [whole, cut] = [await reader.ask("chance", r.latest.bytes, line, asked), await reader.ask("chance", r.latest.bytes, line.slice(1), asked)];
    said.push(`${r.name} gives it ${percent(whole)}, and ${percent(cut)} without the “${line[0]}”`);
  }
  $("answer-asked").textContent = said.length > 0 ? `“${asked}” after “${line}”: ${said.join("; ")}.` : "";
});

// Trains the question's rungs. Does not ask before training them again once they are done: they get the same weights.
async function setUp() {
  const own = lesson;
  if (!(fromLesson && state === "done") && !mayDiscard()) return;
  dropAll();
  await view();
  if (lesson === own) await press(true);
}
