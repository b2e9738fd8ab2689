"""Command line: `python -m workloads list`, `python -m workloads export NAME DIR` (run in bench/).

`bundle` is what `tuff bench` calls."""
import argparse
import math
import sys

try:
    import jax
except ImportError as lacks:
    sys.exit(f"Workloads need JAX, and this Python ({sys.executable}) has no {lacks.name}. `tuff bench --python` names another.")
import tuff

from . import bundles, memory, peak, registry


def parse(argv):
    """The command line's options."""
    parser = argparse.ArgumentParser(prog="python -m workloads", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="names, default sizes and parameter counts")
    export = commands.add_parser("export", help="write a bundle for tuff")
    export.add_argument("name", choices=registry.WORKLOADS, metavar="NAME")
    export.add_argument("directory", metavar="DIR")
    export.add_argument("--batch", type=int)
    export.add_argument("--seq", type=int, help="sequence length; the matrix size for gemm")
    export.add_argument("--no-weights", action="store_true",
                        help="leave the file out; signature.json says how to compute the weights")
    export.add_argument("--with-expected", action="store_true", help="run JAX and store inputs and outputs")
    bundle = commands.add_parser("bundle", help="write what `tuff bench` measures: weights, inputs, another batch size")
    for name in ("spec", "directory", "other_directory"):
        bundle.add_argument(name)
    bundle.add_argument("--batch", type=int)
    bundle.add_argument("--seq", type=int)
    models = commands.add_parser("models", help="write bundles without weights, a folder each")
    models.add_argument("directory", metavar="DIR")
    models.add_argument("specs", metavar="WORKLOAD", nargs="+", help="such as gpt2_b2s64, or a set of sets.json")
    memory = commands.add_parser("memory", help="plan workloads anew and compare with XLA's analysis (memory.json)")
    memory.add_argument("tuff", metavar="TUFF", help="the program, build/tuff")
    memory.add_argument("specs", metavar="WORKLOAD", nargs="*", help="such as gpt2_train_b2s64; none: all of memory.json")
    memory.add_argument("--xla", action="store_true", help="ask XLA anew, too")
    peak = commands.add_parser("peak", help="run one step and compare the memory it took with the plan")
    peak.add_argument("spec", metavar="WORKLOAD")
    return parser.parse_args(argv)


def main(argv):
    options = parse(argv)
    if options.command == "list":
        for name, (_, batch, seq) in registry.WORKLOADS.items():
            count = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(registry.build(name).params))
            print(f"{name:18} batch {batch:3}  seq {seq:5}  {count:14,} parameters")
        return
    if options.command == "bundle":
        try:
            bundles.write(options.spec, options.directory, options.other_directory, options.batch, options.seq)
        except KeyError as error:
            sys.exit(error.args[0])
        return
    if options.command == "models":
        try:
            bundles.write_models(options.specs, options.directory)
        except KeyError as error:
            sys.exit(error.args[0])
        return
    if options.command == "memory":
        memory.measure(options.tuff, options.specs, options.xla)
        return
    if options.command == "peak":
        peak.measure(options.spec)
        return
    workload = registry.build(options.name, options.batch, options.seq)
    tuff.export(workload.fn, workload.params, workload.inputs, options.directory, donate=workload.donate,
                weights=not options.no_weights, with_expected=options.with_expected)


if __name__ == "__main__":
    main(sys.argv[1:])
