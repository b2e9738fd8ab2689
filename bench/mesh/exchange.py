"""Sums over all processes: `exchange.py COORDINATOR COUNT RANK ELEMENTS`. Process 0 prints the bytes that it sends in one, and
the seconds that it takes."""
import json
import statistics
import sys
import time

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

coordinator, count, rank, elements = sys.argv[1], *map(int, sys.argv[2:5])
jax.distributed.initialize(coordinator, count, rank, cluster_detection_method="deactivate")
mesh = Mesh(np.array(jax.devices()), ("x",))
ones = np.ones((count, elements), np.float32)
x = jax.make_array_from_callback(ones.shape, NamedSharding(mesh, P("x")), lambda index: ones[index])
total = jax.jit(lambda x: x.sum(0)).lower(x).compile()
times = []
for _ in range(30):
    begin = time.perf_counter()
    total(x).block_until_ready()
    times.append(time.perf_counter() - begin)
if rank == 0:
    print(json.dumps({"sent_bytes": (total.cost_analysis() or {}).get("bytes exchanged", 0), "seconds": statistics.median(times[5:])}))
