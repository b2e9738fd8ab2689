"""Counts, of what passes on JAX's own CPU backend, what passes on tuff: `python compare.py JAX.json TUFF.json
[JAX.json TUFF.json...] [-v] [--write README.md]`.

A table of Markdown, a row for each library, and what failed by cause; -v has a row for each file and the failed tests by
name. --write puts it between the README's two marker comments. Times are of the tests that pass on both, added up; CPU
seconds are the processors' time, all threads, which other work on the machine and stops do not change.
"""
import argparse
import collections
import json
import pathlib

from table import failures, write_between

BEGIN, END = "<!-- libraries begin: written by tests/pjrt/jax_suite/compare.py -->", "<!-- libraries end -->"
HEAD = ("library", "tests", "pass on JAX's CPU", "of these on tuff", "skip themselves", "failed", "crashed or hung",
        "passed of the rest", "JAX s", "tuff s", "ratio", "JAX CPU s", "tuff CPU s", "ratio")


def times(pair):
    """The cells of JAX's seconds, tuff's and their ratio."""
    return *(f"{s:.0f}" for s in pair), f"{pair[1] / pair[0] if pair[0] else 0:.2f}"


class Counts:
    """Of a file or a library: what tuff makes of the tests that pass on JAX's CPU backend."""

    def __init__(self, theirs, ours):
        good = {name: ours.get(name, {"outcome": "skipped"}) for name in theirs if theirs[name]["outcome"] == "passed"}
        self.run, self.good = len(theirs), len(good)
        self.kinds = collections.Counter(result["outcome"] for result in good.values())
        both = [name for name, result in good.items() if result["outcome"] == "passed"]
        self.seconds, self.processor = ([sum(results[name].get(time, 0) for name in both) for results in (theirs, ours)]
                                        for time in ("seconds", "processor"))
        self.failed = {name: result | {"reason": None} for name, result in good.items()
                       if result["outcome"] not in ("passed", "skipped")}

    def add(self, other):
        self.run, self.good, self.kinds = self.run + other.run, self.good + other.good, self.kinds + other.kinds
        self.seconds = [a + b for a, b in zip(self.seconds, other.seconds)]
        self.processor = [a + b for a, b in zip(self.processor, other.processor)]

    @property
    def ended_badly(self):
        return self.kinds["crashed"] + self.kinds["hung"]

    @property
    def lost(self):
        return self.good - self.kinds["passed"] - self.kinds["skipped"]

    @property
    def share(self):
        return self.kinds["passed"] / max(1, self.good - self.kinds["skipped"])

    def row(self, name):
        cells = (name, self.run, self.good, self.kinds["passed"], self.kinds["skipped"], self.kinds["failed"] + self.kinds["error"],
                 self.ended_badly, f"{100 * self.share:.1f} %", *times(self.seconds), *times(self.processor))
        return f"| {' | '.join(map(str, cells))} |"


def compare(theirs, ours):
    """({library: Counts}, {file: Counts}) of two results of libraries.py, of the files that both have; JAX's may be of
    fewer tests, as `--every 90` is of `--every 30`."""
    files = {name: Counts(theirs["files"][name], ours["files"][name]) for name in theirs["files"] if name in ours["files"]}
    libraries = {}
    for name, counts in files.items():
        libraries.setdefault(name.partition("/")[0], Counts({}, {})).add(counts)
    return libraries, files


def lines_of(theirs, ours, by_file):
    libraries, files = compare(theirs, ours)
    every = max(theirs["every"], ours["every"])
    sample = f", every {every}th test" if every > 1 else ""
    lines = [f"**On `{ours['device']}`**, {ours['date']}, JAX {ours['jax']}{sample}", "", f"| {' | '.join(HEAD)} |",
             "|---" * len(HEAD) + "|"]
    lines += [counts.row(name) for name, counts in (libraries | files if by_file else libraries).items()]
    causes = list(failures({name: counts.failed for name, counts in files.items()}))
    if causes:
        lines += ["", f"What failed on `{ours['device']}`, by cause:", "", *causes]
    if by_file:
        lines += ["", *(f"{name} {test}: {result['outcome']}: {' '.join(result.get('error', '').split())[:300]}"
                        for name, counts in files.items() for test, result in counts.failed.items())]
    return lines + [""]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", type=pathlib.Path, nargs="+")
    parser.add_argument("-v", action="store_true")
    parser.add_argument("--write", metavar="README.md")
    options = parser.parse_args()
    results = [json.loads(path.read_text()) for path in options.pairs]
    lines = [line for theirs, ours in zip(results[::2], results[1::2], strict=True)
             for line in lines_of(theirs, ours, options.v)]
    if options.write:
        write_between(options.write, BEGIN, END, lines)
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
