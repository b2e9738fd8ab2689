// Charts as SVG: parts of a whole, a stacked bar, dots on a logarithmic scale.

// What a chart of parts says in words.
const told = (parts, whole) => parts.map((p) => `${p.name}: ${percent(p.value / whole)}`).join(", ");

// parts: {name, value, fill}.
function pie(parts, size = 190) {
  const whole = sum(parts, (p) => p.value) || 1, r = size / 2 - 2, c = size / 2;
  let angle = -Math.PI / 2;
  const point = (a, radius) => `${c + radius * Math.cos(a)} ${c + radius * Math.sin(a)}`;
  const slices = parts.filter((p) => p.value > 0).map((part) => {
    const sweep = Math.min(2 * Math.PI * part.value / whole, 2 * Math.PI - 1e-4), start = angle;
    angle += sweep;
    const large = sweep > Math.PI ? 1 : 0;
    return s("path", {fill: part.fill, stroke: "var(--card)", "stroke-width": 1.5,
      d: `M${point(start, r)} A${r} ${r} 0 ${large} 1 ${point(start + sweep, r)} L${point(start + sweep, r * 0.58)} A${r * 0.58} ${r * 0.58} 0 ${large} 0 ${point(start, r * 0.58)} Z`},
      s("title", null, `${part.name}: ${percent(part.value / whole)}`));
  });
  return s("svg", {viewBox: `0 0 ${size} ${size}`, width: size, height: size, role: "img", "aria-label": told(parts, whole)}, slices);
}

function legend(parts, show) {
  return h("div", {class: "legend"}, parts.map((p) => h("span", null, swatch(p.fill), p.name, " ",
    h("span", {class: "soft"}, show(p)))));
}

// One bar made of parts.
function share_bar(parts, show) {
  const whole = sum(parts, (p) => p.value) || 1;
  let x = 0;
  return s("svg", {viewBox: "0 0 1000 34", width: "100%", height: 34, preserveAspectRatio: "none", role: "img", "aria-label": told(parts, whole)},
    parts.map((part) => {
      const width = 1000 * part.value / whole;
      x += width;
      return s("rect", {x: x - width, y: 0, width: Math.max(width - 1, 0.5), height: 34, fill: part.fill},
        s("title", null, `${part.name}: ${show(part)}`));
    }));
}

// The same with its legend below.
const stack = (parts, show) => h("div", null, share_bar(parts, show), legend(parts, show));

// Values that divide a logarithmic axis.
function decades(low, high) {
  const ticks = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e) ticks.push(10 ** e);
  return ticks.filter((t) => t >= low / 1.001 && t <= high * 1.001);
}
function log_scale(low, high, from, to) {
  const a = Math.log10(low), b = Math.log10(high);
  return (value) => from + (to - from) * (Math.log10(value) - a) / (b - a || 1);
}
