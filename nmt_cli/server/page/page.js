// The page: what is typed is translated, and every word can be asked about and changed.
//
// lines.js     the lines of the text with their translations
// panes.js     both panes: words, confidence, attention
// choices.js   alternatives for a word
// files.js     files that are dropped or opened
// problems.js  errors, and how it goes on after them
// client.js    requests
//
// Text from people and models enters the page only through textContent, never as markup.

import { Choices } from "./choices.js";
import { Client, Problem } from "./client.js";
import { Files } from "./files.js";
import { Line, placeOf, updatedLines } from "./lines.js";
import { Panes } from "./panes.js";
import { ProblemView } from "./problems.js";

const { make, describeWord, showExplanation } = nmtViews;
const $ = (id) => document.getElementById(id);
const AUTO = "auto";
const EXPLAINED_AHEAD = 12; // lines that are explained before anyone asks
const DETECTED = 2000; // characters that are enough to detect a language
const HISTORY = 100;
const client = new Client();
const text = $("text"), target = document.querySelector(".target");

const state = {
  lines: [],
  source: "", // a language, or auto
  target: "",
  detected: null, // the language that was detected, if the source is auto
  current: null, // the line that the panel explains
  history: [], // what undo leads back to
  explained: null, // the line that the panel shows, and what it shows of it
  handle: null, // of the panel's view
  focus: null, // where the focus goes when the line is explained: { line, offset }
};
let work = new AbortController(), timer = 0;

const panes = new Panes($("backdrop"), $("translation"), { looked, chosen: openChoices });
const problems = new ProblemView($("problem"), { retry, isWell: () => client.isWell(), askKey });
const choices = new Choices($("choices"), { translated: previews, chosen: choose, closed });
const files = new Files({ list: $("files"), input: $("file"), overlay: $("drop") }, {
  settings: () => client.settings, read: replaceText, translate: (file) => client.translateFile(file, pair()), failed: (problem) => problem.kind === "key" && problems.show(problem),
});

// Languages

const pair = () => ({ source: (state.source === AUTO && state.detected) || state.source, target: state.target });
const facts = ({ source, target: to }) => client.settings.pairs.find((one) => one.source === source && one.target === to);
const nameOf = (code) => client.languages.find((one) => one.code === code)?.name ?? code;

function fillLanguages() {
  const sources = client.languages.filter((one) => one.targets.length);
  const from = sources.map((one) => [one.code, one.name]);
  if (sources.length > 1) from.unshift([AUTO, state.source === AUTO && state.detected ? `Detected: ${nameOf(state.detected)}` : "Detect language"]);
  const source = pair().source;
  const reachable = source === AUTO ? new Set(sources.flatMap((one) => one.targets)) : new Set(client.languages.find((one) => one.code === source)?.targets);
  if (!reachable.has(state.target) && source !== state.target) state.target = [...reachable][0] ?? state.target;
  const to = client.languages.filter((one) => reachable.has(one.code) || one.code === state.target).map((one) => [one.code, one.name]);
  for (const [id, options, value] of [["source-language", from, state.source], ["target-language", to, state.target]]) {
    $(id).replaceChildren(...options.map(([code, name]) => make("option", { value: code }, name)));
    $(id).value = value;
    $(id).disabled = options.length < 2;
  }
  const { source: now, target: then } = pair();
  $("swap").disabled = now === AUTO || !facts({ source: then, target: now });
  text.lang = now === AUTO ? "" : now;
  document.title = `nmt: ${now === AUTO ? "" : `${nameOf(now)} → `}${nameOf(then)}`;
}

function setLanguages(source, to) {
  Object.assign(state, { source, target: to, detected: null });
  state.lines.forEach((line) => line.restart(""));
  fillLanguages();
  draw();
  schedule(0);
}

function swap() {
  if ($("swap").disabled) return;
  const { source, target: to } = pair(), swapped = state.lines.map((line) => line.shown).join("\n");
  remember();
  Object.assign(state, { source: to, target: source, detected: null, lines: [] });
  fillLanguages();
  setText(swapped);
  schedule(0);
}

// Text

function setText(value, prefixes = []) {
  text.value = value;
  state.lines = updatedLines([], value);
  state.lines.forEach((line, at) => (line.prefix = prefixes[at] ?? ""));
  typed();
}

function replaceText(value) {
  remember();
  setText(value);
  schedule(0);
  text.focus();
}

function typed() {
  state.lines = updatedLines(state.lines, text.value);
  choices.close();
  follow();
  draw();
  schedule(client.settings?.frontendTimeout ?? 300);
}

function draw() {
  const blank = !text.value.trim(), limit = client.settings?.charLimit ?? 0, size = [...text.value].length;
  panes.draw(blank ? state.lines.map((line) => new Line(line.source)) : state.lines, { current: state.current, language: state.target });
  $("empty").hidden = !blank;
  $("clear").hidden = !text.value;
  $("copy").disabled = blank || state.lines.every((line) => !line.shown);
  $("undo").disabled = !state.history.length;
  $("count").textContent = limit ? `${size.toLocaleString("en")} / ${limit.toLocaleString("en")}` : "";
  $("count").classList.toggle("over", limit > 0 && size > limit);
  drawPanel();
  restoreFocus();
}

