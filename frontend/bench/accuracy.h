// Outputs of two systems on the same numbers.
#pragma once

#include <string>

#include "ir/support/result.h"

namespace tuff::bench {

// Largest difference allowed, relative to the largest value of an output.
inline constexpr double kTolerance = 1e-5;

struct Accuracy {
  double max_rel_err = 0;
  std::string output;  // the one that is farthest off
  bool within = true;
};

// Compares out0.npy, out1.npy ... of two directories. Errors: files that are missing,
// surplus or of another type.
Result<Accuracy> compare_output_files(const std::string& directory, const std::string& reference,
                                      double tolerance);

}  // namespace tuff::bench
