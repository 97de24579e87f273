// The beam: a column for each step, and lines from each hypothesis to its continuations.
class BeamTree {
  constructor(steps) {
    this.steps = steps;
    this.detail = make("p", { class: "detail", "aria-live": "polite" });
    const box = make("input", { type: "checkbox" });
    box.addEventListener("change", () => this.show(box.checked));
    this.scroll = make("div", { class: "scroll" });
    this.label = make("label", {}, box, " show dropped candidates");
    this.show(false);
  }

  show(dropped) {
    const high = 34, wide = 26, columns = [];
    let x = 70, slots = new Map([[0, { x: 8, y: 8, width: 44, piece: "", before: null }]]);
    let tallest = 1;
    for (const step of this.steps) {
      const shown = step.filter((node) => dropped || node.ended || node.slot !== null);
      const longest = Math.max(4, ...shown.map((node) => [...node.piece].reduce((sum, c) => sum + (c > "\u2e80" || c === "\u2581" ? 1.7 : 1), 0)));
      const width = Math.min(longest, 18) * 7.4 + 54, following = new Map();
      columns.push(shown.map((node, row) => {
        const item = { node, x, y: 8 + row * high, width, piece: node.piece, before: slots.get(node.parent) };
        if (node.slot !== null) following.set(node.slot, item);
        return item;
      }));
      tallest = Math.max(tallest, shown.length);
      slots = following;
      x += width + wide;
    }
    const picture = draw("svg", { class: "tree", width: x, height: tallest * high + 16, role: "group", "aria-label": "beam" });
    const items = columns.flat();
    for (const item of items) picture.append(this.edge(item));
    picture.append(draw("text", { x: 12, y: 25, class: "p" }, "<bos>"));
    for (const item of items) picture.append(this.box(item, items));
    this.scroll.replaceChildren(picture);
    this.look(null, items);
  }

  edge(item) {
    const { before, x, y } = item, x0 = before.x + before.width, y0 = before.y + 13, bend = (x - x0) / 2;
    item.edge = draw("path", {
      class: item.node.best ? "edge best" : "edge",
      d: `M${x0} ${y0}C${x0 + bend} ${y0} ${x - bend} ${y + 13} ${x} ${y + 13}`,
    });
    return item.edge;
  }

  box(item, items) {
    const { node, x, y, width } = item;
    const text = [...node.piece].length > 18 ? `${[...node.piece].slice(0, 17).join("")}…` : node.piece;
    const state = node.ended ? " ended" : node.slot === null ? " dropped" : "";
    item.element = draw("g", { class: `node${node.best ? " best" : ""}${state}`, tabindex: "0", role: "img", "aria-label": `${node.piece} ${percent(node.probability)}` },
      draw("rect", { x, y, width, height: 26, rx: 5 }),
      draw("text", { x: x + 8, y: y + 17 }, text),
      draw("text", { x: x + width - 6, y: y + 17, class: "p", "text-anchor": "end" }, percent(node.probability)));
    for (const name of ["pointerenter", "focus"]) item.element.addEventListener(name, () => this.look(item, items));
    for (const name of ["pointerleave", "blur"]) item.element.addEventListener(name, () => this.look(null, items));
    return item.element;
  }

  look(item, items) {
    const way = [];
    for (let at = item; at && at.node; at = at.before) way.unshift(at);
    const lit = new Set(way);
    for (const one of items) {
      one.element.classList.toggle("lit", lit.has(one));
      one.edge.classList.toggle("lit", lit.has(one));
    }
    if (!item) {
      this.detail.replaceChildren("Hover over or tab to a candidate to read its prefix. Blue: the best translation; green: finished.");
      return;
    }
    const said = way.map((one) => one.piece).join("").replaceAll("\u2581", " ").trim();
    const fate = item.node.ended ? "finished" : item.node.slot === null ? "dropped" : "kept";
    this.detail.replaceChildren(make("b", { dir: direction(said) }, said), ` · log P ${item.node.log_probability.toFixed(2)} · ${fate}`);
  }
}
