"""The figures that isa.py reads out of a listing, on listings that are short enough to count by hand."""
import unittest

import isa

# A loop of 4 rounds: two loads are under way, 3 multiply-adds cover the first one's wait and 5 the second's.
TILE = """
BB0:
  s_mov_b32 s0, 0
BB1:
  buffer_load_b128 v[0:3], v8, s[0:3], 0 offen
  buffer_load_b64 v[4:5], v9, s[0:3], 0 offen
  v_fmac_f32 v10, v11, v12
  v_dual_fmac_f32 v13, v14, v15 :: v_dual_fmac_f32 v16, v17, v18
  s_waitcnt vmcnt(1)
  v_fma_f32 v19, v20, v21, v22
  v_add_f32 v23, v24, v25
  v_fma_f32 v19, v20, v21, v22
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_load_b128 v[26:29], v30
  s_add_i32 s0, s0, 1
  s_cmp_lt_u32 s0, 4
  s_cbranch_scc1 BB1
BB2:
  s_endpgm
"""

GUARDED = """
BB1:
  s_and_saveexec_b32 s1, vcc
  s_cbranch_execz BB2
  buffer_load_u8 v0, v8, s[0:3], 0 offen
BB2:
  s_waitcnt vmcnt(0)
  v_mad_u32_u24 v1, v2, v3, v4
  v_fmac_f32 v10, v11, v12
  s_cbranch_scc1 BB1
"""

# The inner loop goes round 8 times: its count stands in the compare.
NESTED = """
BB1:
  global_load_b32 v0, v8, s[0:1]
BB2:
  v_fmac_f32 v10, v11, v12
  s_cmp_lt_u32 s0, 8
  s_cbranch_scc1 BB2
BB3:
  s_waitcnt vmcnt(0)
  s_cbranch_scc1 BB1
"""


class Listing(unittest.TestCase):
    def test_tile(self):
        hot = isa.Round.of(TILE)
        self.assertEqual(hot.covers(), [3, 5])
        self.assertEqual(hot.stalls(), 1)
        self.assertEqual(hot.guards(), 0)
        figures = isa.describe(TILE, "navi31", 64, 192, 16)
        self.assertEqual(figures["bytes_per_load"], 12)
        self.assertAlmostEqual(figures["fma_share"], 4 / 5)

    def test_guard_and_integers(self):
        hot = isa.Round.of(GUARDED)
        self.assertEqual(hot.guards(), 1)
        self.assertEqual(hot.total(isa.multiply_adds), 1)
        self.assertEqual(isa.describe(GUARDED, "navi31", 64, 192, 16)["bytes_per_load"], 1)

    def test_inner_loop_counts_as_often_as_it_goes_round(self):
        hot = isa.Round.of(NESTED)
        self.assertEqual(hot.total(isa.multiply_adds), 8)
        self.assertEqual(hot.covers(), [8])

    def test_waits_hide_behind_waves(self):
        few, many = (isa.Round.of(TILE).share_of_peak(isa.CHIPS["navi31"], 64, groups, 16) for groups in (192, 19200))
        self.assertLess(few, many)
        self.assertLessEqual(many, 1)

    def test_no_loop(self):
        self.assertEqual(isa.describe("BB0:\n  v_fmac_f32 v10, v11, v12\n  s_endpgm\n", "navi31", 64, 1, 16), {})


if __name__ == "__main__":
    unittest.main()
