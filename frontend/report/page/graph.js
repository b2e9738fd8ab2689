// Graph: what was fused into what, what that saves, and the kernel that came of it.

// A group's members as boxes in layers, operands above their users.
function region_drawing(region) {
  const nodes = region.nodes, depth = nodes.map(() => 0);
  nodes.forEach((node, i) => { for (const j of node.in) depth[i] = Math.max(depth[i], depth[j] + 1); });
  const layers = [];
  nodes.forEach((node, i) => (layers[depth[i]] ||= []).push(i));
  const at = [], w = 118, gap = 14, line = 52;
  const wide = Math.max(...layers.map((l) => l.length)) * (w + gap);
  layers.forEach((layer, row) => layer.forEach((i, k) => {
    at[i] = {x: wide / 2 + (k - layer.length / 2) * (w + gap) + gap / 2, y: 4 + row * line};
  }));
  const edges = nodes.flatMap((node, i) => node.in.map((j) => {
    const a = at[j], b = at[i], x1 = a.x + w / 2, x2 = b.x + w / 2, y1 = a.y + 34, y2 = b.y;
    return s("path", {d: `M${x1} ${y1} C${x1} ${y1 + 14} ${x2} ${y2 - 14} ${x2} ${y2}`, fill: "none", stroke: "var(--soft)", "stroke-opacity": 0.6});
  }));
  const boxes = nodes.map((node, i) => s("g", null,
    s("rect", {x: at[i].x, y: at[i].y, width: w, height: 34, rx: 6, fill: "var(--card)", "stroke-width": region.outputs.includes(i) ? 2 : 1,
      stroke: region.outputs.includes(i) ? "var(--accent)" : node.op === "parameter" ? "var(--c0)" : "var(--line)"}),
    s("text", {x: at[i].x + w / 2, y: at[i].y + 14, "text-anchor": "middle"}, node.op.replace("broadcast_in_dim", "broadcast").slice(0, 18)),
    s("text", {x: at[i].x + w / 2, y: at[i].y + 28, "text-anchor": "middle", class: "axis"}, node.type.slice(0, 18)),
    s("title", null, `${node.op} : ${node.type}`)));
  const height = layers.length * line;
  return scroll("graph", s("svg", {viewBox: `0 0 ${wide} ${height}`, width: wide, height, role: "img", "aria-label": "operations of the step and what passes between them", style: "max-width:none"}, edges, boxes));
}

function counted(ops) {
  const counts = new Map();
  for (const op of ops) counts.set(op, (counts.get(op) || 0) + 1);
  return [...counts].map(([op, n]) => h("span", {class: "chip"}, n > 1 ? `${op} × ${n}` : op));
}

function graph_page() {
  const p = profile, groups = new Map();
  p.steps.forEach((step, i) => {
    const key = step.region ?? `step ${i}`;
    if (!groups.has(key)) groups.set(key, {region: p.regions[step.region], steps: [], ms: 0, ops: step.ops, kernels: new Set(), calls: new Set(), source: new Set(), shapes: new Set()});
    const group = groups.get(key);
    group.steps.push(i);
    group.ms += step.ms;
    if (step.kernel !== undefined) group.kernels.add(step.kernel); else if (step.call) group.calls.add(step.call);
    for (const place of step.source || []) group.source.add(place);
    if (step.shapes) group.shapes.add(step.shapes);
  });
  // A group of several steps is used as often as its least repeated one.
  const list = [...groups.values()].sort((a, b) => b.ms - a.ms);
  for (const g of list) g.uses = Math.max(1, Math.round(g.steps.length / Math.max(1, g.kernels.size + g.calls.size)));
  const saved = sum(list, (g) => g.region ? g.region.saved_bytes * g.uses : 0);
  const entry = (g) => {
    const body = h("div", null, h("div", null, counted(g.ops)), g.shapes.size ? h("p", {class: "note"}, first_of(g.shapes, 2)) : null,
      h("p", {class: "note"}, `${g.uses} × in this program · ${time(g.ms)} of a run (${percent(g.ms / run_ms(p))})`,
        g.region && g.region.saved_bytes ? ` · fusion keeps ${bytes(g.region.saved_bytes)} of traffic out of memory each time` : ""));
    const more = h("details", {ontoggle: () => {
      if (!more.open || more.children.length > 1) return;
      more.append(...[g.region ? region_drawing(g.region) : null,
        g.source.size ? h("p", {class: "soft"}, "Source: ", [...g.source].slice(0, 20).map((place, i) => [i ? ", " : "", h("a", {href: `#ops/${encodeURIComponent(place)}`}, place)]),
          g.source.size > 20 ? ` and ${g.source.size - 20} more` : "") : null,
        g.region ? h("details", null, h("summary", null, "The group as text"), h("pre", null, g.region.text)) : null,
        ...[...g.calls].map((call) => h("p", null, "Library call: ", h("code", null, call))),
        ...[...g.kernels].map((k) => h("details", null, h("summary", null, `Kernel k${k} (${p.kernels[k].family}): ${p.environment.gpu ? "GLSL" : "text"}`), h("pre", null, p.kernels[k].text)))].filter(Boolean));
    }}, h("summary", null, "Members, text and kernel"));
    const name = [...[...g.kernels].map((k) => `k${k} ${p.kernels[k].family}`), ...g.calls].join(" + ");
    return {g, words: [name, ...g.ops, ...g.source].join(" ").toLowerCase(), element: h("div", {class: "group"}, h("h2", null, name || "step"), body, more)};
  };
  const entries = list.map(entry), box = h("div", null, entries.map((e) => e.element));
  const search = h("input", {type: "search", placeholder: "operation, kernel or source", "aria-label": "filter", oninput: () =>
    box.replaceChildren(...entries.filter((e) => e.words.includes(search.value.toLowerCase())).map((e) => e.element))});
  if (entries[0]) entries[0].element.querySelector("details").open = true;
  arrivals.set("graph", (step) => {
    const wanted = entries.find((e) => e.g.steps.includes(Number(step)));
    if (!wanted) return;
    search.value = "";
    box.replaceChildren(...entries.map((e) => e.element));
    const more = wanted.element.querySelector("details"), open = () => more.querySelectorAll("details").forEach((d) => { d.open = true; });
    more.addEventListener("toggle", open, {once: true});  // it is filled by then
    more.open ? open() : more.open = true;
    wanted.element.scrollIntoView();
  });
  return [
    h("div", {class: "tiles"}, tile("Operations", number(p.ops, 6)), tile("Groups", number(sum(list, (g) => g.uses), 6), `${list.length} different`),
      tile("Kernels", number(p.kernels.length, 6)), tile("Traffic avoided", bytes(saved), "in each run, by fusion")),
    note("Each group runs as one kernel, or as a library call and what follows it. Blue boxes come from memory, the red ones go there; all others never leave the kernel."),
    card(h("div", {class: "tools"}, search), box)];
}
