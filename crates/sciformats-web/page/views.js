// The views of an object: table, line, heat map, and the others. Each has controls, reads what it shows, and draws it.

import { Cells } from "./views/cells.js";
import { HeatMap } from "./views/heat-map.js";
import { Histogram } from "./views/histogram.js";
import { Line } from "./views/line.js";
import { Rgb } from "./views/rgb.js";
import { Scatter } from "./views/scatter.js";
import { Value } from "./views/value.js";

/** The views by the names that a user sees. */
export const VIEWS = { Table: Cells, Line, "Heat map": HeatMap, Scatter, RGB: Rgb, Histogram, Value };
