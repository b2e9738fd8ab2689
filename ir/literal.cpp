#include "ir/literal.h"

#include <cstring>

#include "ir/small_float.h"
#include "ir/support/hash.h"

namespace tuff {

Literal::Literal(TensorType type)
    : Literal(type, std::vector<std::byte>(static_cast<size_t>(type.size_bytes()))) {}

Literal::Literal(TensorType type, std::vector<std::byte> bytes) : type_(std::move(type)) {
  TUFF_CHECK(
      static_cast<int64_t>(bytes.size()) == type_.size_bytes(),
      "literal of type " + type_.to_string() + " gets " + std::to_string(bytes.size()) + " bytes");
  auto owned = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  data_ = writable_ = owned->data();
  owner_ = std::move(owned);
}

Literal::Literal(TensorType type, const std::byte* data, std::shared_ptr<const void> owner)
    : type_(std::move(type)), data_(data), owner_(std::move(owner)) {}

Literal Literal::on(TensorType type, std::shared_ptr<std::byte> memory) {
  std::byte* data = memory.get();
  Literal literal(std::move(type), data, std::move(memory));
  literal.writable_ = data;
  return literal;
}

std::byte* Literal::mutable_bytes() {
  TUFF_CHECK(writable_ != nullptr || size_bytes() == 0, "literal is a read-only view");
  return writable_;
}

namespace {

template <typename T>
T load(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void store(std::byte* data, int64_t index, T value) {
  std::memcpy(data + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

}  // namespace

double Literal::get_double(int64_t i) const {
  switch (type_.dtype) {
    case DType::kF16: return f16_to_f32(load<uint16_t>(data_, i));
    case DType::kBF16: return bf16_to_f32(load<uint16_t>(data_, i));
    case DType::kF32: return load<float>(data_, i);
    case DType::kF64: return load<double>(data_, i);
    case DType::kU64: return static_cast<double>(load<uint64_t>(data_, i));
    default: break;
  }
  if (is_small_float(type_.dtype)) return from_small(type_.dtype, load<uint8_t>(data_, i));
  return static_cast<double>(get_int(i));
}

int64_t Literal::get_int(int64_t i) const {
  switch (type_.dtype) {
    case DType::kBool: return load<uint8_t>(data_, i) != 0;
    case DType::kI8: return load<int8_t>(data_, i);
    case DType::kI16: return load<int16_t>(data_, i);
    case DType::kI32: return load<int32_t>(data_, i);
    case DType::kI64: return load<int64_t>(data_, i);
    case DType::kU8: return load<uint8_t>(data_, i);
    case DType::kU16: return load<uint16_t>(data_, i);
    case DType::kU32: return load<uint32_t>(data_, i);
    case DType::kU64: return static_cast<int64_t>(load<uint64_t>(data_, i));
    case DType::kI4:
    case DType::kI2:
    case DType::kU4:
    case DType::kU2: return small_int(type_.dtype, load<uint8_t>(data_, i));
    default: return static_cast<int64_t>(get_double(i));
  }
}

void Literal::set_double(int64_t i, double value) {
  std::byte* data = mutable_bytes();
  switch (type_.dtype) {
    case DType::kF16: return store(data, i, f64_to_f16(value));
    case DType::kBF16: return store(data, i, f64_to_bf16(value));
    case DType::kF32: return store(data, i, static_cast<float>(value));
    case DType::kF64: return store(data, i, value);
    case DType::kBool: return store(data, i, static_cast<uint8_t>(value != 0));
    case DType::kU64: return store(data, i, static_cast<uint64_t>(value));
    default: break;
  }
  if (is_small_float(type_.dtype)) return store(data, i, to_small(type_.dtype, value));
  set_int(i, static_cast<int64_t>(value));
}

void Literal::set_int(int64_t i, int64_t value) {
  std::byte* data = mutable_bytes();
  switch (dtype_size(type_.dtype)) {
    case 1:
      if (type_.dtype == DType::kBool) return store(data, i, static_cast<uint8_t>(value != 0));
      if (is_float(type_.dtype)) return set_double(i, static_cast<double>(value));
      if (is_small(type_.dtype)) value = small_int(type_.dtype, value);
      return store(data, i, static_cast<uint8_t>(value));
    case 2:
      if (is_float(type_.dtype)) return set_double(i, static_cast<double>(value));
      return store(data, i, static_cast<uint16_t>(value));
    case 4:
      if (is_float(type_.dtype)) return store(data, i, static_cast<float>(value));
      return store(data, i, static_cast<uint32_t>(value));
    default:
      if (is_float(type_.dtype)) return store(data, i, static_cast<double>(value));
      return store(data, i, static_cast<uint64_t>(value));
  }
}

bool Literal::is_splat() const {
  int64_t n = num_elements(), size = dtype_size(type_.dtype);
  if (n == 0) return false;
  // All equal iff the bytes equal themselves shifted by one element.
  return std::memcmp(data_, data_ + size, static_cast<size_t>((n - 1) * size)) == 0;
}

bool Literal::operator==(const Literal& other) const {
  if (type_ != other.type_) return false;
  return data_ == other.data_ || size_bytes() == 0 ||
         std::memcmp(data_, other.data_, static_cast<size_t>(size_bytes())) == 0;
}

Literal Literal::with_type(TensorType type) const {
  TUFF_CHECK(type.size_bytes() == size_bytes(),
             type_.to_string() + " has not the bytes of " + type.to_string());
  return Literal(std::move(type), data_, owner_);
}

uint64_t Literal::hash() const {
  uint64_t h = hash_string(type_.to_string());
  return size_bytes() == 0 ? h : hash_bytes(data_, static_cast<size_t>(size_bytes()), h);
}

Literal Literal::scalar(DType dtype, double value) { return splat({dtype, {}}, value); }

Literal Literal::splat(TensorType type, double value) {
  Literal result(std::move(type));
  for (int64_t i = 0; i < result.num_elements(); ++i) result.set_double(i, value);
  return result;
}

Literal Literal::from_ints(DType dtype, Shape shape, const std::vector<int64_t>& values) {
  Literal result(TensorType{dtype, std::move(shape)});
  for (size_t i = 0; i < values.size(); ++i) result.set_int(static_cast<int64_t>(i), values[i]);
  return result;
}

Literal Literal::from_doubles(DType dtype, Shape shape, const std::vector<double>& values) {
  Literal result(TensorType{dtype, std::move(shape)});
  for (size_t i = 0; i < values.size(); ++i) result.set_double(static_cast<int64_t>(i), values[i]);
  return result;
}

}  // namespace tuff
