// node trace_processor.js BUNDLE REQUESTS REPLIES: has Perfetto's trace processor answer a file of requests.
// BUNDLE is the script of the worker in which Perfetto's page runs the processor; beside it lies its WebAssembly.

const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [bundle, requests, replies] = process.argv.slice(2);
const folder = path.dirname(path.resolve(bundle));
const read = url => fs.readFileSync(path.join(folder, path.basename(String(url))));

// What a worker has and node has not.
globalThis.self = globalThis;
globalThis.location = {href: `file://${folder}/engine_bundle.js`};
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => {};
globalThis.XMLHttpRequest = class {
  open(method, url) { this.url = url; }
  send() {
    const bytes = read(this.url);
    this.status = 200;
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    if (this.onload) this.onload();
  }
};
globalThis.fetch = async url => new Response(read(url), {headers: {'Content-Type': 'application/wasm'}});
console.log = console.warn = () => {};

// Without these names the bundle takes itself for a worker's.
const wrapped = `(function (process, require, module, exports) {${fs.readFileSync(bundle, 'utf8')}\n})`;
vm.runInThisContext(wrapped)();
const answers = [];
const port = {postMessage: data => answers.push(Buffer.from(data))};
globalThis.onmessage({data: port});

// The bundle makes the processor before it returns, but for what it does in microtasks.
setTimeout(() => {
  port.onmessage({data: new Uint8Array(fs.readFileSync(requests))});
  fs.writeFileSync(replies, Buffer.concat(answers));
  process.exit(0);
}, 0);
