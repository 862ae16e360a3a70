// What needs neither the module nor a browser.

import http from "node:http";
import { h5webProvider, typeOf } from "../npm/h5web.js";
import { sourceOf } from "../npm/sources.js";
import { lowestPositive, roomy, scaleOf } from "../page/colour.js";
import { Along, apart, ticks } from "../page/plot.js";
import { coordinates, thinned } from "../page/views/scatter.js";
import { check, equal } from "./support.mjs";

const shown = (value) => JSON.stringify(value, (_, one) => (typeof one === "bigint" ? `${one}n` : Number.isNaN(one) ? "NaN" : one));

/** The provider for H5Web, over a file that is made up. */
async function provider() {
  const types = { pairs: { compound: [["index", "i8"], ["1", "f4"], ["0", "c16"], ["name", "str"]] }, enum: { enum: "i8", members: [["far", 7]] }, list: { vlen: "u8" } };
  const texts = {
    pairs: '[{"index":9007199254740993,"1":"NaN","0":[1.5,"-Infinity"],"name":"12345678901234567890"},{"index":-7,"1":0.25,"0":[0,1e22],"name":"\\"1234567890123456789\\""}]',
    enum: '["far",9223372036854775807]',
    list: "[[18446744073709551615,1],[]]",
  };
  const file = {
    about: { root: "g" }, name: "made up",
    describe: async (path) => ({ kind: "array", array: { shape: [2], dtype: types[path.slice(1)], filters: [] } }),
    attributes: async () => [{ name: "range", shape: [2], dtype: "i8", values: [-1, "9223372036854775807"] }, { name: "limit", shape: [], dtype: "f8", values: ["Infinity"] }],
    json: async (path) => texts[path.slice(1)],
  };
  const api = await h5webProvider(class {}, file);
  // Fields are in the order of their values, also if their names are numbers.
  equal([...typeOf(types.pairs).fields.keys()].join(), "index,1,0,name", "the fields of a compound");
  const values = async (path) => shown(await api.getValue({ dataset: await api.getEntity(path) }));
  equal(await values("/pairs"), '[["9007199254740993n","NaN",[1.5,null],"12345678901234567890"],[-7,0.25,[0,1e+22],"\\"1234567890123456789\\""]]', "the values of a compound");
  equal(await values("/list"), '[["18446744073709551615n",1],[]]', "lists of large integers");
  equal((await values("/enum")).slice(0, 3), "[7,", "a name of an enumeration");
  const attributes = await api.getAttrValues({ path: "/pairs" });
  equal(shown(attributes.range), '[-1,"9223372036854775807n"]', "large integers of attributes");
  equal(attributes.limit, Infinity, "special numbers of attributes");
}

/** A group with more members than are listed at once. */
async function crowd() {
  const total = 250_000;
  const file = {
    about: { root: "g" }, name: "made up",
    describe: async () => ({ kind: "group" }),
    attributes: async () => [],
    members: async (path, { first, count }) => {
      const length = Math.max(0, Math.min(count, 100_000, total - first));
      return { total, members: Array.from({ length }, (_, at) => ({ n: `${first + at}`, p: `/${first + at}`, k: "u", e: "damaged" })) };
    },
  };
  const api = await h5webProvider(class {}, file);
  const { children } = await api.getEntity("/");
  equal(children.length, total, "all members of a group");
  equal(children.at(-1).name, "249999", "the last member of a group");
}

/** Colours and axes of numbers as far apart as numbers can be, and of very many. */
function scales() {
  const most = Number.MAX_VALUE;
  const scale = scaleOf("linear", -most, most);
  equal([-most, 0, most].map(scale.to01).join(), "0,0.5,1", "places of the largest numbers");
  equal(scale.from01(1), most, "the largest number at its place");
  equal(roomy(-most, most, 0.05).join(), `${-most},${most}`, "no room beyond the largest numbers");
  equal(roomy(0, 10, 0.1).join(), "-1,11", "room on both sides");
  check(ticks(-most, most, 5).length > 2 && ticks(-most, most, 5).every(Number.isFinite), "ticks between the largest numbers");
  // A picture may have more pixels than a function can have arguments.
  const many = new Float64Array(3_000_000);
  many[7] = 0.25;
  equal(lowestPositive(many), 0.25, "the lowest number above zero of many");
  equal(lowestPositive([0, -1, NaN]), NaN, "no number above zero");
}

/** Names of places of which not every coordinate was read. */
function names() {
  const thin = (more) => new Along({ length: 20_000, step: 3, label: "x", ...more });
  const times = thin({ kind: "times", places: [0, 3, 6], texts: ["2020-01-01T00:00:00", "2020-01-01T00:00:03", "2020-01-01T00:00:06"] });
  equal(times.name(3), "2020-01-01 00:00:03", "a time that was read");
  equal(times.name(4), "≈ 2020-01-01 00:00:03", "a time near one that was read");
  equal(times.short(4), "4", "a heading without a coordinate");
  const texts = thin({ kind: "texts", texts: ["north", "south"] });
  equal(`${texts.name(3)} ${texts.name(4)}`, "south 4", "a text that was read, and one that was not");
  const numbers = thin({ kind: "numbers", places: [10, 40, 70], units: "m" });
  equal(`${numbers.name(3)}, ${numbers.name(4)}`, "40 m, ≈ 50 m", "a number that was read, and one that was not");
  const whole = new Along({ length: 2, kind: "numbers", places: [10, 40] });
  equal(`${whole.name(1)} ${whole.short(1)}`, "40 40", "names if all coordinates were read");
}

