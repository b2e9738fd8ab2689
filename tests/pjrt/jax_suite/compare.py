"""Counts, of what passes on JAX's own CPU backend, what passes on tuff: `python compare.py JAX.json TUFF.json [-v]`.

A table of Markdown, a row for each library and file; -v lists the tests that fail on tuff only. Times are of the tests
that pass on both, added up.
"""
import collections
import json
import pathlib
import sys

COLUMNS = ("tests", "pass on JAX's CPU", "of these on tuff", "skip themselves", "fail", "JAX s", "tuff s")


def counts_of(theirs, ours):
    """The counts of COLUMNS for one file, and the names of what fails on tuff only."""
    good = [name for name, result in theirs.items() if result["outcome"] == "passed"]
    outcomes = {name: ours.get(name, {}).get("outcome", "skipped") for name in good}
    kinds = collections.Counter(outcomes.values())
    both = [name for name in good if outcomes[name] == "passed"]
    seconds = [sum(results[name]["seconds"] for name in both) for results in (theirs, ours)]
    failed = [name for name in good if outcomes[name] not in ("passed", "skipped")]
    return [len(theirs), len(good), len(both), kinds["skipped"], len(failed), *seconds], failed


def share(row):
    asked = row[1] - row[3]
    return f"{100 * row[2] / asked:.1f} %" if asked else ""


def line(name, row):
    whole = " | ".join(str(n) for n in row[:5])
    return f"| {name} | {whole} | {share(row)} | {row[5]:.0f} | {row[6]:.0f} | {row[6] / row[5] if row[5] else 0:.2f} |"


def main(jax, tuff, *options):
    theirs, ours = (json.loads(pathlib.Path(path).read_text())["files"] for path in (jax, tuff))
    libraries, failed = {}, []
    rows = []
    for name in (name for name in theirs if name in ours):
        row, bad = counts_of(theirs[name], ours[name])
        rows.append(line(name, row))
        failed += [(name, test, ours[name][test]) for test in bad]
        total = libraries.setdefault(name.partition("/")[0], [0] * len(row))
        libraries[name.partition("/")[0]] = [a + b for a, b in zip(total, row)]
    print("| library | " + " | ".join(COLUMNS[:5]) + " | passed of the rest | " + " | ".join(COLUMNS[5:]) + " | ratio |")
    print("|---|" + "---|" * 9)
    print("\n".join([line(name, row) for name, row in libraries.items()] + (rows if "-v" in options else [])))
    for name, test, result in failed if "-v" in options else ():
        print(f"{name} {test}: {result['outcome']}: {' '.join(result.get('error', '').split())[:300]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
