// The lines of the text, each with its translation and how it came about.

export class Line {
  prefix = ""; // what the translation begins with, if a person has chosen it
  translation = null; // null until the server has answered
  details = null; // the answer of POST /explain
  unexplained = false; // the server has refused to explain this line

  // `stale`: the translation of what was here before, shown until there is a new one
  constructor(source, stale = "") {
    this.source = source;
    this.stale = stale;
  }

  get isBlank() {
    return !this.source.trim();
  }

  get shown() {
    return this.isBlank ? "" : this.translation ?? this.stale;
  }

  get isWaiting() {
    return !this.isBlank && this.translation === null;
  }

  // Translate again, from a prefix.
  restart(prefix) {
    this.stale = this.shown;
    this.prefix = prefix;
    this.translation = this.details = null;
    this.unexplained = false;
  }

  explained(details) {
    this.details = details;
    this.translation = details.translatedText;
  }
}

// The lines of a new text. Lines that were there before, at its beginning or end, keep their translations.
export function updatedLines(old, text) {
  const sources = text.split("\n");
  const most = Math.min(old.length, sources.length);
  let first = 0, last = 0;
  while (first < most && old[first].source === sources[first]) first++;
  while (last < most - first && old.at(-1 - last).source === sources.at(-1 - last)) last++;
  const between = sources.slice(first, sources.length - last)
    .map((source, at) => new Line(source, first + at < old.length - last ? old[first + at].shown : ""));
  return [...old.slice(0, first), ...between, ...old.slice(old.length - last)];
}

// Where the words of an explanation stand in a text: [start, end], or null. The last word is <eos>.
export function locate(words, text) {
  let from = 0;
  return words.map(({ text: word }, index) => {
    const at = index === words.length - 1 ? -1 : text.indexOf(word, from);
    if (at < 0) return null;
    from = at + word.length;
    return [at, from];
  });
}

// The line and the place in it where a position of the text is.
export function placeOf(text, position) {
  const before = text.slice(0, position);
  const start = before.lastIndexOf("\n") + 1;
  return { index: before.split("\n").length - 1, offset: position - start };
}
