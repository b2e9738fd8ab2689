// Memory: what the program holds, and who is where in the arena over the course of a run.

function memory_page() {
  const m = profile.memory, list = m.temporaries;
  const parts = [["arguments", m.arguments_bytes], ["outputs", m.outputs_bytes], ["constants", m.constants_bytes], ["temporaries", m.arena_bytes]]
    .map(([name, value], i) => ({name, value, fill: color(i)})).filter((x) => x.value > 0);
  const last = Math.max(1, ...list.map((t) => t.last)), live = new Array(last + 1).fill(0);
  for (const t of list) for (let i = t.first; i <= t.last; ++i) live[i] += t.size_bytes;
  const peak = live.indexOf(Math.max(...live));
  const at_peak = list.filter((t) => t.first <= peak && peak <= t.last).sort((a, b) => b.size_bytes - a.size_bytes);
  const width = 900, height = 300, left = 70, top = 8;
  const x = (step) => left + (width - left) * step / (last + 1), y = (at) => top + height - height * at / Math.max(m.arena_bytes, 1);
  const outline = live.map((size, i) => `${x(i)},${y(size)} ${x(i + 1)},${y(size)}`).join(" ");
  const map = s("svg", {viewBox: `0 0 ${width} ${height + 34}`, width, height: height + 34, role: "img", "aria-label": "temporaries: step by step, at their places in the arena"},
    [0, 0.25, 0.5, 0.75, 1].map((f) => [s("line", {class: "rule", x1: left, x2: width, y1: y(f * m.arena_bytes), y2: y(f * m.arena_bytes)}),
      s("text", {class: "axis", x: left - 6, y: y(f * m.arena_bytes) + 4, "text-anchor": "end"}, bytes(f * m.arena_bytes))]),
    list.map((t, i) => s("rect", {x: x(t.first), width: Math.max(x(t.last + 1) - x(t.first) - 0.4, 0.8), y: y(t.offset_bytes + t.size_bytes),
      height: Math.max(y(t.offset_bytes) - y(t.offset_bytes + t.size_bytes) - 0.4, 0.6), fill: color(i % 7), "fill-opacity": 0.78},
      s("title", null, `${bytes(t.size_bytes)} – ${t.owner}, steps ${t.first} to ${t.last}`))),
    s("polyline", {points: outline, fill: "none", stroke: "var(--ink)", "stroke-width": 1.5}),
    s("line", {x1: x(peak + 0.5), x2: x(peak + 0.5), y1: top, y2: top + height, stroke: "var(--accent)", "stroke-dasharray": "4 3"}),
    s("text", {x: x(peak + 0.5) + (peak > last / 2 ? -6 : 6), y: top + 12, "text-anchor": peak > last / 2 ? "end" : "start", style: "fill:var(--accent)"}, "peak"),
    s("text", {class: "axis", x: left, y: top + height + 18}, "first step"), s("text", {class: "axis", x: width, y: top + height + 18, "text-anchor": "end"}, "last step"));
  return [
    h("div", {class: "tiles"}, tile("Peak", bytes(m.peak_bytes)), tile("Arguments", bytes(m.arguments_bytes)), tile("Temporaries", bytes(m.arena_bytes), `no order of these steps needs less than ${bytes(m.liveness_bytes)}`),
      tile("Outputs", bytes(m.outputs_bytes))),
    card(h("h2", null, "What it is made of"), stack(parts, (x) => bytes(x.value))),
    card(h("h2", null, "The arena over a run"),
      list.length ? [note("Each box is a temporary: from the step that writes it to the last that reads it, at its place in the arena. The line is what is alive."), scroll("temporaries", map)] : note("No step of this program hands anything to another, so it needs no temporaries.")),
    at_peak.length ? card(h("h2", null, "Alive at the peak"), table([
      {title: "Size", number: true, value: (t) => t.size_bytes, show: (t) => bytes(t.size_bytes)},
      {title: "Share", number: true, value: (t) => t.size_bytes, show: (t) => percent(t.size_bytes / (live[peak] || 1))},
      {title: "Owner", wide: true, value: (t) => t.owner},
      {title: "Steps", value: (t) => t.first, show: (t) => `${t.first}–${t.last}`}], at_peak.slice(0, 40), 0).element,
      at_peak.length > 40 ? note(`and ${at_peak.length - 40} smaller ones`) : null) : null];
}
