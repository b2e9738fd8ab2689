"""What the farm calls worse, and the verdicts that a dry run replaces. No driver is needed."""
import hashlib
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import dry_run  # noqa: E402
import farm  # noqa: E402


def kernel(model, **figures):
    return {"model": model, "kernel": "k0", "family": "matmul", **figures}


class Bounds(unittest.TestCase):
    ROWS = {"navi31": [kernel("gpt2", spills=0, scratch_bytes=0), kernel("gpt2", spills=3), kernel("vit", scratch_bytes=64)]}

    def test_a_kernel_that_spills_and_did_not(self):
        wrong = farm.over_bounds({"navi31": {"vit": 1}}, self.ROWS)
        self.assertEqual(wrong, ["navi31: 1 kernels of gpt2 spill, 0 did before"])

    def test_what_spilled_before_may(self):
        self.assertEqual(farm.over_bounds({"navi31": {"gpt2": 1, "vit": 2}}, self.ROWS), [])

    def test_a_target_without_bounds_has_none_that_may(self):
        self.assertEqual(len(farm.over_bounds({}, self.ROWS)), 2)

    def test_what_a_driver_does_not_tell_is_no_spill(self):
        self.assertEqual(farm.over_bounds({}, {"m1": [kernel("gpt2", instructions=100)]}), [])


class Verdicts(unittest.TestCase):
    def test_one_that_failed_becomes_one_that_passed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "selftest-0123")
            key, value = bytes(range(32)), b"failure it computes sums wrong\nend\n"
            path.write_bytes(dry_run.HEADER.pack(b"TUFFCACH", 1, 0, len(value), key, hashlib.sha256(value).digest()) + value)
            pathlib.Path(folder, "spirv-0123").write_bytes(b"something else")
            self.assertEqual(dry_run.pass_self_tests(folder), 1)
            magic, version, zero, length, kept, digest = dry_run.HEADER.unpack(path.read_bytes()[:dry_run.HEADER.size])
            self.assertEqual((magic, version, zero, length, kept), (b"TUFFCACH", 1, 0, 4, key))
            self.assertEqual(path.read_bytes()[dry_run.HEADER.size:], b"end\n")
            self.assertEqual(digest, hashlib.sha256(b"end\n").digest())
            self.assertEqual(pathlib.Path(folder, "spirv-0123").read_bytes(), b"something else")


if __name__ == "__main__":
    unittest.main(verbosity=2)
