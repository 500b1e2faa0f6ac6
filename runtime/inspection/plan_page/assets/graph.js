// The graph on a canvas as large as its section; what is scrolled out of view is not drawn.
class Graph {
  static LONG = 2400; // edges of more pixels are drawn as stubs, unless the step is selected
  static MOST_EDGES = 300; // a selected step with more readers has the edges to those nearby and in view

  constructor(root, select, look) {
    this.root = root;
    this.look = look;
    this.scale = 1;
    this.canvas = element("canvas");
    this.space = element("div", { class: "space" });
    root.append(this.canvas, this.space);
    this.pending = false;
    root.addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.resized()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.schedule());
    root.addEventListener("click", (event) => {
      const step = this.stepAt(event);
      if (step !== null) select(step);
    });
    root.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15);
    });
  }

  show(plan) {
    this.plan = plan;
    this.layout = layoutOf(plan);
    this.isCentred = false;
    this.resized();
  }

  resized() {
    if (!this.layout || !this.root.clientWidth) return;
    const { clientWidth: width, clientHeight: height } = this.root;
    const ratio = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    this.spanned = { width: Math.max(width, this.layout.width * this.scale), height: this.layout.height * this.scale };
    Object.assign(this.space.style, { width: `${this.spanned.width}px`, height: `${this.spanned.height}px` });
    if (!this.isCentred) {
      this.isCentred = true;
      this.root.scrollTo((this.spanned.width - width) / 2, 0);
    }
    this.draw();
  }

  zoom(factor) {
    const { root } = this;
    const x = (root.scrollLeft + root.clientWidth / 2) / this.spanned.width;
    const y = (root.scrollTop + root.clientHeight / 2) / this.spanned.height;
    this.scale = Math.min(2, Math.max(0.08, this.scale * factor));
    this.resized();
    root.scrollLeft = x * this.spanned.width - root.clientWidth / 2;
    root.scrollTop = y * this.spanned.height - root.clientHeight / 2;
    this.schedule();
  }

  schedule() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  reveal(step) {
    if (!this.root.clientWidth) return; // hidden
    const box = this.layout.boxes.get(outermost(this.plan, step));
    const { root, scale } = this;
    const y = box.y * scale;
    if (y < root.scrollTop || (box.y + box.height) * scale > root.scrollTop + root.clientHeight) {
      root.scrollTop = y - root.clientHeight / 3;
    }
    const x = (box.x + box.width / 2) * scale + this.spanned.width / 2;
    if (Math.abs(x - root.scrollLeft - root.clientWidth / 2) > (root.clientWidth - box.width * scale) / 2) {
      root.scrollLeft = x - root.clientWidth / 2;
    }
    this.schedule();
  }

  // The first row whose end is below a height of the layout.
  firstRow(y) {
    const { rows } = this.layout;
    let low = 0, high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle].y + rows[middle].height < y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  stepAt(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const x = (event.clientX - bounds.left + this.root.scrollLeft - this.spanned.width / 2) / this.scale;
    const y = (event.clientY - bounds.top + this.root.scrollTop) / this.scale;
    const row = this.layout.rows[this.firstRow(y)];
    const box = row?.boxes.find((one) => x >= one.x && x <= one.x + one.width && y >= one.y && y <= one.y + one.height);
    if (!box) return null;
    const line = Math.floor((y - box.y - BOX.padding) / BOX.lines) - 1 - box.types.length - this.plan.inner[box.step].length;
    const child = this.plan.children[box.step][line];
    return line >= 0 && line < box.inner.length && child !== undefined ? child : box.step;
  }

  draw() {
    if (!this.layout || !this.root.clientWidth) return;
    const context = this.canvas.getContext("2d");
    const ratio = devicePixelRatio || 1;
    const { scrollLeft, scrollTop, clientHeight, clientWidth } = this.root;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, clientWidth, clientHeight);
    context.translate(this.spanned.width / 2 - scrollLeft, -scrollTop);
    context.scale(this.scale, this.scale);
    const style = getComputedStyle(document.body);
    const probe = (name) => resolvedColour(style.getPropertyValue(name));
    const colours = { text: style.color, quiet: probe("--quiet"), line: probe("--line"), accent: probe("--accent"), page: probe("--page") };
    const top = scrollTop / this.scale - 200, bottom = (scrollTop + clientHeight) / this.scale + 200;
    const visible = [];
    for (let row = this.firstRow(top); row < this.layout.rows.length && this.layout.rows[row].y < bottom; row++) {
      visible.push(...this.layout.rows[row].boxes);
    }
    this.drawEdges(context, visible, colours);
    for (const box of visible) this.drawBox(context, box, colours);
  }

  drawEdges(context, visible, colours) {
    const selected = this.look.selected() === null ? null : outermost(this.plan, this.look.selected());
    const drawn = new Set();
    const edge = (from, to) => {
      const key = `${from} ${to}`;
      if (drawn.has(key)) return;
      drawn.add(key);
      const strong = from === selected || to === selected;
      context.strokeStyle = strong ? colours.accent : colours.quiet;
      context.lineWidth = strong ? 2.2 : 1.1;
      this.drawEdge(context, this.layout.boxes.get(from), this.layout.boxes.get(to), strong);
    };
    const touching = new Set(visible.map((box) => box.step));
    if (selected !== null) touching.add(selected);
    for (const step of touching) {
      for (const input of this.plan.inputs[step]) if (input !== null && input >= 0) edge(input, step);
      const { near, far } = this.readersOf(step);
      for (const reader of near) edge(step, reader);
      if (step === selected && far.length <= Graph.MOST_EDGES) for (const reader of far) edge(step, reader);
      else if (far.length) edge(step, far[0]);
    }
  }

  // The readers of a step within LONG pixels, and those beyond, for which one stub stands.
  readersOf(step) {
    const { boxes, readers, nearby } = this.layout;
    if (!nearby.has(step)) {
      const from = boxes.get(step), near = [], far = [];
      for (const reader of readers.get(step) ?? []) {
        (boxes.get(reader).y - from.y - from.height > Graph.LONG ? far : near).push(reader);
      }
      nearby.set(step, { near, far });
    }
    return nearby.get(step);
  }

  drawEdge(context, from, to, strong) {
    const x0 = from.x + from.width / 2, y0 = from.y + from.height, x1 = to.x + to.width / 2, y1 = to.y;
    context.beginPath();
    if (y1 - y0 > Graph.LONG && !strong) {
      context.moveTo(x0 + 18, y0);
      context.lineTo(x0 + 30, y0 + 22);
      context.moveTo(x1 - 30, y1 - 22);
      context.lineTo(x1 - 18, y1);
    } else {
      // Edges that pass other rows bend to the side.
      const side = y1 - y0 > 2 * BOX.below ? BOX.width * 0.62 + Math.min((y1 - y0) / 30, 60) : 0;
      const bend = Math.min((y1 - y0) / 2, 60);
      context.moveTo(x0, y0);
      if (side) {
        context.bezierCurveTo(x0, y0 + bend, x0 + side, y0 + 20, x0 + side, y0 + bend + 20);
        context.lineTo(x0 + side, y1 - bend - 20);
        context.bezierCurveTo(x0 + side, y1 - 20, x1, y1 - bend, x1, y1);
      } else {
        context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
      }
      context.moveTo(x1 - 4, y1 - 8);
      context.lineTo(x1, y1);
      context.lineTo(x1 + 4, y1 - 8);
    }
    context.stroke();
  }

  drawBox(context, box, colours) {
    const { step, x, y, width, height } = box;
    const selected = this.look.selected();
    const isSelected = selected !== null && outermost(this.plan, selected) === step;
    context.globalAlpha = this.look.matches(step) ? 1 : 0.25;
    context.fillStyle = colours.page;
    context.strokeStyle = isSelected ? colours.accent : colours.line;
    context.lineWidth = isSelected ? 3 : 1.2;
    context.beginPath();
    context.roundRect(x, y, width, height, 6);
    context.fill();
    context.fillStyle = this.look.colour(step);
    context.fill();
    context.stroke();
    if (this.scale >= 0.35) this.drawTexts(context, box, colours);
    context.globalAlpha = 1;
  }

  drawTexts(context, box, colours) {
    let y = box.y + BOX.padding + 15;
    const draw = (text, font, colour, indent = 0) => {
      context.font = font;
      context.fillStyle = colour;
      const width = context.measureText("m").width;
      const length = Math.floor((box.width - 22 - indent) / width);
      context.fillText(shortened(text, length), box.x + 11 + indent, y);
      y += BOX.lines;
    };
    const plan = this.plan;
    const note = this.look.note(box.step);
    draw(`${plan.path[box.step]}  ${shortName(plan.texts[plan.operation[box.step]])}${note ? `  ${note}` : ""}`, "600 15px ui-monospace, monospace", colours.text);
    for (const type of box.types) draw(type, "15px ui-monospace, monospace", colours.quiet);
    if (box.inner.length) {
      context.strokeStyle = colours.quiet;
      context.lineWidth = 0.8;
      context.strokeRect(box.x + 7, y - 16, box.width - 14, (box.inner.length + (box.more ? 1 : 0)) * BOX.lines + 3);
    }
    for (const name of box.inner) draw(name, "15px ui-monospace, monospace", colours.text, 6);
    if (box.more) draw(box.more, "15px system-ui, sans-serif", colours.quiet, 6);
  }
}

// A colour that a canvas knows, of one that may be light-dark().
function resolvedColour(text) {
  const known = resolvedColour.known ??= new Map();
  const dark = resolvedColour.dark ??= matchMedia("(prefers-color-scheme: dark)");
  const key = `${dark.matches} ${text}`;
  if (!known.has(key)) {
    const probe = resolvedColour.probe ??= document.body.appendChild(element("span", { hidden: "" }));
    probe.style.color = text;
    known.set(key, getComputedStyle(probe).color); // computing a style takes as long as drawing ten boxes
  }
  return known.get(key);
}
