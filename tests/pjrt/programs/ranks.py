"""One process of several: `python ranks.py COORDINATOR COUNT RANK PROGRAM ARGUMENTS...`, or under mpirun
`python ranks.py mpirun PROGRAM ARGUMENTS...`.

Joins the others and runs PROGRAM, a file beside this one.
"""
import pathlib
import runpy
import sys

import jax

if sys.argv[1] == "mpirun":
    jax.distributed.initialize()
    del sys.argv[:2]
else:
    coordinator, count, rank = sys.argv[1:4]
    jax.distributed.initialize(coordinator, int(count), int(rank), cluster_detection_method="deactivate")
    del sys.argv[:4]
runpy.run_path(str(pathlib.Path(__file__).with_name(sys.argv[0])), run_name="__main__")
