// Operands of integer sums: bytes in memory, less a zero point.
#pragma once

#include <functional>
#include <optional>

#include "ir/group/affine_access.h"

namespace tuff {

inline bool is_byte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

// A view of one value whose elements are that one's: a bitcast_convert is none.
inline bool is_view_of_elements(const Node& node) {
  return is_view(node.op) && node.op != Op::kBitcastConvert && node.operands.size() == 1;
}

// Elements of an operand, i8 or i32, as they lie in memory: subtract(convert(bytes), zero), under
// whatever views.
struct ByteAccess {
  AffineAccess read;                 // of the bytes
  DType dtype = DType::kI8;          // i8 or u8
  Value bytes;                       // what is converted
  std::optional<AffineAccess> zero;  // none: 0
  DType zero_dtype = DType::kI32;    // i8, u8 or i32

  // The zero point where it is known: a constant that all elements share.
  std::optional<int64_t> known_zero(const Graph& graph) const;
};

// Follows nodes while follow(node id) is true. Nothing where the operand is no such bytes.
std::optional<ByteAccess> byte_access(const Graph& graph, Value operand,
                                      const std::function<bool(uint32_t)>& follow);

// A contraction of one group and without dilation of its first operand: a ByteProductCall, on
// devices with Caps::library_calls, if its operands are bytes and its result i32.
bool has_byte_product(const Node& contraction);
bool is_byte_product(const Graph& graph, const Node& contraction);

}  // namespace tuff
