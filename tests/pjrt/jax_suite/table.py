"""Writes run.py's results into the README: `python table.py README.md CPU.json VULKAN.json`.

The tables stand between the README's two marker comments.
"""
import collections
import json
import pathlib
import sys

from run import FILES

BEGIN, END = "<!-- jax_suite begin: written by tests/pjrt/jax_suite/table.py -->", "<!-- jax_suite end -->"
MAX_FILTERED = 0.4  # of a file


def count(results):
    """(run, passed, failed, ended badly, {reason: tests}) of one file; a test that skips itself is not run."""
    run = [r for r in results.values() if r["outcome"] != "skipped"]
    reasons = collections.Counter(r["reason"] for r in run if r["reason"])
    outcomes = collections.Counter(r["outcome"] for r in run if not r["reason"])
    return (len(run), outcomes["passed"], outcomes["failed"] + outcomes["error"],
            outcomes["crashed"] + outcomes["hung"], reasons)


def row(name, run, passed, failed, bad, reasons):
    left_out, share = sum(reasons.values()), passed / max(1, passed + failed + bad)
    said = ", ".join(f"{reason} {n}" for reason, n in reasons.most_common())
    return (f"| {name} | {run} | {left_out} ({100 * left_out / max(1, run):.0f} %) | {passed} | {failed} | {bad} | "
            f"{100 * share:.1f} % | {said} |")


def table(files):
    counts = {name: count(results) for name, results in files.items()}
    lines = ["| file | run | left out | passed | failed | crashed or hung | passed of the rest | left out for |",
             "|---|---|---|---|---|---|---|---|"]
    lines += [row(name, *entry) for name, entry in counts.items()]
    total = [sum(entry[i] for entry in counts.values()) for i in range(4)]
    lines.append(row("all", *total, sum((entry[4] for entry in counts.values()), collections.Counter())))
    large = [name for name, entry in counts.items() if sum(entry[4].values()) > MAX_FILTERED * entry[0]]
    if large:
        lines += ["", f"More than {100 * MAX_FILTERED:.0f} % is left out of {', '.join(large)}."]
    return lines


def failures(files):
    """What the failed tests have to say and in which files, the most frequent first."""
    causes = collections.defaultdict(collections.Counter)
    for name, results in files.items():
        for r in results.values():
            if r["outcome"] in ("failed", "error", "crashed", "hung") and not r["reason"]:
                causes[cause(r)][name] += 1
    for text, where in sorted(causes.items(), key=lambda entry: -entry[1].total()):
        yield f"- {where.total()}: {text} ({', '.join(f'{name} {n}' for name, n in where.most_common())})"


def cause(result):
    if result["outcome"] in ("crashed", "hung"):
        return result["outcome"]
    lines = [line.strip() for line in result["error"].splitlines() if line.strip()]
    last = lines[-1] if "JaxRuntimeError" in lines[-1] else " ".join(lines)
    text = last.partition(": ")[2] if "JaxRuntimeError" in last else last
    words = [word for word in text.split() if not word[0].isdigit() and ".py:" not in word]
    return "`" + " ".join(words)[:120].replace("`", "'") + "`"


def title(results):
    sample = f", every {results['every']}th test of each file" if results["every"] > 1 else ""
    option = f" --every {results['every']}" if results["every"] > 1 else ""
    return [f"**On `{results['device']}`**, {results['date']}, JAX {results['jax']}{sample}: "
            f"`run.py ... --device {results['device']}{option}`", ""]


def write_between(readme, begin, end, lines):
    """Puts the lines between two marker comments of the README."""
    path = pathlib.Path(readme)
    before, _, rest = path.read_text().partition(begin)
    path.write_text(before + begin + "\n" + "\n".join(lines) + end + rest.partition(end)[2])


def main(readme, *paths):
    lines = []
    for path in paths:
        results = json.loads(pathlib.Path(path).read_text())
        files = {name: results["files"][name] for name in FILES if name in results["files"]}
        lines += title(results) + table(files) + [""]
        said = list(failures(files))
        if said:
            lines += [f"What failed on `{results['device']}`, by cause:", ""] + said + [""]
    write_between(readme, BEGIN, END, lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
