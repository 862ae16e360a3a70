// A single value.

import { h } from "../dom.js";
import { View } from "./view.js";

export class Value extends View {
  name = "Value";

  constructor(host, context) {
    super(host, context);
    this.load().catch((error) => this.fail(error));
  }

  parts() {
    return [];
  }

  async load() {
    const { file, info } = this;
    const text = info.text ?? (await file.cells(info.path, { view: "words", most: 1 << 20 })).cells[0] ?? "";
    const long = text.length > 80 || text.includes("\n");
    const units = info.meaning?.units;
    this.host.replaceChildren(long ? h("pre", { class: "text" }, text) : h("p", { class: "value" }, text, units ? h("small", {}, units) : null));
    this.cost();
  }
}
