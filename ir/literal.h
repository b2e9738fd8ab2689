// Literal: a dense host tensor, row-major. Constants, evaluator values, inputs
// and outputs are all Literals. Bytes are shared and immutable once published.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ir/type.h"

namespace tuff {

class Literal {
 public:
  Literal() = default;
  // Zero-filled, writable through mutable_data() until shared.
  explicit Literal(TensorType type);
  // Takes bytes laid out row-major; the size must match the type (checked).
  Literal(TensorType type, std::vector<std::byte> bytes);
  // Writable, on memory with room for it, whatever lies there.
  static Literal on(TensorType type, std::shared_ptr<std::byte> memory);
  // A view on memory that `owner` keeps alive (a mapped file, say). No copy.
  Literal(TensorType type, const std::byte* data, std::shared_ptr<const void> owner);

  const TensorType& type() const { return type_; }
  int64_t num_elements() const { return type_.num_elements(); }
  int64_t size_bytes() const { return type_.size_bytes(); }
  const std::byte* bytes() const { return data_; }

  // Typed access; T must have the element's size (uint16_t for f16 and bf16,
  // uint8_t for bool and the small types). Views of mapped files may be unaligned: use get/copy
  // there.
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(data_);
  }
  template <typename T>
  T* mutable_data() {
    return reinterpret_cast<T*>(mutable_bytes());
  }
  std::byte* mutable_bytes();

  // One element, converted; f16, bf16 and small types are widened, bool is 0 or 1. A complex
  // literal has none: ask its parts (as_parts).
  double get_double(int64_t index) const;
  int64_t get_int(int64_t index) const;
  // Stores a value converted (floats rounded once, integers wrapped, bool = v != 0).
  void set_double(int64_t index, double value);
  void set_int(int64_t index, int64_t value);

  // Every element has the same bits (and there is at least one).
  bool is_splat() const;
  // Same type and bits. NaNs with equal bits are equal; +0 and -0 differ.
  bool operator==(const Literal& other) const;
  uint64_t hash() const;
  // The same bytes under another type of as many: a view.
  Literal with_type(TensorType type) const;

  static Literal scalar(DType dtype, double value);
  static Literal splat(TensorType type, double value);
  static Literal from_ints(DType dtype, Shape shape, const std::vector<int64_t>& values);
  static Literal from_doubles(DType dtype, Shape shape, const std::vector<double>& values);

 private:
  TensorType type_;
  const std::byte* data_ = nullptr;
  std::byte* writable_ = nullptr;  // null iff the bytes are not ours to write
  std::shared_ptr<const void> owner_;
};

inline Literal as_parts(const Literal& value) { return value.with_type(as_parts(value.type())); }

}  // namespace tuff
