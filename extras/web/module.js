"use strict";
// True for a failure of the C code itself, which should not happen: the module is then useless.
const isBroken = error => error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
const encode = text => new TextEncoder().encode(text);

// The compiled C: openModule(compiled, complain) returns functions that call its exports, and read and write its
// structs.
//
// The C library asks its system for very little: the time, an empty environment, and a place for the message of a
// failed assertion. There is no file system.
function openModule(compiled, complain) {
  /** @type {any} */
  let c;
  const view = () => new DataView(c.memory.buffer);
  const bytesAt = (at, length) => new Uint8Array(c.memory.buffer, at, length);
  const floatsAt = (at, count) => new Float32Array(c.memory.buffer, at, count);
  const pointerAt = at => view().getUint32(at, true);
  const utf8 = new TextDecoder();
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
    fd_write(file, parts, count, to) {
      let written = 0;
      for (let i = 0; i < count; i++) {
        const length = pointerAt(parts + 8 * i + 4);
        complain(utf8.decode(bytesAt(pointerAt(parts + 8 * i), length)));
        written += length;
      }
      view().setUint32(to, written, true);
      return 0;
    },
    proc_exit(status) { throw new Error(`the program ended with status ${status}`); }
  };
  const missing = () => 8; // "bad file descriptor": everything else would need a file
  /** @type {any} */
  const imports = {};
  for (const { module, name } of WebAssembly.Module.imports(compiled))
    (imports[module] ??= {})[name] = system[name] ?? missing;
  c = new WebAssembly.Instance(compiled, imports).exports;
  c._initialize();

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
  function bytes(from) {
    const at = room(from.length);
    bytesAt(at, from.length).set(from);
    bytesAt(at, from.length + 1)[from.length] = 0;
    return at;
  }
  function textAt(at) {
    if (at === 0) return null;
    const memory = new Uint8Array(c.memory.buffer);
    return utf8.decode(memory.subarray(at, memory.indexOf(0, at)));
  }

  // ---- structs: extras/web/web.h has the offsets ----

  const layouts = {};
  for (let at = c.web_members(); pointerAt(at) !== 0; at += 16) {
    const layout = layouts[textAt(pointerAt(at))] ??= { members: {} };
    const name = textAt(pointerAt(at + 4)), offset = pointerAt(at + 8);
    if (name === "") layout.size = offset;
    else layout.members[name] = { offset, kind: String.fromCharCode(pointerAt(at + 12)) };
  }
  const getters = {
    i: at => view().getInt32(at, true), z: pointerAt, d: at => view().getFloat64(at, true),
    u: at => view().getBigUint64(at, true), b: at => bytesAt(at, 1)[0] !== 0, a: at => at
  };
  const setters = {
    i: (at, value) => view().setInt32(at, value, true),
    z(at, value) {
      const number = typeof value === "string" ? bytes(encode(value)) : value; // may move the memory
      view().setUint32(at, number, true);
    },
    d: (at, value) => view().setFloat64(at, value, true),
    u: (at, value) => view().setBigUint64(at, BigInt(value), true),
    b: (at, value) => bytesAt(at, 1).fill(value ? 1 : 0)
  };
  const read = (name, at) => Object.fromEntries(Object.entries(layouts[name].members)
    .map(([member, { offset, kind }]) => [member, getters[kind](at + offset)]));

  // Writes objects as an array of structs. Members that they lack are 0.
  function write(name, objects) {
    const { size, members } = layouts[name], start = room(objects.length * size);
    bytesAt(start, objects.length * size).fill(0);
    objects.forEach((object, i) => {
      for (const [member, value] of Object.entries(object)) {
        const { offset, kind } = members[member];
        setters[kind](start + i * size + offset, value);
      }
    });
    return start;
  }

  // ---- calls ----

  // Calls an export. A string is passed as a pointer to its text, bytes as a pointer and their length.
  const call = (name, ...values) => c[name](...values.flatMap(value =>
    typeof value === "string" ? bytes(encode(value)) :
      value instanceof Uint8Array ? [bytes(value), value.length] : [value]));

  // Calls an export that takes a TrilError or Error last; if isFailure(its result), throws the sentence, with the
  // result as `status`.
  function check(isFailure, name, ...values) {
    const error = room(1024), result = call(name, ...values, error);
    if (isFailure(result)) throw Object.assign(new Error(textAt(error)), { status: result });
    return result;
  }
  return {
    within, room, bytesAt, floatsAt, pointerAt, textAt, write, call, check, memory: () => c.memory.buffer.byteLength,
    number: at => getters.d(at),
    whole: at => getters.i(at),
    // Returns the struct that a function returns.
    returned(name, of, ...values) {
      const at = room(layouts[of].size);
      call(name, at, ...values);
      return read(of, at);
    },
    at: read,
    size: name => layouts[name].size,
    must: (name, ...values) => check(status => status !== 0, name, ...values),
    // Calls a function that sets its first argument to a new object.
    make(name, ...values) {
      const to = room(4);
      check(status => status !== 0, name, to, ...values);
      return pointerAt(to);
    }
  };
}
