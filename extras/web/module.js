"use strict";
// The compiled C: functions that call its exports, and read and write its structs.
//
// The C library asks its system for the time and for an empty environment. There is no file system.
/** @type {any} */
let c; // the exports
const layouts = {}; // of structs, by name: { size, members }

// True for a failure of the C code itself, which should not happen: the module is then useless.
const isBroken = error => error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
const utf8 = new TextDecoder(), encode = text => new TextEncoder().encode(text);

const view = () => new DataView(c.memory.buffer);
const bytesAt = (at, length) => new Uint8Array(c.memory.buffer, at, length);
const floatsAt = (at, count) => new Float32Array(c.memory.buffer, at, count);
const pointerAt = at => view().getUint32(at, true);
const wholeAt = at => view().getInt32(at, true);
const numberAt = at => view().getFloat64(at, true);
function textAt(at) {
  if (at === 0) return null;
  const memory = new Uint8Array(c.memory.buffer);
  return utf8.decode(memory.subarray(at, memory.indexOf(0, at)));
}

/** @type {any} */
const system = {
  clock_time_get(clock, precision, to) {
    view().setBigUint64(to, BigInt(Math.round(performance.now() * 1e6)), true);
    return 0;
  },
  environ_sizes_get(count, size) {
    view().setUint32(count, 0, true);
    view().setUint32(size, 0, true);
    return 0;
  },
  environ_get: () => 0,
  proc_exit(status) { throw new Error(`the program ended with status ${status}`); }
};

// Opens the compiled module. extras/web/web.h describes the table of offsets.
function openModule(compiled) {
  c = new WebAssembly.Instance(compiled, { wasi_snapshot_preview1: system }).exports;
  c._initialize();
  for (let at = c.web_members(); pointerAt(at) !== 0; at += 16) {
    const layout = layouts[textAt(pointerAt(at))] ??= { members: {} };
    const name = textAt(pointerAt(at + 4)), offset = pointerAt(at + 8);
    if (name === "") layout.size = offset;
    else layout.members[name] = { offset, kind: String.fromCharCode(pointerAt(at + 12)) };
  }
}

// ---- memory ----

let rooms = []; // memory to free after the current work

// Does work, then frees the memory that it asked for.
function within(work) {
  const outer = rooms;
  rooms = [];
  try { return work(); } finally {
    for (const at of rooms) c.free(at);
    rooms = outer;
  }
}
function room(size) {
  const at = c.malloc(size + 1);
  if (at === 0) throw new Error("not enough memory");
  rooms.push(at);
  return at;
}
function copyOf(bytes) { // with a 0 behind them
  const at = room(bytes.length);
  bytesAt(at, bytes.length).set(bytes);
  bytesAt(at, bytes.length + 1)[bytes.length] = 0;
  return at;
}

// ---- structs ----

/** @type {any} */
const TYPES = { i: "Int32", s: "Uint32", z: "Uint32", d: "Float64", u: "BigUint64", b: "Uint8" }; // of a DataView
const roomFor = name => room(layouts[name].size);
// Returns the members of a struct: of a struct in it its address, of a truth value 0 or 1.
/** @type {(name: string, at: number) => any} */
const structAt = (name, from) =>
  Object.fromEntries(Object.entries(layouts[name].members).map(([member, { offset, kind }]) => {
    const at = from + offset, value = kind === "a" ? at : view()[`get${TYPES[kind]}`](at, true);
    return [member, kind === "s" ? textAt(value) : value];
  }));

// Writes an object as a struct. Members that it lacks are 0.
function write(name, object) {
  const { size, members } = layouts[name], at = room(size);
  bytesAt(at, size).fill(0);
  for (const [member, given] of Object.entries(object)) {
    const { offset, kind } = members[member], value = typeof given === "string" ? copyOf(encode(given)) : given;
    view()[`set${TYPES[kind]}`](at + offset, kind === "u" ? BigInt(value) : value, true);
  }
  return at;
}

// ---- calls ----

// Calls an export. A string is passed as a pointer to its text, bytes as a pointer and their length.
const call = (name, ...values) => c[name](...values.flatMap(value =>
  typeof value === "string" ? copyOf(encode(value)) :
    value instanceof Uint8Array ? [copyOf(value), value.length] : [value]));

// Returns the result of an export that takes a TrilError or Error last; if isFailure(result), throws the sentence, with
// the result as `status`.
function check(isFailure, name, ...values) {
  const error = room(1024), result = call(name, ...values, error);
  if (isFailure(result)) throw Object.assign(new Error(textAt(error)), { status: result });
  return result;
}
const must = (name, ...values) => check(status => status !== 0, name, ...values);

// Returns the struct that a function returns.
function returned(name, of, ...values) {
  const at = roomFor(of);
  call(name, at, ...values);
  return structAt(of, at);
}
// Calls a function that sets its first argument to a new object.
function make(name, ...values) {
  const to = room(4);
  must(name, to, ...values);
  return pointerAt(to);
}
