// Roofline: how much work each step does per byte, against what the device can do.

function roofline_page() {
  const p = profile, roof = p.roof, rows = op_rows(p).filter((r) => r.flops > 0 && r.moved > 0 && r.ms > 0);
  if (!roof) return [card(note("The roof of this device is not measured, so there is nothing to compare with. Run this, then profile again:"), h("pre", null, "tuff roof --device " + (p.environment.gpu ? "vulkan" : "cpu"))), speeds(p, rows)];
  const width = 860, height = 430, left = 64, bottom = 40;
  const intensity = rows.map((r) => r.flops / r.moved), ridge = roof.f32_gflops / roof.copy_gbps;
  const low_x = 10 ** Math.floor(Math.log10(Math.min(...intensity, ridge) / 1.2)), high_x = 10 ** Math.ceil(Math.log10(Math.max(...intensity, ridge) * 1.2));
  const rates = rows.map((r) => r.flops / (1e6 * r.ms));
  const low_y = 10 ** Math.floor(Math.log10(Math.min(...rates, roof.f32_gflops) / 1.2)), high_y = 10 ** Math.ceil(Math.log10(roof.f32_gflops * 1.2));
  const x = log_scale(low_x, high_x, left, width - 10), y = log_scale(low_y, high_y, height - bottom, 10);
  const start = Math.max(low_x, low_y / roof.copy_gbps);
  const longest = Math.max(...rows.map((r) => r.ms));
  const chart = s("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "steps under the roof of the device"},
    decades(low_x, high_x).map((t) => [s("line", {class: "rule", x1: x(t), x2: x(t), y1: 10, y2: height - bottom}), s("text", {class: "axis", x: x(t), y: height - bottom + 16, "text-anchor": "middle"}, number(t))]),
    decades(low_y, high_y).map((t) => [s("line", {class: "rule", x1: left, x2: width - 10, y1: y(t), y2: y(t)}), s("text", {class: "axis", x: left - 8, y: y(t) + 4, "text-anchor": "end"}, number(t))]),
    s("text", {class: "axis", x: width - 10, y: height - 6, "text-anchor": "end"}, "FLOP per byte"), s("text", {class: "axis", x: left + 6, y: 22}, "GFLOP/s"),
    s("polyline", {points: `${x(start)},${y(start * roof.copy_gbps)} ${x(ridge)},${y(roof.f32_gflops)} ${x(high_x)},${y(roof.f32_gflops)}`, fill: "none", stroke: "var(--ink)", "stroke-width": 2}),
    s("text", {x: x(high_x) - 6, y: y(roof.f32_gflops) - 7, "text-anchor": "end"}, `${number(roof.f32_gflops)} GFLOP/s`),
    s("text", {x: x(start) + 40, y: y(start * roof.copy_gbps), dy: -8, transform: `rotate(-${Math.atan2(y(start * roof.copy_gbps) - y(roof.f32_gflops), x(ridge) - x(start)) * 180 / Math.PI} ${x(start)} ${y(start * roof.copy_gbps)})`}, `${number(roof.copy_gbps)} GB/s`),
    rows.map((r, i) => s("circle", {cx: x(intensity[i]), cy: y(rates[i]), r: 4 + 14 * Math.sqrt(r.ms / longest), fill: category_color(r.category), "fill-opacity": 0.7, stroke: "var(--card)"},
      s("title", null, `${r.op} · ${r.name}: ${number(rates[i])} GFLOP/s at ${number(intensity[i])} FLOP per byte, ${percent(r.roof)} of the roof, ${time(r.ms)}`))));
  const seen = [...new Set(rows.map((r) => r.category))];
  return [card(scroll("roofline", chart), legend(seen.map((name) => ({name, fill: category_color(name)})), () => ""),
    note(`A dot is an operation by one kernel; its area is its time. The line is what tuff roof measured on ${roof.date.slice(0, 10)}: f32 matmul ${number(roof.f32_gflops)} GFLOP/s${roof.f16_gflops ? `, f16 ${number(roof.f16_gflops)} GFLOP/s` : ""}, copies ${number(roof.copy_gbps)} GB/s; ${number(roof.dispatch_us)} µs a step, ${number(roof.submit_us)} µs a submit. Dots above it work in the caches.`)),
    speeds(p, rows)];
}

function speeds(p, rows) {
  return card(h("h2", null, "Intensity and speed"), table([
    {title: "Operation", value: (r) => r.op, show: (r) => [swatch(category_color(r.category)), `${r.op} · ${r.name}`]},
    {title: "Time", number: true, value: (r) => r.ms, show: (r) => time(r.ms)},
    {title: "FLOP per byte", number: true, value: (r) => r.flops / r.moved, show: (r) => number(r.flops / r.moved)},
    {title: "GFLOP/s", number: true, value: (r) => r.flops / r.ms, show: (r) => number(r.flops / (1e6 * r.ms))},
    {title: "Of roof", number: true, value: (r) => r.roof || 0, show: (r) => r.roof === undefined ? "–" : percent(r.roof)}], rows, 1).element);
}
