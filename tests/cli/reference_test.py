"""frontend/cli/REFERENCE.md: its tables are written from the command's own help, tuff.h and readers.def.

TUFF_REWRITE_GOLDENS=1 writes them anew.
"""
import os
import pathlib
import re

import harness
from harness import TuffTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "frontend/cli/REFERENCE.md"
START = """# Reference

`tests/cli/reference_test.py` writes these tables. Operations: [of StableHLO](../../ir/OPS.md),
[of ONNX](../onnx/OPERATORS.md).
"""


def table(title, head, rows):
    lines = [f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows]]
    return f"\n## {title}\n\n" + "\n".join(lines) + "\n"


def joined(literals):
    """What C++ makes of string literals beside each other."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')


def formats():
    rows = (ROOT / "frontend/session/readers.def").read_text()
    found = {}
    for kind, arguments in re.findall(r"^TUFF_(READER|NO_READER)\((.*?)\)$", rows, re.S | re.M):
        name = re.search(r'"([^"]+)"', arguments)[1]
        advice = re.search(r',\s*((?:"(?:[^"\\]|\\.)*"\s*)+)$', arguments) if kind == "NO_READER" else None
        found[name] = [name, joined(advice[1]) if advice else "read"]
    return list(found.values())


def statuses():
    enum = re.search(r"TUFF_OK = 0,.*?\};", (ROOT / "frontend/c/include/tuff.h").read_text(), re.S)[0]
    return {int(code): name for name, code in re.findall(r"(TUFF_\w+) = (\d+)", enum)}


class Reference(TuffTest):
    def exit_codes(self, text):
        told = re.search(r"^Exit codes: (.*?)\.\n", text, re.S | re.M)[1].replace("\n", " ")
        return {int(code): meaning for code, meaning in re.findall(r"(\d+) ([^,]+)", told)}

    def test_the_page(self):
        text = self.tuff("--help").stdout
        variables = re.findall(r"^  (TUFF_\w+)\s+(.*)$", text, re.M)
        codes, names = self.exit_codes(text), statuses()
        self.assertLessEqual(set(names) - {6}, set(codes))
        errors = [[str(code), f"`{names[code]}`" if code in names and code != 6 else "", codes[code]] for code in sorted(codes)]
        page = (START + table("Environment variables", ["variable", "what it does"], [[f"`{name}`", told] for name, told in variables])
                + "\nOther names that begin with TUFF_ are warned of. Those for tests: [README](../../README.md#building-and-testing).\n"
                + table("Errors", ["exit code", "of tuff.h", "what"], errors)
                + "\n`TUFF_TIMEOUT` (6) is of `tuff_event_wait` alone. What each means for each command: [README](README.md).\n"
                + table("Formats of models", ["format", "what to do where it is not read"], formats()))
        if os.environ.get("TUFF_REWRITE_GOLDENS"):
            PAGE.write_text(page)
        self.assertEqual(PAGE.read_text() if PAGE.exists() else "", page)


if __name__ == "__main__":
    harness.main()
