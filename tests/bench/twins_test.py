"""The torch twins of bench/ compute what the JAX definitions do, and sizes resolve from names. Skips without torch."""
import importlib.util
import pathlib
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH), str(pathlib.Path(__file__).resolve().parents[1])]
from tolerances import bound  # noqa: E402

MISSING = [name for name in ("jax", "torch") if importlib.util.find_spec(name) is None]
TINY = ["mlp", "ffn_tiny", "mha_tiny", "bert_tiny", "minilm_tiny", "gpt2_tiny", "gpt2_decode_tiny", "gpt2_train_tiny",
        "gpt_neo_tiny", "llama_tiny", "vit_tiny", "vit_train_tiny", "resnet_tiny", "gemm_24"]


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class Twins(unittest.TestCase):
    def check(self, spec):
        import jax
        import numpy as np
        from protocol import Bundle
        from protocol.bundle import tree_of
        from twins import module
        from workloads import bundles, registry

        with tempfile.TemporaryDirectory() as folder:
            bundles.write(spec, folder + "/a", folder + "/b")
            for directory in (folder + "/a", folder + "/b"):
                bundle = Bundle(directory)
                w = bundle.workload
                workload = registry.build(w["model"], w["batch"], w["seq"])
                tree = jax.tree.structure((workload.params, *workload.inputs))
                expected = jax.tree.leaves(jax.jit(workload.fn)(*jax.tree.unflatten(tree, bundle.values())))
                twin, inputs = module.make(bundle)
                got = module.outputs_of(bundle, twin(*inputs))
                self.assertEqual(len(got), len(expected))
                for entry, g, e in zip(bundle.results, got, expected):
                    e = np.asarray(e, np.float64)
                    self.assertEqual(g.shape, e.shape, entry)
                    off = np.abs(g - e).max() / max(np.abs(e).max(), 1e-30)
                    self.assertLess(off, w.get("tolerance", bound("twin")), entry)

    def test_every_family(self):
        for spec in TINY:
            with self.subTest(spec):
                self.check(spec)

    def test_every_model_of_a_set_has_a_twin(self):
        import json

        import twins
        from workloads import bundles, small

        for names in json.loads((BENCH / "sets.json").read_text()).values():
            for model, _, _ in map(bundles.resolve, names):
                if model in small.PROGRAMS:
                    continue
                self.assertTrue(twins.forward(model) or twins.training(model), model)


@unittest.skipIf("jax" in MISSING, "not installed: jax")
class Carried(unittest.TestCase):
    def carried(self, spec):
        import json

        from workloads import bundles

        with tempfile.TemporaryDirectory() as folder:
            bundles.write(spec, folder + "/a", folder + "/b")
            directory = pathlib.Path(folder, "a")
            signature = json.loads((directory / "signature.json").read_text())
            pairs = json.loads((directory / "workload.json").read_text()).get("carried", [])
            donated = (directory / "module.mlir").read_text().count("tf.aliasing_output")
            self.assertEqual(donated, len(pairs))
            return {signature["arguments"][a]["name"]: signature["results"][out]["name"] for a, out in pairs}, signature

    def test_a_training_step_carries_its_weights(self):
        carried, signature = self.carried("gpt2_train_tiny")
        self.assertEqual(carried, {a["name"]: "params." + a["name"] for a in signature["arguments"] if a["kind"] == "weight"})

    def test_a_decode_step_carries_its_cache(self):
        carried, _ = self.carried("gpt2_decode_tiny")
        self.assertEqual(sorted(carried), ["cache.0.k", "cache.0.v", "cache.1.k", "cache.1.v"])
        self.assertTrue(all(name == result for name, result in carried.items()))

    def test_what_is_donated_to_another_value_is_not_carried(self):
        self.assertEqual(self.carried("mlp_adam_tiny")[0], {})  # the loss lies where the number of steps was

    def test_a_forward_pass_carries_nothing(self):
        self.assertEqual(self.carried("mlp")[0], {})


@unittest.skipIf("jax" in MISSING, "not installed: jax")
class Names(unittest.TestCase):
    def test_names_resolve_to_their_sizes(self):
        from workloads import bundles

        for name, sizes in {"gemm_512": ("gemm", 1, 512), "gpt2_b2s64": ("gpt2", 2, 64), "vit_b16_b8": ("vit_b16", 8, 1),
                            "gpt2_decode_b2s128": ("gpt2_decode", 2, 128), "resnet50_b1": ("resnet50", 1, 1),
                            "gpt_neo_2layer_b2s64": ("gpt_neo_2layer", 2, 64), "vit_train_b32": ("vit_train", 32, 1)}.items():
            self.assertEqual(bundles.resolve(name), sizes)
            self.assertEqual(bundles.name_of(*sizes), name)
        self.assertEqual(bundles.resolve("gpt2", batch=3), ("gpt2", 3, 128))

    def test_every_set_and_published_ratio_names_workloads(self):
        import json

        from workloads import bundles

        sets = json.loads((BENCH / "sets.json").read_text())
        published = json.loads((BENCH / "published.json").read_text())["ratios"]
        for name in [*published, *(w for names in sets.values() for w in names)]:
            self.assertEqual(bundles.name_of(*bundles.resolve(name)), name)

    def test_a_name_that_is_none(self):
        from workloads import bundles

        for name in ("gpt3", "gpt2_b", "gpt2_64x2", ""):
            with self.assertRaises(KeyError):
                bundles.resolve(name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
