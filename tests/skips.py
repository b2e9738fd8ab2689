"""The skips of a test run, counted and listed with their reasons before ctest's summary.

    ctest --test-dir BUILD ... | python3 tests/skips.py BUILD [--strict]

Passes on what ctest says. --strict: ends with 1 where a test skipped although the machine has what it needs (needs.py),
or for a reason that needs.py does not know. Standard library only.
"""
import pathlib
import re
import sys

from needs import Machine, find_need

SUMMARY = re.compile(r"^\d+% tests passed")
# How the log of ctest shows the output of each test.
TEST = re.compile(r"^\d+/\d+ Test: (?P<name>[^\n]+)\n.*?^Output:\n-+\n(?P<output>.*?)^<end of output>", re.S | re.M)
GOOGLE_TEST = re.compile(r"^\S+: Skipped\n(?P<reason>(?:(?!\[  SKIPPED)[^\n]*\n)*)\[  SKIPPED \] (?P<name>.*?) \(\d+ ms\)", re.M)
UNITTEST = re.compile(r"^(?P<name>\w+) \([^\n]*\)(?:\n[^\n]*)? \.\.\. skipped (?P<quote>['\"])(?P<reason>.*)(?P=quote)$", re.M)
SCRIPT = re.compile(r"^(?P<name>)skipped: (?P<reason>.*)$", re.M)
CASES = re.compile(r"^(?P<name>\w+): .*, (?P<reason>[1-9]\d* of types the device lacks)$", re.M)


def find_skips(log):
    """[(test, reason)] of ctest's log."""
    skips = []
    for test in TEST.finditer(log):
        for pattern in (GOOGLE_TEST, UNITTEST, SCRIPT, CASES):
            for skip in pattern.finditer(test["output"]):
                name = f"{test['name']} {skip['name']}".rstrip()
                skips.append((name, " ".join(skip["reason"].split())))
    return skips


def list_skips(skips, machine):
    """(lines, whether one of them is a fault): the skips by need and reason."""
    by_reason = {}
    for test, reason in skips:
        by_reason.setdefault(reason, []).append(test)
    lines, wrong = [f"Skipped: {len(skips)} tests"], False
    for reason, tests in sorted(by_reason.items()):
        need = find_need(reason)
        met = need is not None and need[2](machine, reason)
        wrong |= met or need is None
        verdict = "NO NEED KNOWN: add it to tests/needs.py" if need is None else f"needs: {need[0]}"
        lines.append(f"  {len(tests):4} {reason} ({verdict}{', WHICH IS HERE' if met else ''})")
        lines += [f"         {test}" for test in tests[:5]]
        if len(tests) > 5:
            lines.append(f"         and {len(tests) - 5} more")
    return lines, wrong


def read_log(build):
    """The log of the run that ends; ctest renames it when it is through."""
    folder = pathlib.Path(build) / "Testing" / "Temporary"
    logs = [log for log in folder.glob("LastTest*.log*") if "Failed" not in log.name]
    newest = max(logs, key=lambda log: log.stat().st_mtime, default=None)
    return newest.read_text(errors="replace") if newest else ""


def main(build, *options):
    summary = []
    for line in sys.stdin:
        if summary or SUMMARY.match(line):
            summary.append(line)
        else:
            print(line, end="", flush=True)
    lines, wrong = list_skips(find_skips(read_log(build)), Machine(build))
    print(*lines, sep="\n")
    print("\n" + "".join(summary), end="")
    return 1 if wrong and "--strict" in options else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
