// The questions, one for each rung: the rungs to train, a line to type, the parts of the page to look at, and the answer.
const LESSON = [
  {
    rungs: ["bigram"], line: "[The clock stops.", sizes: { steps: 400 }, marks: ["bars", "line"], asked: "]", among: ["bigram", "head"],
    ask: "Why can't the bigram close a bracket?",
    look: "The bracket “[” is open: will a “]” close it? Remove the “[” and no bar changes. Then choose the model head and do the same.",
    answer: "It sees only the last character: it is a table that says, for each character, how likely every character is to come next. The " +
      "bracket was opened long before, so the bigram cannot know that it should be closed; head, two rungs up, can look back at it. The bigram's loss falls to that of counting pairs " +
      "and stays there, because the best such table is the table of counts."
  },
  {
    rungs: ["bigram", "average"], line: "the eht", sizes: { steps: 400 }, marks: ["heads", "arcs"],
    ask: "The average sees every earlier character. Why is it hardly better?",
    look: "Look at its map: each row is even. Then swap two characters in the middle of the line: the bars stay the same.",
    answer: "Each character becomes a list of numbers, and the model predicts from the plain mean of all lists so far. A mean forgets the " +
      "order; positions do not help, because their sum is the same in any order. And fifty characters far away drown out the one that matters. It sees everything but can point at nothing, so its loss is hardly " +
      "better than that of the bigram."
  },
  {
    rungs: ["average", "head"], line: "the man and the ", sizes: { steps: 600 }, marks: ["heads", "arcs"], follow: true,
    ask: "What does one head of attention look for?",
    look: "Watch its map while it trains: even at first, then some cells grow strong. When did that begin? Move the slider.",
    answer: "It looks back along the line: an arc, or a strong cell, is a large weight. Each character asks with a query, each earlier one offers a " +
      "key, and where they match, the weight is large. So the mean now has learned weights. After 600 steps it " +
      "looks for certain letters, such as “e” and “a”, wherever they stand. After 3,000, as in the model trained in advance, it mostly looks at the last three " +
      "characters: enough to know the word that is being written."
  },
  {
    rungs: ["head", "multihead"], line: "the man and the ", sizes: { steps: 600 }, marks: ["heads", "chart"],
    ask: "Why are several small heads better than one large head?",
    look: "The number of parameters is the same. Compare the four maps with the single one.",
    answer: "A softmax makes one choice. A head that looks at the last character cannot also look at the beginning " +
      "of the word. Several heads look at several places at once, and the projection after them combines what " +
      "they found."
  },
  {
    rungs: ["multihead", "gpt"], line: "The king said to his ", sizes: { width: 64, steps: 600 }, marks: ["heads", "samples"],
    ask: "What do more layers give that more heads do not?",
    look: "Compare the maps of the two layers of gpt (L0, L1), and what both models write.",
    answer: "The second layer attends to the results of the first, no longer to single characters. And each layer has an MLP (multilayer perceptron: neurons, " +
      "each a weighted sum of the character's numbers that counts only if it is large). Attention can only mix what earlier characters hold; the MLP then computes with the mixture, for each character by itself. Its neurons " +
      "answer to combinations, such as a “t” and then an “h” in a new word, which a mean cannot recognize. (Click “GELU” in the drawing to see where in the line one neuron is most active.) Sums (+) keep what is " +
      "already known; norms keep the numbers in range. On so small a " +
      "text, in so few steps, gpt is a little worse than multihead: it has more to learn. On a million characters of Shakespeare, 2,500 steps take " +
      "multihead to 2.13 and gpt to 1.95."
  },
  {
    rungs: ["gpt", "modern"], line: "The king said to his ", sizes: { steps: 600 }, marks: ["chart", "samples"],
    ask: "Same layers, same width: why does modern learn faster?",
    look: "Compare the curves by steps, then by seconds: each step of modern costs more.",
    answer: "Rotary positions encode how far apart two characters are, not where they stand. The gated MLP multiplies " +
      "two values; the old one only bends a single value. And Muon, its optimizer, takes steps that change each matrix evenly in all " +
      "directions, so that they can be larger."
  },
  {
    rungs: ["modern", "conv"], line: "The king said to his ", sizes: { steps: 200 }, marks: ["heads", "chart"],
    ask: "What must attention learn first, and how can a model skip that?",
    look: "Compare the first layer's maps of both models early in the training: how many heads look at the " +
      "character just before?",
    answer: "Most heads of the first layer learn to look at the characters just before, and each takes many steps to learn it. In conv " +
      "a convolution gives every character its last three neighbors from the start, with four learned numbers " +
      "for each channel. So attention is free to look further back, and the loss falls sooner. On a text as short " +
      "as the built-in one it also memorizes sooner: train longer, and its held-out loss rises again."
  },
  {
    rungs: ["conv", "ngram"], line: "The king said to his ", sizes: { steps: 200 }, marks: ["chart", "bars"],
    ask: "Counting beats a small network. What is left for the network?",
    look: "Compare where the curves begin with the line of the counted 7-gram. Then click “count” and “trust” in the drawing.",
    answer: "The text itself is the table: whatever followed these very characters before is likely to follow again, and looking it up needs no " +
      "training. A network must press all of that into its weights, step by step. But counting " +
      "knows nothing where the match is short: a new name, a rare word, a line that rhymes. So ngram begins with the counts " +
      "and adds its own logits to theirs. It learns only what they miss, and how far to trust them."
  }
];

