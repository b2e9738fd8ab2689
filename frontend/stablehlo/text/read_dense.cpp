// dense<...> constants: splats, nested lists, hexadecimal bytes.
//
// A splat is kept as one element whatever its type's size; the other forms spell
// every element, so what they allocate is bounded by the text that was read.
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "frontend/stablehlo/text/parser.h"

namespace tuff::stablehlo {

namespace {

// Past this a constant is refused before anything is allocated.
constexpr int64_t kMaxConstantBytes = int64_t{4} << 30;

int hex_digit(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool fits(uint64_t magnitude, bool negative, DType dtype) {
  if (dtype == DType::kBool) return magnitude <= 1;
  int bits = static_cast<int>(dtype_size(dtype)) * 8;
  uint64_t top = uint64_t{1} << (bits - 1);
  if (negative) return is_signed_int(dtype) && magnitude <= top;
  // MLIR lets a signless constant use all bits of its type.
  return bits == 64 || magnitude < top * 2;
}

}  // namespace

void Parser::parse_dense_element(std::vector<Element>* elements) {
  if (eat('(')) {  // a complex number: two elements
    parse_dense_element(elements);
    expect(',');
    parse_dense_element(elements);
    expect(')');
    return;
  }
  Element element;
  element.negative = eat('-');
  element.token = token_;
  if (!at(Tok::kInteger) && !at(Tok::kFloat) && !at(Tok::kString) && !at_word("true") &&
      !at_word("false"))
    fail("Expected a number, true, false or a list here.");
  advance();
  elements->push_back(element);
}

// The shape is that of the first list at each depth; every other must agree.
void Parser::parse_dense_list(size_t depth, std::vector<Element>* elements, Shape* shape) {
  Nest nest(*this);
  Token start = token_;
  expect('[');
  if (shape->size() <= depth) shape->push_back(-1);
  int64_t count = 0;
  parse_list(']', [&] {
    if (at('['))
      parse_dense_list(depth + 1, elements, shape);
    else if (shape->size() > depth + 1)
      fail("The lists of the constant differ in depth.");
    else
      parse_dense_element(elements);
    ++count;
  });
  int64_t& size = (*shape)[depth];
  if (size < 0)
    size = count;
  else if (size != count)
    fail_at(start, "The lists of the constant differ in length.");
}

Attribute Parser::parse_dense() {
  auto dense = std::make_shared<DenseElements>();
  advance();
  expect('<');
  Token content = token_;
  std::vector<Element> elements;
  Shape shape;
  bool bytes = at(Tok::kString) && token_.text.starts_with("0x");
  bool list = at('[');
  if (bytes)
    advance();
  else if (list)
    parse_dense_list(0, &elements, &shape);
  else if (!at('>'))
    parse_dense_element(&elements);
  expect('>');
  expect(':');
  dense->type = parse_type();
  if (failed()) return {};
  if (dense->type.kind != TypeKind::kTensor) {
    fail_at(content, fmt::format("A constant cannot have the type ({}).", dense->type.to_string()));
    return {};
  }
  auto type = to_stored_type(dense->type);
  if (!type.ok() && type.error().code == ErrorCode::kBadInput) {
    fail_at(content, type.error().message);
    return {};
  }
  dense->readable = type.ok();
  if (!dense->readable) return {std::shared_ptr<const DenseElements>(dense)};
  if (list && shape != dense->type.shape && !(elements.empty() && type->num_elements() == 0))
    fail_at(content, fmt::format("The constant's lists do not have the shape of its type ({}).",
                                 dense->type.to_string()));
  if (!list && !bytes && elements.empty() && type->num_elements() != 0)
    fail_at(content, fmt::format("The constant is empty, but its type ({}) is not.",
                                 dense->type.to_string()));
  dense->splat = !list && !bytes && type->num_elements() != 0;
  if (bytes)
    fill_from_hex(content, dense.get());
  else
    fill_elements(elements, dense.get());
  return {std::shared_ptr<const DenseElements>(dense)};
}

void Parser::fill_elements(const std::vector<Element>& elements, DenseElements* dense) {
  if (failed()) return;
  TensorType type = *to_stored_type(dense->type);
  if (dense->splat) type.shape = stored_element(dense->type);
  int64_t count = type.num_elements();
  if (count != 0 && count != static_cast<int64_t>(elements.size())) {
    fail("The constant's number of elements differs from its type's.");
    return;
  }
  dense->values = Literal(type);
  for (int64_t i = 0; i < count && !failed(); ++i) store_element(elements[i], i, &dense->values);
}

void Parser::store_element(const Element& element, int64_t index, Literal* values) {
  DType dtype = values->type().dtype;
  const Token& token = element.token;
  if (token.kind == Tok::kWord) {
    if (dtype != DType::kBool) fail_at(token, "Only an i1 constant can be true or false.");
    values->set_int(index, token.text == "true");
    return;
  }
  if (token.kind == Tok::kFloat) {
    double value = 0;
    std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (!is_float(dtype)) fail_at(token, "An integer constant cannot have a fraction.");
    values->set_double(index, element.negative ? -value : value);
    return;
  }
  std::string_view digits = token.text;
  bool hex = digits.starts_with("0x");
  if (hex) digits.remove_prefix(2);
  uint64_t bits = 0;
  auto [end, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), bits, hex ? 16 : 10);
  if (token.kind != Tok::kInteger || code != std::errc() || end != digits.data() + digits.size()) {
    fail_at(token, "The constant's element is not a number of 64 bits.");
    return;
  }
  if (is_float(dtype)) {
    size_t size = static_cast<size_t>(dtype_size(dtype));
    if (!hex) fail_at(token, "A float constant needs a point (1.0) or its bits in hexadecimal.");
    if (size < 8 && bits >> (size * 8) != 0)
      fail_at(token, "The bits do not fit the float's type.");
    std::memcpy(values->mutable_bytes() + index * size, &bits, size);
    return;
  }
  if (!fits(bits, element.negative, dtype))
    fail_at(token,
            fmt::format("The value does not fit the constant's type ({}).", dtype_name(dtype)));
  values->set_int(index, static_cast<int64_t>(element.negative ? 0 - bits : bits));
}

// "0x..." is the elements' bytes in order, or one element that is the splat. An i1
// takes a byte, or (as older writers have it) a bit, lowest first.
void Parser::fill_from_hex(const Token& hex, DenseElements* dense) {
  if (failed()) return;
  std::string_view digits = hex.text.substr(2);
  TensorType type = *to_stored_type(dense->type);
  int64_t parts = num_elements(stored_element(dense->type));
  int64_t size = static_cast<int64_t>(digits.size() / 2), count = type.num_elements() / parts;
  if (digits.size() % 2 != 0 || !is_hex(digits)) {
    fail_at(hex, "The constant's bytes are not pairs of hexadecimal digits.");
    return;
  }
  if (size > kMaxConstantBytes) {
    fail_at(hex, "The constant has more than 4 GiB; pass it as an argument.",
            ErrorCode::kUnsupported);
    return;
  }
  auto byte = [&](int64_t i) {
    return static_cast<std::byte>(hex_digit(digits[2 * i]) * 16 + hex_digit(digits[2 * i + 1]));
  };
  int64_t element_size = dtype_size(type.dtype) * parts;
  bool is_bits = type.dtype == DType::kBool && size == (count + 7) / 8 && size != count;
  dense->splat = size == element_size && count > 1 && !(is_bits && count <= 8);
  if (!dense->splat && !is_bits && size != count * element_size) {
    fail_at(hex, fmt::format("The constant has ({}) bytes, but its type ({}) needs ({}).", size,
                             dense->type.to_string(), count * element_size));
    return;
  }
  if (dense->splat) type.shape = stored_element(dense->type);
  dense->values = Literal(type);
  std::byte* out = dense->values.mutable_bytes();
  if (type.dtype == DType::kBool) {
    for (int64_t i = 0; i < type.num_elements(); ++i)
      out[i] = is_bits && !dense->splat ? (byte(i / 8) >> (i % 8)) & std::byte{1}
                                        : std::byte{byte(i) != std::byte{0}};
  } else {
    for (int64_t i = 0; i < dense->values.size_bytes(); ++i) out[i] = byte(i);
  }
}

}  // namespace tuff::stablehlo
