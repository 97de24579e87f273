// The two sentences as words or pieces, with arcs between them, and a line of text about the chosen word.

// An explanation at the level of words or of pieces.
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

// The weights of one word: of a target word on the source, of a source word by each target word.
const weightsOf = (level, { side, at }) => (side === "target" ? level.weights[at] : level.weights.map((row) => row[at]));

class WordsView {
  constructor(data, level, selection) {
    this.level = level;
    this.selection = selection;
    this.links = draw("svg", { class: "links", "aria-hidden": "true" });
    this.words = { source: [], target: [] };
    this.element = make("div", { class: level.weights ? "pair" : "pair bare" }, this.links,
      this.side("source", data.source, data.source_lang), this.side("target", data.translation, data.target_lang));
    this.resizing = new ResizeObserver(() => this.drawLinks());
    this.resizing.observe(this.element);
    selection.watchers.push(() => this.update());
  }

  side(side, text, language) {
    const towards = direction(text);
    const row = make("div", { class: "side", dir: towards, lang: language, role: "group", "aria-label": side });
    this.words[side] = this.level[side].map((word, at) => {
      const button = make("button", { class: "word", type: "button", "aria-pressed": "false" }, word);
      button.classList.toggle("end", at === this.level[side].length - 1);
      if (side === "target") {
        const p = this.level.confidence[at];
        button.append(make("small", { dir: "ltr" }, percent(p)), confidenceBar(p));
      } else if (this.level.weights) button.append(make("small", { dir: "ltr" }, "\u00a0"));
      this.selection.attach(button, { side, at });
      return button;
    });
    const [back, forth] = towards === "rtl" ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
    roving(this.words[side], (key, at) => ({ [back]: at - 1, [forth]: at + 1, Home: 0, End: this.words[side].length - 1 })[key]);
    row.append(...this.words[side]);
    return row;
  }

  update() {
    const { active, pinned, isSame } = this.selection;
    for (const side of ["source", "target"]) {
      const values = active && this.level.weights && active.side !== side ? weightsOf(this.level, active) : null;
      this.words[side].forEach((button, at) => {
        const here = { side, at };
        button.classList.toggle("active", Boolean(active) && isSame(active, here));
        button.setAttribute("aria-pressed", String(Boolean(pinned) && isSame(pinned, here)));
        shade(button, values ? values[at] : 0);
        const small = button.querySelector("small");
        if (small && side === "source") small.textContent = values && values[at] >= LEAST ? percent(values[at]) : "\u00a0";
      });
    }
    this.drawLinks();
  }

  // All arcs if each sentence is on one line; else they would cross words, and only those of the chosen word are drawn.
  drawLinks() {
    this.links.replaceChildren();
    if (!this.level.weights) return;
    const wrapped = ["source", "target"].some((side) => this.words[side].at(-1).offsetTop > this.words[side][0].offsetTop);
    this.element.classList.toggle("wrapped", wrapped);
    const place = this.selection.active;
    if (wrapped && !place) return;
    const frame = this.element.getBoundingClientRect();
    const middle = (element) => {
      const box = element.getBoundingClientRect();
      return { x: box.left + box.width / 2 - frame.left, top: box.top - frame.top, bottom: box.bottom - frame.top };
    };
    const from = this.words.source.map(middle), to = this.words.target.map(middle);
    this.level.weights.forEach((row, t) => row.forEach((w, s) => {
      if (w < LEAST || (place && place.at !== (place.side === "target" ? t : s))) return;
      const a = from[s], b = to[t], bend = (b.top - a.bottom) / 2;
      this.links.append(draw("path", {
        d: `M${a.x} ${a.bottom}C${a.x} ${a.bottom + bend} ${b.x} ${b.top - bend} ${b.x} ${b.top}`,
        "stroke-width": 0.75 + 3.5 * w, opacity: (place ? 0.25 : 0.08) + (place ? 0.75 : 0.47) * w,
      }));
    }));
  }

  dispose() {
    this.resizing.disconnect();
  }
}

// A sentence about the chosen word, as nodes.
function describeWord(level, place, { alternatives = true } = {}) {
  if (!place) {
    const how = "Point at a word, tap it, or move to it with Tab and the arrow keys";
    return [level.weights ? `${how} to see what the model attended to. A click or tap pins it.` : `${how} to see its alternatives.`];
  }
  const parts = [make("b", {}, level[place.side][place.at])];
  if (place.cell !== undefined) {
    parts.push(" on ", make("b", {}, level.source[place.cell]), ` ${percent(level.weights[place.at][place.cell])} · it`);
  }
  if (level.weights) {
    const other = level[place.side === "target" ? "source" : "target"];
    const ranked = weightsOf(level, place).map((w, at) => [w, other[at]]).filter(([w]) => w >= LEAST);
    ranked.sort((one, two) => two[0] - one[0]);
    parts.push(place.side === "target" ? " attended to " : ranked.length ? " was attended to by " : " received almost no attention");
    ranked.slice(0, 6).forEach(([w, text], at) => parts.push(at ? ", " : "", make("b", {}, text), ` ${percent(w)}`));
  }
  if (place.side === "target") {
    parts.push(` · confidence ${percent(level.confidence[place.at])}`);
    const others = alternatives ? level.steps(place.at)[0].alternatives.slice(0, 4) : [];
    if (others.length) parts.push(" · alternatives: ");
    others.forEach(({ piece, probability }, at) => parts.push(at ? ", " : "", make("b", {}, piece), ` ${percent(probability)}`));
  }
  return parts;
}
