#include "frontend/weights/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "frontend/weights/json.h"

namespace tuff {

namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr int kMaxHeaderDepth = 3;  // {"tensor": {"shape": [

struct DTypeRow {
  const char* name;
  int bits;                    // of one element
  std::optional<DType> dtype;  // nullopt: known to the format, not to tuff
};
constexpr DTypeRow kDTypes[] = {{"BOOL", 8, DType::kBool},      {"I8", 8, DType::kI8},
                                {"I16", 16, DType::kI16},       {"I32", 32, DType::kI32},
                                {"I64", 64, DType::kI64},       {"U8", 8, DType::kU8},
                                {"U16", 16, DType::kU16},       {"U32", 32, DType::kU32},
                                {"U64", 64, DType::kU64},       {"F16", 16, DType::kF16},
                                {"BF16", 16, DType::kBF16},     {"F32", 32, DType::kF32},
                                {"F64", 64, DType::kF64},       {"F8_E4M3", 8, DType::kF8E4M3FN},
                                {"F8_E5M2", 8, DType::kF8E5M2}, {"F8_E8M0", 8, DType::kF8E8M0FNU},
                                {"F4", 4, std::nullopt},        {"F6_E2M3", 6, std::nullopt},
                                {"F6_E3M2", 6, std::nullopt},   {"C64", 64, DType::kC64}};

const DTypeRow* find_dtype(std::string_view name) {
  for (const DTypeRow& row : kDTypes)
    if (name == row.name) return &row;
  return nullptr;
}

Error bad(const std::string& path, const std::string& sentence) {
  return {ErrorCode::kBadInput, sentence, path};
}

// The unsigned numbers of a JSON list, or nullopt.
std::optional<std::vector<uint64_t>> unsigned_list(const JsonValue& object, const char* key) {
  const JsonValue* found = object.find(key);
  if (found == nullptr || found->list() == nullptr) return std::nullopt;
  std::vector<uint64_t> values;
  for (const JsonValue& value : *found->list()) {
    if (value.whole() == nullptr) return std::nullopt;
    values.push_back(*value.whole());
  }
  return values;
}

// Size in bytes of a tensor of a known element type; shapes are checked for overflow.
Result<uint64_t> size_of(const std::string& path, const SafetensorsEntry& entry, int bits) {
  Result<int64_t> elements = checked_num_elements(entry.shape);
  if (!elements.ok())
    return bad(path, fmt::format("The tensor ({}) has shape ([{}]): {}", entry.name,
                                 fmt::join(entry.shape, ", "), elements.error().message));
  // checked_num_elements leaves four bits of room; a byte count always fits.
  auto count = static_cast<uint64_t>(*elements);
  uint64_t bytes = bits >= 8 ? count * static_cast<uint64_t>(bits / 8)
                             : (count / 8) * static_cast<uint64_t>(bits) +
                                   (count % 8 * static_cast<uint64_t>(bits) + 7) / 8;
  return bytes;
}

Result<SafetensorsEntry> parse_entry(const std::string& path, const std::string& name,
                                     const JsonValue& json, uint64_t data_bytes) {
  SafetensorsEntry entry;
  entry.name = name;
  const JsonValue* dtype = json.find("dtype");
  if (dtype == nullptr || dtype->text() == nullptr)
    return bad(path, fmt::format("The tensor ({}) has no dtype.", name));
  entry.dtype = *dtype->text();
  auto shape = unsigned_list(json, "shape");
  if (!shape) return bad(path, fmt::format("The tensor ({}) has no shape of whole numbers.", name));
  for (uint64_t size : *shape) {
    if (size > static_cast<uint64_t>(INT64_MAX))
      return bad(path,
                 fmt::format("The tensor ({}) has a dimension ({}) above 63 bits.", name, size));
    entry.shape.push_back(static_cast<int64_t>(size));
  }
  auto offsets = unsigned_list(json, "data_offsets");
  if (!offsets || offsets->size() != 2)
    return bad(path,
               fmt::format("The tensor ({}) has no data_offsets of two whole numbers.", name));
  entry.begin = (*offsets)[0], entry.end = (*offsets)[1];
  if (entry.begin > entry.end || entry.end > data_bytes)
    return bad(
        path,
        fmt::format("The tensor ({}) has data_offsets ({}, {}) outside the file's data ({} bytes).",
                    name, entry.begin, entry.end, data_bytes));
  if (const DTypeRow* row = find_dtype(entry.dtype)) {
    TUFF_ASSIGN(uint64_t needs, size_of(path, entry, row->bits));
    if (needs != entry.end - entry.begin)
      return bad(
          path,
          fmt::format("The tensor ({}) of shape ([{}]) and dtype ({}) needs ({}) bytes, but its "
                      "data_offsets ({}, {}) give ({}).",
                      name, fmt::join(entry.shape, ", "), entry.dtype, needs, entry.begin,
                      entry.end, entry.end - entry.begin));
  }
  return entry;
}

}  // namespace

