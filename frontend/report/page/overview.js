// Overview: what a run costs, what it is made of, what dominates.

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

function overview_page() {
  return [profile ? profile_overview(profile) : null, bench ? bench_overview(bench) : null];
}
