// Inputs for op cases and the comparison of a device's results with the
// evaluator's.
#pragma once

#include "tests/ops/op_table.h"

namespace tuff {

// Seeded arguments of the case's graph: special values (NaN, infinities, zeros of
// both signs, denormals; integer extremes) among random ones.
std::vector<Literal> make_arguments(const OpCase& c, uint32_t seed);

// What a device may answer.
struct Expected {
  std::vector<Literal> outputs;
  // The outputs where denormal f32 and bf16 arguments count as zero; empty where
  // there are none.
  std::vector<Literal> flushed;
  // For graphs that sum: the outputs for arguments without signs.
  std::vector<Literal> magnitudes;
};
Result<Expected> expected_outputs(const OpCase& c, const std::vector<Literal>& arguments);

// Empty when output `index` is right, else the first wrong element and its bits.
std::string difference(const OpCase& c, const Expected& expected, size_t index, const Literal& got);

}  // namespace tuff