Result<Safetensors> Safetensors::open(const std::string& path) {
  Safetensors tensors;
  TUFF_ASSIGN(tensors.file_, MappedFile::open(path));
  TUFF_RETURN_IF_ERROR(tensors.read_header());
  std::sort(tensors.entries_.begin(), tensors.entries_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  TUFF_RETURN_IF_ERROR(tensors.check_layout());
  for (size_t i = 0; i < tensors.entries_.size(); ++i)
    tensors.by_name_[tensors.entries_[i].name] = i;
  return tensors;
}

Status Safetensors::read_header() {
  std::span<const std::byte> bytes = file_->bytes();
  if (bytes.size() < kLengthBytes)
    return bad(path(), fmt::format("The file has ({}) bytes; a safetensors file has at least 8.",
                                   bytes.size()));
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    length |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  if (length > kMaxHeaderBytes)
    return bad(
        path(),
        fmt::format(
            "The header says ({}) bytes; tuff accepts at most ({}). Is this a safetensors file?",
            length, kMaxHeaderBytes));
  if (length > bytes.size() - kLengthBytes)
    return bad(
        path(),
        fmt::format("The header says ({}) bytes, but only ({}) follow; the file is truncated.",
                    length, bytes.size() - kLengthBytes));
  data_ = bytes.subspan(kLengthBytes + length);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  TUFF_ASSIGN(JsonValue header, read_json_object(text, kMaxHeaderDepth, "The header", path()));
  for (const auto& [name, value] : *header.object()) {
    if (name == "__metadata__") continue;
    TUFF_ASSIGN(SafetensorsEntry entry, parse_entry(path(), name, value, data_.size()));
    entries_.push_back(std::move(entry));
  }
  return {};
}

Status Safetensors::check_layout() const {
  uint64_t covered = 0;
  const SafetensorsEntry* previous = nullptr;
  for (const SafetensorsEntry& entry : entries_) {
    if (entry.begin < covered)
      return bad(
          path(),
          fmt::format(
              "The tensors ({}) and ({}) overlap: the data of the second starts at ({}), that of "
              "the first ends at ({}).",
              previous->name, entry.name, entry.begin, covered));
    if (entry.begin > covered)
      return bad(
          path(),
          fmt::format(
              "The data before the tensor ({}) has a hole: bytes ({}) to ({}) belong to no tensor.",
              entry.name, covered, entry.begin));
    covered = entry.end;
    previous = &entry;
  }
  if (covered != data_.size())
    return bad(
        path(),
        fmt::format(
            "The tensors cover ({}) bytes of ({}) bytes of data; the rest belongs to no tensor.",
            covered, data_.size()));
  return {};
}

const SafetensorsEntry* Safetensors::find(std::string_view name) const {
  auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

Result<Literal> Safetensors::tensor(const std::string& name) const {
  const SafetensorsEntry* entry = find(name);
  if (!entry) return bad(path(), fmt::format("The file holds no tensor ({}).", name));
  const DTypeRow* row = find_dtype(entry->dtype);
  if (!row || !row->dtype)
    return Error{
        ErrorCode::kUnsupported,
        fmt::format(
            "The tensor ({}) has dtype ({}), which is not supported; store it as F32, F16 or BF16.",
            name, entry->dtype),
        path()};
  TensorType type{*row->dtype, entry->shape};
  const std::byte* bytes = data_.data() + entry->begin;
  bool aligned =
      reinterpret_cast<uintptr_t>(bytes) % static_cast<uintptr_t>(dtype_size(type.dtype)) == 0;
  if (aligned && type.dtype != DType::kBool) return Literal(std::move(type), bytes, file_);
  std::vector<std::byte> copy(bytes, bytes + (entry->end - entry->begin));
  if (type.dtype == DType::kBool)
    for (std::byte& b : copy) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
  return Literal(std::move(type), std::move(copy));
}

}  // namespace tuff
