const program = data.program || { axes: [], dims: [], configs: {}, sizes: {} };
const types = data.types || [];
const sizes = { ...program.sizes };

/* Arithmetic of sizes: numbers, |X|, + - * / // % and parentheses; NaN where a size is missing. */
function amount(text) {
  let at = 0;
  const tokens = String(text).match(/\|[^|]*\||\d+(?:\.\d+)?(?:e[+-]?\d+)?|\/\/|[-+*\/%()]/g) || [];
  const atom = () => {
    const token = tokens[at++];
    if (token === "(") { const value = sum(); at++; return value; }
    if (token === "-") return -atom();
    if (token && token[0] === "|") return token.slice(1, -1) in sizes ? sizes[token.slice(1, -1)] : NaN;
    return token === undefined ? NaN : Number(token);
  };
  const term = () => {
    let value = atom();
    while (["*", "/", "//", "%"].includes(tokens[at])) {
      const op = tokens[at++], other = atom();
      value = op === "*" ? value * other : op === "/" ? value / other : op === "%" ? value % other : Math.floor(value / other);
    }
    return value;
  };
  const sum = () => {
    let value = term();
    while (["+", "-"].includes(tokens[at])) value = tokens[at++] === "+" ? value + term() : value - term();
    return value;
  };
  return sum();
}
const axisSize = axis => sizes[axis] || 1;
const parts = dim => dim.axes.reduce((n, axis) => n * axisSize(axis), 1);
const extent = dim => /^\d+$/.test(dim.size) ? Number(dim.size) : amount(dim.size);
const local = type => type.dims.map(dim => extent(dim) / parts(dim));
const localBytes = type => local(type).reduce((n, each) => n * each, type.bytes);

/* A type with the state on each axis in its color. */
function colored(type) {
  const span = make("span", { class: "code" });
  const dtype = type.text.slice(0, type.text.indexOf("["));
  span.append(dtype + "[");
  type.dims.forEach((dim, i) => {
    span.append((i ? " " : "") + dim.name);
    if (dim.axes.length) span.append(make("span", { class: "S" }, "/" + dim.axes.join("/")));
  });
  span.append("]");
  const marks = Object.entries(type.marks);
  if (marks.length) {
    span.append("{");
    marks.forEach(([axis, mark], i) => span.append(i ? " " : "", make("span", { class: mark }, mark + "_" + axis)));
    span.append("}");
  }
  return span;
}

/* The first devices of the axes, as {axis: index}. */
function devices(axes, most) {
  let all = [{}];
  for (const axis of axes) {
    const next = [];
    for (const device of all)
      for (let i = 0; i < axisSize(axis) && next.length < most; i++) next.push({ ...device, [axis]: i });
    all = next;
  }
  return all;
}
const nameOf = (device, axes) => axes.map(axis => axis + "=" + device[axis]).join(" ") || "the device";
function block(device, axes) { return axes.reduce((n, axis) => n * axisSize(axis) + device[axis], 0); }
const hue = i => "hsl(" + (i * 137.5) % 360 + " 70% 82%)";

