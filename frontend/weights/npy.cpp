#include "frontend/weights/npy.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <limits>
#include <string_view>

#include "frontend/weights/file.h"

namespace tuff {

namespace {

constexpr size_t kMaxRank = 64;  // NumPy's own limit
constexpr std::string_view kMagic = "\x93NUMPY";

struct DescrRow {
  const char* descr;  // without the byte order
  DType dtype;
};
// bf16 is stored as u2, small types as u1, and they are not here: the caller says so.
constexpr DescrRow kDescrs[] = {{"b1", DType::kBool}, {"i1", DType::kI8},   {"i2", DType::kI16},
                                {"i4", DType::kI32},  {"i8", DType::kI64},  {"u1", DType::kU8},
                                {"u2", DType::kU16},  {"u4", DType::kU32},  {"u8", DType::kU64},
                                {"f2", DType::kF16},  {"f4", DType::kF32},  {"f8", DType::kF64},
                                {"c8", DType::kC64},  {"c16", DType::kC128}};

struct Header {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

// Reads the header, a Python dictionary of exactly three keys. A message is the
// part of a sentence after "The .npy header ".
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> parse() {
    if (!take('{')) return bad("does not begin with '{'");
    bool seen[3] = {};
    while (!take('}')) {
      TUFF_ASSIGN(std::string key, quoted());
      int index = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (index < 0) return bad(fmt::format("has an unknown key ({})", key));
      if (std::exchange(seen[index], true)) return bad(fmt::format("has the key ({}) twice", key));
      if (!take(':')) return bad(fmt::format("has no ':' after the key ({})", key));
      TUFF_RETURN_IF_ERROR(value(index));
      if (!take(',') && peek() != '}') return bad("has no ',' between two keys");
    }
    if (!seen[0] || !seen[1] || !seen[2]) return bad("lacks descr, fortran_order or shape");
    if (peek() != '\0' || at_ != text_.size()) return bad("has text after '}'");
    return std::move(header_);
  }

 private:
  static Error bad(const std::string& what) {
    return {ErrorCode::kBadInput, "The .npy header " + what + ".", ""};
  }

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    peek();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Result<std::string> quoted() {
    char quote = peek();
    if (quote != '\'' && quote != '"') return bad("has no quoted text where one is expected");
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return bad("has an unclosed quote");
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }

  Status value(int index) {
    if (index == 0) {
      if (peek() == '[')
        return bad("describes a structured element type; store one plain array a file");
      TUFF_ASSIGN(header_.descr, quoted());
      return {};
    }
    if (index == 1) {
      header_.fortran_order = take_word("True");
      if (!header_.fortran_order && !take_word("False"))
        return bad("has a fortran_order that is not True or False");
      return {};
    }
    return shape();
  }

  Status shape() {
    if (!take('(')) return bad("has a shape that is not a tuple");
    while (!take(')')) {
      TUFF_ASSIGN(int64_t size, number());
      header_.shape.push_back(size);
      if (header_.shape.size() > kMaxRank)
        return bad(fmt::format("has a shape of more than ({}) dimensions", kMaxRank));
      bool comma = take(',');
      if (!comma && (peek() != ')' || header_.shape.size() == 1))
        return bad("has a shape without a ',' where one is expected");
    }
    return {};
  }

  Result<int64_t> number() {
    if (!std::isdigit(static_cast<unsigned char>(peek())))
      return bad("has a dimension that is not a number");
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
    int64_t n = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_) {
      int digit = text_[at_] - '0';
      if (n > (kMax - digit) / 10) return bad("has a dimension above 64 bits");
      n = n * 10 + digit;
    }
    return n;
  }

