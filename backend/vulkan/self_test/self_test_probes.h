// Small problems whose answers are known, one for each kernel family and each optional
// capability of a device. What they hold is computed here in plain C++, by nothing that the
// kernels are made of; they are lowered as any graph is, so that what is tested is what runs.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/caps.h"
#include "ir/literal.h"

namespace tuff {

// One problem as it is set to one device.
struct Probe {
  std::string graph;  // text (ir/text/parse.h)
  Caps caps;          // to compile it for: at most the device's
  std::vector<Literal> arguments, expected;
  double tolerance = 0;  // the largest difference that is no error; 0: the bits must agree
  // Passes to leave out: those that take away what is asked.
  std::set<std::string> without = {};
};

// A problem as all devices have it.
struct ProbeRow {
  const char* name;      // "matmul"
  const char* computes;  // "matrix products"; completes "the device computes ... wrong"
  // Names of the capabilities (self_test.h) that can be at fault, likeliest first.
  std::vector<const char*> suspects;
  // Nothing where the device does not claim what is asked.
  std::optional<Probe> (*make)(const Caps& caps);
};
const std::vector<ProbeRow>& probe_rows();

// How `got` differs from what the probe expects, as a clause ("element 3 of output 0 is 1 and
// not 2"); empty if it does not.
std::string difference(const Probe& probe, const std::vector<Literal>& got);

}  // namespace tuff
