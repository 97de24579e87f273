function alternatives(data) {
  const rows = data.steps.map((step, at) => make("tr", {},
    make("td", { class: "number" }, String(at + 1)),
    make("td", { class: "said", dir: "auto" }, step.piece),
    make("td", { class: "number" }, meter(step.probability), percent(step.probability)),
    make("td", {}, ...step.alternatives.map((other) => make("span", { class: other.kept ? "other kept" : "other" },
      make("bdi", {}, other.piece), " ", make("small", {}, percent(other.probability)))))));
  const head = make("tr", {}, ...["step", "token", "probability", "alternatives (underlined: kept in the beam)"].map((name) => make("th", { scope: "col" }, name)));
  return make("div", { class: "scroll" }, make("table", { class: "list" }, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function nBest(data) {
  const rows = data.n_best.map((one, at) => make("tr", {},
    make("td", { class: "number" }, String(at + 1)),
    make("td", { class: "number" }, one.score.toFixed(3)),
    make("td", { class: "number" }, one.log_probability.toFixed(2)),
    make("td", { dir: "auto", lang: data.target_lang }, one.text)));
  const head = make("tr", {}, ...["", "score", "log P", "translation"].map((name) => make("th", { scope: "col" }, name)));
  return make("div", { class: "scroll" }, make("table", { class: "list" }, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function levelButtons(view) {
  const buttons = ["words", "pieces"].map((name) => {
    const button = make("button", { type: "button", "aria-pressed": String(name === "words") }, name);
    button.addEventListener("click", () => {
      view.show(name);
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    });
    return button;
  });
  return make("span", { class: "levels", role: "group", "aria-label": "level" }, ...buttons);
}

function section(data) {
  const view = new AttentionView(data), tree = new BeamTree(data.beam);
  const facts = `${data.forced ? "given translation · " : ""}score ${data.score.toFixed(3)} · log P ${data.log_probability.toFixed(2)} · ${data.target_pieces.length} tokens`;
  const title = make("div", { class: "sentences" }, make("h2", { dir: "auto" }, data.source), make("h2", { dir: "auto" }, data.translation), make("p", { class: "facts" }, facts));
  const element = make("section", {}, make("div", { class: "bar" }, title, levelButtons(view)), view.pair, view.detail);
  if (data.word_attention) element.append(folded("Matrix", true, view.scroll));
  element.append(
    folded("Alternatives at each step", false, alternatives(data)),
    folded("Beam", false, tree.label, tree.scroll, tree.detail),
    folded(`n-best list (${data.n_best.length})`, data.forced, nBest(data)));
  return element;
}

const data = JSON.parse(document.getElementById("data").textContent);
document.getElementById("explanations").append(...data.map(section));
