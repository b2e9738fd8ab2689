#include "frontend/bench/accuracy.h"

#include <fmt/format.h>

#include <filesystem>

#include "frontend/weights/npy.h"
#include "ir/evaluate/difference.h"

namespace tuff::bench {

Result<Accuracy> compare_output_files(const std::string& directory, const std::string& reference,
                                      double tolerance) {
  Accuracy accuracy;
  for (int i = 0;; ++i) {
    std::string name = fmt::format("out{}", i), file = "/" + name + ".npy";
    bool here = std::filesystem::exists(directory + file);
    if (here != std::filesystem::exists(reference + file))
      return Error{ErrorCode::kMismatch,
                   fmt::format("It has {} outputs than the reference.", here ? "more" : "fewer"),
                   name};
    if (!here) break;
    TUFF_ASSIGN(Literal got, read_npy(directory + file));
    TUFF_ASSIGN(Literal expected, read_npy(reference + file));
    if (got.type() != expected.type())
      return Error{ErrorCode::kMismatch,
                   fmt::format("Its type is ({}), and the reference's ({}).",
                               got.type().to_string(), expected.type().to_string()),
                   name};
    Difference difference = compare_outputs(as_parts(got), as_parts(expected), tolerance);
    accuracy.within = accuracy.within && difference.within;
    if (difference.max_rel < accuracy.max_rel_err && !accuracy.output.empty()) continue;
    accuracy.max_rel_err = difference.max_rel;
    accuracy.output = name;
  }
  if (!accuracy.output.empty()) return accuracy;
  return Error{ErrorCode::kMismatch, "It has no outputs to compare.", ""};
}

}  // namespace tuff::bench
