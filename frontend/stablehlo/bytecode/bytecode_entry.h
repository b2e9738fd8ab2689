// BytecodeReader::read_entry, which types, attributes and locations share.
#pragma once

#include "frontend/stablehlo/bytecode/bytecode.h"

namespace tuff::stablehlo {

// The value of an entry, read when it is first used and charged at every use.
template <typename T, typename Read>
const T& BytecodeReader::read_entry(std::vector<Entry<T>>& entries, size_t i, Read read) {
  static const T kNothing{};
  if (failed() || i >= entries.size()) return kNothing;
  Entry<T>& entry = entries[i];
  ByteCursor from = entry.bytes;
  if (entry.state == State::kReading) from.fail("An attribute or type contains itself.");
  if (entry.state == State::kUnread) {
    Nest nest(*this, from);
    entry.state = State::kReading;
    size_t outer = weight_;
    weight_ = 1;
    if (!failed()) entry.value = read(entry, from);
    entry.weight = weight_;
    weight_ = outer;
    entry.state = State::kRead;
  }
  charge(from, entry.weight);
  return failed() ? kNothing : entry.value;
}

}  // namespace tuff::stablehlo
