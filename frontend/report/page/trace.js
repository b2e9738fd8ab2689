// Trace: what happened when, on which thread; a canvas that zooms and moves.

// What a search finds a bar by.
function words_of_bar(e) {
  const a = e.args || {}, step = profile.steps[a.step];
  return [e.name, a.what, a.label, a.ops, a.shapes, ...(step ? step.source : [])].join(" ").toLowerCase();
}

function trace_page() {
  const spans = profile.trace.filter((e) => e.ph === "X");
  const names = {};
  for (const e of profile.trace)
    if (e.ph === "M") names[e.name === "process_name" ? `${e.pid}` : `${e.pid}/${e.tid}`] = e.args.name;
  const lanes = lay_out(spans, names);
  const begin = Math.min(...spans.map((e) => e.ts)), end = Math.max(...spans.map((e) => e.ts + e.dur));
  const timed = spans.find((e) => e.name === "timed run 1");
  const view = {from: begin, to: end};
  const line = 18, head = 20, height = sum(lanes, (l) => head + l.depth * line) + 26;
  const canvas = h("canvas", {style: `height:${height}px`, tabindex: 0, "aria-label": "timeline"});
  const details = h("div", {class: "details soft"}, "Click a bar to see what it is. Wheel or pinch zooms, dragging moves, + and − zoom too.");
  const tip = h("div", {class: "tip", style: "display:none", "aria-hidden": "true"});
  let chosen = null, boxes = [], found = null;

  function draw() {
    const width = canvas.clientWidth || 1000, ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = height * ratio;
    const g = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink"), soft = style.getPropertyValue("--soft"), rule = style.getPropertyValue("--line");
    const fills = [], inks = [];  // of the bars, of the words on them
    for (let i = 0; i < 8; ++i) fills.push(style.getPropertyValue(`--c${i}`)), inks.push(style.getPropertyValue(`--o${i}`));
    g.scale(ratio, ratio);
    g.font = "11px system-ui, sans-serif"; g.textBaseline = "middle";
    const x = (t) => width * (t - view.from) / (view.to - view.from);
    boxes = [];
    let y = 0;
    for (const lane of lanes) {
      g.fillStyle = soft; g.fillText(lane.name, 4, y + head / 2);
      g.fillStyle = rule; g.fillRect(0, y, width, 1);
      for (const bar of lane.bars) {
        const left = x(bar.e.ts), right = x(bar.e.ts + bar.e.dur);
        if (right < 0 || left > width) continue;
        const l = Math.max(left, 0), w = Math.max(Math.min(right, width) - l, 0.7), top = y + head + bar.depth * line;
        g.globalAlpha = found && !found.has(bar.e) ? 0.15 : 1;
        g.fillStyle = fills[bar.fill];
        g.fillRect(l, top, w > 2 ? w - 0.6 : w, line - 2);
        if (bar.e === chosen) { g.strokeStyle = ink; g.lineWidth = 2; g.strokeRect(l, top, w, line - 2); }
        if (w > 34) {
          g.save(); g.beginPath(); g.rect(l, top, w - 3, line); g.clip();
          g.fillStyle = inks[bar.fill]; g.fillText(bar.e.name, l + 4, top + line / 2 - 0.5); g.restore();
        }
        boxes.push({l, r: l + w, top, bottom: top + line, e: bar.e});
      }
      g.globalAlpha = 1;
      y += head + lane.depth * line;
    }
    g.fillStyle = soft;
    for (let i = 0; i <= 4; ++i) {
      g.textAlign = i === 0 ? "left" : i === 4 ? "right" : "center";
      const past = (view.to - view.from) * i / 4;  // further in, the rest counts from where the view begins
      g.fillText(i > 0 && view.from > begin ? `+${time(past / 1000)}` : time((view.from - begin + past) / 1000), width * i / 4, y + 14);
    }
    g.textAlign = "left";
  }
  function zoom(factor, at = 0.5) {
    const span = (view.to - view.from) * factor, center = view.from + (view.to - view.from) * at;
    if (span < 0.5) return;
    show(center - span * at, center + span * (1 - at));
  }
  function show(from, to) {
    const span = Math.min(to - from, end - begin);
    view.from = Math.min(Math.max(from, begin), end - span); view.to = view.from + span;
    draw();
  }
  function choose(e) {
    chosen = e;
    const row = (name, value) => value === undefined || value === "" ? null : [h("dt", null, name), h("dd", null, value)];
    const a = e.args || {};
    details.className = "details";
    details.replaceChildren(h("dl", null, row("What", e.name), row("Time", `${time(e.dur / 1000)}, from ${time((e.ts - begin) / 1000)}`),
      row("Detail", a.what), row("Source", a.label), row("Operations", a.ops), row("Shapes", a.shapes),
      row(a.kernel === undefined ? "Group" : "Kernel", a.step === undefined ? undefined : step_link(a.step, a.kernel === undefined ? "members and text" : `k${a.kernel}: members and text`)),
      row("Work", a.gflop === undefined ? undefined : `${flop(1e9 * a.gflop)}, ${bytes(a.read_bytes)} read, ${bytes(a.written_bytes)} written`)));
    draw();
  }

  // The bar under a pointer, the lowest one where several lie over each other.
  function bar_at(event) {
    const box = canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    return boxes.filter((b) => px >= b.l - 1 && px <= b.r + 1 && py >= b.top && py < b.bottom).at(-1);
  }
  function hover(event) {
    const hit = bar_at(event);
    tip.style.display = hit ? "" : "none";
    if (!hit) return;
    const a = hit.e.args || {}, frame = canvas.parentElement.getBoundingClientRect();
    tip.replaceChildren(h("b", null, hit.e.name), ` ${time(hit.e.dur / 1000)}`, ...[a.shapes, a.label || a.what].filter(Boolean).map((text) => h("div", null, text)));
    tip.style.left = `${Math.min(event.clientX - frame.left + 12, frame.width - tip.offsetWidth - 4)}px`;
    tip.style.top = `${event.clientY - frame.top + 16}px`;
  }
  const search = h("input", {type: "search", placeholder: "find: operation, scope, source, shape", "aria-label": "find in the trace", oninput: () => {
    const words = search.value.toLowerCase();
    found = words ? new Set(spans.filter((e) => words_of_bar(e).includes(words))) : null;
    count.textContent = found ? `${number(found.size, 7)} bars, Enter goes to the next` : "";
    draw();
  }, onkeydown: (event) => {
    if (event.key !== "Enter" || !found || !found.size) return;
    const list = [...found].sort((a, b) => a.ts - b.ts), next = list[(list.indexOf(chosen) + 1) % list.length];
    const wide = Math.min(view.to - view.from, Math.max(40 * next.dur, 5));
    show(next.ts + next.dur / 2 - wide / 2, next.ts + next.dur / 2 + wide / 2);
    choose(next);
  }});
  const count = h("span", {class: "soft", role: "status"});

  // Pointers: one drags, two pinch, a press without a move chooses.
  const pointers = new Map();
  let moved = 0;
  const place = (event) => (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth;
  canvas.addEventListener("pointerdown", (event) => { pointers.set(event.pointerId, place(event)); moved = 0; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return hover(event);
    tip.style.display = "none";
    const before = [...pointers.values()], old = pointers.get(event.pointerId), now = place(event);
    pointers.set(event.pointerId, now);
    moved += Math.abs(now - old);
    const span = view.to - view.from;
    if (before.length === 1) show(view.from - (now - old) * span, view.to - (now - old) * span);
    else { const after = [...pointers.values()]; zoom(Math.abs(before[0] - before[1]) / Math.max(Math.abs(after[0] - after[1]), 0.01), (after[0] + after[1]) / 2); }
  });
  const release = (event) => {
    if (!pointers.delete(event.pointerId) || moved > 0.005) return;
    const hit = bar_at(event);
    if (hit) choose(hit.e);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : 0.8, place(event)); }, {passive: false});
  canvas.addEventListener("keydown", (event) => {
    const span = view.to - view.from;
    if (event.key === "+") zoom(0.6); else if (event.key === "-") zoom(1.6);
    else if (event.key === "ArrowLeft") show(view.from - span / 5, view.to - span / 5);
    else if (event.key === "ArrowRight") show(view.from + span / 5, view.to + span / 5);
  });
  new ResizeObserver(draw).observe(canvas);
  redraws.push(draw);
  const button = (text, action) => h("button", {onclick: action}, text);
  return [note("Host threads on top, the device's steps below. The same trace opens in ui.perfetto.dev: tuff profile --trace F.json."),
    card(h("div", {class: "tools"}, button("+", () => zoom(0.6)), button("−", () => zoom(1.6)), button("All", () => show(begin, end)),
      timed ? button("One run", () => show(timed.ts, timed.ts + timed.dur)) : null, search, count), h("div", {class: "over"}, canvas, tip), details)];
}

// Lanes by process and thread; spans inside others lie below them.
function lay_out(spans, names) {
  const by = new Map();
  for (const e of [...spans].sort((a, b) => a.pid - b.pid || a.tid - b.tid || a.ts - b.ts || b.dur - a.dur)) {
    const key = `${e.pid}/${e.tid}`;
    if (!by.has(key)) by.set(key, {name: names[key] ? `${names[e.pid] || ""} · ${names[key]}` : key, bars: [], open: [], depth: 1});
    const lane = by.get(key);
    while (lane.open.length && lane.open.at(-1) <= e.ts + 1e-3) lane.open.pop();
    lane.bars.push({e, depth: lane.open.length, fill: hash(e.pid === 2 ? `${e.args.kernel}${e.name}` : e.cat + (e.cat === "phase" ? e.name : ""))});
    lane.open.push(e.ts + e.dur);
    lane.depth = Math.max(lane.depth, lane.open.length);
  }
  return [...by.values()];
}
function hash(text) {
  let value = 7;
  for (const c of text) value = (value * 31 + c.charCodeAt(0)) >>> 0;
  return value % 7;
}
