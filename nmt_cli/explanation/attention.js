// One explanation at the level of words or of pieces.
function levelOf(data, name) {
  const words = name === "words";
  return {
    source: words ? data.source_words.map((word) => word.text) : data.source_pieces,
    target: words ? data.target_words.map((word) => word.text) : data.target_pieces,
    weights: words ? data.word_attention : data.attention,
    confidence: words ? data.confidence : data.steps.map((step) => step.probability),
    steps: (at) => (words ? data.steps.slice(data.target_words[at].first, data.target_words[at].end) : [data.steps[at]]),
  };
}

// The two sentences, the links between them, and the matrix; all of them highlight the active word.
class AttentionView {
  constructor(data) {
    this.data = data;
    this.pinned = null;
    this.pair = make("div", { class: data.attention ? "pair" : "pair bare" });
    this.detail = make("p", { class: "detail", "aria-live": "polite" });
    this.scroll = make("div", { class: "scroll" });
    new ResizeObserver(() => this.drawLinks()).observe(this.pair);
    this.show("words");
  }

  show(name) {
    this.level = levelOf(this.data, name);
    this.active = this.pinned = null;
    this.links = draw("svg", { class: "links", "aria-hidden": "true" });
    this.words = { source: [], target: [] };
    const sides = ["source", "target"].map((side) => this.side(side));
    this.pair.replaceChildren(this.links, ...sides);
    this.cells = [];
    if (this.level.weights) this.scroll.replaceChildren(this.matrix());
    this.look(null);
  }