// ---- on the page ----

let lesson = 0, pressed = false; // the question that is shown; it was set up

function chooseLesson(i) {
  const { ask, look, answer, rungs: names } = LESSON[i], rung = names.at(-1);
  lesson = i;
  pressed = false;
  [...$("questions").children].forEach((button, n) => {
    if (n === i) button.setAttribute("aria-current", "step"); else button.removeAttribute("aria-current");
  });
  $("question").textContent = ask;
  $("hint").textContent = look;
  $("answer").open = false;
  $("answer-text").textContent = answer;
  Object.assign($("tour"), { href: `../../docs/tour.md#${rung}`, textContent: `The idea, its equation and its code: docs/tour.md, ${rung}` });
  $("set-up").textContent = `Train ${names.join(" and ")}`;
  mark();
  showLesson();
  view();
}

// Brings the question's model and line into view.
function view() {
  const { rungs: names, line } = LESSON[lesson];
  $("line").value = line;
  head = { layer: 0, head: 0 };
  chosen = null;
  if (taken) lookAt(ladder.findIndex(({ name }) => name === names.at(-1)));
}

// Marks where to look, once the question is set up.
function mark() {
  for (const part of document.querySelectorAll(".marked")) part.classList.remove("marked");
  for (const id of pressed ? LESSON[lesson].marks : []) $(id).classList.add("marked");
}

// Shows the progress of the question's rungs, and what they wrote and reached.
function showLesson() {
  const { rungs: names, follow } = LESSON[lesson], all = names.map(name => shown().find(r => r.name === name)), there = all.filter(Boolean);
  const own = pressed && fromLesson && there.length === all.length && !there.some(r => r.built), sum = (list, of) => list.reduce((sum, r) => sum + of(r), 0);
  $("lesson-progress").value = own ? sum(there, r => r.step) / sum(there, r => r.steps) : 0;
  say("lesson-said", !own ? "" : there.every(r => r.done) ? "Done: look at the marked parts." : `${Math.round(100 * $("lesson-progress").value)}%: look at the marked parts`);
  const moments = there.at(-1)?.moments.filter(({ focus }) => focus !== null) ?? [];
  const learned = own && moments.length > 2 && follow ? ` At the end of the line the largest weight of ${there.at(-1).name} is ` +
    `${[0, 0.1, 0.25, 0.5, 1].map(share => moments[Math.floor(share * (moments.length - 1))]).map(({ step, focus }) => `${focus.weight.toFixed(2)} on “${focus.glyph}” at step ${count(step)}`).join(", ")}.` : "";
  $("answer-seen").textContent = there.filter(r => r.heldOut.length > 0).map(r =>
    `Here ${r.name} has a loss of ${r.heldOut.at(-1)[2].toFixed(2)} after ${count(r.step)} steps and writes “${r.line}”.`).join(" ") + learned +
    (about ? ` Counting pairs gives ${about.bigram.toFixed(2)}; counting what follows the last ${about.order - 1} characters, ${about.ngram.toFixed(2)}.` : "");
}

// Says how likely some models find the character that the question asks about, with the first character of the line and without.
const showAsked = seldom(1000, async () => {
  const { asked, among, line } = LESSON[lesson], said = [];
  for (const r of asked && isBuiltin() ? shown().filter(({ name }) => among.includes(name)) : []) {
    const [whole, cut] = [await reader.ask("chance", r.latest.bytes, line, asked), await reader.ask("chance", r.latest.bytes, line.slice(1), asked)];
    said.push(`${r.name} gives it ${percent(whole)}, and ${percent(cut)} without the “${line[0]}”`);
  }
  $("answer-asked").textContent = said.length > 0 ? `“${asked}” after “${line}”: ${said.join("; ")}.` : "";
});

// Sets up everything that the question needs, and trains its rungs.
async function setUp() {
  const { rungs: names, sizes } = LESSON[lesson];
  if (!mayDiscard()) return;
  dropAll();
  if (stepping) toggleStep();
  for (const { rung, name } of ladder) $(`tick-${rung}`).checked = names.includes(name);
  for (const [name, value] of Object.entries({ ...USUAL, ...sizes })) $(`options-${name}`).value = value;
  view();
  pressed = true;
  mark();
  await estimate();
  await press(true);
}