/* The blocks of a tensor on the mesh: rows are blocks of its first split dim, columns those of the others. */
function drawn(name, type, axes) {
  const box = make("div");
  box.append(make("p", {}, make("strong", { class: "code" }, name || "unnamed"), ": ", colored(type)));
  const shape = local(type);
  const whole = shape.every(n => Number.isInteger(n));
  box.append(make("p", {}, "Each device holds [" + shape.map(n => Number.isFinite(n) ? +n.toPrecision(6) : "?").join(", ") + "], " + bytes(localBytes(type)) + "."));
  if (!whole && shape.every(Number.isFinite)) box.append(make("p", { class: "refuted" }, "These sizes do not divide."));
  const split = type.dims.filter(dim => dim.axes.length), used = new Set(split.flatMap(dim => dim.axes));
  const states = axes.filter(axis => !used.has(axis)).map(axis => {
    const mark = type.marks[axis] || "R";
    const words = { U: "the value is the sum of what the devices along it hold", Max: "the value is the maximum of what the devices along it hold", I: "a copy on each device along it, and so is the gradient", R: "a copy on each device along it" };
    return make("li", {}, make("span", { class: mark + " code" }, axis), ": " + words[mark]);
  });
  for (const dim of split) states.push(make("li", {}, make("span", { class: "S code" }, dim.axes.join(", ")), ": splits " + dim.name + " into " + parts(dim) + " blocks"));
  if (states.length) box.append(make("ul", {}, ...states));
  const rows = split[0], columns = split.slice(1);
  const rowCount = rows ? parts(rows) : 1, columnCount = columns.reduce((n, dim) => n * parts(dim), 1);
  const all = devices(axes, 4096), cells = new Map();
  for (const device of all) {
    const row = rows ? block(device, rows.axes) : 0;
    const column = columns.reduce((n, dim) => n * parts(dim) + block(device, dim.axes), 0);
    const key = row + "," + column;
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(device);
  }
  const most = 16, summed = Object.values(type.marks).some(mark => mark === "U" || mark === "Max");
  const label = (dim, i) => {
    const n = extent(dim), k = parts(dim);
    return dim.name + " " + (Number.isInteger(n / k) && !dim.name.includes(" ") ? i * n / k + ".." + ((i + 1) * n / k - 1) : "block " + i);
  };
  const headOf = column => {
    let rest = column;
    return columns.slice().reverse().map(dim => { const i = rest % parts(dim); rest = Math.floor(rest / parts(dim)); return label(dim, i); }).reverse().join(", ");
  };
  const body = [];
  for (let row = 0; row < Math.min(rowCount, most); row++) {
    const line = [make("th", { scope: "row" }, rows ? label(rows, row) : "all of it")];
    for (let column = 0; column < Math.min(columnCount, most); column++) {
      const held = cells.get(row + "," + column) || [];
      const names = held.slice(0, 4).map(device => nameOf(device, axes)).join(summed ? " + " : ", ");
      const cell = make("td", {}, names + (held.length > 4 ? " and " + (held.length - 4) + " more" : ""));
      cell.style.background = hue(row * columnCount + column);
      line.push(cell);
    }
    body.push(make("tr", {}, ...line));
  }
  const head = [make("td", {})];
  for (let column = 0; column < Math.min(columnCount, most); column++) head.push(make("th", { scope: "col" }, headOf(column) || "devices"));
  box.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Blocks of " + (name || "the value") }, make("table", { class: "mesh" },
    make("caption", {}, "Which device holds which block" + (rowCount > most || columnCount > most ? " (the first " + most + ")" : "")),
    make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body))));
  return box;
}

const plan = () => data.plans[Number(by("plan").value) || 0];
const stepName = step => (step[3] ? step[3] + " = " : "") + step[2];

function showSteps() {
  const list = [...plan().params.map(([name, type]) => [0, plan().line, "parameter", name, type]), ...plan().steps];
  fill("steps", ...list.map((step, i) => make("option", { value: i }, (String(step[1] || "").padStart(4) + "  " + "  ".repeat(step[0])).replaceAll(" ", "\u00a0") + stepName(step) + "  " + types[step[4]].text)));
  by("steps").steps = list;
  by("steps").selectedIndex = list.length ? 0 : -1;
  showTensor();
}
function showTensor() {
  const list = by("steps").steps || [], step = list[by("steps").selectedIndex];
  for (const row of document.querySelectorAll("#source tr.now")) { row.classList.remove("now"); row.removeAttribute("aria-current"); }
  if (!step) return fill("tensor", make("p", {}, "This plan has no steps to show."));
  fill("tensor", make("p", {}, (step[1] ? "Line " + step[1] + ": " : "") + step[2]), drawn(step[3], types[step[4]], plan().axes), ...(plan().pipelined ? [make("p", {}, "Pipelines are shown as the scans that they are proved as: every stage has all layers there.")] : []));
  const row = by("line-" + step[1]);
  if (row) { row.classList.add("now"); row.setAttribute("aria-current", "step"); }
}

