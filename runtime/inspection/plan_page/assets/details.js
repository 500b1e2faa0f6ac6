// The selected step in words.
const FIRST_ENTRIES = 30; // of a list are made at once: laying out hundreds takes longer than a frame
const MORE_ENTRIES = 300; // a click adds

function showDetails(root, plan, step, page) {
  root.scrollTop = 0; // before the children change: it would lay them out
  root.replaceChildren();
  if (step === null) {
    root.append(
      element("h2", {}, "Select a step"),
      element("p", {}, "in the graph, the table, the line of memory or the program. The arrow keys go from step to step."),
    );
    return;
  }
  const texts = plan.texts;
  root.append(
    element("h2", {}, `Step ${plan.path[step]}: ${texts[plan.operation[step]]}`),
    element("dl", {}, ...facts(plan, step, page).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
  );
  const link = (target, text) => element("a", { href: `#step=${plan.path[target]}`, onclick: (event) => {
    event.preventDefault();
    page.select(target);
  } }, text);
  const lines = (numbers) => numbers.flatMap((line) => [" ", element("a", { href: `#line=${line}`, onclick: (event) => {
    event.preventDefault();
    page.showLine(line);
  } }, `line ${line}`)]);
  section(root, "Inputs", plan.inputs[step], (input, index) => {
    const type = plan.operands[step][index];
    const shown = [type === undefined ? "captured value" : texts[type], " from "];
    if (input === null) return [...shown, "a constant"];
    if (input < 0) return [...shown, `argument ${-1 - input}`];
    return [...shown, link(input, `step ${plan.path[input]}`), ` ${shortName(texts[plan.operation[input]])}`];
  });
  const named = (other) => [link(other, `step ${plan.path[other]}`), ` ${shortName(texts[plan.operation[other]])}`];
  section(root, "Results", plan.results[step], (type) => [texts[type]]);
  section(root, "Read by", plan.readers[step], named);
  section(root, "Operations inside", plan.inner[step], ([operation, types, own]) => [
    `${shortName(texts[operation])} ${types.map((type) => texts[type]).join(", ")}`, ...lines(own)]);
  section(root, "Steps inside", plan.children[step], named);
  section(root, "Source", [step], () => [texts[plan.location[step]], ...lines(plan.lines[step])]);
  const alive = aliveDuring(plan, step);
  section(root, `In memory during it: ${counted(alive.length, "value")}`, alive, ([producer, bytes]) => [
    `${formatBytes(bytes).padStart(9)} of `, ...named(producer), ` ${plan.results[producer].map((type) => texts[type]).join(", ")}`]);
}

// A list of entries that a button makes longer: `entryOf` gives the children of one.
function section(root, title, entries, entryOf) {
  if (!entries.length) return;
  const list = element("ul", { class: "entries" });
  const more = element("button", { onclick: () => add(MORE_ENTRIES) });
  const add = (count) => {
    const start = list.children.length, end = start + count;
    list.append(...entries.slice(start, end).map((entry, index) => element("li", {}, ...entryOf(entry, start + index))));
    more.textContent = `${formatCount(entries.length - end)} more`;
    if (end >= entries.length) more.remove();
  };
  root.append(element("h2", {}, title), list, more);
  add(FIRST_ENTRIES);
}

function facts(plan, step, page) {
  const kind = plan.texts[plan.implementation[step]];
  const words = plan.children[step].length && !["tiered", "generated"].includes(kind) ? "the steps of its regions run one by one" : page.words[kind];
  const rows = [["how", `${kind}: ${words}`], ["why", plan.texts[plan.reason[step]]]];
  plan.runs.forEach((run) => {
    const own = run.own[step];
    const share = run.shares[step];
    const bound = share === null ? "" : `, ${(100 * share).toFixed(0)} % of the bound`;
    const portion = own === null ? "" : ` (${((100 * own * run.calls) / run.seconds).toFixed(1)} % of a call${bound})`;
    rows.push([`time, ${run.label}`, own === null ? "not in this run" : `${formatSeconds(own)}${portion}`]);
  });
  rows.push(["memory", `${formatBytes(plan.peaks[step])} live, ${formatBytes(plan.allocated[step])} allocated by it`]);
  return rows;
}
