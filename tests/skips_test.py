"""skips.py on the log of a run: what it counts, and what it finds fault with. Standard library only."""
import unittest

import needs
import skips

LOG = """Start testing: now
----------------------------------------------------------
1/3 Testing: ops_test
1/3 Test: ops_test
Command: "ops_test"
Directory: /b
"ops_test" start time: now
Output:
----------------------------------------------------------
[ RUN      ] Add.rows_cpu
[       OK ] Add.rows_cpu (3 ms)
[ RUN      ] Add.rows_vulkan
/src/tests/ops/ops_test.cpp:140: Skipped
no Vulkan device: the loader
finds no driver

[  SKIPPED ] Add.rows_vulkan (0 ms)
[ RUN      ] Add.columns_vulkan
/src/tests/ops/ops_test.cpp:140: Skipped
no Vulkan device: the loader
finds no driver

[  SKIPPED ] Add.columns_vulkan (1 ms)
[  PASSED  ] 1 test.
cpu: 12 cases, 0 known to fail, 0 of types the device lacks
vulkan: 9 cases, 0 known to fail, 3 of types the device lacks
<end of output>
Test time =   0.01 sec
----------------------------------------------------------
Test Passed.
----------------------------------------------------------

2/3 Testing: cli_report
2/3 Test: cli_report
Command: "python3"
"cli_report" start time: now
Output:
----------------------------------------------------------
test_it (__main__.Report.test_it)
The page is there. ... skipped 'Chromium is not installed; the report is not looked at'
test_other (__main__.Report.test_other) ... ok
<end of output>
Test time =   0.01 sec

3/3 Testing: pjrt_jax
3/3 Test: pjrt_jax
Command: "python3"
Output:
----------------------------------------------------------
skipped: this Python has no JAX; set TUFF_JAX_PYTHON to one that has
<end of output>
"""


class Nothing(needs.Machine):
    """A machine that has nothing."""
    vulkan_devices, processor, conformance, options = [], "", False, {}

    def imports(self, *packages):
        return False


class Vulkan(Nothing):
    vulkan_devices = [{"id": "vulkan:0", "matrices": []}]


class Skips(unittest.TestCase):
    def test_each_kind_is_found(self):
        found = skips.find_skips(LOG)
        self.assertEqual([test for test, _ in found],
                         ["ops_test Add.rows_vulkan", "ops_test Add.columns_vulkan", "ops_test vulkan",
                          "cli_report test_it", "pjrt_jax"])
        self.assertEqual(found[0][1], "no Vulkan device: the loader finds no driver")

    def test_an_unmet_need_is_no_fault(self):
        found = [skip for skip in skips.find_skips(LOG) if "Chromium" not in skip[1]]
        lines, wrong = skips.list_skips(found, Nothing("."))
        self.assertEqual(lines[0], "Skipped: 4 tests")
        self.assertFalse(wrong, lines)

    def test_a_met_need_is_a_fault(self):
        lines, wrong = skips.list_skips([("ops_test A", "no Vulkan device")], Vulkan("."))
        self.assertTrue(wrong)
        self.assertIn("needs: Vulkan device, WHICH IS HERE", lines[1])
        self.assertFalse(skips.list_skips([("ops_test A", "no Vulkan device")], Nothing("."))[1])

    def test_a_reason_without_a_need_is_a_fault(self):
        lines, wrong = skips.list_skips([("a_test B", "no time today")], Nothing("."))
        self.assertTrue(wrong)
        self.assertIn("NO NEED KNOWN", lines[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
