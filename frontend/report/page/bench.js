// The pages of a bench: every system's times beside each other, a card for each workload.

const run_of = (system, mode) => (system.runs || []).find((r) => r.mode === mode);

function workload_title(w) {
  const sizes = [w.batch && `batch ${w.batch}`, w.seq && w.seq > 1 && `seq ${w.seq}`, w.precision].filter(Boolean);
  return h("h2", null, w.name, " ", h("span", {class: "soft", style: "font-weight:400;font-size:13.5px"}, sizes.join(" · ")));
}

// Dots of first (cold), second and steady times on one axis for all workloads, one row a system.
const kTimes = [["first", color(1), "First run"], ["second", color(3), "Second run"], ["steady", color(0), "Steady"]];
function plot_rows(w) {
  return w.systems.map((x) => {
    const cold = run_of(x, "cold");
    return {name: x.system, first: cold && cold.first_ms, second: cold && cold.second_ms, steady: x.steady && x.steady.median, error: x.error};
  });
}
function plot(rows, low, high) {
  const narrow = innerWidth < 820, width = narrow ? 330 : 880, left = narrow ? 92 : 130, line = narrow ? 19 : 21;
  const height = rows.length * line + 24, x = log_scale(low, high, left, width - 20);
  const marks = rows.map((row, i) => {
    const y = 11 + i * line, found = kTimes.filter(([key]) => row[key] > 0), at = found.map(([key]) => x(row[key]));
    return [s("text", {x: 0, y: y + 4}, row.name),
      row.error ? s("text", {x: left, y: y + 4, class: "axis"}, row.error.kind) : null,
      found.length > 1 ? s("line", {class: "rule", x1: Math.min(...at), x2: Math.max(...at), y1: y, y2: y, "stroke-width": 2}) : null,
      found.map(([key, fill, title]) => s("circle", {cx: x(row[key]), cy: y, r: narrow ? 4 : 5, fill},
        s("title", null, `${row.name}, ${title}: ${time(row[key])}`)))];
  });
  return s("svg", {viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": "times, as bars", style: `max-width:${width}px`},
    decades(low, high).map((t) => [s("line", {class: "rule", x1: x(t), x2: x(t), y1: 0, y2: height - 18}),
      s("text", {class: "axis", x: x(t), y: height - 4, "text-anchor": "middle"}, time(t))]), marks);
}

// What the numbers alone do not say: errors, notes, what is far from the published ratio.
function remarks(w) {
  const lines = w.systems.flatMap((x) => [
    x.error ? h("li", null, h("b", null, x.system), " ", h("span", {class: "bad"}, x.error.kind), `: ${x.error.message}`) : null,
    x.precision && w.precision && x.precision !== w.precision ? h("li", null, h("b", null, x.system), ` computes in ${x.precision}.`) : null,
    x.published ? h("li", null, h("b", null, x.system), ": ", x.published.note) : null,
    ...(x.notes || []).map((text) => h("li", null, h("b", null, x.system), ": ", text))]).filter(Boolean);
  return [w.error ? h("p", {class: "bad"}, w.error) : null, (w.warnings || []).map((text) => h("p", {class: "warn"}, text)),
    lines.length ? h("ul", {class: "remarks"}, lines) : null];
}

function numbers(w) {
  const ms = (title, of, hint) => ({title, hint, number: true, value: (x) => of(x) || 0, show: (x) => time(of(x))});
  const first = (title, mode, hint) => ms(title, (x) => (run_of(x, mode) || {}).first_ms, hint);
  const measured = (mode) => w.systems.some((x) => run_of(x, mode));
  return table([
    {title: "System", value: (x) => x.system},
    first("First run", "cold", "cold: all caches empty"),
    ms("Second", (x) => (run_of(x, "cold") || {}).second_ms),
    {title: "Steady", number: true, hint: "median; the others when pointed at", value: (x) => x.steady ? x.steady.median : 0,
      show: (x) => x.steady ? h("span", {title: `of ${x.steady.n} runs: least ${time(x.steady.min)}, p90 ${time(x.steady.p90)}, p99 ${time(x.steady.p99)}`}, time(x.steady.median)) : "–"},
    {title: `Steady / ${w.against || ""}`, number: true, hint: "with its 95 % interval", value: (x) => x.ratio ? x.ratio.value : 0,
      show: (x) => x.ratio ? [number(x.ratio.value), " ", h("span", {class: "soft"}, `${number(x.ratio.low)}–${number(x.ratio.high)}`)] : "–"},
    {title: "Pays back", number: true, hint: `from so many runs on it has cost less than ${w.against}, cold first run included`,
      value: (x) => x.break_even ? x.break_even.runs : 0, show: (x) => x.break_even ? number(x.break_even.runs, 6) : "–"},
    ...(measured("warm-disk") ? [first("Warm disk", "warm-disk", "first run of another process")] : []),
    ...(measured("warm-process") ? [first("Warm process", "warm-process", "first run anew in that process")] : []),
    ...(measured("new-shape") ? [first("New shape", "new-shape", "first run of the next batch size")] : []),
    {title: "Host", number: true, hint: "largest resident size", value: (x) => x.peak_host_bytes || 0, show: (x) => x.peak_host_bytes ? bytes(x.peak_host_bytes) : "–"},
    {title: "Device", number: true, hint: "arguments, outputs, constants, temporaries", value: (x) => x.peak_device_bytes || 0, show: (x) => x.peak_device_bytes ? bytes(x.peak_device_bytes) : "–"}],
    w.systems).element;
}

function bench_overview(b) {
  const times = b.workloads.flatMap(plot_rows).flatMap((r) => [r.first, r.second, r.steady]).filter((t) => t > 0);
  if (times.length === 0) return [note("Nothing was measured."), b.workloads.map((w) => card(workload_title(w), remarks(w)))];
  const low = 10 ** Math.floor(Math.log10(Math.min(...times))), high = 10 ** Math.ceil(Math.log10(Math.max(...times)));
  return [
    (b.warnings || []).map((w) => h("p", {class: "warn"}, w)),
    b.interrupted ? h("p", {class: "warn"}, "The run was interrupted; this is what was measured until then.") : null,
    h("div", {class: "legend", style: "margin:0 0 12px"}, kTimes.map(([, fill, title]) => h("span", null, swatch(fill), title)),
      h("span", {class: "soft"}, "one logarithmic axis for all workloads")),
    b.workloads.map((w) => card(workload_title(w), w.systems.length ? [plot(plot_rows(w), low, high), numbers(w)] : null, remarks(w)))];
}

// A phase has one colour wherever it stands.
const kPhases = ["import", "execute", "compile", "passes", "codegen", "glsl", "pipelines", "driver_first_dispatch"];
const phase_color = (name) => { const i = kPhases.indexOf(name); return i < 0 ? "var(--line)" : color(i); };

// One first run: a bar of its phases, which opens to their numbers and counts.
function first_run(x, run) {
  const parts = Object.entries(run.phases).filter(([, ms]) => ms > 0).map(([name, value]) => ({name, value, fill: phase_color(name)}));
  const counts = run.kernels === undefined ? "" : `${run.kernels} kernels, ${run.kernels_compiled} compiled, ${run.kernels_reused} reused; ${run.dispatches} dispatches`;
  return h("details", {class: "run"}, h("summary", null,
      h("span", null, x.system, h("br"), h("span", {class: "soft"}, run.shape ? `${run.mode} (${run.shape})` : run.mode)),
      share_bar(parts, (p) => time(p.value)), h("span", {class: "number"}, time(run.first_ms))),
    legend(parts, (p) => time(p.value)), counts ? note(counts) : null, slowest_kernels(run));
}

function slowest_kernels(run) {
  const kernels = [...(run.kernel_ms || [])].sort((a, b) => b.ms - a.ms).slice(0, 12);
  return kernels.length ? table([
    {title: "Kernel", wide: true, show: (k) => h("code", null, k.kernel)}, {title: "Time", number: true, value: (k) => k.ms, show: (k) => time(k.ms)},
    {title: "From", value: (k) => k.cache}], kernels).element : null;
}

function bench_compile(b) {
  const used = new Set(b.workloads.flatMap((w) => w.systems.flatMap((x) => (x.runs || []).flatMap((r) => Object.keys(r.phases || {})))));
  const known = kPhases.filter((name) => used.has(name)).map((name) => ({name, fill: phase_color(name)}));
  return [
    note("What first runs are made of, each bar a whole. Peers tell apart what they can: import is tracing and lowering there. A click shows the numbers."),
    legend([...known, {name: "other", fill: "var(--line)"}], () => ""), h("br"),
    b.workloads.map((w) => {
      const runs = w.systems.flatMap((x) => (x.runs || []).filter((r) => r.phases).map((r) => first_run(x, r)));
      return runs.length ? card(workload_title(w), runs) : null;
    })];
}

function bench_accuracy(b) {
  return b.workloads.filter((w) => w.systems.length).map((w) => card(workload_title(w), table([
    {title: "System", value: (x) => x.system},
    {title: "Error", hint: "largest difference from the reference's outputs, relative to their largest value", number: true, value: (x) => x.accuracy ? x.accuracy.max_rel_err : 0, show: (x) => x.accuracy ? number(x.accuracy.max_rel_err) : "–"},
    {title: "Allowed", number: true, value: (x) => x.accuracy ? x.accuracy.tolerance : 0, show: (x) => x.accuracy ? number(x.accuracy.tolerance) : "–"},
    {title: "Against", value: (x) => x.accuracy ? x.accuracy.against || "" : ""},
    {title: "Precision", value: (x) => x.precision || ""}], w.systems).element));
}
