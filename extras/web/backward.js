// The way back through a model, by its lines (TrilLine): what each layer does with the gradient of its output. In
// double precision and plain loops; training itself has these rules in model/layers/.
const addTo = (to, factor, from) => { for (let i = 0; i < to.length; i++) to[i] += factor * from[i]; };
const BACKWARD = {
  counted() {},
  embedding({ ids }, y, _, [tokens, positions]) {
    y.each((g, t, i) => {
      tokens.d[ids[t] * tokens.columns + i] += g;
      if (positions) positions.d[t * positions.columns + i] += g;
    });
  },
  linear({ ids }, y, [x], [w, b]) {
    for (const t of ids.keys())
      y.d(t).forEach((g, o) => {
        const row = of => of.subarray(o * w.columns, (o + 1) * w.columns);
        if (g === 0) return;
        if (b) b.d[o] += g;
        addTo(x.d(t), g, row(w.data));
        addTo(row(w.d), g, x.row(t));
      });
  },
  layernorm: normBackward,
  rmsnorm: normBackward,
  rotary({ heads }, y, [x, angles]) {
    const half = x.width / heads / 2;
    y.each((g, t, i) => {
      const n = i % (2 * half), first = n < half;
      const cosine = angles.row(t)[n % half], sine = angles.row(t)[half + n % half];
      x.d(t)[i] += g * cosine;
      x.d(t)[first ? i + half : i - half] += first ? -g * sine : g * sine;
    });
  },
  convolution(_, y, [x], [taps]) {
    y.each((g, t, i) => {
      x.d(t)[i] += g;
      for (let k = 0; k < taps.rows && k <= t; k++) {
        x.d(t - k)[i] += g * taps.data[k * taps.columns + i];
        taps.d[k * taps.columns + i] += g * x.row(t - k)[i];
      }
    });
  },
  attention({ ids, heads }, y, [q, k, v]) {
    const size = q.width / heads, shared = q.width / k.width;
    const dot = (one, other) => one.reduce((sum, x, i) => sum + x * other[i], 0);
    for (const t of ids.keys())
      for (let h = 0; h < heads; h++) {
        const part = (row, head) => row.subarray(head * size, (head + 1) * size), own = Math.floor(h / shared);
        const dy = part(y.d(t), h), query = part(q.row(t), h), past = Array.from({ length: t + 1 }, (_, s) => s);
        const scores = past.map(s => dot(query, part(k.row(s), own)) / Math.sqrt(size)), most = Math.max(...scores);
        const powers = scores.map(score => Math.exp(score - most)), sum = powers.reduce((a, b) => a + b);
        const weights = powers.map(p => p / sum);
        const dweights = past.map(s => dot(dy, part(v.row(s), own))), mean = dot(weights, dweights);
        for (const s of past) {
          const dscore = weights[s] * (dweights[s] - mean) / Math.sqrt(size), key = part(k.row(s), own);
          addTo(part(q.d(t), h), dscore, key);
          addTo(part(k.d(s), own), dscore, query);
          addTo(part(v.d(s), own), weights[s], dy);
        }
      }
  },
  mean(_, y, [x]) {
    y.each((g, t, i) => { for (let s = 0; s <= t; s++) x.d(s)[i] += g / (t + 1); });
  },
  gelu(_, y, [x]) {
    const C = Math.sqrt(2 / Math.PI);
    y.each((g, t, i) => {
      const z = x.row(t)[i], bent = Math.tanh(C * (z + 0.044715 * z ** 3));
      x.d(t)[i] += g * ((1 + bent) / 2 + z * (1 - bent ** 2) / 2 * C * (1 + 3 * 0.044715 * z ** 2));
    });
  },
  swiglu(_, y, [gate, up]) {
    y.each((g, t, i) => {
      const z = gate.row(t)[i], open = 1 / (1 + Math.exp(-z));
      gate.d(t)[i] += g * up.row(t)[i] * open * (1 + z * (1 - open));
      up.d(t)[i] += g * z * open;
    });
  },
  add(_, y, terms) {
    for (const term of terms) y.each((g, t, i) => { term.d(t)[i] += g; });
  },
  trusted(_, y, [x, trust, counts]) {
    y.each((g, t, i) => {
      x.d(t)[i] += g;
      trust.d(t)[0] += g * counts.row(t)[i];
    });
  }
};
// Each group of channels has a norm of its own: all channels, or those of a head. A norm with a bias subtracts the
// mean.
function normBackward({ ids }, y, [x], [w, b]) {
  const C = w.rows, mean = list => list.reduce((sum, x) => sum + x, 0) / C;
  for (const t of ids.keys())
    for (let from = 0; from < x.width; from += C) {
      const part = row => row.subarray(from, from + C), z = [...part(x.row(t))], dy = [...part(y.d(t))];
      const middle = b ? mean(z) : 0, unit = 1 / Math.sqrt(mean(z.map(x => (x - middle) ** 2)) + (b ? 1e-5 : 1e-6));
      const normed = z.map(x => (x - middle) * unit), dnormed = dy.map((g, i) => g * w.data[i]);
      const even = b ? mean(dnormed) : 0, along = mean(dnormed.map((g, i) => g * normed[i]));
      addTo(part(x.d(t)), unit, dnormed.map((g, i) => g - even - normed[i] * along));
      addTo(w.d, 1, dy.map((g, i) => g * normed[i]));
      if (b) addTo(b.d, 1, dy);
    }
}

// Sends the gradient of the last row of logits back. `ids` are the characters read, floatsAt(address, count) the
// numbers of the C code. Returns the size of the gradient of each line's output, and the gradient of each tensor: {
// data, d }.
function sendBack(lines, ids, dlogits, floatsAt) {
  const arrays = new Map(), tensors = new Map();
  const length = numbers => Math.sqrt(numbers.reduce((sum, x) => sum + x * x, 0));
  const array = ({ number, offset, width, row, data }) => {
    if (!arrays.has(number)) arrays.set(number, new Float64Array(ids.length * row));
    const all = arrays.get(number), d = t => all.subarray(t * row + offset, t * row + offset + width);
    // calls act(the derivative by a number, its row, its column)
    const each = act => ids.forEach((_, t) => d(t).forEach((g, i) => act(g, t, i)));
    return { width, row: t => floatsAt(data + 4 * t * row, width), d, each };
  };
  const tensor = ({ rows, columns, data }) => {
    const count = rows * columns;
    if (!tensors.has(data))
      tensors.set(data, { rows, columns, data: floatsAt(data, count), d: new Float64Array(count) });
    return tensors.get(data);
  };
  array(lines.at(-1).output).d(ids.length - 1).set(dlogits);
  const sizes = [...lines].reverse().map(({ operation, heads, inputs, output, weights }) => {
    const y = array(output);
    if (!BACKWARD[operation]) throw new Error(`the page does not know the gradient of the layer ${operation}`);
    BACKWARD[operation]({ ids, heads }, y, inputs.map(array), weights.map(tensor));
    return length([...ids.keys()].map(t => length(y.d(t))));
  }).reverse();
  return { sizes, tensors: [...tensors.values()], size: length([...tensors.values()].map(({ d }) => length(d))) };
}
