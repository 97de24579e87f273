"use strict";
// Text from sentences enters the page only through textContent and attributes, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const RIGHT_TO_LEFT = /^[^\p{L}]*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const LEAST = 0.03; // weights below it are not drawn

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function draw(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const direction = (text) => (RIGHT_TO_LEFT.test(text) ? "rtl" : "ltr");
const percent = (p) => (p >= 0.9995 ? "100 %" : p >= 0.0995 ? `${Math.round(100 * p)} %` : `${(100 * p).toFixed(1)} %`);
const confidenceColor = (p) => `var(--${p >= 0.6 ? "good" : p >= 0.3 ? "fair" : "poor"})`;

function shade(element, weight) {
  element.style.setProperty("--shade", weight.toFixed(3));
  element.classList.toggle("strong", weight > 0.55);
}

function meter(p) {
  const bar = make("i");
  bar.style.width = `${100 * p}%`;
  bar.style.setProperty("--confidence", confidenceColor(p));
  return make("span", { class: "meter" }, bar);
}

function folded(title, open, ...children) {
  const element = make("details", {}, make("summary", {}, title), ...children);
  element.open = open;
  return element;
}
