// Joins the parts: one step is selected in all of them.
const DATA = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const ROW_HEIGHT = 26, LINE_HEIGHT = 22;
const NARROW = 900; // pixels of the widest window in which the parts are one below the other, as in page.css

// A plan with what is derived from its columns.
function prepared(plan) {
  const count = plan.path.length;
  plan.texts = DATA.texts;
  plan.children = Array.from({ length: count }, () => []);
  plan.parent.forEach((parent, step) => parent >= 0 && plan.children[parent].push(step));
  plan.readers = Array.from({ length: count }, () => []);
  plan.inputs.forEach((inputs, step) => {
    for (const input of new Set(inputs)) if (input !== null && input >= 0) plan.readers[input].push(step);
  });
  plan.allocated = new Array(count).fill(0);
  for (const [step, bytes] of plan.allocations) plan.allocated[step] += bytes;
  // Of a step and those in its regions that reach the peak, the innermost one.
  const isPeak = (bytes, step, most) => bytes > plan.peaks[most] || (bytes === plan.peaks[most] && plan.parent[step] === most);
  plan.peak = plan.peaks.reduce((most, bytes, step) => (isPeak(bytes, step, most) ? step : most), 0);
  plan.stepsOfLine = new Map();
  plan.lines.forEach((lines, step) => {
    for (const line of lines) {
      if (!plan.stepsOfLine.has(line)) plan.stepsOfLine.set(line, []);
      plan.stepsOfLine.get(line).push(step);
    }
  });
  return plan;
}

class Page {
  constructor() {
    this.words = DATA.words;
    this.selected = null;
    this.query = "";
    const look = {
      selected: () => this.selected,
      matches: (step) => this.isMatch(step),
      colour: (step) => this.colours.of(step),
      note: (step) => this.noteOf(step),
    };
    this.graph = new Graph(find("graph"), (step) => this.select(step), look);
    this.memory = new MemoryTimeline(find("memory"), find("memory-text"), (step) => this.select(step), look);
    this.head = element("div", { class: "head cells" });
    find("table").append(this.head);
    this.table = new VirtualList(find("table"), ROW_HEIGHT, (index) => this.tableRow(this.rows[index]));
    this.program = new VirtualList(find("program"), LINE_HEIGHT, (index) => this.programRow(index + 1));
    this.connect();
    DATA.plans.forEach((plan, index) => find("plan").append(element("option", { value: index }, plan.name)));
    find("sizes").hidden = DATA.plans.length < 2;
    find("title").textContent = DATA.title;
    this.setView(innerWidth > NARROW ? "graph" : "table");
    this.showPlan(0);
  }

  connect() {
    find("find").addEventListener("input", (event) => this.search(event.target.value));
    find("find").addEventListener("keydown", (event) => event.key === "Enter" && this.nextMatch());
    find("colour").addEventListener("change", () => this.recolour());
    find("plan").addEventListener("change", (event) => this.showPlan(Number(event.target.value)));
    find("smaller").addEventListener("click", () => this.graph.zoom(1 / 1.3));
    find("larger").addEventListener("click", () => this.graph.zoom(1.3));
    find("peak").addEventListener("click", () => this.select(this.plan.peak));
    find("slowest").addEventListener("click", () => this.select(this.slowestStep()));
    for (const button of find("tabs").children) button.addEventListener("click", () => this.setView(button.dataset.view));
    document.addEventListener("keydown", (event) => {
      const forward = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (!forward || /INPUT|SELECT/.test(event.target.tagName) || this.selected === null) return;
      event.preventDefault();
      this.select(Math.min(Math.max(this.selected + forward, 0), this.plan.path.length - 1), { scrolls: false });
    });
  }

  setView(view) {
    document.body.dataset.view = view;
    for (const button of find("tabs").children) button.setAttribute("aria-pressed", button.dataset.view === view);
    this.graph.resized();
    this.table.schedule();
    this.program.schedule();
    if (this.selected !== null) this.reveal();
  }

  showPlan(index) {
    if (!DATA.plans.length) {
      find("figures").textContent = "The program has unknown sizes: it has a plan for each combination of sizes that it was called with.";
      find("tools").hidden = true; // there are no steps to find
      this.showProgram();
      this.setView("program");
      return;
    }
    this.plan = prepared(DATA.plans[index]);
    this.selected = null;
    const { memory, runs } = this.plan;
    const figures = Object.entries(memory).map(([name, bytes]) => `${name} ${formatBytes(bytes)}`);
    const least = (run) => (run.bound === null ? "" : `, at least ${formatSeconds(run.bound)} on this machine`);
    const times = runs.map((run) => `${run.label}: ${formatSeconds(run.seconds / run.calls)} a call${least(run)}`);
    find("figures").textContent = [counted(this.plan.path.length, "step"), ...figures, ...times].join(", ");
    find("slowest").hidden = !runs.length;
    this.colours = new Colours(this.plan, find("colour"), find("legend"));
    this.columns = tableColumns(this.plan);
    this.sort = { column: 0, falling: false };
    this.showProgram();
    this.search(this.query);
    this.graph.show(this.plan);
    this.memory.show(this.plan);
    const linked = /^#step=(.+)$/.exec(decodeURIComponent(location.hash));
    const step = linked ? this.plan.path.indexOf(linked[1]) : -1;
    if (step >= 0) this.select(step);
    else showDetails(find("details"), this.plan, null, this);
  }

