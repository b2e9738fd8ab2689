// The frame: which pages there are, going from one to another, light and dark.

const data = JSON.parse(document.getElementById("data").textContent);
const profile = data.profile || null, bench = data.bench || null;
const redraws = [];  // called when colours change
const arrivals = new Map();  // of a page that is opened by "#page/where": goes there

const pages = [
  ["overview", "Overview", overview_page, true],
  ["compile", "Compile", compile_page, true],
  ["runs", "Many runs", runs_page, bench],
  ["ops", "Op stats", ops_page, profile],
  ["trace", "Trace", trace_page, profile && profile.trace],
  ["graph", "Graph", graph_page, profile],
  ["memory", "Memory", memory_page, profile],
  ["roofline", "Roofline", roofline_page, profile],
  ["placement", "Placement", placement_page, profile],
  ["accuracy", "Accuracy", accuracy_page, true],
  ["environment", "Environment", environment_page, true],
].filter((page) => page[3]);

const links = new Map(), targets = new Map(), sections = new Map();

// Pages are made when they are first looked at.
function page_element(id) {
  const section = sections.get(id);
  if (!section.hasChildNodes()) section.append(...pages.find((p) => p[0] === id)[2]().flat(Infinity).filter(Boolean));
  return section;
}
function go() {
  const [wanted, ...where] = location.hash.slice(1).split("/"), id = links.has(wanted) ? wanted : "overview";
  for (const [name, section] of sections) section.style.display = name === id ? "" : "none";
  for (const [name, link] of links) name === id ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  page_element(id);
  links.get(id).scrollIntoView({block: "nearest", inline: "center"});
  window.scrollTo(0, 0);
  if (where.length && arrivals.has(id)) arrivals.get(id)(decodeURIComponent(where.join("/")));
}

function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
const theme = h("button", {"aria-label": "light or dark", onclick: () => {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  redraws.forEach((draw) => draw());
}}, "◐");

for (const [id, title] of pages) {
  links.set(id, h("a", {href: `#${id}`}, title));
  // The link's target; the page beside it is made when it is looked at.
  targets.set(id, h("span", {id, tabindex: -1}));
  sections.set(id, h("section", {class: "page", id: `page-${id}`, "aria-label": title}));
}
const workloads = bench ? bench.workloads.map((w) => w.name) : [];
const name = profile ? profile.model.replace(/\/+$/, "").split("/").at(-1) : workloads.length > 4 ? `${workloads.length} workloads` : workloads.join(", ");
const about = profile ? `${profile.environment.device} · ${profile.environment.date.replace("T", " ").replace("Z", " UTC")}`
  : `${bench.environment.cpu || ""} · ${(bench.environment.date || "").replace("T", " ").replace("Z", " UTC")}`;
document.title = `${name} – tuff report`;
document.body.append(h("div", {class: "frame"},
  h("nav", {"aria-label": "pages"}, h("span", {class: "brand"}, "tuff"), [...links.values()], theme),
  h("main", null, h("header", {class: "top"}, h("h1", null, name), h("p", null, about)), [...targets.values()], [...sections.values()])));
window.addEventListener("hashchange", go);
window.addEventListener("beforeprint", () => { for (const [id] of sections) { page_element(id); sections.get(id).style.display = ""; } redraws.forEach((draw) => draw()); });
window.addEventListener("afterprint", go);
go();
