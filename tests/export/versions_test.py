"""Portable artifacts of the models of tests/models, in versions across the window: the same graphs as from text.

Models with CHLO operations are left out: artifacts hold what those are spelled out as, which is another graph.
"""
from jaxlib.mlir.dialects import stablehlo

import harness

VERSIONS = [stablehlo.get_minimum_version(), "1.0.0", "1.4.0", "1.9.0", "1.13.0", stablehlo.get_current_version()]


class Versions(harness.ExportTest):
    def test_models(self):
        counts = dict.fromkeys(VERSIONS, 0)
        for module in sorted((harness.ROOT / "tests" / "models").glob("*/module.mlir")):
            text = module.read_text()
            if '"chlo.' in text or " chlo." in text:
                continue
            graph = self.graph(module)
            for version in VERSIONS:
                try:
                    artifact = stablehlo.serialize_portable_artifact_str(text, version)
                except Exception:  # the program has what the version had not
                    self.assertNotEqual(version, VERSIONS[-1], module)
                    continue
                path = self.folder / "module.mlirbc"
                path.write_bytes(artifact)
                self.assertEqual(self.graph(path), graph, f"{module.parent.name} in {version}")
                counts[version] += 1
        print("models read, by version:", counts)

    def graph(self, path):
        return self.tuff("explain", path, "--after", "import", "--device", "cpu").stdout


harness.main()
