// Compile: the phases of the first run as a flame chart, and every kernel with what it
// cost and why.

const kOrigins = {
  compiled: ["compiled", "no kernel of this text was in memory or in the disk cache"],
  disk: ["disk", "its SPIR-V was in the disk cache; the driver made the pipeline"],
  memory: ["memory", "this process had made it before"]};

// Rows of the trace's host threads until the first run ends; spans of a row by depth.
function flame(events) {
  const host = events.filter((e) => e.ph === "X" && e.pid === 1);
  const first = host.find((e) => e.name === "first run");
  const end = first ? first.ts + first.dur : Math.max(...host.map((e) => e.ts + e.dur));
  const shown = host.filter((e) => e.ts < end).sort((a, b) => a.tid - b.tid || a.ts - b.ts || b.dur - a.dur);
  const start = Math.min(...shown.map((e) => e.ts));
  let y = 0, thread = null, open = [];
  const width = 960, line = 20, x = (t) => width * (t - start) / (end - start), boxes = [], fills = {};
  let top = 0, deepest = 0;
  for (const e of shown) {
    if (e.tid !== thread) {
      if (thread !== null) top += (deepest + 1) * line + 6;
      thread = e.tid; open = []; deepest = 0;
    }
    while (open.length && open.at(-1) <= e.ts + 1e-6) open.pop();
    y = top + open.length * line;
    deepest = Math.max(deepest, open.length);
    open.push(e.ts + e.dur);
    const key = e.cat === "phase" || e.cat === "run" ? e.name : e.cat;
    if (!(key in fills)) fills[key] = Object.keys(fills).length;
    const w = Math.max(x(e.ts + e.dur) - x(e.ts), 0.6);
    boxes.push(s("g", null, s("rect", {x: x(e.ts), y, width: w, height: line - 2, rx: 2, fill: color(fills[key])}),
      w > 8 * e.name.length ? s("text", {x: x(e.ts) + 5, y: y + 13, style: `fill:${text_on(fills[key])};font-size:11.5px`}, e.name) : null,
      s("title", null, `${e.name}: ${time(e.dur / 1000)}${e.args && e.args.what ? " – " + e.args.what : ""}`)));
  }
  const height = top + (deepest + 1) * line;
  return scroll("phases", s("svg", {viewBox: `0 0 ${width} ${height + 18}`, width, height: height + 18, role: "img", "aria-label": "phases over time", style: "max-width:none;min-width:100%"}, boxes,
    [0, 0.25, 0.5, 0.75, 1].map((f) => s("text", {class: "axis", x: f * width, y: height + 14, "text-anchor": f === 0 ? "start" : f === 1 ? "end" : "middle"}, time(f * (end - start) / 1000)))));
}

function profile_compile(p) {
  const uses = p.kernels.map(() => 0);
  for (const step of p.steps) if (step.kernel !== undefined) ++uses[step.kernel];
  const rows = p.kernels.map((k, i) => ({...k, i, uses: uses[i]}));
  const ms = (title, of) => ({title, number: true, value: of, show: (r) => time(of(r))});
  const measured = sum(Object.values(p.phases_ms));
  const told = (key) => p.kernels.some((k) => k.driver && k.driver[key] !== undefined);
  const of_driver = (title, key, hint) => told(key) ? [{title, hint, number: true, value: (r) => r.driver[key] || 0,
    show: (r) => r.driver[key] === undefined ? "–" : number(r.driver[key], 6)}] : [];
  return [
    card(h("h2", null, "From the model to the end of the first run"),
      note("Top row: the main thread; below it what the compile threads did. Reading the model, its arguments and uploading them are drawn, and are not part of the first run."),
      p.trace ? flame(p.trace) : note("The trace was left out.")),
    card(h("h2", null, "Phases of the first run"), bars(Object.entries(p.phases_ms).map(([name, value], i) =>
      ({label: name, value, text: `${time(value)}  ${percent(value / p.first_ms)}`, fill: color(i)}))),
      note(`They add up to ${time(measured)}, ${percent(measured / p.first_ms)} of the first run (${time(p.first_ms)}). Importing the model (${time(p.import_ms)}) and uploading its arguments (${time(p.upload_ms)}) are apart.`)),
    card(h("h2", null, "Kernels"), table([
      {title: "Kernel", number: true, value: (r) => r.i, show: (r) => `k${r.i}`},
      {title: "Family", value: (r) => r.family},
      {title: "Steps", number: true, value: (r) => r.uses},
      ms("Emit", (r) => r.emit_ms), ms("GLSL to SPIR-V", (r) => r.glsl_ms), ms("Pipeline", (r) => r.pipeline_ms),
      ...of_driver("Registers", "registers", "of a lane"), ...of_driver("Spills", "spills", "none is best"),
      ...of_driver("Scratch", "scratch_bytes", "bytes of a lane"), ...of_driver("Occupancy", "occupancy", "subgroups of a SIMD, or what the driver counts so"),
      ...of_driver("Code", "code_bytes", "bytes"), ...of_driver("Instructions", "instructions"),
      {title: "From", value: (r) => r.origin, show: (r) => p.environment.gpu ? kOrigins[r.origin][0] : "made"},
      {title: "Why", wide: true, show: (r) => h("span", {class: "soft"}, p.environment.gpu ? kOrigins[r.origin][1] : "the CPU interprets kernels over lanes; nothing is compiled")}],
      rows, 4).element,
      p.no_driver_kernels ? note(p.no_driver_kernels) : null)];
}

function compile_page() {
  return [profile ? profile_compile(profile) : null, bench ? bench_compile(bench) : null];
}
