// The page of a bench about many runs: what they cost in all, and how far they lie apart.

// All that n runs take, the first one cold; nothing where a time was not measured.
function total_ms(x, n) {
  const cold = run_of(x, "cold");
  if (!cold || !(cold.first_ms > 0) || !(x.steady && x.steady.median > 0)) return 0;
  const second = n > 1 ? cold.second_ms || x.steady.median : 0;
  return cold.first_ms + second + Math.max(n - 2, 0) * x.steady.median;
}

// One curve a system over the number of runs, both axes logarithmic; where two cross, one has paid back.
function cost_curves(w) {
  const systems = w.systems.filter((x) => total_ms(x, 1) > 0);
  if (systems.length === 0) return note("No first and steady runs were measured.");
  const pays_back = Math.max(...systems.map((x) => (x.break_even ? x.break_even.runs : 1)));
  const most = 10 ** Math.min(6, Math.max(3, Math.ceil(Math.log10(pays_back)) + 1));
  const ends = systems.flatMap((x) => [total_ms(x, 1), total_ms(x, most)]);
  const low = 10 ** Math.floor(Math.log10(Math.min(...ends))), high = 10 ** Math.ceil(Math.log10(Math.max(...ends)));
  const narrow = innerWidth < 820, width = narrow ? 330 : 880, height = narrow ? 240 : 320, left = 62;
  const x = log_scale(1, most, left, width - 16), y = log_scale(low, high, height - 26, 8);
  const counts = Array.from({length: 4 * Math.log10(most) + 1}, (_, i) => 10 ** (i / 4));
  const curves = systems.map((system, i) => {
    const line = counts.map((n) => `${x(n)},${y(total_ms(system, n))}`).join(" ");
    const dots = decades(1, most).map((n) => s("circle", {cx: x(n), cy: y(total_ms(system, n)), r: 4, fill: color(i)},
      s("title", null, `${system.system}, ${number(n, 7)} runs: ${time(total_ms(system, n))}`)));
    return [s("polyline", {points: line, fill: "none", stroke: color(i), "stroke-width": 2}), dots];
  });
  const grid = [decades(low, high).map((t) => [s("line", {class: "rule", x1: left, x2: width - 16, y1: y(t), y2: y(t)}),
      s("text", {class: "axis", x: left - 6, y: y(t) + 4, "text-anchor": "end"}, time(t))]),
    decades(1, most).map((n) => s("text", {class: "axis", x: x(n), y: height - 6, "text-anchor": "middle"}, n === 1 ? "1 run" : number(n, 7)))];
  const says = systems.map((v) => `${v.system}: ${time(total_ms(v, 1))} for one run, ${time(total_ms(v, most))} for ${number(most, 7)}`).join("; ");
  return [legend(systems.map((v, i) => ({name: v.system, fill: color(i), of: v})), (p) => p.of.break_even ? `pays back from ${number(p.of.break_even.runs, 6)} runs on` : ""),
    s("svg", {viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": says, style: `max-width:${width}px`}, grid, curves)];
}

// Steady runs: a thin line from the least to p99, a thick one to p90, a mark at the median.
function spread(w) {
  const systems = w.systems.filter((x) => x.steady && x.steady.min > 0 && x.steady.p99 > 0);
  if (systems.length === 0) return null;
  const narrow = innerWidth < 820, width = narrow ? 330 : 880, left = narrow ? 92 : 130, line = 21;
  const low = Math.min(...systems.map((x) => x.steady.min)) / 1.05, high = Math.max(...systems.map((x) => x.steady.p99)) * 1.05;
  const x = log_scale(low, high, left, width - 20), height = systems.length * line + 22;
  const ticks = [low * 1.05, Math.sqrt(low * high), high / 1.05];
  const rows = systems.map((system, i) => {
    const {min, median, p90, p99, n} = system.steady, at = 11 + i * line;
    const bar = (to, thick) => s("line", {x1: x(min), x2: x(to), y1: at, y2: at, stroke: color(i), "stroke-width": thick});
    return s("g", null, s("title", null, `${system.system}, ${n} runs: least ${time(min)}, median ${time(median)}, p90 ${time(p90)}, p99 ${time(p99)}`),
      s("text", {x: 0, y: at + 4}, system.system), bar(p99, 2), bar(p90, 8),
      s("line", {x1: x(median), x2: x(median), y1: at - 8, y2: at + 8, stroke: "var(--ink)", "stroke-width": 2}));
  });
  const says = systems.map((v) => `${v.system}: median ${time(v.steady.median)}, p99 ${time(v.steady.p99)}`).join("; ");
  return [h("h3", null, "Steady runs apart from each other"), note("From the least to p99, thick up to p90; the mark is the median."),
    s("svg", {viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": says, style: `max-width:${width}px`},
      ticks.map((t) => s("text", {class: "axis", x: x(t), y: height - 4, "text-anchor": "middle"}, time(t))), rows)];
}

function runs_page() {
  return [note("What so many runs take in all, the cold first one included. Where two curves cross, the slower start has paid back."),
    bench.workloads.filter((w) => w.systems.length).map((w) => card(workload_title(w), cost_curves(w), spread(w)))];
}
