// Placement, accuracy, environment: facts in tables.

// What runs a step.
function place_of(step) {
  if (step.host) return "host";
  const device = profile.environment.gpu ? "GPU" : "CPU";
  return step.kernel !== undefined ? `${device} kernel` : step.call ? `${device} library` : `${device} copy`;
}

function placement_page() {
  const p = profile, where = new Map();
  for (const step of p.steps) {
    const place = place_of(step);
    for (const op of new Set(step.ops)) {
      const key = `${op} ${place}`;
      if (!where.has(key)) where.set(key, {op, place, count: 0, steps: 0, ms: 0});
      const row = where.get(key);
      row.count += step.ops.filter((o) => o === op).length;
      row.steps += 1;
    }
  }
  const places = by_key(p, place_of);
  return [
    h("div", {class: "tiles"}, tile("Device", p.environment.gpu ? "Vulkan" : "CPU", p.environment.why), tile("Operations", number(p.ops, 6), "of the imported model"), tile("Steps", number(p.steps.length, 6))),
    card(h("p", {style: "margin:0"}, h("b", null, p.environment.device), h("br"), h("span", {class: "soft"}, `Chosen because: ${p.environment.why}.`))),
    p.hosted.length ? card(h("h2", null, "On the host, because the device has no kernel"), table([
      {title: "Operations", wide: true, show: (r) => counted(r.ops)}, {title: "Why", wide: true, value: (r) => r.why},
      {title: "Source", value: (r) => r.where}, {title: "Copied each time", number: true, value: (r) => r.copied_bytes, show: (r) => bytes(r.copied_bytes)}], p.hosted).element) : null,
    card(h("h2", null, "Time by place"), bars(places.map(([label, value], i) => ({label, value, text: time(value), fill: color(i)})))),
    card(h("h2", null, "Operations by place"), note("Operations as they stand in the fused groups, after the passes: some of the model's are gone, some were spelled out."), table([
      {title: "Operation", value: (r) => r.op}, {title: "Where", value: (r) => r.place},
      {title: "Count", number: true, value: (r) => r.count}, {title: "In steps", number: true, value: (r) => r.steps}], [...where.values()], 2).element)];
}

function profile_accuracy(p) {
  const check = p.check;
  const rows = p.outputs.map((out, i) => ({...out, i, check: check && check.outputs[i]}));
  const float = (value) => value === null || value === undefined ? "–" : number(value, 5);
  return [
    h("div", {class: "tiles"}, tile("Repeatable", h("span", {class: p.repeatable ? "good" : "bad"}, p.repeatable ? "yes" : "no"), p.repeatable ? "all runs gave the same bits" : "runs gave different bits"),
      tile("Precision", p.environment.precision, "of the matmuls"),
      check ? tile("Against the reference", h("span", {class: check.within ? "good" : "bad"}, check.within ? "within" : "differs"), `tolerance ${number(check.tolerance)} of the largest value`) : tile("Against the reference", "not asked for", "--check compares with the evaluator")),
    card(h("h2", null, "Outputs"), table([
      {title: "Output", value: (r) => r.name}, {title: "Type", show: (r) => h("code", null, `${r.shape.join("x")}${r.shape.length ? "x" : ""}${r.dtype}`)},
      {title: "Min", number: true, value: (r) => r.min, show: (r) => float(r.min)}, {title: "Max", number: true, value: (r) => r.max, show: (r) => float(r.max)},
      {title: "Mean", number: true, value: (r) => r.mean, show: (r) => float(r.mean)}, {title: "NaN", number: true, value: (r) => r.nans},
      {title: "inf", number: true, value: (r) => r.infinities},
      ...(check ? [{title: "Max abs", number: true, value: (r) => r.check.max_abs, show: (r) => float(r.check.max_abs)}, {title: "Max rel", number: true, value: (r) => r.check.max_rel, show: (r) => float(r.check.max_rel)},
        {title: "Within", show: (r) => h("span", {class: r.check.within ? "good" : "bad"}, r.check.within ? "ok" : "differs")}] : [])], rows).element)];
}

function accuracy_page() {
  return [profile ? profile_accuracy(profile) : null, bench ? bench_accuracy(bench) : null];
}

// Words of a command as a shell takes them.
const shell = (words) => words.map((w) => /^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`).join(" ");

function environment_page() {
  const environment = (profile || bench).environment, command = environment.command ? shell(environment.command) : "";
  const line = profile && environment.drivers ? `${environment.drivers} ${command}` : command;
  const text = (value) => Array.isArray(value) ? value.join(" ") : typeof value === "object" ? Object.entries(value).map(([k, v]) => `${k}: ${text(v)}`).join("; ") : String(value);
  const rows = Object.entries(environment).filter(([key]) => key !== "command" && key !== "gpu")
    .map(([key, value]) => key.endsWith("_bytes") ? [key.slice(0, -6), bytes(value)] : [key, value]);
  if (profile) {
    rows.unshift(["model", profile.model]);
    if (profile.seeded.length) rows.push(["made-up values", `${profile.seeded.length} arguments: ${profile.seeded.slice(0, 6).join(", ")}${profile.seeded.length > 6 ? " …" : ""}`]);
  }
  return [card(h("h2", null, "The command that makes this again"), h("pre", {style: "white-space:pre-wrap"}, line),
      h("div", {class: "tools"}, h("button", {onclick: () => navigator.clipboard && navigator.clipboard.writeText(line)}, "Copy"))),
    card(h("h2", null, "Where it was measured"), h("dl", null, rows.map(([key, value]) => [h("dt", null, key.replaceAll("_", " ")), h("dd", null, text(value))])))];
}
