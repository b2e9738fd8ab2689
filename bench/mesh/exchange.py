"""Sums of arrays over all processes: `exchange.py COORDINATOR COUNT RANK ELEMENTS`, as many arrays as a small model has weights,
of so many elements together, 150 times. Process 0 prints the bytes that it sends in one, and the times of all in seconds."""
import json
import sys
import time

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ARRAYS = 32
coordinator, count, rank, elements = sys.argv[1], *map(int, sys.argv[2:5])
if count > 1:
    jax.distributed.initialize(coordinator, count, rank, cluster_detection_method="deactivate")
mesh = Mesh(np.array(jax.devices()), ("x",))
ones = np.ones((count, elements // ARRAYS), np.float32)
arrays = [jax.make_array_from_callback(ones.shape, NamedSharding(mesh, P("x")), lambda index: ones[index])
          for _ in range(ARRAYS)]
total = jax.jit(lambda arrays: [x.sum(0) for x in arrays]).lower(arrays).compile()
times = []
for _ in range(150):
    begin = time.perf_counter()
    jax.block_until_ready(total(arrays))
    times.append(time.perf_counter() - begin)
if rank == 0:
    print(json.dumps({"sent_bytes": (total.cost_analysis() or {}).get("bytes exchanged", 0), "times": times}))