  std::string_view text_;
  size_t at_ = 0;
  Header header_;
};

const DescrRow& stored_row(DType dtype) {
  DType stored = dtype == DType::kBF16 ? DType::kU16 : is_small(dtype) ? DType::kU8 : dtype;
  for (const DescrRow& row : kDescrs)
    if (row.dtype == stored) return row;
  TUFF_CHECK(false, "no .npy storage type");
  return kDescrs[0];
}

Result<DType> element_type(const std::string& descr, std::optional<DType> as) {
  std::string_view kind(descr);
  char order = kind.empty() ? ' ' : kind[0];
  if (order == '<' || order == '=' || order == '|' || order == '>') kind.remove_prefix(1);
  if (order == '>' && kind != "i1" && kind != "u1" && kind != "b1")
    return Error{
        ErrorCode::kBadInput,
        fmt::format("The array's element type ({}) is big endian; store it little endian.", descr),
        ""};
  if (kind.starts_with('O'))
    return Error{ErrorCode::kBadInput,
                 fmt::format("The array holds pickled objects ({}); tuff reads no pickles.", descr),
                 ""};
  // One byte an element; V1 and f1 are what NumPy writes of the types of ml_dtypes.
  if (as && is_small(*as) && (kind == "u1" || kind == "i1" || kind == "V1" || kind == "f1"))
    return *as;
  for (const DescrRow& row : kDescrs) {
    if (kind != row.descr) continue;
    if (!as || row.dtype == *as || (*as == DType::kBF16 && row.dtype == DType::kU16))
      return as.value_or(row.dtype);
    return Error{
        ErrorCode::kBadInput,
        fmt::format(
            "The array has element type ({}, {}) where ({}) is needed, which is stored as ({}).",
            dtype_name(row.dtype), descr, dtype_name(*as), stored_row(*as).descr),
        ""};
  }
  return Error{
      ErrorCode::kUnsupported,
      fmt::format(
          "The array's element type ({}) is not supported; use bool, int8..int64, uint8..uint64 or "
          "float16..float64, complex64 or complex128.",
          descr),
      ""};
}

// The header's text and where the data starts.
struct Envelope {
  std::string_view header;
  size_t data_offset = 0;
};

Result<Envelope> open_envelope(std::string_view bytes) {
  if (bytes.size() < 10 || bytes.substr(0, kMagic.size()) != kMagic)
    return Error{ErrorCode::kBadInput,
                 "The file is not an .npy array (its first six bytes are not \\x93NUMPY).", ""};
  int major = static_cast<unsigned char>(bytes[6]), minor = static_cast<unsigned char>(bytes[7]);
  if ((major != 1 && major != 2) || minor != 0)
    return Error{
        ErrorCode::kBadInput,
        fmt::format("The .npy format ({}.{}) is not known; tuff reads 1.0 and 2.0.", major, minor),
        ""};
  size_t length_bytes = major == 1 ? 2 : 4, length = 0;
  size_t start = 8 + length_bytes;
  if (bytes.size() < start)
    return Error{ErrorCode::kBadInput, "The .npy file ends inside its header.", ""};
  for (size_t i = 0; i < length_bytes; ++i)
    length |= size_t{static_cast<unsigned char>(bytes[8 + i])} << (8 * i);
  if (length > bytes.size() - start)
    return Error{
        ErrorCode::kBadInput,
        fmt::format("The .npy header says ({}) bytes, but only ({}) follow; the file is truncated.",
                    length, bytes.size() - start),
        ""};
  return Envelope{bytes.substr(start, length), start + length};
}

// dst[C order] = src[Fortran order]: a transpose of the reversed shape.
void from_fortran(const Shape& shape, size_t element_bytes, const std::byte* src, std::byte* dst) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = 0; d < shape.size(); ++d) strides[d] = stride, stride *= shape[d];
  std::vector<int64_t> index(shape.size(), 0);
  int64_t from = 0;
  for (int64_t i = 0; i < stride; ++i) {
    std::memcpy(dst + i * static_cast<int64_t>(element_bytes),
                src + from * static_cast<int64_t>(element_bytes), element_bytes);
    for (size_t d = shape.size(); d-- > 0;) {
      from += strides[d];
      if (++index[d] < shape[d]) break;
      from -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

bool is_aligned(const std::byte* data, size_t element_bytes) {
  return reinterpret_cast<uintptr_t>(data) % element_bytes == 0;
}

Result<Literal> parse_npy(std::shared_ptr<const MappedFile> file, std::optional<DType> as) {
  std::span<const std::byte> bytes = file->bytes();
  TUFF_ASSIGN(Envelope envelope,
              open_envelope({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  TUFF_ASSIGN(Header header, HeaderParser(envelope.header).parse());
  TUFF_ASSIGN(DType dtype, element_type(header.descr, as));
  TUFF_RETURN_IF_ERROR(checked_num_elements(header.shape));
  TensorType type{dtype, header.shape};
  size_t have = bytes.size() - envelope.data_offset;
  if (have != static_cast<size_t>(type.size_bytes()))
    return Error{
        ErrorCode::kBadInput,
        fmt::format("The array's data has ({}) bytes, but its shape and type ({}) need ({}).", have,
                    type.to_string(), type.size_bytes()),
        ""};
  const std::byte* data = bytes.data() + envelope.data_offset;
  auto element_bytes = static_cast<size_t>(dtype_size(dtype));
  if (!header.fortran_order && dtype != DType::kBool && is_aligned(data, element_bytes))
    return Literal(std::move(type), data, std::move(file));
  std::vector<std::byte> elements(have);
  if (have > 0 && header.fortran_order)
    from_fortran(header.shape, element_bytes, data, elements.data());
  if (have > 0 && !header.fortran_order) std::memcpy(elements.data(), data, have);
  if (dtype == DType::kBool)
    for (std::byte& b : elements) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
  return Literal(std::move(type), std::move(elements));
}

}  // namespace

Result<Literal> read_npy(const std::string& path, std::optional<DType> as) {
  TUFF_ASSIGN(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  Result<Literal> literal = parse_npy(std::move(file), as);
  if (literal.ok()) return literal;
  Error error = literal.take_error();
  error.where = path;
  return error;
}

Status write_npy(const std::string& path, const Literal& literal) {
  const DescrRow& row = stored_row(literal.type().dtype);
  std::string shape;
  for (int64_t size : literal.type().shape) shape += fmt::format("{}, ", size);
  // "(3,)" for one dimension, "(2, 3)" for more, as NumPy writes them.
  if (shape.size() >= 2) shape.resize(shape.size() - (literal.type().rank() == 1 ? 1 : 2));
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   dtype_size(row.dtype) == 1 ? '|' : '<', row.descr, shape);
  constexpr size_t kPrefix = 10, kAlignment = 64;
  header.append(kAlignment - 1 - (kPrefix + header.size()) % kAlignment, ' ').push_back('\n');
  std::string bytes(kMagic);
  bytes +=
      {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  bytes += header;
  if (literal.size_bytes() > 0)
    bytes.append(reinterpret_cast<const char*>(literal.bytes()),
                 static_cast<size_t>(literal.size_bytes()));
  return write_file(path, bytes);
}

}  // namespace tuff