// Undo leads back to the text, the languages and the chosen prefixes.
function remember() {
  const { source, target: to, lines, history } = state;
  history.push({ value: text.value, source, to, prefixes: lines.map((line) => line.prefix) });
  if (history.length > HISTORY) history.shift();
}

function undo() {
  const before = state.history.pop();
  if (!before) return;
  if (before.value === text.value && before.source === state.source && before.to === state.target) {
    state.lines.forEach((line, at) => line.prefix !== before.prefixes[at] && line.restart(before.prefixes[at]));
    draw();
  } else {
    Object.assign(state, { source: before.source, target: before.to, detected: null });
    fillLanguages();
    setText(before.value, before.prefixes);
  }
  schedule(0);
}

// Translation

function schedule(milliseconds) {
  clearTimeout(timer);
  work.abort(); // whatever is on its way is an answer to an older text
  problems.clear();
  timer = setTimeout(translate, milliseconds);
}

async function translate() {
  clearTimeout(timer);
  work.abort();
  const { signal } = (work = new AbortController());
  const slow = setTimeout(() => target.setAttribute("aria-busy", "true"), 150);
  try {
    check();
    await detect(signal);
    const waiting = state.lines.filter((line) => line.isWaiting);
    if (waiting.length) {
      const found = await client.translate(waiting.map((line) => line.source), waiting.map((line) => line.prefix), pair(), signal);
      waiting.forEach((line, at) => (line.translation = found[at]));
      draw();
    }
    clearTimeout(slow);
    target.setAttribute("aria-busy", "false");
    problems.clear();
    await explainAhead(signal);
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof Problem)) throw error;
    problems.show(error);
  } finally {
    clearTimeout(slow);
    if (work.signal === signal) target.setAttribute("aria-busy", "false");
  }
}

function check() {
  const { charLimit, lineLimit } = client.settings, size = [...text.value].length, count = state.lines.length;
  const over = (found, most, unit) => `It has ${found.toLocaleString("en")} ${unit}; this server translates up to ${most.toLocaleString("en")} at a time.`;
  if (size > charLimit) throw new Problem("long", over(size, charLimit, "characters"));
  if (count > lineLimit) throw new Problem("long", over(count, lineLimit, "lines"));
}

async function detect(signal) {
  if (state.source !== AUTO || !text.value.trim()) return;
  const { language } = await client.detect(text.value.slice(0, DETECTED), signal);
  if (language === state.detected) return;
  state.lines.forEach((line) => line.restart(line.prefix));
  state.detected = language;
  fillLanguages();
}

// The current line first, then those that a reader sees first.
async function explainAhead(signal) {
  if (!facts(pair())?.explained) return;
  const wanted = [state.current, ...state.lines.slice(0, EXPLAINED_AHEAD)];
  for (const line of wanted) await explain(line, signal);
}

async function explain(line, signal) {
  if (!line || line.isBlank || line.isWaiting || line.details || line.unexplained || !state.lines.includes(line)) return;
  try {
    const details = await client.explain(line.source, line.prefix, pair(), signal);
    if (signal.aborted) return;
    line.explained(details);
    draw();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.kind !== "refused") throw error;
    line.unexplained = true; // too long to be drawn, for example
    drawPanel();
  }
}

async function retry() {
  problems.clear();
  if (client.settings) await translate();
  else await connect();
}

// Words

function looked(place) {
  const level = place && panes.level(place.line);
  $("about-word").replaceChildren(...(level ? describeWord(level, place, { alternatives: false }) : []));
  if (place && place.line === state.explained?.line) state.handle?.look(place);
  else state.handle?.look(null);
}

function openChoices(place, typedText) {
  const { line, at } = place, { explanation, choices: all } = line.details;
  setCurrent(line);
  panes.pinned = place;
  state.choosing = { line, at };
  choices.open(panes.token(place), {
    word: explanation.target_words[at].text, before: line.translation.slice(0, panes.start(place)), confidence: explanation.confidence[at],
    options: all[at].slice(0, 6), language: state.target, typed: typedText,
  });
  panes.look(place);
}

async function previews(prefixes, signal) {
  const { source } = state.choosing.line;
  return client.translate(prefixes.map(() => source), prefixes, pair(), signal);
}

function choose(prefix) {
  const { line } = state.choosing;
  remember();
  state.focus = { line, offset: prefix.trimEnd().length };
  line.restart(prefix);
  draw();
  $("translation").focus({ preventScroll: true });
  schedule(0);
}

function closed(token) {
  panes.pinned = null;
  panes.look(null);
  token.focus({ preventScroll: true });
}

