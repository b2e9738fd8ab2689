// What the tests of library calls give them, and how results are compared.
#pragma once

#include <cstring>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/derived_operand.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "ir/literal.h"
#include "shaders/library_call.h"

namespace tuff::test {

// Small integers: sums are exact in any order.
inline std::vector<float> numbers(int64_t n, int salt) {
  std::vector<float> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>((i * 29 + static_cast<size_t>(salt)) % 15) - 7);
  return values;
}

template <typename T>
cpu::CallOperand operand(std::vector<T>& values, uint64_t version = 0) {
  return {reinterpret_cast<std::byte*>(values.data()), version};
}

// Calls run on other threads than the one that made them.
template <typename Make>
auto on_another_thread(const Make& make) {
  return std::async(std::launch::async, make).get();
}

// Of copies that tests keep.
inline cpu::DerivedOwner& owner() {
  static cpu::DerivedOwner owner(int64_t{1} << 30);
  return owner;
}

inline const cpu::LaneTable& table() { return cpu::lane_table(cpu::best_isa_level()); }

// Types of operands and results.
inline constexpr std::pair<DType, DType> kTypes[] = {{DType::kF32, DType::kF32},
                                                     {DType::kBF16, DType::kBF16},
                                                     {DType::kBF16, DType::kF32},
                                                     {DType::kF16, DType::kF16},
                                                     {DType::kF16, DType::kF32}};

inline std::string type_names(std::pair<DType, DType> types) {
  return std::string(" ") + dtype_name(types.first) + " to " + dtype_name(types.second);
}

// Values as they lie in memory, each rounded once. NaN lie behind them: a call that reads on shows
// it.
struct Stored {
  static constexpr size_t kBehind = 1024;
  DType dtype;
  size_t size_bytes;
  std::vector<std::byte> bytes;

  Stored(const std::vector<float>& values, DType type)
      : dtype(type),
        size_bytes(values.size() * static_cast<size_t>(dtype_size(type))),
        bytes(size_bytes + kBehind, std::byte{0xff}) {
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t half = type == DType::kBF16 ? f32_to_bf16(values[i]) : f32_to_f16(values[i]);
      if (type == DType::kF32)
        std::memcpy(&bytes[4 * i], &values[i], 4);
      else
        std::memcpy(&bytes[2 * i], &half, 2);
    }
  }
  cpu::CallOperand operand(uint64_t version = 0) { return {bytes.data(), version}; }
};

// An element's bits; those of +0 for both zeros.
inline uint32_t bits_of(const Stored& values, size_t offset, size_t size) {
  uint32_t bits = 0;
  std::memcpy(&bits, &values.bytes[offset], size);
  uint32_t sign = uint32_t{1} << (8 * size - 1);
  return bits == sign ? 0 : bits;
}

inline size_t differences(const Stored& a, const Stored& b) {
  auto size = static_cast<size_t>(dtype_size(a.dtype));
  size_t count = 0;
  for (size_t i = 0; i < a.size_bytes; i += size)
    count += bits_of(a, i, size) != bits_of(b, i, size);
  return count;
}

// full - (x + bias) / 0.5 * scale, small integers throughout.
struct PostOperands {
  std::vector<float> bias, scale, full;
  PostOperands(int64_t columns, int64_t elements)
      : bias(numbers(columns + 3, 5)), scale(numbers(columns, 6)), full(numbers(elements, 7)) {}
  static PostOpList ops() {
    using Kind = PostOp::Kind;
    using With = PostOp::With;
    return {{Kind::kAdd, With::kColumn, 3},
            {Kind::kDivide, With::kValue, 0, 0.5f},
            {Kind::kMultiply, With::kColumn},
            {Kind::kSubtract, With::kElement},
            {Kind::kMultiply, With::kValue, 0, -1.0f}};
  }
  void apply(std::vector<float>& result, int64_t columns) const {
    for (size_t i = 0; i < result.size(); ++i) {
      size_t column = i % static_cast<size_t>(columns);
      result[i] = full[i] - (result[i] + bias[column + 3]) * 2 * scale[column];
    }
  }
};

}  // namespace tuff::test
