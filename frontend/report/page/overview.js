// Overview: what a run costs, what it is made of, what dominates; of a bench, all
// workloads and systems beside each other.

// Phases with an own colour; what is small is one part.
function phase_parts(phases) {
  const whole = sum(Object.values(phases));
  const parts = Object.entries(phases).filter(([, ms]) => ms >= 0.01 * whole)
    .map(([name, value], i) => ({name, value, fill: color(i)}));
  const rest = whole - sum(parts, (p) => p.value);
  if (rest > 0) parts.push({name: "other", value: rest, fill: "var(--line)"});
  return parts;
}

function advice(p) {
  const lines = [];
  const rows = op_rows(p), top = rows[0];
  if (top)
    lines.push(`${top.op} (${top.name}) takes ${percent(top.ms / run_ms(p))} of a run` +
      (top.roof !== undefined ? `, at ${percent(top.roof)} of what the roof allows.` : "."));
  const slow = p.roof ? rows.filter((r) => r.ms > 0.02 * run_ms(p) && r.roof < 0.3 && r !== top)[0] : null;
  if (slow) lines.push(`${slow.op} (${slow.name}) is at ${percent(slow.roof)} of the roof and takes ${percent(slow.ms / run_ms(p))}.`);
  const outside = sum(p.outside, (part) => part.ms);
  if (outside > 0.1 * run_ms(p))
    lines.push(`${time(outside)} of a run pass outside of its steps: ${p.outside.map((part) => `${part.name} ${time(part.ms)}`).join(", ")}.`);
  if (p.environment.load > 0.25) lines.push(`The machine was busy: others kept ${number(p.environment.load, 2)} cores while this was measured.`);
  const worst = Object.entries(p.phases_ms).sort((a, b) => b[1] - a[1])[0];
  if (worst) lines.push(`The longest phase of the first run is ${worst[0]} (${time(worst[1])}).`);
  if (!p.roof) lines.push("The device's roof is not measured; tuff roof does it, and shares of it appear here.");
  return lines;
}

function profile_overview(p) {
  const rows = [...op_rows(p), ...outside_rows(p)].sort((a, b) => b.ms - a.ms).slice(0, 10), steps = sum(p.steps, (x) => x.runs);
  const ratio = p.first_ms / p.steady_ms.median;
  return [
    h("div", {class: "tiles"},
      tile("First run", time(p.first_ms), `${number(ratio)} × a steady run`),
      tile("Second run", time(p.second_ms)),
      tile("Steady", time(p.steady_ms.median), `median of ${p.steady_ms.n}, least ${time(p.steady_ms.min)}`),
      tile("Steps", number(steps, 6), `${p.kernels.length} kernels, ${p.ops} operations`),
      p.environment.gpu ? tile("Kernels compiled", number(p.glsl_compiled, 6), `${p.disk_hits} from disk, ${p.memory_hits} from memory`)
        : tile("Library calls", number(p.steps.filter((x) => x.call).length, 6), "matmuls and convolutions"),
      tile("Peak memory", bytes(p.memory.peak_bytes), `${bytes(p.memory.arena_bytes)} of temporaries`)),
    card(h("h2", null, "The first run"), stack(phase_parts(p.phases_ms), (x) => time(x.value))),
    h("div", {class: "pair"},
      card(h("h2", null, "What takes the time of a run"), bars(rows.map((r) => ({label: `${r.op} · ${r.name}`, hint: r.hint,
        value: r.ms, text: `${time(r.ms)}  ${percent(r.ms / run_ms(p))}`, fill: category_color(r.category)})))),
      card(h("h2", null, "Where to look"), h("ul", null, advice(p).map((line) => h("li", null, line)))))];
}

