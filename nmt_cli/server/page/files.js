// Files that are dropped or opened: plain text goes into the pane, documents are translated as files.

const { make } = nmtViews;
const PLAIN = ".txt";

export class Files {
  // `settings()` are the server's, `read(text)` gets the content of a text file, `translate(file)` gives { address, left },
  // and `failed(problem)` is told what went wrong.
  constructor({ list, input, overlay }, { settings, read, translate, failed }) {
    Object.assign(this, { list, input, overlay, settings, read, translate, failed });
    input.addEventListener("change", () => {
      if (input.files.length) this.take(input.files[0]);
      input.value = "";
    });
    addEventListener("dragover", (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      overlay.hidden = false;
    });
    addEventListener("dragleave", (event) => !event.relatedTarget && (overlay.hidden = true));
    addEventListener("drop", (event) => {
      overlay.hidden = true;
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      this.take(event.dataTransfer.files[0]);
    });
  }

  open() {
    const formats = this.settings().supportedFilesFormat;
    this.input.accept = [...formats.filter((format) => format.startsWith(".")), ".xml"].join(",");
    this.input.click();
  }

  async take(file) {
    const { supportedFilesFormat: formats, charLimit } = this.settings(), name = file.name.toLowerCase();
    if (name.endsWith(PLAIN) && file.size <= 4 * charLimit) {
      const text = new TextDecoder("utf-8").decode(await file.arrayBuffer()).replaceAll("\r\n", "\n");
      if (text.length <= charLimit) {
        this.read(text);
        return;
      }
    }
    const card = make("div", { class: "file" }, make("b", {}, file.name));
    const state = make("span", { class: "note" }, "translating …");
    card.append(state);
    this.list.prepend(card);
    if (!formats.some((format) => name.endsWith(format))) {
      this.#finish(card, state, `This format is not supported. Supported: ${formats.join(", ")}`, "bad");
      return;
    }
    card.classList.add("busy");
    try {
      const { address, left } = await this.translate(file);
      const link = make("a", { href: address, download: file.name, class: "plain" }, "Download");
      this.#finish(card, state, left ? `translated, except for ${left} ${left === 1 ? "entry" : "entries"} whose placeholders or tags could not be kept` : "translated", "good");
      card.insertBefore(link, state.nextSibling);
      link.focus();
    } catch (problem) {
      this.#finish(card, state, problem.message || "The server does not answer.", "bad");
      this.failed(problem);
    }
  }

  #finish(card, state, text, kind) {
    card.classList.remove("busy");
    card.classList.add(kind);
    state.textContent = text;
    const close = make("button", { type: "button", class: "quiet", "aria-label": "Remove from the list" }, "×");
    close.addEventListener("click", () => card.remove());
    card.append(close);
  }
}
