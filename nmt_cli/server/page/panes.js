// The words of both panes: where they are, how confident the model was, and what lights up with them.
// The text itself is typed into a <textarea>; its words are drawn in a copy of the text that lies behind it.

import { locate } from "./lines.js";

const { make, shade, percent, confidenceClass, direction, levelOf, weightsOf } = nmtViews;
const UNSURE = "The model is unsure about this sentence.";

export class Panes {
  #views = new WeakMap(); // line → what was drawn of it
  #lit = [];
  #lines = [];
  place = null; // the word that is looked at: { line, side: "source" | "target", at }
  pinned = null; // the word that is looked at when no other one is

  // `looked(place)` is called when the pointer or the focus is on another word, `chosen(place, typed)` when a word of
  // the translation is clicked or typed over.
  constructor(backdrop, translation, { looked, chosen }) {
    this.backdrop = backdrop;
    this.translation = translation;
    this.looked = looked;
    translation.addEventListener("pointerover", (event) => event.pointerType === "mouse" && this.look(this.#placeAt(event.target)));
    translation.addEventListener("pointerleave", () => this.look(null));
    translation.addEventListener("focusin", (event) => {
      this.#settle(event.target);
      this.look(this.#placeAt(event.target));
    });
    translation.addEventListener("focusout", () => this.look(null));
    translation.addEventListener("click", (event) => {
      const place = this.#placeAt(event.target);
      if (place && getSelection().isCollapsed) chosen(place, "");
    });
    translation.addEventListener("keydown", (event) => this.#pressed(event, chosen));
  }

  draw(lines, { current = null, language = "" } = {}) {
    this.#lines = lines;
    this.translation.lang = language;
    const views = lines.map((line) => this.#view(line));
    this.backdrop.replaceChildren(...views.map((view) => view.source));
    this.translation.replaceChildren(...views.map((view) => view.target));
    this.mark(current);
    this.#settle(this.tokens.find((token) => token.tabIndex === 0));
  }

  // One line is the current one: the one that is explained below.
  mark(current) {
    for (const line of this.#lines) {
      const view = this.#views.get(line), is = line === current && this.#lines.length > 1;
      for (const side of ["source", "target"]) view?.[side].classList.toggle("current", is);
    }
  }

  get tokens() {
    return [...this.translation.querySelectorAll(".token")];
  }

  token(place) {
    return this.#views.get(place.line)?.tokens[place.side][place.at] ?? null;
  }

  level(line) {
    return this.#views.get(line)?.level ?? null;
  }

  // The word that covers a place in a line.
  wordAt(line, side, offset) {
    const spans = this.#views.get(line)?.spans[side] ?? [];
    const at = spans.findLastIndex((span) => span && span[0] <= offset && offset <= span[1]);
    return at < 0 ? null : { line, side, at };
  }

  start(place) {
    return this.#views.get(place.line).spans[place.side][place.at][0];
  }

  // The word of the text under the pointer; the <textarea> lies above it.
  sourceWordAt(x, y) {
    return this.#placeAt(document.elementsFromPoint(x, y).find((element) => element.matches(".backdrop .token")));
  }

  lineAt(element) {
    const row = element?.closest?.(".line");
    return row ? this.#lines.find((line) => Object.values(this.#views.get(line) ?? {}).includes(row)) ?? null : null;
  }

  look(wanted) {
    const place = wanted ?? this.pinned;
    for (const token of this.#lit) {
      shade(token, 0);
      token.classList.remove("active");
    }
    this.#lit = [];
    this.place = place;
    const view = place && this.#views.get(place.line);
    if (view?.level) {
      const own = view.tokens[place.side][place.at];
      own?.classList.add("active");
      const others = view.tokens[place.side === "source" ? "target" : "source"];
      const weights = view.level.weights ? weightsOf(view.level, place) : [];
      weights.forEach((weight, at) => others[at] && shade(others[at], weight));
      this.#lit = [own, ...others].filter(Boolean);
    }
    this.looked(place);
  }

  #placeAt(element) {
    const token = element?.closest?.(".token");
    const line = token && this.lineAt(token);
    if (!line) return null;
    const { tokens } = this.#views.get(line);
    const side = tokens.target.includes(token) ? "target" : "source";
    return { line, side, at: tokens[side].indexOf(token) };
  }

  // What is drawn of a line; drawn again only if it has changed.
  #view(line) {
    const state = [line.source, line.shown, line.translation, line.details];
    const old = this.#views.get(line);
    if (old && old.state.every((part, at) => part === state[at])) return old;
    const explanation = line.details?.explanation ?? null, level = explanation && levelOf(explanation, "words");
    const view = { state, level, tokens: { source: [], target: [] }, spans: { source: [], target: [] } };
    const row = (side, text, words, dress) => {
      view.spans[side] = words ? locate(words, text) : [];
      const element = make("div", { class: "line", dir: direction(text) });
      let end = 0;
      view.tokens[side] = view.spans[side].map((span, at) => {
        if (!span) return null;
        const token = make("span", { class: "token" }, text.slice(...span));
        dress(token, at);
        element.append(text.slice(end, span[0]), token);
        end = span[1];
        return token;
      });
      element.append(text.slice(end) || (end ? "" : "\u200b"));
      return element;
    };
    view.source = row("source", line.source, explanation?.source_words, () => {});
    view.target = row("target", line.shown, explanation?.target_words, (token, at) => {
      const p = level.confidence[at];
      token.classList.add(confidenceClass(p));
      const label = `${token.textContent}, confidence ${percent(p)}`;
      for (const [name, value] of Object.entries({ role: "button", tabindex: "-1", "aria-haspopup": "dialog", "aria-label": label })) token.setAttribute(name, value);
    });
    view.target.classList.toggle("stale", line.isWaiting);
    if (line.details?.lowConfidence) view.target.append(make("small", { class: "unsure", dir: "ltr", lang: "en" }, UNSURE));
    this.#views.set(line, view);
    return view;
  }

  // One tab stop for the whole translation.
  #settle(chosen) {
    const { tokens } = this;
    const stop = tokens.includes(chosen) ? chosen : tokens[0];
    for (const token of tokens) token.tabIndex = token === stop ? 0 : -1;
  }

  #pressed(event, chosen) {
    const place = this.#placeAt(event.target);
    if (!place || event.altKey || event.ctrlKey || event.metaKey) return;
    const { tokens } = this, at = tokens.indexOf(event.target.closest(".token"));
    const forward = event.target.closest(".line").dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    const steps = { ArrowLeft: forward === "ArrowLeft" ? at + 1 : at - 1, ArrowRight: forward === "ArrowRight" ? at + 1 : at - 1, Home: 0, End: tokens.length - 1 };
    const next = event.key === "ArrowUp" || event.key === "ArrowDown" ? vertical(tokens, tokens[at], event.key === "ArrowUp") : tokens[steps[event.key]];
    if (next) next.focus();
    else if (event.key === "Enter" || event.key === " ") chosen(place, "");
    else if ([...event.key].length === 1) chosen(place, event.key);
    else return;
    event.preventDefault();
  }
}

// The nearest word in the row above or below.
function vertical(tokens, from, up) {
  const here = from.getBoundingClientRect();
  let best, distance = Infinity;
  for (const token of tokens) {
    const box = token.getBoundingClientRect();
    const rows = up ? here.top - box.bottom : box.top - here.bottom;
    const far = 10 * rows + Math.abs(box.left - here.left);
    if (rows > -4 && far < distance) [best, distance] = [token, far];
  }
  return best;
}
