"use strict";
// Helpers of the page.
/** @type {(id: string) => any} */
const $ = id => document.getElementById(id);
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
const say = (where, text, wrong = false) => {
  if ($(where).textContent !== text) $(where).textContent = text;
  $(where).classList.toggle("wrong", wrong);
};
// The form of numbers is that of the programs: programs/common.h.
const count = number => Math.round(number).toLocaleString("en");
const short = number => number < 10000 ? count(number) : number < 1e6 ? `${(number / 1e3).toFixed(number < 1e5 ? 1 : 0)}k` : `${(number / 1e6).toFixed(1)}M`;
const nats = loss => loss.toFixed(4);
const mebibytes = bytes => `${count(bytes / 2 ** 20)} MiB`;
const duration = seconds => seconds < 1 ? "a second" : seconds < 120 ? `${Math.round(seconds)} s` :
  seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
const sentence = text => text.replace(/^(--)?./u, start => start.replace("--", "").toUpperCase()).replace(/--([a-z-]+)/g, "“$1”") + (/[.!?]$/.test(text) ? "" : "."); // fields lack the -- of options
const percent = p => p > 0 && p < 0.0005 ? "< 0.1%" : `${(100 * p).toFixed(1)}%`;

// Returns a function that calls `act` soon, but at most every milliseconds(), and again if it was called meanwhile.
function seldom(milliseconds, act) {
  let waits = false, runs = false, last = -Infinity, again = false;
  return async function call() {
    if (runs) again = true;
    if (waits || runs) return;
    waits = true;
    await new Promise(done => setTimeout(done, Math.max(0, last + milliseconds() - performance.now())));
    waits = false;
    runs = true;
    last = performance.now();
    try { await act(); } catch (error) { if (!error.ended) say("status", sentence(error.message), true); }
    runs = false;
    if (again) { again = false; call(); }
  };
}

// Adds numbers to a parent, { name, help, defaultValue, min, max, step }. numbersOf returns them by name; NaN for an empty field.
function addNumbers(parent, rows) {
  $(parent).append(...rows.map(({ name, label, help, ...more }) => element("label", { title: help },
    element("span", { textContent: label ?? name }),
    element("input", { type: "number", id: `${parent}-${name}`, name, ...more }))));
}
const numbersOf = parent => Object.fromEntries([...$(parent).querySelectorAll("input")].map(input => [input.name, input.valueAsNumber]));

// ---- packed files ----

// Returns the bytes that extras/web/bundle has compressed.
async function unpack(text) {
  const letters = atob(text.trim()), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
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
