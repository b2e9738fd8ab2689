// Elements, numbers as people read them, and the tables of the report.

const SVG = "http://www.w3.org/2000/svg";

// h("div", {class: "card"}, child, ...): strings become text; null children are left out.
function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined) node.append(child);
  return node;
}
const h = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => build(document.createElementNS(SVG, tag), attributes, children);

const color = (index) => `var(--c${index % 8})`;
const text_on = (index) => `var(--o${index % 8})`;  // black or white, whichever is read on that colour

function number(value, digits = 3) {
  if (!isFinite(value)) return String(value);
  if (value === 0) return "0";
  if (Math.abs(value) < 1e-4) return value.toExponential(digits - 1).replace(/\.?0+e/, "e");
  const whole = Math.abs(value) >= 10 ** (digits - 1);
  return whole ? Math.round(value).toLocaleString("en") : value.toPrecision(digits).replace(/\.?0+$/, "");
}
function time(ms) {
  if (ms === undefined || ms === null) return "–";
  if (ms >= 1000) return `${number(ms / 1000)} s`;
  return ms >= 1 || ms === 0 ? `${number(ms)} ms` : `${number(1000 * ms)} µs`;
}
function bytes(count) {
  if (count === undefined || count === null) return "–";
  let unit = 0;
  for (; count >= 1024 && unit < 4; ++unit) count /= 1024;
  return `${number(count)} ${["bytes", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}
function flop(count) {
  let unit = 0;
  for (; count >= 1000 && unit < 4; ++unit) count /= 1000;
  return `${number(count)} ${["", "k", "M", "G", "T"][unit]}FLOP`;
}
const percent = (share) => share > 0 && share < 1e-4 ? "< 0.01 %" : `${number(100 * share, share < 0.1 ? 2 : 3)} %`;
const sum = (list, of = (x) => x) => list.reduce((total, x) => total + of(x), 0);

const card = (...children) => h("div", {class: "card"}, ...children);
const note = (text) => h("p", {class: "note"}, text);
const tile = (name, value, more) => h("div", {class: "tile"}, h("div", {class: "name"}, name),
  h("div", {class: "value"}, value), more ? h("div", {class: "more"}, more) : null);
// What may be wider than the page; keys scroll it.
const scroll = (name, ...children) => h("div", {class: "scroll", tabindex: 0, role: "group", "aria-label": name}, ...children);
// To what a step is: its group, the places in the source, its kernel's text.
const step_link = (step, text) => h("a", {href: `#graph/${step}`}, text);
const swatch = (fill) => h("span", {class: "swatch", style: `background:${fill}`});

// columns: {title, value(row) to sort by, show(row) node or text, number: right-aligned}.
// A click on a title sorts; `order` is the column sorted by at first, largest first.
function table(columns, rows, order) {
  const body = h("tbody");
  let by = order, down = true;
  const fill = () => {
    const value = by === undefined ? null : columns[by].value;
    const sorted = value ? [...rows].sort((a, b) => {
      const x = value(a), y = value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    }) : rows;
    body.replaceChildren(...sorted.map((row) => h("tr", null, columns.map((c) =>
      h("td", {class: c.number ? "number" : c.wide ? "wide" : null}, (c.show || c.value)(row))))));
    heads.forEach((head, i) => columns[i].value &&
      head.setAttribute("aria-sort", i === by ? (down ? "descending" : "ascending") : "none"));
  };
  const heads = columns.map((column, i) => h("th", {
    class: column.number ? "number" : null, tabindex: column.value ? 0 : null, title: column.hint,
    onclick: () => column.value && sortBy(i),
    onkeydown: (event) => event.key === "Enter" && column.value && sortBy(i)}, column.title));
  const sortBy = (i) => { down = i === by ? !down : columns[i].number === true; by = i; fill(); };
  fill();
  const element = scroll(columns.map((column) => column.title).join(", "), h("table", null, h("thead", null, h("tr", null, heads)), body));
  return {element, show: (list) => { rows = list; fill(); }};
}

// One horizontal bar per row: {label, value, text, fill, hint}.
function bars(rows) {
  const most = Math.max(...rows.map((r) => r.value), 1e-12);
  return h("div", {class: "bars"}, rows.map((row) => [
    h("span", {class: "label", title: row.hint || row.label}, row.label),
    h("span", {class: "track"}, h("span", {class: "fill", style: `width:${100 * row.value / most}%;background:${row.fill || color(0)}`})),
    h("span", {class: "number"}, row.text)]));
}
