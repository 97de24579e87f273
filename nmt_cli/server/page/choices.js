// What a person can put in the place of a word: the alternatives of the model, or anything that is typed.
// Each of them is a prefix, with which the rest of the sentence is translated again.

const { make, percent, confidenceBar } = nmtViews;
const WAIT = 200; // milliseconds after a key

export class Choices {
  #preview; // of what is being shown, to be dropped when it is closed
  #anchor = null;

  // `translated(prefixes, signal)` gives the translation for each prefix, `chosen(prefix)` is called at the end, and
  // `closed()` when the dialog is gone, whatever has happened.
  constructor(dialog, { translated, chosen, closed }) {
    Object.assign(this, { dialog, translated, chosen, closed });
    document.addEventListener("pointerdown", (event) => {
      if (this.isOpen && !dialog.contains(event.target)) this.close();
    });
    addEventListener("resize", () => this.isOpen && this.#position());
    dialog.addEventListener("keydown", (event) => this.#pressed(event));
  }

  get isOpen() {
    return !this.dialog.hidden;
  }

  // word: its text; before: the translation up to it; confidence; options: [{ text, probability, prefix }]
  open(anchor, { word, before, confidence, options, language, typed = "" }) {
    this.#preview = new AbortController();
    this.#anchor = anchor;
    this.before = before;
    this.dialog.setAttribute("aria-label", `Alternatives for ${word}`);
    this.buttons = options.map((option) => this.#button(option));
    this.input = make("input", { type: "text", placeholder: "or type something else", "aria-label": "Type another word", autocomplete: "off", spellcheck: "false", enterkeyhint: "go" });
    this.rest = make("p", { class: "rest", "aria-live": "polite", lang: language });
    this.input.value = typed;
    this.input.addEventListener("input", () => this.#typed());
    const heading = make("h2", {}, make("b", { lang: language }, word), make("small", {}, `confidence ${percent(confidence)}`));
    this.list = make("div", { class: "options", role: "listbox", "aria-label": "alternatives", lang: language }, ...this.buttons);
    const none = options.length ? [] : [make("p", { class: "rest" }, "The model sees no alternative.")];
    this.dialog.replaceChildren(heading, this.list, ...none, this.input, this.rest);
    this.dialog.hidden = false;
    this.#position();
    (typed || !this.buttons.length ? this.input : this.buttons[0]).focus({ preventScroll: true });
    if (typed) this.#typed();
    if (options.length) this.#complete(word, options);
  }

  close() {
    if (!this.isOpen) return;
    this.#preview.abort();
    this.dialog.hidden = true;
    this.closed(this.#anchor);
  }

  #choose(prefix) {
    this.close();
    this.chosen(prefix);
  }

  #button(option) {
    const word = make("span", { class: "option-word" }, option.text), rest = make("span", { class: "rest" });
    const button = make("button", { type: "button", role: "option", "aria-selected": "false" }, word,
      make("span", { class: "meter" }, confidenceBar(option.probability)), make("small", {}, percent(option.probability)), rest);
    button.addEventListener("click", () => this.#choose(option.prefix));
    return Object.assign(button, { word, rest });
  }

  // An alternative is a token, which may be the beginning of a word: show the word, and how the sentence goes on.
  async #complete(word, options) {
    const { signal } = this.#preview, seen = new Set([word]);
    let found;
    try {
      found = await this.translated(options.map((option) => option.prefix), signal);
    } catch {
      return; // they can be chosen all the same
    }
    if (signal.aborted) return;
    this.buttons.forEach((button, at) => {
      const after = found[at].slice(this.before.length), full = /^\s*[\p{L}\p{M}\p{N}'’-]+|^\s*\S/u.exec(after)?.[0] ?? "";
      if (!found[at].startsWith(this.before) || !full) return;
      button.word.textContent = full.trim();
      button.rest.textContent = after.slice(full.length);
      if (seen.has(full.trim()) && button !== document.activeElement) button.hidden = true;
      seen.add(full.trim());
    });
    this.#position();
  }

  #typed() {
    clearTimeout(this.timer);
    const { signal } = this.#preview, { value } = this.input;
    this.rest.replaceChildren();
    if (!value.trim()) return;
    this.timer = setTimeout(async () => {
      try {
        const [found] = await this.translated([this.before + value], signal);
        if (!signal.aborted && value === this.input.value) this.rest.replaceChildren("→ ", found.slice(this.before.trimEnd().length).trim());
      } catch { /* what was typed can be used all the same */ }
    }, WAIT);
  }

  #pressed(event) {
    const shown = this.buttons.filter((button) => !button.hidden), at = shown.indexOf(document.activeElement);
    const stops = [...shown, this.input], here = at < 0 ? shown.length : at;
    if (event.key === "Escape") this.close();
    else if (event.key === "Tab") this.close();
    else if (event.key === "ArrowDown") stops[Math.min(here + 1, stops.length - 1)].focus();
    else if (event.key === "ArrowUp") stops[Math.max(here - 1, 0)].focus();
    else if (event.key === "Enter" && event.target === this.input && this.input.value.trim()) this.#choose(this.before + this.input.value);
    else {
      if (event.target !== this.input && [...event.key].length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) this.input.focus();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // Below the word, or above it where there is more room; on a phone the style puts it at the bottom.
  #position() {
    const word = this.#anchor.getBoundingClientRect(), { offsetWidth: width, offsetHeight: height } = this.dialog;
    const left = Math.max(8, Math.min(word.left - 12, document.documentElement.clientWidth - width - 8));
    const above = word.bottom + height + 12 > innerHeight && word.top > height + 12;
    if (getComputedStyle(this.dialog).position === "fixed") {
      scrollBy({ top: Math.max(0, word.bottom + height + 24 - innerHeight) });
      return;
    }
    this.dialog.style.left = `${left + scrollX}px`;
    this.dialog.style.top = `${(above ? word.top - height - 6 : word.bottom + 6) + scrollY}px`;
  }
}
