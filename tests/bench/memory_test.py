"""Planned memory of whole models against the figures in bench/memory.json. `python memory_test.py TUFF`"""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "frontend" / "python")]
TUFF = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else sys.exit(__doc__)
try:
    import jax  # noqa: F401
    from workloads import memory
except ImportError as error:
    print(f"Skipped: {error}")
    sys.exit(0)

# Alignments and subgroups differ among drivers, and with them a little of the plan.
DRIVERS = 1.02


class MemoryTest(unittest.TestCase):
    def test_plans_stay_below_xla_and_near_the_bound(self):
        for spec, known in memory.figures().items():
            with self.subTest(spec):
                planned = memory.plan(TUFF, spec)
                self.assertLessEqual(planned["peak"], known["xla"])
                self.assertLessEqual(planned["peak"], DRIVERS * known["peak"])
                self.assertLessEqual(planned["arena"], 1.1 * planned["liveness"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
