// The questions, one for each rung: the rungs to train, a line to type, and the answer.
const LESSON = [
  {
    rungs: ["bigram"], line: "[The clock", sizes: { steps: 400 },
    ask: "Why can't the bigram close a bracket?",
    look: "Train it, then type a line with an open bracket. Change the characters before the last one: " +
      "the bars do not change.",
    answer: "It sees only the last character: it is a table of pairs, and nothing else. The bracket was opened " +
      "long before that. Its loss falls to that of the counted bigram and stays there, because the " +
      "best such table is the table of counts."
  },
  {
    rungs: ["bigram", "average"], line: "the eht", sizes: { steps: 400 },
    ask: "The average sees every earlier character. Why is it hardly better?",
    look: "Look at its map: each row is even. Then swap two characters in the middle of the line.",
    answer: "It takes the plain mean of all vectors so far. A mean forgets the order, and a hundred characters " +
      "far away weigh as much as the one that matters. It sees everything and can point at nothing."
  },
  {
    rungs: ["average", "head"], line: "the man and the ", sizes: { steps: 600 },
    ask: "What does one head of attention look for?",
    look: "Watch its map while it trains: even at first, then some cells darken. Read the weights of the last row.",
    answer: "Each character asks with a query, and each earlier one offers a key. Where they match, the weight is " +
      "large. The mean has become a weighted mean with learned weights. Mostly it learns to look at the " +
      "characters just before: enough to know the word that is being written."
  },
  {
    rungs: ["head", "multihead"], line: "the man and the ", sizes: { steps: 600 },
    ask: "Why are several small heads better than one large head?",
    look: "The number of parameters is the same. Compare the four maps with the single one.",
    answer: "A softmax makes one choice. A head that looks at the last character cannot also look at the beginning " +
      "of the word. Several heads look at several places at once, and the projection after them combines what " +
      "they found."
  },
  {
    rungs: ["multihead", "gpt"], line: "The king said to his ", sizes: { steps: 600 },
    ask: "What do more layers give that more heads do not?",
    look: "Compare the maps of the two layers of gpt, and what both models write.",
    answer: "The second layer attends to what the first has found, no longer to single characters. Residual " +
      "connections keep what is already known, norms keep the numbers in range, and the MLP computes with what " +
      "attention collected. After a few steps it gains little; train longer."
  },
  {
    rungs: ["gpt", "modern"], line: "The king said to his ", sizes: { steps: 600 },
    ask: "Same layers, same width: why does modern learn faster?",
    look: "Compare the curves at equal steps, then at equal time: each step of modern costs more.",
    answer: "Rotary positions encode how far apart two characters are, not where they stand. The gated MLP multiplies " +
      "two values, where the old one only bends one. And Muon, its optimizer, takes steps that change each matrix evenly in all " +
      "directions, so that they can be larger."
  },
  {
    rungs: ["modern", "conv"], line: "The king said to his ", sizes: { steps: 200 },
    ask: "What must attention learn first, and how can a model skip that?",
    look: "Compare the first layer's maps of both models early in the training: how many heads look at the " +
      "character just before?",
    answer: "Most heads of the first layer learn to look at the neighbors, and each needs many steps for that. In conv " +
      "a convolution gives every character its last three neighbors from the start, with four learned numbers " +
      "for each channel. So attention is free to look further back, and the loss falls sooner. On a text as short " +
      "as the built-in one it also memorizes sooner: train longer, and its held-out loss rises again."
  },
  {
    rungs: ["conv", "ngram"], line: "The king said to his ", sizes: { steps: 200 },
    ask: "Counting what followed the last six characters beats a small network. What is left for the network?",
    look: "Compare where both curves begin with the line of the counted n-gram. Then open “in numbers”: the steps named " +
      "Counting, Trust, and the last before the next character.",
    answer: "The text itself is the table: whatever stood after these very characters is likely to follow again, and no " +
      "training is needed to look it up. A network must press all of that into its weights, step by step. But counting " +
      "knows nothing where the match is short: a new name, a rare word, a line that rhymes. So ngram begins with the counts " +
      "and adds its own logits to theirs. It learns only what they miss, and a trust that says how far they hold."
  }
];
