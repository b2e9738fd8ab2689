// Op stats: where a run's time goes, by operation and by category.

const kCategories = ["matmul", "elementwise", "reduction", "data movement", "convolution", "scatter", "window"];
const category_color = (name) => { const i = kCategories.indexOf(name); return color(i < 0 ? 7 : i); };

// The least time the device's roof allows, in ms.
function roof_ms(flops, moved) {
  const roof = profile.roof;
  return roof ? Math.max(flops / (1e6 * roof.f32_gflops), moved / (1e6 * roof.copy_gbps)) : undefined;
}

// Steps that do the same work: one operation by one kernel or library call.
let rows_of_ops = null;
function op_rows(p) {
  if (rows_of_ops) return rows_of_ops;
  const rows = new Map();
  p.steps.forEach((step, i) => {
    const name = step.kernel !== undefined ? `k${step.kernel}` : step.call || (step.host ? "host" : "copy");
    const key = `${step.op} ${name}`;
    if (!rows.has(key)) rows.set(key, {op: step.op, name, category: step.category, ms: 0, flops: 0, moved: 0, runs: 0, steps: [], source: new Set(), shapes: new Set(), hint: step.label, region: step.region, kernel: step.kernel});
    const row = rows.get(key);
    row.ms += step.ms;
    row.flops += step.flops * step.runs;
    row.moved += (step.read_bytes + step.written_bytes) * step.runs;
    row.runs += step.runs;
    row.steps.push(i);
    for (const place of step.source || []) row.source.add(place);
    if (step.shapes) row.shapes.add(step.shapes);
  });
  rows_of_ops = [...rows.values()].sort((a, b) => b.ms - a.ms);
  for (const row of rows_of_ops) {
    row.least = roof_ms(row.flops, row.moved);
    if (row.least !== undefined) row.roof = row.ms > 0 ? row.least / row.ms : 0;
    if (p.roof) row.bound = row.flops / p.roof.f32_gflops > row.moved / p.roof.copy_gbps ? "arithmetic" : "memory";
  }
  return rows_of_ops;
}

// One run, its steps timed; what its parts are parts of.
const run_ms = (p) => p.timed_ms.typical || 1;

// What of a run lies outside of its steps, as rows of the same table.
const outside_rows = (p) => p.outside.map((part) => ({op: part.name, name: "–", category: "outside of steps", ms: part.ms, hint: part.what,
  flops: 0, moved: 0, runs: 0, source: new Set(), shapes: new Set(), roof: 0, bound: ""}));

function by_key(p, of) {
  const parts = new Map();
  for (const step of p.steps) parts.set(of(step), (parts.get(of(step)) || 0) + step.ms);
  return [...parts].sort((a, b) => b[1] - a[1]);
}

function parts_card(title, steps, fill) {
  const entries = [...steps, ["outside of steps", sum(profile.outside, (part) => part.ms)]].filter((e) => e[1] > 0).sort((a, b) => b[1] - a[1]);
  const shown = entries.slice(0, 8), rest = sum(entries.slice(8), (e) => e[1]);
  const parts = shown.map(([name, value], i) => ({name, value, fill: fill(name, i)}));
  if (rest > 0) parts.push({name: "other", value: rest, fill: "var(--line)"});
  return card(h("h2", null, title), h("div", {style: "display:flex;flex-wrap:wrap;gap:18px;align-items:center"}, pie(parts),
    h("div", {style: "flex:1 1 150px"}, legend(parts, (x) => `${time(x.value)} · ${percent(x.value / run_ms(profile))}`))));
}

// The first few words of many; all of them where the pointer rests.
const first_of = (words, count) => h("span", {class: "soft", title: [...words].join("\n")}, [...words].slice(0, count).join(", "),
  words.size > count ? ` and ${words.size - count} more` : "");

function ops_page() {
  const p = profile, rows = [...op_rows(p), ...outside_rows(p)];
  const columns = [
    {title: "Operation", value: (r) => r.op, show: (r) => [swatch(category_color(r.category)), r.op]},
    {title: "By", value: (r) => r.name, show: (r) => h("code", null, r.region === undefined ? r.name : step_link(r.steps[0], r.name))},
    {title: "Runs", number: true, value: (r) => r.runs},
    {title: "Time", number: true, value: (r) => r.ms, show: (r) => time(r.ms)},
    {title: "Share", number: true, value: (r) => r.ms, show: (r) => percent(r.ms / run_ms(p))},
    {title: "Work", number: true, hint: "operations on floats", value: (r) => r.flops, show: (r) => flop(r.flops)},
    {title: "GFLOP/s", number: true, value: (r) => r.flops / (r.ms || 1), show: (r) => number(r.flops / (1e6 * (r.ms || 1)))},
    {title: "Moved", number: true, hint: "bytes read and written, each tensor once", value: (r) => r.moved, show: (r) => bytes(r.moved)},
    {title: "GB/s", number: true, value: (r) => r.moved / (r.ms || 1), show: (r) => number(r.moved / (1e6 * (r.ms || 1)))},
    ...(p.roof ? [{title: "Of roof", number: true, hint: "least time by the roof over the time it took", value: (r) => r.roof, show: (r) => percent(r.roof)},
      {title: "Bound by", value: (r) => r.bound}] : []),
    {title: "Shapes", wide: true, hint: "what its group reads and writes", show: (r) => first_of(r.shapes, 1)},
    {title: "Source", wide: true, show: (r) => r.steps === undefined ? h("span", {class: "soft"}, r.hint) : first_of(r.source, 2)}];
  const list = table(columns, rows, 3);
  const search = h("input", {type: "search", placeholder: "operation, kernel, shape or source", "aria-label": "filter", oninput: () => {
    const words = search.value.toLowerCase();
    list.show(rows.filter((r) => [r.op, r.name, r.category, ...r.source, ...r.shapes].join(" ").toLowerCase().includes(words)));
  }});
  arrivals.set("ops", (place) => { search.value = place; search.dispatchEvent(new Event("input")); search.scrollIntoView({block: "center"}); });
  return [
    h("div", {class: "pair"}, parts_card("By category", by_key(p, (x) => x.category), category_color),
      parts_card("By operation", by_key(p, (x) => x.op), (_, i) => color(i))),
    h("h2", null, "Operations"),
    note(`Self time of one run: the mean of the middle half of ${p.timed_ms.n} timed runs. A fused step counts for its costliest operation. All rows add up to that run, ${time(p.timed_ms.typical)}, the steps alone to ${time(p.steps_ms)}; such a run that is not timed takes ${time(p.steady_ms.typical)}.`),
    card(h("div", {class: "tools"}, search), list.element)];
}
