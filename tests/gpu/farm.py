"""What drivers' compilers make of our kernels, for GPUs that are not here. Nothing runs on a device.

    python3 tests/gpu/farm.py build/tuff --drivers build/gpu_drivers --models build/gpu_models

lowers the single operations of singles.py, and every bundle of the models' folder, for each target that drivers.py can
unpack, and prints one line a target. --kernels prints a line a kernel; --before FILE what changed since --json FILE was
written; --bounds FILE fails where more kernels spill than it allows. Ends with 77 where nothing is wrong but targets are
missing: their drivers cannot be had here.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import drivers
import isa
from singles import SINGLES

# Figures of a kernel: key, heading, how it is printed, whether less is better (None: neither).
FIGURES = (
    ("registers", "regs", "{:.0f}", None), ("spills", "spills", "{:.0f}", True), ("scratch_bytes", "scratch", "{:.0f}", True),
    ("occupancy", "occup", "{:.0f}", False), ("code_bytes", "code", "{:.0f}", True), ("instructions", "instr", "{:.0f}", True),
    ("waves", "waves", "{:.2f}", None), ("guarded_loads", "guard", "{:.0f}", True), ("stalls", "stall", "{:.0f}", True),
    ("cover", "cover", "{:.0f}", False), ("bytes_per_load", "B/ld", "{:.1f}", False), ("fma_share", "fma", "{:.2f}", False),
    ("share_of_peak", "share", "{:.2f}", False),
)


def read_model(tuff, driver, target, name, path):
    """The kernels of one model on one target; a text where tuff refuses."""
    with tempfile.TemporaryDirectory() as listings:
        done = subprocess.run([*driver.command, tuff, "explain", path, "--device", "vulkan:0", "--after", "driver", "--json",
                               "--isa", listings], env=driver.environment, capture_output=True, text=True)
        if done.returncode != 0:
            return f"{name}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}"
        answer = json.loads(done.stdout)
        if "kernels" not in answer:
            return f"{name}: {answer['why_not']}"
        return [figures_of(kernel, target, name, listings) for kernel in answer["kernels"]]


def figures_of(kernel, target, model, listings):
    row = {"model": model, "kernel": kernel["kernel"], "family": kernel["family"], "groups": kernel["groups"],
           "lanes": kernel["lanes"], "dispatches": kernel["dispatches"], **kernel["resources"]}
    if target in isa.CHIPS:
        chip = isa.CHIPS[target]
        row["waves"] = kernel["groups"] * -(-kernel["lanes"] // 64) / (chip.units * chip.simds)
        listing = pathlib.Path(listings, f"{kernel['kernel']}.isa")
        if kernel["family"] in ("matmul", "convolution", "attention") and listing.exists():
            row |= isa.describe(listing.read_text(errors="replace"), target, kernel["lanes"], kernel["groups"],
                                row.get("occupancy"))
    return row


def spills(row):
    return row.get("spills", 0) > 0 or row.get("scratch_bytes", 0) > 0


def summary(rows):
    """The line of a target."""
    have = lambda key: [row[key] for row in rows if key in row]
    dispatches = sum(row["dispatches"] for row in rows)
    line = {"kernels": len(rows), "spill": sum(map(spills, rows)),
            "code > 32 KB": sum(code > 32768 for code in have("code_bytes"))}
    if have("occupancy"):
        line["least occup"] = int(min(have("occupancy")))
    if have("share_of_peak"):
        share = sorted(have("share_of_peak"))
        line |= {"guarded": f"{sum(x > 0 for x in have('guarded_loads'))}/{len(have('guarded_loads'))}",
                 "stalls": f"{statistics.median(have('stalls')):.0f}", "cover": f"{statistics.median(have('cover')):.0f}",
                 "B/load": f"{statistics.median(have('bytes_per_load')):.1f}",
                 "fma": f"{statistics.median(have('fma_share')):.2f}",
                 "share: least / median / most": f"{share[0]:.2f} / {statistics.median(share):.2f} / {share[-1]:.2f}",
                 "dispatches < 1 wave": f"{sum(r['dispatches'] for r in rows if r['waves'] < 1)}/{dispatches}"}
    return line


def print_table(lines):
    headings = []
    for line in lines.values():
        headings += [h for h in line if h not in headings]
    print("| target | " + " | ".join(headings) + " |\n|" + "---|" * (len(headings) + 1))
    for target, line in lines.items():
        print(f"| {target} | " + " | ".join(str(line.get(h, "-")) for h in headings) + " |")


def print_kernels(target, rows):
    print(f"\n{target}\n{'model':<22}{'kernel':<7}{'family':<14}{'groups':>8}{'lanes':>6}{'times':>6}" +
          "".join(f"{heading:>9}" for _, heading, _, _ in FIGURES))
    for row in rows:
        cells = "".join(f"{text.format(row[key]) if key in row else '-':>9}" for key, _, text, _ in FIGURES)
        print(f"{row['model']:<22}{row['kernel']:<7}{row['family']:<14}{row['groups']:>8}{row['lanes']:>6}"
              f"{row['dispatches']:>6}{cells}")


def print_changes(target, before, after):
    """Kernels whose figures differ by a twentieth or more; kernels are known by model, number and family."""
    key = lambda row: (row["model"], row["kernel"], row["family"])
    old = {key(row): row for row in before}
    for row in after:
        was = old.pop(key(row), None)
        if was is None:
            print(f"{target} {' '.join(key(row))}: new")
            continue
        changes = []
        for name, heading, text, less_is_better in FIGURES:
            a, b = was.get(name), row.get(name)
            if a == b or a is None or b is None or abs(a - b) < 0.05 * max(abs(a), abs(b)):
                continue
            mark = "" if less_is_better is None else " better" if (b < a) == less_is_better else " WORSE"
            changes.append(f"{heading} {text.format(a)} -> {text.format(b)}{mark}")
        if changes:
            print(f"{target} {' '.join(key(row))}: {', '.join(changes)}")
    for gone in old:
        print(f"{target} {' '.join(gone)}: gone")


def spilling(rows):
    counts = {}
    for row in filter(spills, rows):
        counts[row["model"]] = counts.get(row["model"], 0) + 1
    return counts


def over_bounds(bounds, results):
    """Models of which more kernels spill than `bounds` {target: {model: kernels}} allows."""
    wrong = []
    for target, rows in results.items():
        for model, count in spilling(rows).items():
            allowed = bounds.get(target, {}).get(model, 0)
            if count > allowed:
                wrong.append(f"{target}: {count} kernels of {model} spill, {allowed} did before")
    return wrong


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tuff", help="the command")
    parser.add_argument("--drivers", type=pathlib.Path, required=True, help="folder that drivers are unpacked into")
    parser.add_argument("--models", type=pathlib.Path, help="folder of bundles (in bench/: python -m workloads export NAME DIR --no-weights)")
    parser.add_argument("--targets", default=",".join(drivers.TARGETS), help="default: all")
    parser.add_argument("--mesa", choices=drivers.SUITES, help="default: the older one that has the target")
    parser.add_argument("--only", help="comma-separated names of models and single operations")
    parser.add_argument("--no-singles", action="store_true", help="leaves the single operations out")
    parser.add_argument("--kernels", action="store_true", help="prints a line a kernel")
    parser.add_argument("--json", type=pathlib.Path, help="writes {target: [kernel]}")
    parser.add_argument("--before", type=pathlib.Path, help="a --json file; prints what changed since")
    parser.add_argument("--bounds", type=pathlib.Path, help="{target: {model: kernels that may spill}}")
    return parser.parse_args()


def workload(options, folder):
    """{name: path} of all that is lowered."""
    paths = {}
    if options.models:
        paths |= {bundle.name: str(bundle) for bundle in sorted(options.models.iterdir()) if bundle.is_dir()}
    if not options.no_singles:
        for name, text in SINGLES.items():
            path = pathlib.Path(folder, f"{name}.mlir")
            path.write_text(text)
            paths[name] = str(path)
    if options.only:
        wanted = options.only.split(",")
        unknown = [name for name in wanted if name not in paths]
        if unknown:
            sys.exit(f"farm.py: no model or single operation is called {', '.join(unknown)}")
        paths = {name: paths[name] for name in wanted}
    return paths


def main():
    options = arguments()
    results, troubles, missing = {}, [], []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = workload(options, folder)
        for target in options.targets.split(","):
            try:
                driver = drivers.Driver(options.drivers, target, options.mesa)
            except drivers.Missing as why:
                missing.append(f"{target}: {why}")
                continue
            jobs = [pool.submit(read_model, options.tuff, driver, target, *item) for item in paths.items()]
            answers = [job.result() for job in jobs]
            troubles += [f"{target} {answer}" for answer in answers if isinstance(answer, str)]
            results[target] = [row for answer in answers if not isinstance(answer, str) for row in answer]
    print_table({target: summary(rows) for target, rows in results.items() if rows})
    before = json.loads(options.before.read_text()) if options.before else {}
    for target, rows in results.items():
        if options.kernels:
            print_kernels(target, rows)
        if target in before:
            print_changes(target, before[target], rows)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    if options.bounds:
        troubles += over_bounds(json.loads(options.bounds.read_text()), results)
    for trouble in troubles:
        print(f"farm.py: {trouble}", file=sys.stderr)
    for target in missing:
        print(f"skipped: no driver of {target}")
    return 1 if troubles else 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
