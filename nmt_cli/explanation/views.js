// The interface of the views, for any page that shows how a model translated.
//
// `views_script()` in views.py joins elements.js, words.js, matrix.js, beam.js and this file into one script that
// defines a single name, `nmtViews`, with the functions below. views.css is their style. Nothing runs and nothing is
// drawn until a function is called, so the data may be part of the page or fetched later.
//
// Each function takes a container, whose content it replaces, and `data`: an object of the format that
// `nmt explain --json` prints, `Explanation.to_data()`. Calling it again with new data is fine. What it needs of data:
//
//   showExplanation(container, data, { open })   everything below, in folds. `open` names the folds that are open:
//                                                "matrix", "alternatives", "beam", "n-best"; by default "matrix"
//   showAttention(container, data, { matrix })   the two sentences with arcs and confidence, the matrix (false: without
//                                                it, "closed": folded), and a line about the chosen word
//                                                source, translation, *_lang, *_words, *_pieces, confidence,
//                                                attention and word_attention (null without attention), steps
//   showAlternatives(container, data)            probability and alternatives at each step: steps
//   showBeam(container, data)                    the search tree: beam
//   showNBest(container, data)                   the n-best list: n_best, target_lang
//
// showAttention and showExplanation return a handle: `show("words" | "pieces")` changes the level,
// `select({ side: "source" | "target", at: index })` or `select(null)` pins a word or releases it, and `look` with the
// same argument shows it for now, without pinning it.
//
// For pages that have words of their own, `nmtViews` also has what these views are made of: make, roving, direction,
// percent, shade, confidenceBar, confidenceClass (elements.js), levelOf, weightsOf, describeWord (words.js).

function showAttention(container, data, { matrix = true } = {}) {
  let views = [], selection = null;
  const body = make("div", { class: "attention" });
  const folds = matrix && data.attention ? folded("matrix", "Attention matrix", matrix !== "closed") : null;

  function show(name) {
    for (const view of views) view.dispose();
    const level = levelOf(data, name);
    selection = new Selection((one, two) => one.side === two.side && one.at === two.at);
    const words = new WordsView(data, level, selection);
    const detail = make("p", { class: "detail", "aria-live": "polite" });
    const describe = () => detail.replaceChildren(...describeWord(level, selection.active));
    selection.watchers.push(describe);
    describe();
    views = [words];
    body.replaceChildren(words.element);
    if (folds) {
      const table = new MatrixView(level, selection);
      views.push(table);
      folds.replaceChildren(folds.firstChild, table.element);
      body.append(folds);
    }
    body.append(detail, legend(shown(data, level)));
  }

  container.replaceChildren(levelButtons(show), body);
  show("words");
  return { show, select: (place) => selection.pin(place), look: (place) => (place ? selection.look(place) : selection.leave()) };
}

// The pieces that may appear: on the words, or as alternatives in the line about the chosen one.
function shown(data, level) {
  return [...level.source, ...level.target, ...data.steps.flatMap((step) => step.alternatives.map((other) => other.piece))];
}

function levelButtons(show) {
  const buttons = ["words", "pieces"].map((name) => {
    const button = make("button", { type: "button", "aria-pressed": String(name === "words") }, name);
    button.addEventListener("click", () => {
      show(name);
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    });
    return button;
  });
  return make("div", { class: "levels", role: "group", "aria-label": "level" }, ...buttons);
}

function showAlternatives(container, data) {
  const rows = data.steps.map((step, at) => make("tr", {},
    make("td", { class: "number" }, String(at + 1)),
    make("td", { class: "piece", dir: "auto" }, step.piece),
    make("td", { class: "number" }, make("span", { class: "meter" }, confidenceBar(step.probability)), percent(step.probability)),
    make("td", { class: "long" }, ...step.alternatives.map((other) => make("span", { class: other.kept ? "other kept" : "other" },
      make("bdi", {}, other.piece), " ", make("small", {}, percent(other.probability)))))));
  const pieces = data.steps.flatMap((step) => [step.piece, ...step.alternatives.map((other) => other.piece)]);
  const explained = legend(pieces);
  explained.prepend("Underlined alternatives were kept in the beam. ");
  container.replaceChildren(list(["step", "token", "probability", "alternatives"], rows), explained);
}

function showNBest(container, data) {
  const rows = data.n_best.map((one, at) => make("tr", {},
    make("td", { class: "number" }, String(at + 1)),
    make("td", { class: "number", "data-label": "score" }, one.score.toFixed(3)),
    make("td", { class: "number", "data-label": "log P" }, one.log_probability.toFixed(2)),
    make("td", { class: "long", dir: "auto", lang: data.target_lang }, one.text)));
  container.replaceChildren(list(["rank", "score", "log P", "translation"], rows));
}

function list(headings, rows) {
  const head = make("tr", {}, ...headings.map((name) => make("th", { scope: "col" }, name)));
  return make("table", { class: "list" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

function showBeam(container, data) {
  container.replaceChildren(...new BeamView(data.beam).elements);
}

function showExplanation(container, data, { open = ["matrix"] } = {}) {
  const facts = `${data.forced ? "given translation · " : ""}score ${data.score.toFixed(3)} · log P ${data.log_probability.toFixed(2)} · ${data.target_pieces.length} tokens`;
  const attention = make("div"), alternatives = make("div"), beam = make("div"), nBest = make("div");
  container.replaceChildren(
    make("h2", { dir: "auto", lang: data.source_lang }, data.source),
    make("h2", { dir: "auto", lang: data.target_lang }, data.translation),
    make("p", { class: "facts" }, facts), attention,
    folded("alternatives", "Alternatives at each step", open.includes("alternatives"), alternatives),
    folded("beam", "Beam", open.includes("beam"), beam),
    folded("n-best", `n-best list (${data.n_best.length})`, open.includes("n-best"), nBest));
  showAlternatives(alternatives, data);
  showBeam(beam, data);
  showNBest(nBest, data);
  return showAttention(attention, data, { matrix: open.includes("matrix") || "closed" });
}
