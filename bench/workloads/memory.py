"""How much memory a workload needs: what `tuff plan` says beside what XLA's CPU compiler says of the same program.

Figures are kept in memory.json, in bytes: `xla` are arguments + outputs - donated + temporaries of XLA's own analysis,
`peak`, `arena` and `liveness` are what `tuff plan --device vulkan` said then.
"""
import json
import pathlib
import subprocess
import tempfile

import jax
import tuff

from . import bundles, registry

FIGURES = pathlib.Path(__file__).resolve().parents[1] / "memory.json"
MIB = 2 ** 20


def figures():
    """{workload: {"xla", "peak", "arena", "liveness"}} as committed."""
    return json.loads(FIGURES.read_text())


def build(spec):
    """The workload of a name such as "gpt2_train_b2s64"."""
    return registry.build(*bundles.resolve(spec))


def plan(tuff_program, spec, device="vulkan"):
    """{"peak", "arena", "liveness"} in bytes, of the workload's export without weights."""
    workload = build(spec)
    with tempfile.TemporaryDirectory() as directory:
        tuff.export(workload.fn, workload.params, workload.inputs, directory, donate=workload.donate, weights=False)
        run = subprocess.run([tuff_program, "plan", directory, "--device", device, "--json"], stdout=subprocess.PIPE)
    run.check_returncode()
    planned = json.loads(run.stdout)
    return {key: planned[f"{key}_bytes"] for key in ("peak", "arena", "liveness")}


def lower(workload):
    """The workload lowered for shapes alone, with its donations."""
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype)),
                          (workload.params, *workload.inputs))
    return jax.jit(workload.fn, keep_unused=True, donate_argnums=workload.donate).lower(*shapes)


def total(compiled):
    """Arguments + outputs - donated + temporaries of a compiled function, in bytes."""
    memory = compiled.memory_analysis()
    return (memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
            + memory.temp_size_in_bytes)


def xla(spec):
    """What XLA's CPU compiler says, in bytes; compiles the workload, which takes minutes for large ones."""
    return total(lower(build(spec)).compile())


def table(rows):
    """The figures as Markdown, in MiB."""
    lines = ["| workload | XLA CPU | tuff | of it temporaries | their liveness bound |", "|---|---|---|---|---|"]
    for spec, row in rows.items():
        cells = (f"{row[key] / MIB:,.1f}" for key in ("xla", "peak", "arena", "liveness"))
        lines.append(f"| {spec} | {' | '.join(cells)} |")
    return "\n".join(lines)


def measure(tuff_program, specs, with_xla):
    """Plans anew, writes memory.json where something changed, and prints the table."""
    kept = figures()
    rows = {}
    for spec in specs or kept:
        rows[spec] = {"xla": xla(spec) if with_xla else kept[spec]["xla"], **plan(tuff_program, spec)}
        FIGURES.write_text(json.dumps(kept | rows, indent=1) + "\n")
    print(table(rows))