// Dots of first (cold), second and steady times, one row a system, one block a workload.
function bench_plot(workloads) {
  const rows = [];
  for (const w of workloads) {
    rows.push({head: w.name});
    for (const x of w.systems) {
      const cold = (x.runs || []).find((r) => r.mode === "cold") || (x.runs || [])[0];
      rows.push({name: x.system, first: cold && cold.first_ms, second: cold && cold.second_ms,
        steady: x.steady && x.steady.median, error: x.error});
    }
  }
  const times = rows.flatMap((r) => [r.first, r.second, r.steady]).filter((t) => t > 0);
  if (times.length === 0) return note("Nothing was measured.");
  const low = 10 ** Math.floor(Math.log10(Math.min(...times))), high = 10 ** Math.ceil(Math.log10(Math.max(...times)));
  const width = 860, left = 150, line = 21, height = rows.length * line + 34;
  const x = log_scale(low, high, left, width - 20);
  const kinds = [["first", color(1), "First run"], ["second", color(3), "Second run"], ["steady", color(0), "Steady"]];
  const marks = rows.map((row, i) => {
    const y = 14 + i * line;
    if (row.head) return s("text", {x: 0, y: y + 5, "font-weight": 650}, row.head);
    const found = kinds.filter(([key]) => row[key] > 0);
    return [s("text", {x: 12, y: y + 4}, row.name),
      row.error ? s("text", {x: left, y: y + 4, class: "axis"}, `${row.error.kind}: ${row.error.message}`.slice(0, 90)) : null,
      found.length > 1 ? s("line", {class: "rule", x1: x(row[found[0][0]]), x2: x(row[found.at(-1)[0]]), y1: y, y2: y, "stroke-width": 2}) : null,
      found.map(([key, fill, title]) => s("circle", {cx: x(row[key]), cy: y, r: 5, fill},
        s("title", null, `${row.name}, ${title}: ${time(row[key])}`)))];
  });
  return h("div", null, h("div", {class: "scroll"}, s("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img"},
    decades(low, high).map((t) => [s("line", {class: "rule", x1: x(t), x2: x(t), y1: 0, y2: height - 20}),
      s("text", {class: "axis", x: x(t), y: height - 5, "text-anchor": "middle"}, time(t))]), marks)),
    h("div", {class: "legend"}, kinds.map(([, fill, title]) => h("span", null, swatch(fill), title))));
}

function bench_overview(b) {
  const rows = b.workloads.flatMap((w) => w.systems.map((x) => ({w, x,
    cold: (x.runs || []).find((r) => r.mode === "cold") || (x.runs || [])[0]})));
  const ms = (title, of) => ({title, number: true, value: (r) => of(r) || 0, show: (r) => time(of(r))});
  return [
    (b.warnings || []).map((w) => h("p", {class: "warn"}, w)),
    b.interrupted ? h("p", {class: "warn"}, "The run was interrupted; this is what was measured until then.") : null,
    card(h("h2", null, "First, second and steady runs"), bench_plot(b.workloads)),
    card(h("h2", null, "All numbers"), table([
      {title: "Workload", value: (r) => r.w.name},
      {title: "System", value: (r) => r.x.system},
      ms("First run", (r) => r.cold && r.cold.first_ms),
      ms("Second run", (r) => r.cold && r.cold.second_ms),
      ms("Steady", (r) => r.x.steady && r.x.steady.median),
      ms("p90", (r) => r.x.steady && r.x.steady.p90),
      {title: "Ratio", number: true, hint: "steady time over the reference's, with its 95 % interval",
        value: (r) => r.x.ratio ? r.x.ratio.value : 0,
        show: (r) => r.x.ratio ? `${number(r.x.ratio.value)} (${number(r.x.ratio.low)}–${number(r.x.ratio.high)})` : "–"},
      {title: "Pays back", number: true, hint: "runs after which the cold first run is made good",
        value: (r) => r.x.break_even ? r.x.break_even.runs : 0, show: (r) => r.x.break_even ? number(r.x.break_even.runs, 6) : "–"},
      {title: "Notes", wide: true, show: (r) => [r.x.error ? h("span", {class: "bad"}, `${r.x.error.kind}: ${r.x.error.message}`) : null,
        ...(r.x.notes || []), r.x.published ? `published ratio ${number(r.x.published.ratio)}, ${percent(r.x.published.off)} off` : null]}],
      rows).element)];
}

function overview_page() {
  return [profile ? profile_overview(profile) : null, bench ? bench_overview(bench) : null];
}
