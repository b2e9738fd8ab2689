"""Whole networks at their real sizes, with seeded weights, against JAX on both devices."""
import jax
import numpy as np

import harness  # first: it knows where the next two are
import tuff
from tolerances import bound
from workloads import registry


class Networks(harness.ExportTest):
    def check(self, name, tolerance=bound("network")):
        workload = registry.build(name)
        signature = tuff.export(workload.fn, workload.params, workload.inputs, self.folder / name, weights=False)
        weights = [a["name"] for a in signature["arguments"] if a["kind"] == "weight"]
        leaves, tree = jax.tree.flatten(workload.params)
        params = jax.tree.unflatten(tree, [np.asarray(leaf.named(n)) for leaf, n in zip(leaves, weights)])
        expected = jax.tree.leaves(jax.jit(workload.fn)(params, *workload.inputs))
        for device in harness.DEVICES:
            got = self.run_model(self.folder / name, workload.inputs, device)
            for i, (a, b) in enumerate(zip(got, expected, strict=True)):
                self.assert_close(a, b, tolerance, f"{name} on {device}: output {i}")

    def test_resnet50(self):
        self.check("resnet50")

    def test_rnn(self):
        self.check("rnn")


harness.main()
