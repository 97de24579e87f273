// What is shown when something is wrong, and how it goes on: by itself where possible, else with a button.

const { make } = nmtViews;
const TITLES = {
  offline: "You are offline", gone: "The server does not answer", busy: "Too many requests", slow: "That took too long",
  long: "This text is too long", key: "An API key is needed", refused: "The server could not translate this",
};
const TEXTS = {
  offline: "Your text is still here. It will be translated when the connection is back.",
  gone: "Your text is still here. It will be translated when the server is back.",
};
const EVERY = 2000; // milliseconds between two looks at a server that is gone

export class ProblemView {
  #timer = 0;

  // `retry()` tries again, `isWell()` asks whether the server is back, `askKey()` asks for a key.
  constructor(element, { retry, isWell, askKey }) {
    Object.assign(this, { element, retry, isWell, askKey });
    addEventListener("online", () => this.kind === "offline" && this.retry());
  }

  show(problem) {
    clearTimeout(this.#timer);
    this.kind = problem.kind;
    this.text = make("p", {}, TEXTS[problem.kind] ?? problem.message);
    const action = { key: ["Enter a key", this.askKey], slow: ["Try again", this.retry], refused: ["Try again", this.retry] }[problem.kind];
    const button = action ? [make("button", { type: "button", class: "plain" }, action[0])] : [];
    button[0]?.addEventListener("click", action[1]);
    this.element.dataset.kind = problem.kind;
    this.element.replaceChildren(make("div", {}, make("b", {}, TITLES[problem.kind]), this.text), ...button);
    this.element.hidden = false;
    if (problem.kind === "busy") this.#countDown(problem.seconds ?? 5, problem.message);
    if (problem.kind === "gone" || problem.kind === "offline") this.#wait();
  }

  clear() {
    clearTimeout(this.#timer);
    this.kind = null;
    this.element.hidden = true;
  }

  #countDown(seconds, message) {
    if (seconds <= 0) {
      this.retry();
      return;
    }
    this.text.textContent = `${message}. Trying again in ${seconds} s.`;
    this.#timer = setTimeout(() => this.#countDown(seconds - 1, message), 1000);
  }

  #wait() {
    this.#timer = setTimeout(async () => {
      const { kind } = this;
      const well = await this.isWell();
      if (this.kind !== kind) return;
      well ? this.retry() : this.#wait();
    }, EVERY);
  }
}