  showProgram() {
    const widest = DATA.program.reduce((most, line) => Math.max(most, line.length), 0);
    this.program.resize(DATA.program.length, widest + 8);
  }

  // Select a step; in a narrow window, where its details are below the table, scroll to them.
  select(step, { scrolls = true } = {}) {
    this.selected = step;
    showDetails(find("details"), this.plan, step, this);
    if (scrolls && innerWidth <= NARROW) find("details").scrollIntoView();
    history.replaceState(null, "", `#step=${this.plan.path[step]}`);
    this.reveal();
    this.memory.draw();
  }

  reveal() {
    const step = this.selected;
    this.table.mark("selected", (index) => this.rows[index] === step);
    this.program.mark("marked", (index) => this.isMarked(index + 1));
    const row = this.rows.indexOf(step);
    if (row >= 0) this.table.reveal(row);
    if (this.plan.lines[step].length) this.program.reveal(this.plan.lines[step][0] - 1);
    this.graph.reveal(step);
  }

  showLine(line) {
    if (getComputedStyle(find("program")).display === "none") this.setView("program");
    this.program.reveal(line - 1);
  }

  slowestStep() {
    const own = this.plan.runs[0].own;
    return own.reduce((most, seconds, step) => ((seconds ?? 0) > (own[most] ?? 0) ? step : most), 0);
  }

  // Search in names, types, locations and the operations inside.
  search(query) {
    this.query = query.trim().toLowerCase();
    this.matched = null;
    const plan = this.plan;
    if (this.query) {
      const has = plan.texts.map((text) => text.toLowerCase().includes(this.query));
      const inside = (step) => plan.inner[step].some(([operation, types]) => has[operation] || types.some((type) => has[type]));
      const direct = (step) => has[plan.operation[step]] || has[plan.implementation[step]] || has[plan.location[step]] || plan.path[step] === this.query;
      const typed = (step) => plan.operands[step].some((type) => has[type]) || plan.results[step].some((type) => has[type]);
      this.matched = new Set(plan.path.flatMap((_, step) => (direct(step) || typed(step) || inside(step) ? [step] : [])));
    }
    find("matches").textContent = this.matched ? `${counted(this.matched.size, "step")}; Enter: the next one` : "";
    this.orderRows();
    this.graph.schedule();
  }

  isMatch(step) {
    if (!this.matched) return true;
    return this.matched.has(step) || this.plan.children[step].some((child) => this.isMatch(child));
  }

  nextMatch() {
    if (!this.matched?.size) return;
    const steps = [...this.matched];
    this.select(steps.find((step) => this.selected === null || step > this.selected) ?? steps[0]);
  }

  orderRows() {
    const { column, falling } = this.sort;
    this.rows = this.plan.path.map((_, step) => step).filter((step) => !this.matched || this.matched.has(step));
    const value = this.columns[column].value;
    if (column) this.rows.sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a - b));
    if (falling) this.rows.reverse();
    const widths = this.columns.map((one) => one.width);
    this.head.style.gridTemplateColumns = widths.map((width) => `${width}ch`).join(" ");
    const mark = (index) => (index !== column ? "" : falling ? " ▾" : " ▴");
    this.head.replaceChildren(...this.columns.map((one, index) => element("button", { class: one.number ? "number" : "", onclick: () => {
      this.sort = { column: index, falling: index === column ? !falling : Boolean(one.number) };
      this.orderRows();
    } }, one.name + mark(index))));
    this.table.resize(this.rows.length, widths.reduce((sum, width) => sum + width + 2, 0));
  }

  tableRow(step) {
    const cells = this.columns.map((column) => element("span", { class: column.number ? "number" : "" }, column.text(step)));
    const row = element("div", { class: `cells${step === this.selected ? " selected" : ""}`, onclick: () => this.select(step) }, ...cells);
    row.style.gridTemplateColumns = this.head.style.gridTemplateColumns;
    cells[0].style.backgroundColor = this.colours.of(step);
    return row;
  }

  isMarked(line) {
    return this.selected !== null && (this.plan?.stepsOfLine.get(line) ?? []).includes(this.selected);
  }

  programRow(line) {
    const steps = this.plan?.stepsOfLine.get(line) ?? [];
    const row = element("div", { class: this.isMarked(line) ? "marked" : "" }, element("span", { class: "line-number" }, String(line)), highlighted(DATA.program[line - 1]));
    if (steps.length) row.addEventListener("click", () => this.select(steps[0]));
    return row;
  }

  noteOf(step) {
    const own = this.plan.runs[0]?.own[step];
    return own === undefined || own === null ? "" : formatSeconds(own);
  }

  recolour() {
    this.colours.choose(find("colour").value);
    this.table.refresh();
    this.graph.schedule();
  }
}