/** Both numbers of a point of a scatter plot are of the same element, also if only some elements are read. */
async function points() {
  const asked = [];
  const file = {
    read: async (path, { slice }) => {
      asked.push(slice);
      const [, step] = /::(\d+)/.exec(slice) ?? [null, 1];
      return { values: Float64Array.from({ length: Math.ceil(10 / step) }, (_, i) => i * step) };
    },
    along: async (path, axis, { first, step, count }) => ({ values: Float64Array.from({ length: count }, (_, i) => (first + i * step) ** 2) }),
  };
  const read = (shape, length, step) => thinned(file, { path: "/x", shape }, { length, step }).then((values) => values.join(), ({ message }) => message);
  equal(await read([10], 10, 4), "0,4,8", "every fourth element");
  equal(await read([1, 10], 10, 4), "0,4,8", "every fourth element of a row");
  equal(asked.join(" "), "::4 :,::4", "what is read");
  // Every fourth element of these are three as well.
  for (const shape of [[9], [12], [5, 2], null, undefined]) check(/another shape/.test(await read(shape, 10, 4)), `${shape} is another shape`);
  const along = (more) => new Along({ length: 10, kind: "numbers", places: [0, 9, 36, 81], step: 3, ...more });
  const places = async (of, step, count) => (await coordinates(file, "/x", of, { step, count })).join();
  equal(await places(along(), 1, 4), "0,1,4,9", "coordinates of which only some are known");
  equal(await places(along(), 4, 3), "0,16,64", "coordinates of every fourth element");
  equal(await places(along({ places: [5, 3, 9, 1], step: 1 }), 1, 4), "5,3,9,1", "coordinates in any order");
  equal(await places(along({ kind: "texts", places: null }), 4, 3), "0,4,8", "places without numbers");
}

/** A server whose answers are what a function makes of requests: a status, headers and a body. */
async function answering(answer) {
  const server = http.createServer((request, response) => {
    const [status, headers, body] = answer(request);
    response.writeHead(status, headers);
    response.end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** Servers that answer with another range or another file, and redirects to other servers. */
async function servers() {
  const size = 3 << 20;
  const part = (range, shift = 0, all = size) => {
    const [first, last] = range.slice(6).split("-").map(Number);
    const end = Math.min(last + 1, size);
    return [206, { "content-range": `bytes ${first + shift}-${end - 1 + shift}/${all}` }, Buffer.alloc(end - first, 7)];
  };
  const outcome = (work) => work.then(() => "no error", (error) => error.message.replace(/^\S+ /, ""));
  const shifted = await answering(({ headers }) => part(headers.range, 1));
  equal(await outcome(sourceOf(`${shifted.origin}/a`).open()), "answers with another range than the front of the file", "another front");
  const grown = await answering(({ headers }) => part(headers.range, 0, headers.range.startsWith("bytes=0-") ? size : size + 1));
  const source = sourceOf(`${grown.origin}/a`);
  await source.open();
  equal(await outcome(source.get([[2 << 20, (2 << 20) + 10]])), "was replaced while it was read; open it again", "another size of the file");
  const seen = [];
  const other = await answering(({ headers }) => {
    seen.push(headers["x-key"], headers.authorization);
    return part(headers.range);
  });
  const redirecting = await answering(({ url, headers }) => {
    if (url === "/a") return [302, { location: "/b" }];
    seen.push(headers["x-key"]);
    return [307, { location: `${other.origin}/c` }];
  });
  const redirected = sourceOf(`${redirecting.origin}/a`, { headers: { "X-Key": "secret", Authorization: "Bearer secret" } });
  equal((await redirected.open()).length > 0 && redirected.size, size, "a file behind redirects");
  equal(seen.join(), "secret,,", "the headers for another server");
  for (const server of [shifted, grown, other, redirecting]) server.close();
}

export async function small() {
  await servers();
  await provider();
  await crowd();
  scales();
  names();
  await points();
  const { NaN: none } = Number;
  for (const [one, other, rounded, wanted] of [
    [[1, none, Infinity], [1, none, Infinity], false, "equal"],
    [[1, none, 3], [1, 2, 3], false, "equal, but 1 missing on one side only"],
    [[1, 2, none], [1, 4, 5], false, "at most 2 apart, but 1 missing on one side only"],
    [[Infinity], [-Infinity], false, "at most ∞ apart"],
    [[2 ** 53 - 1, 1], [2 ** 53 - 1, 1], true, "equal"],
    [[2 ** 60, 1], [2 ** 60, 1], true, "equal but for rounding"],
    [[2 ** 60, 1], [2 ** 60, 1], false, "equal"],
  ]) equal(apart(one, other, rounded), wanted, `${one} and ${other}`);
}
