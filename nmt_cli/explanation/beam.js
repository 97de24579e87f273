// The beam: a column for each step, and lines from each hypothesis to its continuations.
const ROW = 34, BETWEEN = 26, LONGEST_PIECE = 18; // the last in characters

class BeamView {
  constructor(steps) {
    this.steps = steps;
    this.detail = make("p", { class: "detail", "aria-live": "polite" });
    this.scroll = scroller("beam");
    const box = make("input", { type: "checkbox" });
    box.addEventListener("change", () => this.show(box.checked));
    const pieces = steps.flat().map((node) => node.piece);
    this.elements = [make("label", {}, box, " show dropped candidates"), this.scroll, this.detail, legend(pieces)];
    this.show(false);
  }

  show(dropped) {
    this.selection = new Selection((one, two) => one === two);
    const columns = this.place(dropped), items = columns.flat();
    const width = Math.max(...items.map((item) => item.x + item.width)) + 8;
    const height = Math.max(...columns.map((column) => column.length)) * ROW + 16;
    const picture = draw("svg", { class: "tree", width, height, role: "group", "aria-label": "beam" });
    picture.append(...items.map((item) => this.edge(item)));
    picture.append(draw("text", { x: 12, y: 25, class: "p" }, "<bos>"));
    picture.append(...items.map((item) => this.box(item)));
    this.scroll.replaceChildren(picture);
    roving(items.map((item) => item.element), (key, at) => items.indexOf(this.neighbor(columns, items, items[at], key)));
    this.selection.watchers.push(() => this.update(items));
    this.update(items);
  }

  // The candidates of each step with their positions; `before` is the hypothesis that a candidate continues.
  place(dropped) {
    let x = 70, slots = new Map([[0, { x: 8, y: 8, width: 44 }]]);
    return this.steps.map((step) => {
      const shown = step.filter((node) => dropped || node.ended || node.slot !== null);
      const longest = Math.max(4, ...shown.map((node) => [...node.piece].reduce((sum, c) => sum + (c > "\u2e80" || c === "\u2581" ? 1.7 : 1), 0)));
      const width = Math.min(longest, LONGEST_PIECE) * 7.4 + 54, following = new Map();
      const column = shown.map((node, row) => {
        const item = { node, x, y: 8 + row * ROW, width, before: slots.get(node.parent) };
        if (node.slot !== null) following.set(node.slot, item);
        return item;
      });
      slots = following;
      x += width + BETWEEN;
      return column;
    });
  }

  // Where an arrow key leads: to the hypothesis before, to the first continuation, or up and down within a step.
  neighbor(columns, items, item, key) {
    const column = columns.find((one) => one.includes(item)), row = column.indexOf(item);
    if (key === "ArrowLeft") return item.before;
    if (key === "ArrowRight") return items.find((one) => one.before === item);
    if (key === "ArrowUp") return column[row - 1];
    if (key === "ArrowDown") return column[row + 1];
    return undefined;
  }

  edge(item) {
    const { before, x, y } = item, x0 = before.x + before.width, y0 = before.y + 13, bend = (x - x0) / 2;
    item.edge = draw("path", {
      class: item.node.best ? "edge best" : "edge",
      d: `M${x0} ${y0}C${x0 + bend} ${y0} ${x - bend} ${y + 13} ${x} ${y + 13}`,
    });
    return item.edge;
  }

  box(item) {
    const { node, x, y, width } = item;
    const text = [...node.piece].length > LONGEST_PIECE ? `${[...node.piece].slice(0, LONGEST_PIECE - 1).join("")}…` : node.piece;
    const state = node.ended ? " ended" : node.slot === null ? " dropped" : "";
    item.element = draw("g", { class: `node${node.best ? " best" : ""}${state}`, role: "img", "aria-label": `${node.piece} ${percent(node.probability)}` },
      draw("rect", { x, y, width, height: 26, rx: 5 }),
      draw("text", { x: x + 8, y: y + 17 }, text),
      draw("text", { x: x + width - 6, y: y + 17, class: "p", "text-anchor": "end" }, percent(node.probability)));
    this.selection.attach(item.element, item);
    return item.element;
  }

  update(items) {
    const { active } = this.selection, path = [];
    for (let at = active; at && at.node; at = at.before) path.unshift(at);
    const lit = new Set(path);
    for (const item of items) {
      item.element.classList.toggle("lit", lit.has(item));
      item.edge.classList.toggle("lit", lit.has(item));
    }
    this.detail.replaceChildren(...(active ? this.describe(active.node, path) : [
      "Point at a candidate, tap it, or move with Tab and the arrow keys to read its prefix. ",
      "Blue: the best translation; green: finished.",
    ]));
  }

  describe(node, path) {
    const prefix = path.map((item) => item.node.piece).join("").replaceAll("\u2581", " ").trim();
    const fate = node.ended ? "finished" : node.slot === null ? "dropped" : "kept";
    return [make("b", { dir: direction(prefix) }, prefix), ` · log P ${node.log_probability.toFixed(2)} · ${fate}`];
  }
}
