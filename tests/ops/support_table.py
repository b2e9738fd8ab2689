"""The table of operations x {reference, CPU, Vulkan}, from op.def and test results; nothing in it is written by hand.

    support_table.py write OPS.md MANIFEST DEVICE=RESULTS.jsonl...
    support_table.py check OPS.md          the table's rows are op.def's

RESULTS are the lines of `tuff test MANIFEST --device DEVICE` or of `ops_test --full --json=FILE`; a device may be given
several times, and takes what is its own from the latter.

Standard library only.
"""
import collections
import json
import pathlib
import re
import sys

OP_DEF = pathlib.Path(__file__).resolve().parents[2] / "ir" / "op.def"
ROW = re.compile(r'^(ELEMENTWISE|OP)\(k\w+,\s*"(\w+)"', re.MULTILINE)
DEVICES = ("reference", "cpu", "vulkan")
INTERNAL = ("parameter", "fused", "hosted")  # no program from outside has them
HEAD = """# Operations, and what was tested of them

Written by `tests/ops/support_table.py` from `op.def` and from results of `tuff test` over the StableHLO conformance cases
(groups core and chlo) and of `ops_test`. A cell says how many of the cases that contain the operation pass on that device
("-": no case contains it). A case with several operations counts for each, so one that fails lowers all of their rows.
On Vulkan the conformance cases run under `--require-gpu`: those missing are what the CPU does for it, series in f64
(`exponential` and the like); without that option all pass.

| operation | reference | CPU | Vulkan |
|---|---|---|---|
"""


def rows():
    """op.def's operations, in its order."""
    return [name for _, name in ROW.findall(OP_DEF.read_text()) if name not in INTERNAL]


def results(device, paths, ops_of_case):
    """{operation: [passes, cases]} of files of JSON lines; a case counts for each of its operations."""
    counts = collections.defaultdict(lambda: [0, 0])
    for path in paths:
        for line in filter(None, pathlib.Path(path).read_text().splitlines()):
            case = json.loads(line)
            if case.get("device", device) != device:
                continue
            for op in set(case["ops"] if "ops" in case else ops_of_case[case["name"]]):
                counts[op][0] += case["status"].startswith("pass")
                counts[op][1] += 1
    return counts


def write(out, manifest, files):
    cases = json.loads(pathlib.Path(manifest).read_text())["cases"]
    ops_of_case = {case["name"]: [op.removeprefix("chlo.").removeprefix("stablehlo.") for op in case["ops"]]
                   for case in cases}
    by_device = {device: results(device, [f for d, f in files if d == device], ops_of_case) for device in DEVICES}
    text = HEAD
    for op in rows():
        cells = ["{}/{}".format(*by_device[device][op]) if by_device[device][op][1] else "-" for device in DEVICES]
        text += f"| {op} | {' | '.join(cells)} |\n"
    pathlib.Path(out).write_text(text)


def check(path):
    found = re.findall(r"^\| (\w+) \| [^|]+ \| [^|]+ \| [^|]+ \|$", pathlib.Path(path).read_text(), re.MULTILINE)[1:]
    missing, extra = [r for r in rows() if r not in found], [f for f in found if f not in rows()]
    if missing or extra:
        sys.exit(f"{path} is not op.def's: missing {missing}, unknown {extra}; write it anew (support_table.py)")


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"] and len(sys.argv) > 4:
        write(sys.argv[2], sys.argv[3], [argument.split("=", 1) for argument in sys.argv[4:]])
    elif sys.argv[1:2] == ["check"] and len(sys.argv) == 3:
        check(sys.argv[2])
    else:
        sys.exit(__doc__)
