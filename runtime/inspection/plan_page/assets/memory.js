// The live memory over the steps; each column of pixels shows the most bytes of the steps that it stands for.
class MemoryTimeline {
  constructor(canvas, text, select, look) {
    this.canvas = canvas;
    this.text = text;
    this.look = look;
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    canvas.addEventListener("click", (event) => {
      const bounds = canvas.getBoundingClientRect();
      const count = this.plan.peaks.length;
      const step = Math.floor(((event.clientX - bounds.left) / bounds.width) * count);
      if (count) select(Math.min(Math.max(step, 0), count - 1));
    });
  }

  show(plan) {
    this.plan = plan;
    this.draw();
  }

  draw() {
    const plan = this.plan;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!plan || !width) return;
    const ratio = devicePixelRatio || 1;
    const size = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
    // A canvas that gets a size is laid out again, even if it had that size.
    if (this.canvas.width !== size.width || this.canvas.height !== size.height) Object.assign(this.canvas, size);
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const count = plan.peaks.length, most = Math.max(1, plan.peaks[plan.peak] ?? 0);
    const x = (step) => (step / Math.max(count, 1)) * width;
    context.fillStyle = resolvedColour("var(--accent)");
    context.globalAlpha = 0.55;
    for (let column = 0; column < width; column++) {
      const first = Math.floor((column / width) * count);
      const end = Math.max(first + 1, Math.floor(((column + 1) / width) * count));
      let bytes = 0;
      for (let step = first; step < end && step < count; step++) bytes = Math.max(bytes, plan.peaks[step]);
      const tall = (bytes / most) * (height - 6);
      context.fillRect(column, height - tall, 1, tall);
    }
    context.globalAlpha = 1;
    this.mark(context, x(plan.peak + 0.5), height, light("#c5221f", "#ff8a80"));
    const selected = this.look.selected();
    if (selected !== null) this.mark(context, x(selected + 0.5), height, resolvedColour("var(--text)"));
    const at = selected === null ? "" : `; at step ${plan.path[selected]} ${formatBytes(plan.peaks[selected])}`;
    this.text.textContent = count
      ? `Live memory beyond arguments and constants: at most ${formatBytes(plan.peaks[plan.peak])}, at step ${plan.path[plan.peak]} (red)${at}`
      : "The plan has no steps.";
  }

  mark(context, x, height, colour) {
    context.fillStyle = colour;
    context.fillRect(Math.max(0, x - 1), 0, 2, height);
  }
}

function light(inLight, inDark) {
  return resolvedColour(`light-dark(${inLight}, ${inDark})`);
}

// The allocations that are alive during a step, the largest first.
function aliveDuring(plan, step) {
  const alive = plan.allocations.filter(([, , first, last]) => first <= step && step <= last);
  return alive.sort((a, b) => b[1] - a[1]);
}
