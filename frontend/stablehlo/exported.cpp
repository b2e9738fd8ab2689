#include "frontend/stablehlo/exported.h"

#include <cstdint>

#include "frontend/stablehlo/read.h"

namespace tuff::stablehlo {

namespace {

// The file is a FlatBuffer: numbers lie in little endian, and a table says by another one, its
// vtable, where its fields are.
constexpr size_t kModuleField = 13;  // mlir_module_serialized, of the root table
constexpr size_t kVtableHeader = 4, kFieldBytes = 2;

// An integer of so many bytes; nothing beyond the end.
std::optional<size_t> number(std::string_view bytes, size_t at, size_t width) {
  if (at > bytes.size() || bytes.size() - at < width) return std::nullopt;
  size_t value = 0;
  for (size_t i = 0; i < width; ++i)
    value |= static_cast<size_t>(static_cast<uint8_t>(bytes[at + i])) << 8 * i;
  return value;
}

// Where the root table's field begins.
std::optional<size_t> root_field(std::string_view bytes, size_t field) {
  std::optional<size_t> table = number(bytes, 0, 4);
  if (!table) return std::nullopt;
  std::optional<size_t> back = number(bytes, *table, 4);
  if (!back) return std::nullopt;
  size_t vtable = *table - static_cast<int32_t>(*back), entry = kVtableHeader + kFieldBytes * field;
  std::optional<size_t> vtable_size = number(bytes, vtable, 2);
  if (!vtable_size || *vtable_size < entry + kFieldBytes) return std::nullopt;
  std::optional<size_t> offset = number(bytes, vtable + entry, kFieldBytes);
  if (!offset || *offset == 0) return std::nullopt;
  return *table + *offset;
}

}  // namespace

std::optional<std::string_view> exported_module(std::string_view bytes) {
  std::optional<size_t> field = root_field(bytes, kModuleField);
  std::optional<size_t> offset = field ? number(bytes, *field, 4) : std::nullopt;
  std::optional<size_t> size = offset ? number(bytes, *field + *offset, 4) : std::nullopt;
  if (!size || bytes.size() - (*field + *offset + 4) < *size) return std::nullopt;
  std::string_view module = bytes.substr(*field + *offset + 4, *size);
  if (!is_bytecode(module)) return std::nullopt;
  return module;
}

}  // namespace tuff::stablehlo
