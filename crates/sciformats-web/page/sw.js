// Keeps the page, and nothing else, so that it works without a network. Files that are looked into are never kept.

const KEPT = "sciformats-0.1.0";
const PAGE = ["./", "index.html", "style.css", "icon.svg", "manifest.webmanifest",
  "app.js", "dom.js", "tree.js", "table.js", "plot.js", "colour.js", "views.js", "facts.js", "code.js", "whole.js",
  "views/subject.js", "views/view.js", "views/cells.js", "views/heat-map.js", "views/histogram.js", "views/line.js", "views/rgb.js", "views/scatter.js", "views/value.js",
  "sciformats/index.js", "sciformats/engine.js", "sciformats/sources.js", "sciformats/worker.js", "sciformats/sciformats.wasm"];
const addresses = new Set(PAGE.map((name) => new URL(name, self.location).href));

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(PAGE)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(caches.keys()
    .then((names) => Promise.all(names.filter((name) => name.startsWith("sciformats-") && name !== KEPT).map((name) => caches.delete(name))))
    .then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  url.search = "";
  url.hash = "";
  if (event.request.method !== "GET" || event.request.headers.has("range") || !addresses.has(url.href)) return;
  // The newest page if there is a network, and the kept one otherwise.
  event.respondWith(fetch(event.request)
    .then(async (response) => {
      if (response.ok) (await caches.open(KEPT)).put(url.href, response.clone());
      return response;
    })
    .catch(() => caches.match(url.href)));
});
