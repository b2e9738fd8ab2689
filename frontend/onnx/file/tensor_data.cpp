#include "frontend/onnx/file/tensor_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

namespace tuff::onnx {

namespace {

namespace fs = std::filesystem;

struct ElementRow {
  int32_t number;
  const char* name;
  std::optional<DType> dtype;
};
constexpr ElementRow kElements[] = {
    {1, "FLOAT", DType::kF32},
    {2, "UINT8", DType::kU8},
    {3, "INT8", DType::kI8},
    {4, "UINT16", DType::kU16},
    {5, "INT16", DType::kI16},
    {6, "INT32", DType::kI32},
    {7, "INT64", DType::kI64},
    {8, "STRING", {}},
    {9, "BOOL", DType::kBool},
    {10, "FLOAT16", DType::kF16},
    {11, "DOUBLE", DType::kF64},
    {12, "UINT32", DType::kU32},
    {13, "UINT64", DType::kU64},
    {14, "COMPLEX64", {}},
    {15, "COMPLEX128", {}},
    {16, "BFLOAT16", DType::kBF16},
    {17, "FLOAT8E4M3FN", DType::kF8E4M3FN},
    {18, "FLOAT8E4M3FNUZ", DType::kF8E4M3FNUZ},
    {19, "FLOAT8E5M2", DType::kF8E5M2},
    {20, "FLOAT8E5M2FNUZ", DType::kF8E5M2FNUZ},
    {21, "UINT4", DType::kU4},
    {22, "INT4", DType::kI4},
    {23, "FLOAT4E2M1", DType::kF4E2M1FN},
    {24, "FLOAT8E8M0", DType::kF8E8M0FNU},
    {25, "UINT2", DType::kU2},
    {26, "INT2", DType::kI2},
};

const ElementRow* find_element(int32_t number) {
  for (const ElementRow& row : kElements)
    if (row.number == number) return &row;
  return nullptr;
}

Error bad(const proto::Tensor& tensor, std::string sentence, const std::string& path) {
  return {ErrorCode::kBadInput, fmt::format("The tensor ({}): {}", tensor.name(), sentence), path};
}

int64_t elements_a_byte(DType dtype) { return std::max(8 / dtype_bits(dtype), 1); }

// Elements of 4 or 2 bits, the first in the lowest bits, one to a byte.
Literal unpack(const TensorType& type, std::string_view bytes) {
  Literal literal(type);
  int64_t packed = elements_a_byte(type.dtype), bits = dtype_bits(type.dtype);
  for (int64_t i = 0; i < literal.num_elements(); ++i) {
    int byte = static_cast<unsigned char>(bytes[static_cast<size_t>(i / packed)]);
    int value = byte >> (i % packed * bits) & ((1 << bits) - 1);
    if (is_integer(type.dtype))
      literal.set_int(i, value);
    else
      literal.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(value);
  }
  return literal;
}

// The typed lists: one entry an element, but for packed integers.
template <typename List, typename Store>
bool fill(const List& list, int64_t count, const Store& store) {
  if (list.size() != count) return false;
  for (int i = 0; i < list.size(); ++i) store(i, list.Get(i));
  return true;
}

bool fill_from_lists(const proto::Tensor& tensor, Literal& literal) {
  DType dtype = literal.type().dtype;
  int64_t count = literal.num_elements();
  auto set_int = [&](int64_t i, auto v) { literal.set_int(i, static_cast<int64_t>(v)); };
  auto set_double = [&](int64_t i, auto v) { literal.set_double(i, v); };
  switch (dtype) {
    case DType::kF32: return fill(tensor.float_data(), count, set_double);
    case DType::kF64: return fill(tensor.double_data(), count, set_double);
    case DType::kI64: return fill(tensor.int64_data(), count, set_int);
    case DType::kU32:
    case DType::kU64: return fill(tensor.uint64_data(), count, set_int);
    case DType::kF16:
    case DType::kBF16:
      return fill(tensor.int32_data(), count, [&](int64_t i, int32_t bits) {
        literal.mutable_data<uint16_t>()[i] = static_cast<uint16_t>(bits);
      });
    default: break;
  }
  if (!is_small_float(dtype)) return fill(tensor.int32_data(), count, set_int);
  return fill(tensor.int32_data(), count, [&](int64_t i, int32_t bits) {
    literal.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(bits);
  });
}

std::optional<uint64_t> parse_number(const std::string& text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

const std::byte* as_bytes(std::string_view text) {
  return reinterpret_cast<const std::byte*>(text.data());
}

}  // namespace

Result<DType> read_dtype(int32_t number) {
  const ElementRow* row = find_element(number);
  if (row && row->dtype) return *row->dtype;
  if (!row)
    return Error{ErrorCode::kBadInput, fmt::format("There is no element type ({}).", number), ""};
  return Error{ErrorCode::kUnsupported,
               fmt::format("The element type ({}) is not supported; use another one.", row->name),
               ""};
}

TensorData::TensorData(std::string_view file, std::shared_ptr<const void> owner, std::string path)
    : file_(file), owner_(std::move(owner)), path_(std::move(path)) {}

Result<Literal> TensorData::read(const proto::Tensor& tensor) {
  Result<DType> dtype = read_dtype(tensor.data_type());
  if (!dtype.ok())
    return Error{dtype.error().code,
                 fmt::format("The tensor ({}): {}", tensor.name(), dtype.error().message), path_};
  TensorType type{*dtype, Shape(tensor.dims().begin(), tensor.dims().end())};
  Result<int64_t> count = checked_num_elements(type.shape);
  if (!count.ok() || *count > INT64_MAX / 8)
    return bad(tensor, "Its shape is not possible.", path_);
  if (tensor.data_location() != 0) return read_external(tensor, type);

  int64_t packed = elements_a_byte(type.dtype);
  auto raw_size =
      static_cast<uint64_t>(packed == 1 ? type.size_bytes() : (*count + packed - 1) / packed);
  std::string_view raw = tensor.raw_data();
  bool lifted = tensor.has_lifted_offset();
  if (lifted) {
    if (tensor.lifted_offset() > file_.size() ||
        tensor.lifted_size() > file_.size() - tensor.lifted_offset())
      return bad(tensor, "Its data ends after the file.", path_);
    raw = file_.substr(tensor.lifted_offset(), tensor.lifted_size());
  }
  if (lifted || tensor.has_raw_data()) {
    if (raw.size() != raw_size)
      return bad(tensor,
                 fmt::format("It is ({}), so it needs ({}) bytes, but has ({}).", type.to_string(),
                             raw_size, raw.size()),
                 path_);
    if (packed > 1) return unpack(type, raw);
    if (lifted) return Literal(type, as_bytes(raw), owner_);
    return Literal(type, std::vector<std::byte>(as_bytes(raw), as_bytes(raw) + raw.size()));
  }
  // A list has at least as many bytes as the literal will have eighths.
  if (*count > static_cast<int64_t>(file_.size()))
    return bad(tensor, "It has fewer values than its shape says.", path_);
  if (packed > 1) {
    std::string bytes;
    for (int32_t v : tensor.int32_data()) bytes.push_back(static_cast<char>(v));
    if (bytes.size() != raw_size)
      return bad(tensor, "It has not as many values as its shape says.", path_);
    return unpack(type, bytes);
  }
  Literal literal(type);
  if (!fill_from_lists(tensor, literal))
    return bad(tensor,
               fmt::format("It has not as many values as its shape ({}) says.", type.to_string()),
               path_);
  return literal;
}

Result<Literal> TensorData::read(const proto::SparseTensor& tensor) {
  TUFF_ASSIGN(Literal values, read(tensor.values()));
  TUFF_ASSIGN(Literal indices, read(tensor.indices()));
  TensorType type{values.type().dtype, Shape(tensor.dims().begin(), tensor.dims().end())};
  constexpr int64_t kMaxElements = int64_t{1} << 28;  // a few bytes may stand for them
  Result<int64_t> count = checked_num_elements(type.shape);
  if (!count.ok() || *count > kMaxElements)
    return bad(tensor.values(), "Its shape is not possible, or too large.", path_);
  const Shape& listed = indices.type().shape;
  int64_t columns = listed.size() == 2 ? listed[1] : 1;
  if (indices.type().dtype != DType::kI64 || listed.empty() || listed.size() > 2 ||
      listed[0] != values.num_elements() || (listed.size() == 2 && columns != type.rank()))
    return bad(tensor.values(), "Its indices do not fit its values.", path_);
  std::vector<int64_t> strides = row_major_strides(type.shape);
  Literal dense(type);
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    int64_t at = listed.size() == 1 ? indices.get_int(i) : 0;
    for (int64_t d = 0; listed.size() == 2 && d < columns; ++d) {
      int64_t index = indices.get_int(i * columns + d);
      auto dim = static_cast<size_t>(d);
      if (index < 0 || index >= type.shape[dim])
        return bad(tensor.values(), "An index is outside its shape.", path_);
      at += index * strides[dim];
    }
    if (at < 0 || at >= *count)
      return bad(tensor.values(), "An index is outside its shape.", path_);
    auto size = static_cast<size_t>(dtype_size(type.dtype));
    std::memcpy(dense.mutable_bytes() + static_cast<size_t>(at) * size,
                values.bytes() + static_cast<size_t>(i) * size, size);
  }
  return dense;
}

Result<Literal> TensorData::read_external(const proto::Tensor& tensor, const TensorType& type) {
  std::string location;
  std::optional<uint64_t> offset = 0, length;
  for (const proto::Entry& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_number(entry.value());
    if (entry.key() != "length") continue;
    length = parse_number(entry.value());
    if (!length) return bad(tensor, "The length of its external data is no number.", path_);
  }
  if (!offset) return bad(tensor, "The offset of its external data is no number.", path_);
  Result<std::shared_ptr<const MappedFile>> file = external_file(location);
  if (!file.ok()) return bad(tensor, file.error().message, path_);
  std::string_view bytes(reinterpret_cast<const char*>((*file)->bytes().data()),
                         (*file)->bytes().size());
  int64_t packed = elements_a_byte(type.dtype);
  auto size = static_cast<uint64_t>(packed == 1 ? type.size_bytes()
                                                : (type.num_elements() + packed - 1) / packed);
  if (length.value_or(size) != size || *offset > bytes.size() || size > bytes.size() - *offset)
    return bad(
        tensor,
        fmt::format("It is ({}), so it needs ({}) bytes from ({}) on, but the file ({}) "
                    "has ({}) and the model says ({}).",
                    type.to_string(), size, *offset, location, bytes.size(), length.value_or(size)),
        path_);
  std::string_view part = bytes.substr(*offset, size);
  if (packed > 1) return unpack(type, part);
  return Literal(type, as_bytes(part), *file);
}

Result<std::shared_ptr<const MappedFile>> TensorData::external_file(const std::string& location) {
  if (auto found = external_.find(location); found != external_.end()) return found->second;
  auto unsafe = [&](const char* why) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("Its external data ({}) is not read: {}.", location, why), ""};
  };
  fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string::npos)
    return unsafe("no file is named");
  if (relative.is_absolute()) return unsafe("the path is absolute");
  for (const fs::path& part : relative)
    if (part == "..") return unsafe("the path leaves the model's folder");
  std::error_code error;
  fs::path folder = fs::path(path_).parent_path();
  folder = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) return unsafe("the model is in no folder");
  fs::path target = fs::canonical(folder / relative, error);
  if (error) return unsafe("there is no such file beside the model");
  if (target != (folder / relative).lexically_normal())
    return unsafe("a link is on its way; put the file itself beside the model");
  if (!fs::is_regular_file(target, error)) return unsafe("it is no regular file");
  if (fs::hard_link_count(target, error) != 1)
    return unsafe("the file has another name elsewhere; copy it beside the model");
  TUFF_ASSIGN(std::shared_ptr<const MappedFile> file, MappedFile::open(target.string()));
  external_[location] = file;
  return file;
}

}  // namespace tuff::onnx