// After a choice, the focus is on the chosen word as soon as it is there.
function restoreFocus() {
  if (!state.focus?.line.details) return;
  const { line, offset } = state.focus;
  state.focus = null;
  const place = panes.wordAt(line, "target", offset);
  if (place && document.activeElement === $("translation")) panes.token(place).focus({ preventScroll: true });
}

// The current line follows the caret in the text, and the pointer and the focus in the translation.
function follow() {
  const { index, offset } = placeOf(text.value, text.selectionStart);
  const line = state.lines[index];
  setCurrent(line && !line.isBlank ? line : state.lines.find((one) => !one.isBlank) ?? null);
  if (document.activeElement === text && line) panes.look(panes.wordAt(line, "source", offset));
}

function setCurrent(line) {
  if (!line || line === state.current) return;
  state.current = line;
  panes.mark(line);
  drawPanel();
  if (line.translation !== null && !line.details && facts(pair())?.explained) explain(line, work.signal).catch(() => {});
}

function drawPanel() {
  const panel = $("panel"), body = $("panel-body"), line = state.current;
  const details = line && state.lines.includes(line) && text.value.trim() ? line.details : null;
  if (!panel.open) return;
  if (details) {
    if (state.explained?.details === details) return;
    const open = [...body.querySelectorAll("details[open]")].map((fold) => fold.dataset.name);
    state.handle = showExplanation(body, details.explanation, { open: state.explained ? open : ["matrix", "beam"] });
    state.explained = { line, details };
    return;
  }
  if (line?.isWaiting && state.explained) return; // the old one stays until the new one is there
  state.explained = state.handle = null;
  const known = client.settings && facts(pair());
  const why = !text.value.trim() ? "Attention, alternatives and the beam of a sentence appear here."
    : known && !known.explained ? "Attention is not available for this pair: it needs one model between the two languages, served from its run directory."
    : line?.unexplained ? "This line is too long to be drawn." : "…";
  body.replaceChildren(make("p", { class: "note" }, why));
}

// Buttons and keys

async function copy() {
  const value = state.lines.map((line) => line.shown).join("\n");
  try {
    await navigator.clipboard.writeText(value);
  } catch { // only secure origins have a clipboard
    const box = make("textarea", { class: "hidden", "aria-hidden": "true" });
    box.value = value;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  $("note").textContent = "Copied";
  setTimeout(() => ($("note").textContent = ""), 2000);
}

function askKey() {
  $("key-value").value = client.key;
  $("key").showModal();
}

function goToTranslation() {
  (panes.tokens.find((token) => token.tabIndex === 0) ?? $("translation")).focus();
}

function togglePanel() {
  $("panel").open = !$("panel").open;
  if ($("panel").open) $("panel").scrollIntoView({ block: "nearest" });
}

const SHORTCUTS = { KeyS: swap, KeyC: copy, KeyO: () => files.open(), KeyE: togglePanel, Digit1: () => text.focus(), Digit2: goToTranslation };

addEventListener("keydown", (event) => {
  const command = event.ctrlKey || event.metaKey, typing = event.target.matches("input, textarea, select");
  if (event.altKey && !command && SHORTCUTS[event.code]) SHORTCUTS[event.code]();
  else if (command && event.key === "Enter") schedule(0);
  else if (command && !event.shiftKey && event.key === "z" && !typing) undo();
  else if (event.key === "?" && !typing && !event.target.closest(".token")) $("help").showModal();
  else return;
  event.preventDefault();
});

text.addEventListener("input", typed);
for (const event of ["keyup", "click", "focus"]) text.addEventListener(event, follow);
text.addEventListener("blur", () => panes.look(null));
text.addEventListener("pointermove", (event) => event.pointerType === "mouse" && panes.look(panes.sourceWordAt(event.clientX, event.clientY)));
text.addEventListener("pointerleave", () => panes.look(null));
for (const event of ["pointerover", "focusin"]) $("translation").addEventListener(event, ({ target: element }) => setCurrent(panes.lineAt(element)));
$("source-language").addEventListener("change", (event) => setLanguages(event.target.value, state.target));
$("target-language").addEventListener("change", (event) => setLanguages(state.source, event.target.value));
$("swap").addEventListener("click", swap);
$("copy").addEventListener("click", copy);
$("undo").addEventListener("click", undo);
$("open").addEventListener("click", () => files.open());
$("clear").addEventListener("click", () => replaceText(""));
$("help-button").addEventListener("click", () => $("help").showModal());
$("key-button").addEventListener("click", askKey);
$("key").addEventListener("close", () => {
  client.key = $("key-value").value;
  retry();
});
$("panel").addEventListener("toggle", () => {
  localStorage.setItem("nmt-panel", $("panel").open ? "open" : "");
  state.explained = null;
  drawPanel();
});

async function connect() {
  try {
    await client.connect();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    problems.show(error);
    return;
  }
  const { source, target: to } = client.settings.language;
  Object.assign(state, { source: source.code, target: to.code });
  $("key-button").hidden = !client.settings.keyRequired;
  fillLanguages();
  typed();
}

$("panel").open = localStorage.getItem("nmt-panel") === "open";
text.focus();
connect();
