// A list of rows of equal height, of which those in view are elements.
class VirtualList {
  static MARGIN = 4; // rows above and below those in view

  constructor(root, rowHeight, render) {
    this.root = root;
    this.rowHeight = rowHeight;
    this.render = render;
    this.count = 0;
    this.shown = new Map();
    this.body = element("div", { class: "list" });
    root.append(this.body);
    this.pending = false;
    root.addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.schedule()).observe(root);
  }

  // The number of rows, and how wide the widest one is in characters.
  resize(count, width) {
    this.count = count;
    this.body.style.height = `${count * this.rowHeight}px`;
    this.body.style.minWidth = `max(100%, ${width}ch)`;
    this.refresh();
  }

  // Render the rows in view again.
  refresh() {
    for (const row of this.shown.values()) row.remove();
    this.shown.clear();
    this.update();
  }

  // Give a class to those of the rows in view whose index is marked, and take it from the others.
  mark(name, isMarked) {
    for (const [index, row] of this.shown) row.classList.toggle(name, isMarked(index));
  }

  schedule() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.update();
    });
  }

  update() {
    const top = this.root.scrollTop - this.body.offsetTop;
    const first = Math.max(0, Math.floor(top / this.rowHeight) - VirtualList.MARGIN);
    const visible = Math.ceil(this.root.clientHeight / this.rowHeight) + 2 * VirtualList.MARGIN;
    const end = Math.min(this.count, first + visible);
    for (const [index, row] of this.shown) {
      if (index < first || index >= end) {
        row.remove();
        this.shown.delete(index);
      }
    }
    for (let index = first; index < end; index++) {
      if (this.shown.has(index)) continue;
      const row = this.render(index);
      row.classList.add("row");
      row.style.top = `${index * this.rowHeight}px`;
      row.style.height = `${this.rowHeight}px`;
      this.shown.set(index, row);
      this.body.append(row);
    }
  }

  // Scroll a row to the middle if it is not in view.
  reveal(index) {
    const top = index * this.rowHeight + this.body.offsetTop;
    const { scrollTop, clientHeight } = this.root;
    if (top < scrollTop + this.rowHeight || top > scrollTop + clientHeight - 2 * this.rowHeight) {
      this.root.scrollTop = top - clientHeight / 2;
    }
  }
}
