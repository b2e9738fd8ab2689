"""Draws first, second and steady runs of several systems as one SVG. Standard library only.

    python3 bench/plot.py results.json picture.svg                       # of `tuff bench ... --json results.json`
    python3 bench/plot.py bench/README.md picture.svg --section "Forward passes on the CPU" --rows resnet50_b1,gpt2_b2s64

A page gives the first table below the heading that begins with --section: cells of "first / second / steady" in ms.
"""
import argparse
import json
import math
import pathlib
import re
import sys
from xml.sax.saxutils import escape

RUNS = ("first", "second", "steady")
COLOURS = {"tuff:cpu": "#b3261e", "tuff:vulkan": "#b3261e"}  # of tuff; others are grey
OTHER, INK, PALE, PAPER = "#5f6b7a", "#1b1f24", "#d5d9de", "#ffffff"
WIDTH, LEFT, RIGHT, ROW, HEAD = 880, 250, 40, 17, 96


def of_table(text, section):
    """{workload: {system: (first, second, steady)}} of the first table below a heading."""
    below = re.split(rf"^#+ {re.escape(section)}.*$", text, maxsplit=1, flags=re.MULTILINE)
    if len(below) < 2:
        sys.exit(f"There is no heading that begins with ({section}).")
    lines = re.search(r"(?:^\|.*\n)+", below[1], flags=re.MULTILINE)
    if not lines:
        sys.exit(f"There is no table below the heading ({section}).")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[0].splitlines()]
    results = {}
    for name, *cells in rows[2:]:
        for system, cell in zip(rows[0][1:], cells):
            numbers = re.fullmatch(r"([\d.,]+) / ([\d.,]+) / ([\d.,]+)", cell)
            if numbers:
                results.setdefault(name, {})[system] = tuple(float(n.replace(",", "")) for n in numbers.groups())
    return results


def of_bench(results):
    """The same of a file that `tuff bench --json` wrote: the cold first run, the median steady one (FORMAT.md)."""
    found = {}
    for workload in results["workloads"]:
        for entry in workload["systems"]:
            cold = next((run for run in entry.get("runs", []) if run.get("mode") == "cold"), None)
            if cold and "steady" in entry:
                steady = entry["steady"]["median"]
                times = (cold["first_ms"], cold.get("second_ms", steady), steady)
                found.setdefault(workload["name"], {})[entry["system"]] = times
    return found


def text(x, y, words, size=12, anchor="start", colour=INK, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def mark(run, x, y, colour):
    """First: a ring; second: a small dot; steady: a large one."""
    if run == "first":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{PAPER}" stroke="{colour}" stroke-width="1.8"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2.2 if run == "second" else 4.6}" fill="{colour}"/>'


class Axis:
    """Milliseconds on a logarithmic axis, whole decades."""

    def __init__(self, values):
        self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def __call__(self, ms):
        share = (math.log10(ms) - self.low) / max(self.high - self.low, 1)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def lines(self, top, bottom):
        for decade in range(self.low, self.high + 1):
            x, ms = self(10 ** decade), 10 ** decade
            yield f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="{PALE}"/>'
            yield text(x, top - 6, f"{ms // 1000:g} s" if ms >= 1000 else f"{ms:g} ms", 11, "middle", OTHER)


def draw(results, title):
    axis = Axis([ms for systems in results.values() for times in systems.values() for ms in times])
    rows = sum(len(systems) for systems in results.values())
    bottom = HEAD + rows * ROW + len(results) * 10
    shapes, y = list(axis.lines(HEAD - 12, bottom)), HEAD
    for name, systems in results.items():
        y += 10
        shapes.append(text(16, y + 4, name, 13, weight="bold"))
        for system, times in systems.items():
            colour = COLOURS.get(system, OTHER)
            spots = [axis(ms) for ms in times]
            shapes.append(text(LEFT - 14, y + 4, system, 12, "end", colour, "bold" if system in COLOURS else "normal"))
            shapes.append(f'<line x1="{min(spots):.1f}" y1="{y}" x2="{max(spots):.1f}" y2="{y}" stroke="{colour}" '
                          'stroke-opacity="0.45" stroke-width="1.5"/>')
            shapes += [mark(run, x, y, colour) for run, x in zip(RUNS, spots)]
            y += ROW
    legend = []
    for i, (run, words) in enumerate(zip(RUNS, ("first run, nothing cached", "second run", "steady state"))):
        x = 20 + i * 185
        legend += [mark(run, x, 54, INK), text(x + 12, 58, words)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 14}" width="{WIDTH}" '
            f'height="{bottom + 14}" font-family="system-ui, sans-serif" role="img">\n<title>{escape(title)}</title>\n'
            f'<rect width="100%" height="100%" fill="{PAPER}"/>\n' + text(16, 28, title, 16, weight="bold") + "\n"
            + "\n".join(legend + shapes) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path, help="results of tuff bench --json, or a page of Markdown")
    parser.add_argument("picture", type=pathlib.Path, help="the SVG to write")
    parser.add_argument("--section", default="", help="of a page: how the heading above the table begins")
    parser.add_argument("--rows", default="", help="workloads, with commas between; default: all")
    parser.add_argument("--title", default="First, second and steady run of each system")
    options = parser.parse_args()
    content = options.source.read_text(encoding="utf-8")
    is_page = options.source.suffix == ".md"
    results = of_table(content, options.section) if is_page else of_bench(json.loads(content))
    wanted = [name for name in options.rows.split(",") if name]
    missing = [name for name in wanted if name not in results]
    if missing or not results:
        sys.exit(f"There are no results of {', '.join(missing) or 'any workload'} in {options.source}.")
    options.picture.write_text(draw({name: results[name] for name in wanted or results}, options.title), encoding="utf-8")


if __name__ == "__main__":
    main()