function showCommunication() {
  const cost = plan().cost;
  if (!cost) return fill("communication", make("p", {}, "No cost: the plan is " + plan().verdict + "."));
  const rate = Number(by("bandwidth").value) * 1e9, latency = Number(by("latency").value) * 1e-6;
  let now = 0;
  const rows = cost.transfers.map(([kind, line, count, size]) => {
    const n = amount(count), b = amount(size), time = b / rate + n * latency, begin = now;
    now += Number.isFinite(time) ? time : 0;
    return { kind, line, n, b, time, begin, size };
  });
  if (!rows.length) return fill("communication", make("p", {}, "This plan does not communicate."));
  const ms = time => Number.isFinite(time) ? (time * 1e3).toPrecision(3) + " ms" : "not known";
  fill("communication", table("Collectives one after another, received by each device; " + ms(now) + " in all" + (cost.forward_only ? "; the derived backward is not counted" : ""),
    ["line", "collective", "times", "bytes", "as a formula", "time", "timeline"],
    rows.map(row => {
      const bar = make("div", { class: "bar" });
      bar.style.left = 100 * row.begin / (now || 1) + "%";
      bar.style.width = 100 * (row.time || 0) / (now || 1) + "%";
      return [row.line ? String(row.line) : "", row.kind, Number.isFinite(row.n) ? row.n : "?", bytes(row.b), make("code", {}, row.size), ms(row.time), make("div", { class: "lane", "aria-hidden": "true" }, bar)];
    })));
}

/* A value lives from the step that makes it to the last one that reads it. */
function showMemory() {
  const steps = plan().steps, last = new Map();
  steps.forEach((step, i) => step[6].forEach(value => last.set(value, i)));
  plan().returned.forEach(value => last.set(value, steps.length));
  const given = plan().params.reduce((n, [, type]) => n + localBytes(types[type]), 0);
  const change = new Array(steps.length + 1).fill(0);
  steps.forEach((step, i) => {
    const size = localBytes(types[step[4]]);
    if (!Number.isFinite(size) || !last.has(step[5])) return;
    change[i] += size;
    if (last.get(step[5]) + 1 < change.length) change[last.get(step[5]) + 1] -= size;
  });
  let live = 0;
  const points = change.slice(0, steps.length).map(each => live += each);
  const cost = plan().cost, rows = [["parameters", bytes(given)]];
  if (!points.length) return fill("memory", table("Bytes on each device", ["what", "bytes"], rows));
  const most = Math.max(...points), at = points.indexOf(most), step = steps[at];
  rows.push(["values in between, where they are the most", bytes(most)]);
  rows.push(["there", (step[1] ? "line " + step[1] + ", " : "") + stepName(step)]);
  if (cost) rows.push(["kept for a backward", bytes(amount(cost.saved))]);
  if (plan().memory_on_gpu) for (const [what, size] of Object.entries(plan().memory_on_gpu)) rows.push(["on a GPU, as the core plans it: " + what, bytes(size)]);
  const alive = steps.filter((each, i) => i <= at && last.get(each[5]) >= at).sort((a, b) => localBytes(types[b[4]]) - localBytes(types[a[4]])).slice(0, 8);
  rows.push(["the largest of them", alive.map(each => (each[3] || each[2]) + " " + bytes(localBytes(types[each[4]]))).join(", ")]);
  const space = "http://www.w3.org/2000/svg", chart = document.createElementNS(space, "svg"), line = document.createElementNS(space, "polygon");
  chart.setAttribute("viewBox", "0 0 1000 100");
  chart.setAttribute("preserveAspectRatio", "none");
  chart.setAttribute("class", "chart");
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", "Live bytes over " + points.length + " steps, at most " + bytes(most) + " at step " + (at + 1));
  line.setAttribute("points", "0,100 " + points.map((p, i) => [i, i + 1].map(x => (1000 * x / points.length).toFixed(2) + "," + (100 - 96 * p / (most || 1)).toFixed(2)).join(" ")).join(" ") + " 1000,100");
  line.setAttribute("fill", "currentColor");
  line.setAttribute("opacity", "0.55");
  chart.append(line);
  fill("memory", chart, table("Bytes on each device: a value lives from its step to its last reader; each body of a loop counts once, and fusion is not counted", ["what", "bytes"], rows));
}

