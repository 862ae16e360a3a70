// A server on the loopback interface for the tests: the page, and files by ranges, with a delay before each answer if wished.

import fs from "node:fs";
import http from "node:http";
import path from "node:path";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".wasm": "application/wasm", ".webmanifest": "application/manifest+json" };

/** Serves folders by their prefixes; `counts` has the requests and bytes of files outside of the page. */
export async function serve(roots, options = {}) {
  const counts = { requests: 0, bytes: 0 };
  const settings = { delay: 0, ranges: true, status: null, page: true, ...options };
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    const name = decodeURIComponent(url.pathname);
    const prefix = Object.keys(roots).filter((prefix) => name.startsWith(prefix)).sort((a, b) => b.length - a.length)[0];
    const isData = prefix !== "/";
    if (!isData && !settings.page) return response.destroy();
    const file = prefix && path.join(roots[prefix], name.slice(prefix.length) || "index.html");
    let about;
    try {
      about = fs.statSync(file);
      if (!about.isFile()) throw new Error("a folder");
    } catch {
      response.writeHead(404);
      return response.end();
    }
    if (isData) {
      counts.requests += 1;
      if (settings.status) {
        response.writeHead(settings.status);
        return response.end();
      }
    }
    const headers = { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream", "cache-control": "no-store", etag: `"${about.size}-${about.mtimeMs}"`, ...settings.headers };
    const range = settings.ranges && /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
    const send = () => {
      if (range) {
        const first = Number(range[1]);
        const last = Math.min(range[2] === "" ? Infinity : Number(range[2]), about.size - 1);
        if (first >= about.size) {
          response.writeHead(416, { ...headers, "content-range": `bytes */${about.size}` });
          return response.end();
        }
        if (isData) counts.bytes += last - first + 1;
        response.writeHead(206, { ...headers, "content-length": last - first + 1, "content-range": `bytes ${first}-${last}/${about.size}` });
        return request.method === "HEAD" ? response.end() : fs.createReadStream(file, { start: first, end: last }).pipe(response);
      }
      if (isData) counts.bytes += about.size;
      response.writeHead(200, { ...headers, "content-length": about.size });
      return request.method === "HEAD" ? response.end() : fs.createReadStream(file).pipe(response);
    };
    return isData && settings.delay ? setTimeout(send, settings.delay) : send();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  return {
    counts, settings, port, origin: `http://127.0.0.1:${port}`,
    reset() {
      counts.requests = 0;
      counts.bytes = 0;
    },
    close: () => new Promise((done) => {
      server.closeAllConnections();
      server.close(done);
    }),
  };
}
