"use strict";
// Helpers of the page, beside those of figures.js.
// The form of numbers is that of the programs: programs/common.h.
const some = (number, thing) => `${count(number)} ${thing}${Math.round(number) === 1 ? "" : "s"}`;
const short = number => number < 10000 ? count(number) :
  number < 1e6 ? `${(number / 1e3).toFixed(number < 1e5 ? 1 : 0)}k` : `${(number / 1e6).toFixed(1)}M`;
const inNats = loss => `${loss.toFixed(4)} nats per character, a perplexity of ${Math.exp(loss).toFixed(2)}`;
const mebibytes = bytes => `${count(bytes / 2 ** 20)} MiB`;
// Makes a sentence of a message of the library; here, no field says what is held out.
const sentence = text => text.replace(/^./u, start => start.toUpperCase())
  .replace(/ or hold out (less|more)/, "") + (/[.!?]$/.test(text) ? "" : ".");
const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;

// Returns a function that calls `act` soon, but at most every so many milliseconds, and again if it was called
// meanwhile.
function seldom(milliseconds, act) {
  let isBusy = false, wanted = false, last = -Infinity;
  return async () => {
    wanted = true;
    if (isBusy) return;
    for (isBusy = true; wanted; last = performance.now()) {
      await new Promise(done => setTimeout(done, Math.max(0, last + milliseconds - performance.now())));
      wanted = false;
      try { await act(); } catch (error) { if (!error.ended) say("status", sentence(error.message), true); }
    }
    isBusy = false;
  };
}

// Makes one tab stop of the elements in a box that match: the arrow keys move between them.
function rove(box, selector) {
  const all = () => [...box.querySelectorAll(selector)].filter(e => e.checkVisibility() && !e.disabled);
  const stop = chosen => { for (const e of all()) e.tabIndex = e === chosen ? 0 : -1; };
  box.addEventListener("focusin", ({ target }) => { if (target.matches(selector)) stop(target); });
  box.addEventListener("keydown", event => {
    const list = all(), at = list.indexOf(event.target);
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (at < 0 || !by) return;
    event.preventDefault();
    list[(at + by + list.length) % list.length].focus();
  });
  stop(all()[0]);
}

// ---- numbers that are typed ----

// Adds fields to a box: { name, help, defaultValue, min, max, step }.
function addNumbers(box, rows) {
  box.append(...rows.map(({ name, label, help, ...more }) => element("label", { title: help }, element("span", {
    textContent: label ?? name }), element("input", { type: "number", id: `${box.id}-${name}`, name, ...more }))));
}
// Returns the numbers in a box by name; NaN for an empty field.
const numbersIn = box =>
  Object.fromEntries([...box.querySelectorAll("input")].map(input => [input.name, input.valueAsNumber]));

// ---- packed files ----

// Returns the bytes that extras/page/bundle has compressed.
async function unpack(text) {
  const { body } = await fetch(`data:;base64,${text.trim()}`);
  return new Uint8Array(await new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

// Separates two files whose pieces alternate.
function unweave(both, length) {
  const PIECE = 8192, first = new Uint8Array(length), other = new Uint8Array(both.length - length);
  for (let at = 0, from = 0; from < both.length; at += PIECE)
    for (const file of [first, other]) {
      const piece = both.subarray(from, from + Math.max(0, Math.min(PIECE, file.length - at)));
      if (piece.length > 0) file.set(piece, at);
      from += piece.length;
    }
  return [first, other];
}
