"use strict";
// The compiled C as an object: call(name, ...numbers) calls an export of extras/web/web.h and returns its
// answer as bytes, or throws its sentence as an Error.
//
// The C library asks its system for very little: the time, an empty environment, and a place for
// the message of a failed assertion. There is no file system.
function openModule(compiled, complain) {
  let c;
  const numbers = () => new DataView(c.memory.buffer);
  const bytesAt = (at, length) => new Uint8Array(c.memory.buffer, at, length);
  const utf8 = new TextDecoder();
  const system = {
    clock_time_get(clock, precision, to) {
      numbers().setBigUint64(to, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    environ_sizes_get(count, size) {
      numbers().setUint32(count, 0, true);
      numbers().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    fd_write(file, parts, count, to) {
      let written = 0;
      for (let i = 0; i < count; i++) {
        const at = numbers().getUint32(parts + 8 * i, true);
        const length = numbers().getUint32(parts + 8 * i + 4, true);
        complain(utf8.decode(bytesAt(at, length)));
        written += length;
      }
      numbers().setUint32(to, written, true);
      return 0;
    },
    proc_exit(status) { throw new Error(`the program has ended with ${status}`); }
  };
  const refused = () => 8; // "bad file descriptor": everything else would need a file
  const imports = {};
  for (const { module, name } of WebAssembly.Module.imports(compiled))
    (imports[module] ??= {})[name] = system[name] ?? refused;
  c = new WebAssembly.Instance(compiled, imports).exports;
  c._initialize();

  const answer = () => bytesAt(c.answer(), c.answer_length()).slice();
  const call = (name, ...values) => {
    const ok = c[name](...values);
    if (ok === 0) throw new Error(utf8.decode(answer()));
    return answer();
  };
  return {
    call,
    run: (name, ...values) => c[name](...values), // exports without an answer
    text: (name, ...values) => utf8.decode(call(name, ...values)),
    json: (name, ...values) => JSON.parse(utf8.decode(call(name, ...values))),
    // Puts bytes where the next call reads them: kind 0 a text, 1 a checkpoint, 2 a line.
    give(kind, bytes) {
      const at = c.room(kind, bytes.length);
      if (at === 0) throw new Error(utf8.decode(answer()));
      bytesAt(at, bytes.length).set(bytes);
    },
    memory: () => c.memory.buffer.byteLength
  };
}
