// Constants: a type and the elements' bytes in order, or one element that is all.
#include <fmt/format.h>

#include <cstring>

#include "frontend/stablehlo/bytecode/bytecode.h"

namespace tuff::stablehlo {

namespace {

// i1 elements are bits, lowest first, or bytes. One byte of ones or zeros is a splat;
// it is also up to eight equal bits, which is the same.
bool is_bool_splat(std::string_view raw, int64_t count) {
  if (raw.size() != 1) return false;
  return count > 8 || count <= 1 || raw[0] == '\xFF' || raw[0] == 0;
}

void fill_bools(std::string_view raw, bool packed, Literal* values) {
  std::byte* out = values->mutable_bytes();
  for (int64_t i = 0; i < values->num_elements(); ++i) {
    size_t at = static_cast<size_t>(i);
    int bits = static_cast<uint8_t>(raw[packed ? at / 8 : at]);
    out[i] = std::byte{static_cast<uint8_t>(packed ? bits >> (at % 8) & 1 : bits != 0)};
  }
}

}  // namespace

Attribute BytecodeReader::dense_attribute(ByteCursor& from) {
  auto dense = std::make_shared<DenseElements>();
  dense->type = type(from);
  ByteCursor at = from;
  std::string_view raw = from.bytes(from.varint());
  if (failed()) return {};
  if (dense->type.kind != TypeKind::kTensor) {
    at.fail(fmt::format("A constant cannot have the type ({}).", dense->type.to_string()));
    return {};
  }
  fill_dense(at, raw, dense.get());
  return {std::shared_ptr<const DenseElements>(dense)};
}

void BytecodeReader::fill_dense(ByteCursor& at, std::string_view raw, DenseElements* dense) {
  auto type = to_stored_type(dense->type);
  dense->readable = type.ok();
  if (!type.ok()) {
    if (type.error().code == ErrorCode::kBadInput) at.fail(type.error().message);
    return;
  }
  int64_t parts = num_elements(stored_element(dense->type));
  int64_t count = type->num_elements() / parts, size = static_cast<int64_t>(raw.size());
  int64_t element_size = dtype_size(type->dtype) * parts;
  bool is_bool = type->dtype == DType::kBool;
  dense->splat = count > 0 && (is_bool ? is_bool_splat(raw, count) : size == element_size);
  bool packed = is_bool && !dense->splat && size == (count + 7) / 8 && size != count;
  // What an empty constant's bytes are is not looked at.
  if (!dense->splat && !packed && count != 0 && size != count * element_size) {
    at.fail(fmt::format("The constant has ({}) bytes, but its type ({}) needs ({}).", size,
                        dense->type.to_string(), count * element_size));
    return;
  }
  if (dense->splat) type->shape = stored_element(dense->type);
  dense->values = Literal(*type);
  if (is_bool)
    fill_bools(raw, packed, &dense->values);
  else if (count != 0)
    std::memcpy(dense->values.mutable_bytes(), raw.data(), raw.size());
}

}  // namespace tuff::stablehlo