function showSchedules() {
  fill("schedules", ...plan().schedules.flatMap(each => [make("h3", {}, "Schedule " + each.name),
    make("p", {}, each.stages + " stages, " + each.microbatches + " microbatches; idle " + (100 * each.idle).toFixed(1) + " % of the time; activations kept by stage: " + each.peak.join(", ")),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Timeline of the stages" }, make("img", { alt: "The timeline of each stage", src: "data:image/svg+xml," + encodeURIComponent(each.svg) }))]));
}

function showPlan() {
  if (!data.plans || !data.plans.length) return;
  showSteps(); showCommunication(); showMemory(); showSchedules();
}
function showDevices() {
  const count = program.axes.reduce((n, axis) => n * axisSize(axis), 1);
  by("devices").textContent = count + (count === 1 ? " device" : " devices");
}
function showSizes() {
  const field = name => make("label", {}, name, make("input", { type: "number", min: "1", step: "1", value: sizes[name] ?? "", "data-name": name, oninput: event => {
    const value = Number(event.target.value);
    if (value >= 1 && Number.isInteger(value)) { sizes[name] = value; showDevices(); showTensor(); showCommunication(); showMemory(); }
  } }));
  const children = [...program.axes.map(field), ...program.dims.map(field)];
  if (Object.keys(program.configs).length) children.unshift(make("label", {}, "config", make("select", { onchange: event => {
    for (const [name, number] of Object.entries(program.configs[event.target.value] || {})) if (program.axes.includes(name) || program.dims.includes(name)) sizes[name] = Number(number);
    for (const input of by("sizes").querySelectorAll("input")) input.value = sizes[input.dataset.name] ?? "";
    showDevices(); showTensor(); showCommunication(); showMemory();
  } }, make("option", { value: "" }, "as given"), ...Object.keys(program.configs).map(name => make("option", { value: name }, name)))));
  fill("sizes", ...children);
  by("sizes").addEventListener("submit", event => event.preventDefault());
  showDevices();
}

/* A value of a counterexample: a row for each device and for what they hold together, a column for each entry; an entry
   that is not as it should be is marked, and says what it should be. */
const shortNumber = number => number === null ? "no value" : String(Number(number.toPrecision(5)));
const differs = (a, b) => a === null || b === null ? a !== b : Math.abs(a - b) > 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
function indexOf(flat, shape) {
  const index = [];
  for (const extent of [...shape].reverse()) { index.unshift(flat % extent); flat = Math.floor(flat / extent); }
  return "[" + index.join(", ") + "]";
}
function entry(held, i) {
  if (!held.expected || !differs(held.numbers[i], held.expected[i])) return make("td", { class: "number" }, shortNumber(held.numbers[i]));
  return make("td", { class: "number" }, make("mark", {}, shortNumber(held.numbers[i])), ", not " + shortNumber(held.expected[i]));
}
function valueTables(value) {
  const most = 64, groups = [];
  for (const held of value.held) {
    const last = groups[groups.length - 1], shape = held.shape.join();
    if (last && last[0].shape.join() === shape) last.push(held); else groups.push([held]);
  }
  return groups.map((group, i) => {
    const count = group[0].numbers.length, shown = [...Array(Math.min(count, most)).keys()];
    const caption = (value.result ? value.name + ", which is wrong" : value.name) + (i ? ", together" : "") + (count > most ? " (the first " + most + " of " + count + " entries)" : "");
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, make("table", { class: "held" },
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "where"), ...shown.map(k => make("th", { scope: "col" }, count === 1 ? "holds" : indexOf(k, group[0].shape))))),
      make("tbody", {}, ...group.map(held => make("tr", {}, make("th", { scope: "row" }, held.where), ...shown.map(k => entry(held, k)))))));
  });
}
function example(counterexample) {
  return make("div", {}, make("p", {}, "Smallest counterexample: " + [counterexample.mesh, counterexample.sizes].filter(Boolean).join(", ")),
    ...counterexample.values.flatMap(valueTables), make("pre", {}, counterexample.lines.join("\n")));
}
const placeOf = range => range ? range.file + ":" + range.begin.line + ":" + range.begin.column : "";
function finding(each) {
  const box = make("article", { class: "finding" }, make("h3", {}, make("span", { class: each.severity }, each.severity + " " + each.code), " " + each.message));
  if (each.range) box.append(make("p", {}, make("code", {}, placeOf(each.range)), each.label ? ": " + each.label : ""));
  for (const note of each.notes) box.append(make("p", {}, make("code", {}, placeOf(note.range)), ": " + note.message));
  if (each.details.length) box.append(make("pre", {}, each.details.join("\n")));
  if (each.counterexample) box.append(example(each.counterexample));
  for (const fix of each.fixes) box.append(make("p", {}, "Fix: " + fix.message + (fix.cost ? " (" + fix.cost + ")" : "") + (fix.checked ? ", checked" : "")), ...fix.edits.map(edit => make("pre", {}, placeOf(edit.range) + ": " + edit.text)));
  return box;
}
const findings = [...(data.diagnostics || []), ...(data.plans || []).flatMap(each => each.diagnostics)];