// The columns of the table; `value` orders the rows.
function tableColumns(plan) {
  const depth = (step) => (plan.parent[step] < 0 ? 0 : 1 + depth(plan.parent[step]));
  const name = (step) => "  ".repeat(depth(step)) + shortName(plan.texts[plan.operation[step]]);
  const listed = (numbers) => numbers.map((type) => plan.texts[type]).join(", ");
  const signatures = plan.path.map((_, step) => `(${listed(plan.operands[step])}) -> ${listed(plan.results[step])}`);
  const types = (step) => signatures[step];
  const widest = (text, least) => plan.path.reduce((most, _, step) => Math.max(most, text(step).length + 1), least);
  const columns = [{ name: "step", value: (step) => step, text: (step) => plan.path[step], width: widest((step) => plan.path[step], 6) }];
  columns.push({ name: "operation", value: name, text: name, width: widest(name, 12) });
  plan.runs.forEach((run) => columns.push({
    name: run.label, number: true, width: Math.max(10, run.label.length + 3), value: (step) => run.own[step] ?? -1,
    text: (step) => (run.own[step] === null ? "" : formatSeconds(run.own[step])),
  }));
  if (plan.runs.length > 1) {
    // A step that one of the runs does not have has no ratio.
    const ratio = (step) => (plan.runs[1].own[step] ? plan.runs[0].own[step] / plan.runs[1].own[step] : 0);
    columns.push({ name: "ratio", number: true, width: 8, value: ratio, text: (step) => (ratio(step) ? ratio(step).toFixed(2) : "") });
  }
  const share = plan.runs[0]?.shares;
  if (share?.some((one) => one !== null)) {
    columns.push({ name: "bound", number: true, width: 9, value: (step) => share[step] ?? -1, text: (step) => (share[step] === null ? "" : `${(100 * share[step]).toFixed(0)} %`) });
  }
  columns.push(
    { name: "allocates", number: true, width: 11, value: (step) => plan.allocated[step], text: (step) => formatBytes(plan.allocated[step]) },
    { name: "how", value: (step) => plan.implementation[step], text: (step) => plan.texts[plan.implementation[step]], width: 14 },
    { name: "types", value: types, text: types, width: widest(types, 10) },
  );
  return columns;
}

// What the boxes are coloured by.
class Colours {
  constructor(plan, chooser, legend) {
    this.plan = plan;
    this.legend = legend;
    const [run, other] = plan.runs;
    this.scales = { implementation: "how it runs", memory: "memory that it allocates" };
    if (run?.shares.some((share) => share !== null)) this.scales = { bound: "share of the bound", ...this.scales };
    if (run) this.scales = { time: `time, ${run.label}`, ...this.scales };
    if (other) this.scales = { ...this.scales, ratio: `${run.label} against ${other.label}` };
    chooser.replaceChildren(...Object.entries(this.scales).map(([name, text]) => element("option", { value: name }, text)));
    this.kinds = [...new Set(plan.implementation)];
    this.choose(Object.keys(this.scales)[0]);
  }

  choose(name) {
    this.name = name;
    const run = this.plan.runs[0];
    const values = name === "time" ? run.own : name === "memory" ? this.plan.allocated : [];
    this.most = values.reduce((most, value) => Math.max(most, value ?? 0), 0);
    const chips = this.kinds.map((kind) => {
      const chip = element("span", { class: "chip" }, this.plan.texts[kind]);
      chip.style.backgroundColor = this.kindColour(kind);
      return chip;
    });
    const texts = {
      time: () => [`strongest: ${formatSeconds(this.most)}`],
      memory: () => [`strongest: ${formatBytes(this.most)}`],
      bound: () => ["red: far from the bound, green: at it"],
      ratio: () => ["red: slower, green: faster"],
      implementation: () => chips,
    };
    this.legend.replaceChildren(...texts[name]());
  }

  kindColour(kind) {
    return `hsl(${(this.kinds.indexOf(kind) * 360) / this.kinds.length + 210} 70% 55% / 0.3)`;
  }

  of(step) {
    const [run, other] = this.plan.runs;
    if (this.name === "implementation") return this.kindColour(this.plan.implementation[step]);
    if (this.name === "time") return scaled(run.own[step], this.most, 24);
    if (this.name === "memory") return scaled(this.plan.allocated[step], this.most, 210);
    if (this.name === "bound") {
      const share = run.shares[step];
      return share === null ? "transparent" : `hsl(${Math.min(share, 1) * 120} 70% 50% / 0.35)`;
    }
    const ratio = run.own[step] / other.own[step];
    if (!Number.isFinite(ratio) || !ratio) return "transparent";
    const strength = Math.min(Math.abs(Math.log2(ratio)) / 2, 1);
    return `hsl(${ratio > 1 ? 4 : 130} 75% 50% / ${0.5 * strength})`;
  }
}

function scaled(value, most, hue) {
  return value && most ? `hsl(${hue} 90% 50% / ${0.06 + 0.44 * Math.sqrt(value / most)})` : "transparent";
}

const page = new Page();
