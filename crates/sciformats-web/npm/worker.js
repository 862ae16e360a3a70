// The worker of the package: requests come as messages, and answers go back with their elements transferred.

import { Engine } from "./engine.js";
import { sourceOf } from "./sources.js";

let engine;
const running = new Map();

const plain = (error) => ({
  name: error.name,
  message: error.message,
  blame: error.blame ?? "program",
  offset: error.offset ?? null,
});

async function answer({ id, what, ...message }) {
  const stop = new AbortController();
  running.set(id, stop);
  try {
    engine ??= Engine.create();
    if (what === "open") {
      const source = sourceOf(message.source, message.options);
      // The first bytes arrive while the module is compiled.
      const front = source.open(stop.signal);
      front.catch(() => {});
      const ready = await engine;
      const { key, about } = await ready.open(source, stop.signal, front);
      return { id, key, about, name: source.name, size: source.size, cost: cost(source) };
    }
    const ready = await engine;
    if (what === "close") {
      ready.close(message.key);
      return { id };
    }
    const { json, data } = await ready.request(message.key, message.request, stop.signal);
    return { id, json, data, cost: cost(ready.files.get(message.key)?.source) };
  } catch (error) {
    if (engine && !(await engine.then(() => true, () => false))) engine = undefined;
    return { id, error: plain(error) };
  } finally {
    running.delete(id);
  }
}

function cost(source) {
  return source ? { requests: source.requests, bytes: source.bytes } : null;
}

self.onmessage = async ({ data: message }) => {
  if (message.what === "cancel") {
    running.get(message.id)?.abort();
    return;
  }
  const reply = await answer(message);
  self.postMessage(reply, reply.data ? [reply.data] : []);
};
