
const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const short = number => Number.isFinite(number) ? String(+number.toPrecision(4)) : "not a number";

/* One chart: curves are [name, css color, [[step, value], ..]]. */
function chart(title, curves) {
  const points = curves.flatMap(curve => curve[2]).filter(([, value]) => Number.isFinite(value));
  if (!points.length) return make("p", {}, title + ": no values yet.");
  const range = (list) => { const low = list.reduce((a, b) => Math.min(a, b)), high = list.reduce((a, b) => Math.max(a, b)); return [low, high]; };
  const part = (value, low, high) => high > low ? (value - low) / (high - low) : 0.5;
  const [x0, x1] = range(points.map(p => p[0])), [y0, y1] = range(points.map(p => p[1]));
  const at = ([x, y]) => (60 + 700 * part(x, x0, x1)).toFixed(1) + "," + (150 - 130 * part(y, y0, y1)).toFixed(1);
  const told = curves.filter(each => each[2].length).map(([name, , list]) => (name === title ? "" : name + " ") + short(list[0][1]) + " at step " + list[0][0] + ", " + short(list[list.length - 1][1]) + " at step " + list[list.length - 1][0]).join("; ");
  const text = (x, y, anchor, words) => svg("text", { x, y, "text-anchor": anchor, "font-size": 12, fill: "currentColor" }, words);
  const drawing = svg("svg", { viewBox: "0 0 780 180", role: "img", "aria-label": title + ": " + told, class: "curves" },
    text(54, 24, "end", short(y1)), text(54, 154, "end", short(y0)), text(60, 172, "start", "step " + x0), text(760, 172, "end", "step " + x1));
  for (const [, color, list] of curves) {
    const whole = list.filter(p => Number.isFinite(p[1]));
    drawing.append(svg("polyline", { points: whole.map(at).join(" "), fill: "none", stroke: "var(" + color + ")", "stroke-width": 2 }));
    if (whole.length < 30) for (const p of whole) { const [cx, cy] = at(p).split(","); drawing.append(svg("circle", { cx, cy, r: 3, fill: "var(" + color + ")" })); }
  }
  return make("figure", {}, make("figcaption", {}, make("strong", {}, title), " ", told), drawing);
}

const column = i => data.steps.map(row => [row[0], row[i]]);
const metrics = data.metrics.map((name, i) => [name, i + 3]);
const curves = metrics.map(([name, i], at) =>
  chart(name, [[name, "--split", column(i)], ...(at || !data.validations.length ? [] : [["validation", "--sum", data.validations]])]));
fill("curves", ...curves, chart("learning rate", [["learning rate", "--inv", column(1)]]), chart("tokens a second", [["tokens a second", "--max", column(2)]]),
  table("The last steps", ["step", "learning rate", "tokens a second", ...data.metrics], data.steps.slice(-10).map(row => row.map((each, i) => i === 2 ? Math.round(each) : short(each ?? NaN)))));

const total = data.times.reduce((sum, row) => sum + row[2], 0);
fill("times", data.times.length ? table("Ops of the step on rank 0, " + short(total) + " s in all", ["op", "calls", "seconds", "part", ""], data.times.map(([op, calls, seconds]) => {
  const bar = make("div", { class: "bar" });
  bar.style.width = 100 * seconds / total + "%";
  return [make("code", {}, op), calls, short(seconds), (100 * seconds / total).toFixed(1) + " %", make("div", { class: "lane", "aria-hidden": "true" }, bar)];
})) : make("p", {}, data.times_why || "No step was taken yet."));

fill("memory", table("Bytes", ["what", "size", "bytes"], data.memory.map(([what, size]) => [what, bytes(size), size])));
fill("mesh", table("The run", ["what", "value"], data.run), table("Mesh", ["axis", "devices"], data.mesh), table("Sizes", ["dim", "size"], data.sizes));
fill("restarts", data.restarts.length ? table("Begins after the first", ["when", "after step", "from"], data.restarts) : make("p", {}, "There were none."));
fill("verdicts", table("Each plan of the run, for every mesh and all sizes", ["verdict", "plan", "claim", "conditions", "assuming"], data.verdicts.map(each =>
  [make("span", { class: each.verdict }, each.verdict + (each.trusting.length ? ", trusting " + each.trusting.join(", ") : "") + (each.accepted ? ", accepted by --accept-unknown" : "")), make("code", {}, each.name), each.claim, each.conditions.join(", "), each.assumptions.join(", ")])));
document.title = data.model + ": " + data.state;
fill("title", data.model);
fill("summary", data.state + " · step " + data.step + " of " + data.total + " · " + (data.state === "running" ? "written " : "ended ") + data.written);
