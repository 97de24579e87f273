// Elements, numbers and colors that all views share.
// Text from sentences enters a page only through textContent and attributes, never as markup. Styles are set through
// element.style, never as attributes, so that a content security policy need not allow inline styles.

const SVG = "http://www.w3.org/2000/svg";
const RIGHT_TO_LEFT = /^[^\p{L}]*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const LEAST = 0.03; // weights below it are not drawn

function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const direction = (text) => (RIGHT_TO_LEFT.test(text) ? "rtl" : "ltr");
const percent = (p) => (p >= 0.0995 ? `${Math.round(100 * p)} %` : p >= 0.0005 ? `${(100 * p).toFixed(1)} %` : "<0.1 %");

// The background of a weight; the classes choose the text color with the better contrast, in light and dark mode.
function shade(element, weight) {
  element.style.setProperty("--shade", weight.toFixed(3));
  element.classList.toggle("shaded", weight >= LEAST);
  element.classList.toggle("strong", weight > 0.68);
  element.classList.toggle("strongest", weight > 0.88);
}

// The class that has the color of a confidence.
const confidenceClass = (p) => (p >= 0.6 ? "good" : p >= 0.3 ? "fair" : "poor");

// A bar as long as a probability, in the color of that confidence.
function confidenceBar(p) {
  const bar = make("i", { class: confidenceClass(p) });
  bar.style.width = `${100 * p}%`;
  return bar;
}

// A part that can be folded; `name` is what `open` of showExplanation calls it.
function folded(name, title, open, ...children) {
  const element = make("details", { "data-name": name }, make("summary", {}, title), ...children);
  element.open = open;
  return element;
}

function scroller(name, ...children) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, ...children);
}

// What the reader may not know about pieces: the signs among `pieces`, explained.
function legend(pieces) {
  const signs = [];
  if (pieces.some((piece) => piece.includes("\u2581"))) signs.push("\u2581 stands for a space: a piece that starts with it starts a word.");
  if (pieces.some((piece) => /^<0x[0-9A-F]{2}>$/.test(piece))) signs.push("<0x…> is one byte of a character that is not in the vocabulary.");
  if (pieces.includes("<eos>")) signs.push("<eos> is the end of the sentence.");
  return make("p", { class: "legend" }, signs.join(" "));
}

// One tab stop for many elements: the arrow keys move between them. `move(key, at)` gives the next index, or undefined.
function roving(elements, move) {
  let current = 0;
  const settle = (at) => {
    elements[current].setAttribute("tabindex", "-1");
    elements[at].setAttribute("tabindex", "0");
    current = at;
  };
  elements.forEach((element, at) => {
    element.setAttribute("tabindex", at ? "-1" : "0");
    element.addEventListener("focus", () => settle(at));
    element.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const next = elements[move(event.key, at)];
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
  });
}

// The chosen item: a pinned one, or the one under the pointer or in focus as long as it is there.
class Selection {
  constructor(isSame) {
    this.isSame = isSame;
    this.active = this.pinned = null;
    this.watchers = [];
  }

  look(item) {
    this.active = item;
    for (const watcher of this.watchers) watcher(this);
  }

  leave() {
    this.look(this.pinned);
  }

  pin(item) {
    this.pinned = this.pinned && item && this.isSame(this.pinned, item) ? null : item;
    this.look(this.pinned);
  }

  // An element that stands for an item: mouse and focus look at it, a click or tap pins it, Escape releases it.
  attach(element, item) {
    element.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && this.look(item));
    element.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.leave());
    element.addEventListener("focus", () => this.look(item));
    element.addEventListener("blur", () => this.leave());
    element.addEventListener("click", () => this.pin(item));
    element.addEventListener("keydown", (event) => event.key === "Escape" && this.pin(null));
  }
}
