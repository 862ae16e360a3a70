// What of an object is shown, and which views it has.

export const NUMBERS = new Set(["number", "bool", "enum", "complex"]);

/** The array that is shown, and how: its shape, dimensions, sort and fields. */
export function subject(info) {
  const { array, meaning } = info;
  const shown = meaning ?? array;
  if (!shown) return null;
  const shape = shown.shape ?? [];
  return {
    path: info.path, shape, null: shown.shape === null, sort: shown.sort ?? "compound", fields: shown.fields ?? null, type: shown.type ?? array?.type,
    dimensions: meaning?.dimensions ?? shape.map((length) => ({ name: null, length })), units: meaning?.units ?? null,
    title: meaning?.long_name ?? meaning?.standard_name ?? info.path.split("/").pop(), meaning, array, decoded: meaning?.decoded,
  };
}

/** The names of the views that an object has, the best one first. */
export function viewsOf(info) {
  const of = subject(info);
  if (info.kind === "value") return ["Value"];
  if (!of || of.null) return [];
  const rank = of.shape.length;
  const some = of.shape.every((length) => length > 0);
  const fields = of.fields?.some(({ sort, type }) => sort ? NUMBERS.has(sort) : !/text|string|category|time/.test(type));
  if (rank === 0) return of.sort === "compound" ? ["Table"] : ["Value"];
  if (!some) return ["Table"];
  if (of.sort === "compound") return rank === 1 && fields ? ["Table", "Line", "Scatter", "Histogram"] : ["Table"];
  if (!NUMBERS.has(of.sort)) return ["Table"];
  const colour = rank >= 3 && of.shape.some((length, axis) => (length === 3 || length === 4) && (axis === rank - 1 || axis === rank - 3 || axis === 0));
  const line = of.meaning?.kind === "sparse" ? [] : ["Line"];
  if (rank === 1) return ["Line", "Table", "Scatter", "Histogram"];
  const flat = of.shape.slice(-2).some((length) => length === 1);
  return [...(colour ? ["RGB"] : []), ...(flat ? ["Line", "Heat map"] : ["Heat map", ...line]), "Table", "Histogram"];
}

/** The choices of a view, as the link keeps them. */
export function defaults(of) {
  const rank = of.shape.length;
  return { axes: rank === 0 ? [] : rank === 1 ? [0] : [rank - 2, rank - 1], fixed: of.shape.map(() => 0), range: {} };
}
