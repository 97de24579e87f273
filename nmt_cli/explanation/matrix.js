// The attention matrix: a row for each target word, a column for each source word.

// In pixels: below SLANTED_CELL column labels are upright, below NUMBERED_CELL there is no room for numbers, and rather
// than smaller than SMALLEST_CELL the matrix is wider than the page, with cells of SCROLLED_CELL.
const LARGEST_CELL = 32, SLANTED_CELL = 26, NUMBERED_CELL = 22, SCROLLED_CELL = 18, SMALLEST_CELL = 13;

class MatrixView {
  constructor(level, selection) {
    this.level = level;
    this.selection = selection;
    this.lit = [];
    this.table = this.build();
    this.element = scroller("attention matrix", this.table);
    this.element.classList.add("around");
    this.resizing = new ResizeObserver(() => this.layOut());
    this.resizing.observe(this.element);
    selection.watchers.push(() => this.update());
  }

  // One listener for the whole table: it may have tens of thousands of cells.
  build() {
    const { source, target, weights } = this.level;
    this.columns = source.map((word) => make("th", { scope: "col", title: word }, make("span", {}, word)));
    this.rows = target.map((word) => make("th", { scope: "row", title: word }, make("span", {}, word)));
    this.cells = weights.map((row) => row.map((w) => {
      const cell = make("td", {}, w >= 0.095 ? String(Math.round(100 * w)) : "");
      if (w >= 0.0005) shade(cell, w);
      return cell;
    }));
    const table = make("table", { class: "matrix" },
      make("thead", {}, make("tr", {}, make("td", { class: "corner" }), ...this.columns)),
      make("tbody", {}, ...this.rows.map((label, t) => make("tr", {}, label, ...this.cells[t]))));
    table.addEventListener("pointerover", (event) => {
      const place = this.placeOf(event.target);
      if (place && place.cell !== undefined) {
        const w = weights[place.at][place.cell];
        event.target.closest("td").title = `${target[place.at]} ← ${source[place.cell]}: ${w.toFixed(3)}`;
      }
      if (event.pointerType === "mouse") place ? this.selection.look(place) : this.selection.leave();
    });
    table.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.selection.leave());
    table.addEventListener("click", (event) => {
      const place = this.placeOf(event.target);
      if (place) this.selection.pin(place);
    });
    return table;
  }

  // The word that a part of the table stands for; in a cell, the target word and the column.
  placeOf(element) {
    const box = element.closest("th, td");
    if (!box || box.classList.contains("corner")) return null;
    const column = box.cellIndex - 1, row = box.parentNode.rowIndex - 1;
    if (row < 0) return { side: "source", at: column };
    return column < 0 ? { side: "target", at: row } : { side: "target", at: row, cell: column };
  }

  // Cells as large as fit, with slanted labels above them; else smaller ones with upright labels; else it scrolls.
  layOut() {
    const width = this.element.clientWidth, count = this.columns.length;
    if (!width) return;
    const labels = Math.max(...this.rows.map((label) => label.firstChild.scrollWidth)) + 12;
    const beside = Math.min(labels, Math.max(96, 0.3 * width));
    const longest = Math.min(180, Math.max(...this.columns.map((label) => label.firstChild.scrollWidth)));
    const slanted = longest / Math.SQRT2, room = width - beside - 2;
    let cell = Math.min(LARGEST_CELL, Math.floor((room - slanted) / count));
    const upright = cell < SLANTED_CELL;
    if (upright) cell = Math.min(SLANTED_CELL, Math.floor(room / count));
    if (cell < SMALLEST_CELL) cell = SCROLLED_CELL;
    this.table.classList.toggle("upright", upright);
    this.table.classList.toggle("bare", cell < NUMBERED_CELL);
    this.table.classList.toggle("tiny", cell < SCROLLED_CELL - 2);
    this.table.style.setProperty("--cell", `${cell}px`);
    this.table.style.setProperty("--beside", `${Math.ceil(beside)}px`);
    this.table.style.setProperty("--above", `${Math.ceil((upright ? longest : slanted) + 16)}px`);
  }

  update() {
    const { active } = this.selection;
    for (const element of this.lit) element.classList.remove("lit");
    this.lit = [];
    if (active) {
      if (active.side === "source") this.lit.push(this.columns[active.at], ...this.cells.map((row) => row[active.at]));
      else this.lit.push(this.rows[active.at], ...this.cells[active.at]);
      if (active.cell !== undefined) this.lit.push(this.columns[active.cell]);
    }
    for (const element of this.lit) element.classList.add("lit");
  }

  dispose() {
    this.resizing.disconnect();
  }
}