function showSource() {
  const beside = new Map();
  for (const each of data.plans || [])
    for (const step of each.steps) {
      if (!step[1] || !step[3]) continue;
      if (!beside.has(step[1])) beside.set(step[1], new Map());
      beside.get(step[1]).set(step[3], types[step[4]]);
    }
  const wrong = new Set(findings.filter(each => each.severity === "error" && each.range && each.range.file === data.file).map(each => each.range.begin.line));
  const rows = data.source.replace(/\n$/, "").split("\n").map((text, i) => {
    const cell = make("td", {}), values = beside.get(i + 1);
    if (values) [...values].forEach(([name, type], k) => cell.append(k ? ", " : "", values.size > 1 ? name + " " : "", colored(type)));
    return make("tr", { id: "line-" + (i + 1), class: wrong.has(i + 1) ? "wrong" : "" }, make("td", { class: "row" }, String(i + 1)), make("td", { class: "code" }, text), cell);
  });
  fill("source", make("table", { "aria-label": "The text and the types of its values" }, make("tbody", {}, ...rows)));
  fill("legend", make("span", { class: "S" }, "split"), " · ", make("span", { class: "U" }, "U: unreduced sum"), " · ", make("span", { class: "Max" }, "Max: unreduced maximum"), " · ", make("span", { class: "I" }, "I: copy, and so is the gradient"), " · ", make("span", { class: "R" }, "no mark: copy"));
}

/* Formulas with commas: a line does not end inside of one. */
const listed = all => make("span", {}, ...all.flatMap((each, i) => [i ? ", " : "", make("span", { class: "whole" }, each)]));

document.title = data.file + ": " + data.verdict;
fill("title", data.file);
fill("summary", make("span", { class: data.verdict }, data.verdict), " · check-sharding " + data.version + " · " + data.seconds.toFixed(2) + " s");
const shown = (data.plans || []).filter(each => !each.imported || each.verdict !== "proved");
fill("verdicts", shown.length ? table("Each plan, for every mesh and all sizes", ["verdict", "plan", "claim", "conditions", "assuming"], shown.map(each =>
  [make("span", { class: each.verdict }, each.verdict + (each.trusting.length ? ", trusting " + each.trusting.join(", ") : "")), make("code", {}, each.name), each.claim, listed(each.conditions), listed(each.assumptions)])) : make("p", {}, "There is no plan in the file."));
fill("findings", ...(findings.length ? findings.map(finding) : [make("p", {}, "There are none.")]));
fill("plan", ...(data.plans || []).map((each, i) => make("option", { value: i }, each.name + " (" + each.verdict + ")")));
by("plan").addEventListener("change", showPlan);
by("steps").addEventListener("change", showTensor);
for (const id of ["bandwidth", "latency"]) by(id).addEventListener("input", showCommunication);
const move = by_ => () => {
  const list = by("steps"), next = Math.min(Math.max(list.selectedIndex + by_, 0), list.options.length - 1);
  list.selectedIndex = next;
  showTensor();
};
by("previous").addEventListener("click", move(-1));
by("next").addEventListener("click", move(1));
/* The first plan that is not proved; else the longest of the file. */
const longest = (data.plans || []).reduce((best, each) => each.imported || (best && best.steps.length >= each.steps.length) ? best : each, null);
const open = (data.plans || []).find(each => each.verdict !== "proved") || longest;
if (open) by("plan").value = String(data.plans.indexOf(open));
showSource();
if (open) {
  showSizes();
  showPlan();
} else for (const id of ["h-sizes", "h-plan"]) by(id).parentElement.hidden = true;
