"""One process of several: `python ranks.py COORDINATOR COUNT RANK PROGRAM ARGUMENTS...`.

Joins the others and runs PROGRAM, a file beside this one.
"""
import pathlib
import runpy
import sys

import jax

coordinator, count, rank, program = sys.argv[1:5]
jax.distributed.initialize(coordinator, int(count), int(rank), cluster_detection_method="deactivate")
sys.argv[:5] = [program]
runpy.run_path(str(pathlib.Path(__file__).with_name(program)), run_name="__main__")
