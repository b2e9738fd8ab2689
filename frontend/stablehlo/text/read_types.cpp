// Types: tensor<2x3xf32>, tuple<...>, (a) -> b, !dialect.type<...>, f32.
#include <fmt/format.h>

#include "frontend/stablehlo/text/parser.h"

namespace tuff::stablehlo {

namespace {

bool is_element_name(std::string_view word) {
  for (std::string_view prefix : {"bf16", "tf32", "index", "none"})
    if (word == prefix) return true;
  size_t digits = word.find_first_of("0123456789");
  if (digits == std::string_view::npos || digits == 0) return false;
  std::string_view prefix = word.substr(0, digits);
  if (prefix == "f") return true;  // f16, f8E4M3FN
  return (prefix == "i" || prefix == "ui" || prefix == "si") &&
         word.find_first_not_of("0123456789", digits) == std::string_view::npos;
}

}  // namespace

std::vector<Type> Parser::parse_type_list() {
  std::vector<Type> types;
  expect('(');
  parse_list(')', [&] { types.push_back(parse_type()); });
  return types;
}

Type Parser::parse_function_type() {
  Type type;
  type.kind = TypeKind::kFunction;
  type.inputs = parse_type_list();
  expect_arrow();
  if (at('('))
    type.results = parse_type_list();
  else
    type.results.push_back(parse_type());
  return type;
}

Type Parser::parse_type() {
  Nest nest(*this);
  if (at('(')) return parse_function_type();
  if (at(Tok::kBang)) return parse_bang_type();
  if (!at(Tok::kWord)) {
    fail("Expected a type here.");
    return {};
  }
  return parse_scalar_or_container(token_.text);
}

Type Parser::parse_scalar_or_container(std::string_view word) {
  if (word == "tensor") return parse_tensor_type();
  Type type;
  Token start = token_;
  advance();
  if (word == "tuple") {
    type.kind = TypeKind::kTuple;
    expect('<');
    parse_list('>', [&] { type.inputs.push_back(parse_type()); });
  } else if (word == "complex") {
    type.kind = TypeKind::kScalar;
    expect('<');
    type.element = "complex<" + parse_type().to_string() + ">";
    expect('>');
  } else if (word == "vector" || word == "memref") {
    type.element = std::string(word) + skip_balanced();
  } else if (is_element_name(word)) {
    type.kind = TypeKind::kScalar;
    type.element = word;
  } else {
    fail_at(start, fmt::format("The type ({}) is unknown.", word));
  }
  return type;
}

Type Parser::parse_bang_type() {
  std::string name(token_.text);
  advance();
  if (auto alias = type_aliases_.find(name); alias != type_aliases_.end()) return alias->second;
  Type type;
  type.element = "!" + name;
  if (at('<')) type.element += skip_balanced();
  if (name == "stablehlo.token" || name == "mhlo.token") type.kind = TypeKind::kToken;
  // A quantized element stands where a scalar does.
  if (name.starts_with("quant.")) type.kind = TypeKind::kScalar;
  return type;
}

// Sizes are read as characters: the lexer would take "2x3xf32" for one word, and
// "0x4" for a hexadecimal number.
Type Parser::parse_tensor_type() {
  Type type;
  type.kind = TypeKind::kTensor;
  advance();
  if (!at('<')) fail("Expected '<' here.");
  if (failed()) return type;
  std::string_view source = lexer_.source();
  size_t p = token_.offset + 1;
  auto space = [&] {
    while (p < source.size() && (source[p] == ' ' || source[p] == '\n')) ++p;
  };
  for (space(); p < source.size();) {
    size_t begin = p;
    int64_t size = 0;
    if (source[p] == '?' || source[p] == '*') {
      type.kind = source[p] == '*' ? TypeKind::kOpaque : type.kind;
      size = -1;
      ++p;
    } else {
      for (; p < source.size() && source[p] >= '0' && source[p] <= '9'; ++p)
        size = size > INT64_MAX / 16 ? -2 : size < 0 ? size : size * 10 + (source[p] - '0');
    }
    bool is_size = p > begin;
    space();
    if (!is_size || p >= source.size() || source[p] != 'x') {
      p = begin;
      break;
    }
    if (size < -1) fail("A size of the tensor does not fit 64 bits.");
    type.shape.push_back(size);
    ++p;
    space();
  }
  if (type.shape.size() > 64) fail("The tensor has too many dimensions (at most 64 are read).");
  lexer_.skip_to(p);
  advance();
  Token start = token_;
  Type element = parse_type();
  if (!failed() && element.kind != TypeKind::kScalar && element.kind != TypeKind::kOpaque)
    fail_at(start, "Expected an element type here.");
  type.element = element.to_string();
  if (type.kind == TypeKind::kOpaque) type.element = "tensor<*x" + type.element + ">";
  if (eat(',')) {  // an encoding: bounds of open sizes, or nothing that matters to values
    parse_attribute();
    if (has_open_size(type.shape)) type = bounded_type(type);
  }
  expect('>');
  return type;
}

}  // namespace tuff::stablehlo
