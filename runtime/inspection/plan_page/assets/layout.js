// Where the boxes of a plan's steps lie: a step is below those whose results it reads.
const BOX = { width: 270, gap: 34, lines: 21, padding: 9, below: 46, columns: 8, inner: 12 };

// The texts in a box below its name: the results' types, then what it computes inside.
function boxTexts(plan, step) {
  const texts = plan.results[step].slice(0, 2).map((type) => plan.texts[type]);
  const inner = [...plan.inner[step].map(([operation]) => shortName(plan.texts[operation]))];
  for (const child of plan.children[step]) inner.push(`${plan.path[child]} ${shortName(plan.texts[plan.operation[child]])}`);
  const more = inner.length - BOX.inner;
  return { types: texts, inner: inner.slice(0, BOX.inner), more: more > 0 ? `and ${more} more` : null };
}

// The steps that a region step stands for in the graph: its outermost ancestor.
function outermost(plan, step) {
  while (plan.parent[step] >= 0) step = plan.parent[step];
  return step;
}

function layoutOf(plan) {
  const steps = plan.parent.flatMap((parent, step) => (parent < 0 ? [step] : []));
  const level = new Map();
  const readers = new Map(steps.map((step) => [step, []]));
  for (const step of steps) {
    const inputs = plan.inputs[step].filter((input) => input !== null && input >= 0);
    level.set(step, inputs.reduce((most, input) => Math.max(most, level.get(input) + 1), 0));
    for (const input of new Set(inputs)) readers.get(input).push(step);
  }
  const levels = [];
  for (const step of steps) (levels[level.get(step)] ??= []).push(step);
  const boxes = new Map();
  const rows = [];
  let y = 20;
  for (const members of levels) {
    for (const row of rowsOf(plan, members, boxes)) {
      let height = 0;
      row.forEach((step, column) => {
        const texts = boxTexts(plan, step);
        const lines = 1 + texts.types.length + texts.inner.length + (texts.more ? 1 : 0);
        const x = (column - (row.length - 1) / 2) * (BOX.width + BOX.gap) - BOX.width / 2;
        const box = { step, x, y, width: BOX.width, height: lines * BOX.lines + 2 * BOX.padding, ...texts };
        boxes.set(step, box);
        height = Math.max(height, box.height);
      });
      rows.push({ y, height, boxes: row.map((step) => boxes.get(step)) });
      y += height + BOX.below;
    }
  }
  const widest = rows.reduce((most, row) => Math.max(most, row.boxes.length), 1);
  const width = widest * (BOX.width + BOX.gap) + 160;
  return { boxes, rows, readers, nearby: new Map(), width, height: y };
}

// The steps of a level in rows of at most BOX.columns, each near the steps that it reads.
function rowsOf(plan, members, boxes) {
  const position = new Map(members.map((step) => {
    const inputs = plan.inputs[step].filter((input) => input !== null && input >= 0);
    const middle = inputs.reduce((sum, input) => sum + boxes.get(input).x, 0) / Math.max(inputs.length, 1);
    return [step, middle];
  }));
  const sorted = [...members].sort((a, b) => position.get(a) - position.get(b) || a - b);
  const rows = [];
  for (let start = 0; start < sorted.length; start += BOX.columns) rows.push(sorted.slice(start, start + BOX.columns));
  return rows;
}