  side(side) {
    const text = side === "source" ? this.data.source : this.data.translation;
    const row = make("div", { class: "side", dir: direction(text), lang: this.data[`${side}_lang`], role: "group", "aria-label": side });
    this.level[side].forEach((word, at) => {
      const button = make("button", { class: "word", type: "button", "aria-pressed": "false" }, word);
      button.classList.toggle("end", at === this.level[side].length - 1);
      if (side === "target") {
        const p = this.level.confidence[at];
        const bar = make("i");
        bar.style.width = `${100 * p}%`;
        bar.style.setProperty("--confidence", confidenceColor(p));
        button.append(make("small", { dir: "ltr" }, percent(p)), bar);
      } else if (this.level.weights) button.append(make("small", { dir: "ltr" }, "\u00a0"));
      const here = { side, at };
      button.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && this.look(here));
      button.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.look(this.pinned));
      button.addEventListener("focus", () => this.look(here));
      button.addEventListener("blur", () => this.look(this.pinned));
      button.addEventListener("click", () => this.pin(here));
      this.words[side].push(button);
      row.append(button);
    });
    return row;
  }

  matrix() {
    const { source, target, weights } = this.level;
    const watch = (element, place) => {
      element.addEventListener("pointerenter", () => this.look(place));
      element.addEventListener("pointerleave", () => this.look(this.pinned));
      return element;
    };
    const header = make("tr", {}, make("td", { style: "border:0" }));
    this.columns = source.map((word, at) => {
      const label = make("span", {}, word);
      header.append(watch(make("th", { scope: "col" }, label), { side: "source", at }));
      return label;
    });
    const body = make("tbody");
    this.rows = target.map((word, t) => {
      const label = watch(make("th", { scope: "row" }, word), { side: "target", at: t });
      const cells = source.map((from, s) => {
        const w = weights[t][s];
        const cell = make("td", { title: `${word} ← ${from}: ${w.toFixed(3)}` }, w >= 0.095 ? String(Math.round(100 * w)) : "");
        shade(cell, w);
        return watch(cell, { side: "target", at: t, cell: s });
      });
      this.cells.push(cells);
      body.append(make("tr", {}, label, ...cells));
      return label;
    });
    const table = make("table", { class: "matrix" }, make("thead", {}, header), body);
    const longest = Math.max(...source.map((word) => [...word].length));
    table.style.setProperty("--slant", `${Math.min(12, 2 + 0.42 * longest)}rem`);
    return table;
  }

  pin(place) {
    const same = this.pinned && this.pinned.side === place.side && this.pinned.at === place.at;
    this.pinned = same ? null : place;
    this.look(this.pinned);
  }

  weightsOf(place) {
    const { weights } = this.level;
    return place.side === "target" ? weights[place.at] : weights.map((row) => row[place.at]);
  }

  look(place) {
    this.active = place;
    const { weights } = this.level;
    for (const side of ["source", "target"]) {
      const values = place && weights && place.side !== side ? this.weightsOf(place) : null;
      this.words[side].forEach((button, at) => {
        const here = Boolean(place) && place.side === side && place.at === at;
        button.classList.toggle("active", here);
        button.setAttribute("aria-pressed", String(Boolean(this.pinned) && this.pinned.side === side && this.pinned.at === at));
        shade(button, values ? values[at] : 0);
        const small = button.querySelector("small");
        if (small && side === "source") small.textContent = values && values[at] >= LEAST ? percent(values[at]) : "\u00a0";
      });
    }
    this.light(place);
    this.drawLinks();
    this.detail.replaceChildren(...this.describe(place));
  }

  light(place) {
    if (!this.level.weights) return;
    const target = place && place.side === "target" ? place.at : -1;
    const source = place ? (place.side === "source" ? place.at : place.cell ?? -1) : -1;
    this.rows.forEach((label, t) => label.classList.toggle("lit", t === target));
    this.columns.forEach((label, s) => label.classList.toggle("lit", s === source));
    this.cells.forEach((row, t) => row.forEach((cell, s) => cell.classList.toggle("lit", t === target && s === source)));
  }

  describe(place) {
    if (!place) return [this.level.weights ? "Hover over, tap or tab to a word to see what the model attended to; click to pin it." : "Hover over, tap or tab to a word of the translation."];
    const word = make("b", {}, this.level[place.side][place.at]);
    const other = place.side === "target" ? "source" : "target";
    const parts = [word];
    if (this.level.weights) {
      const ranked = this.weightsOf(place).map((w, at) => [w, this.level[other][at]]).filter(([w]) => w >= LEAST);
      ranked.sort((one, two) => two[0] - one[0]);
      parts.push(place.side === "target" ? " attended to " : ranked.length ? " was attended to by " : " received almost no attention");
      ranked.slice(0, 6).forEach(([w, text], at) => parts.push(at ? ", " : "", make("b", {}, text), ` ${percent(w)}`));
    }
    if (place.side === "target") {
      parts.push(` · confidence ${percent(this.level.confidence[place.at])}`);
      const others = this.level.steps(place.at)[0].alternatives.slice(0, 4);
      if (others.length) parts.push(" · alternatives: ");
      others.forEach(({ piece, probability }, at) => parts.push(at ? ", " : "", make("b", {}, piece), ` ${percent(probability)}`));
    }
    return parts;
  }

  drawLinks() {
    this.links.replaceChildren();
    if (!this.level.weights) return;
    const frame = this.pair.getBoundingClientRect();
    const middle = (element) => {
      const box = element.getBoundingClientRect();
      return { x: box.left + box.width / 2 - frame.left, top: box.top - frame.top, bottom: box.bottom - frame.top };
    };
    const from = this.words.source.map(middle), to = this.words.target.map(middle);
    const place = this.active;
    this.level.weights.forEach((row, t) => row.forEach((w, s) => {
      if (w < LEAST || (place && place.at !== (place.side === "target" ? t : s))) return;
      const a = from[s], b = to[t], bend = (b.top - a.bottom) / 2;
      this.links.append(draw("path", {
        d: `M${a.x} ${a.bottom}C${a.x} ${a.bottom + bend} ${b.x} ${b.top - bend} ${b.x} ${b.top}`,
        "stroke-width": 0.75 + 3.5 * w, opacity: (place ? 0.25 : 0.08) + (place ? 0.75 : 0.47) * w,
      }));
    }));
  }
}
