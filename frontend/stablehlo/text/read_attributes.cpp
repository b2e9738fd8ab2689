// Attributes: numbers, strings, arrays, dictionaries, #stablehlo.gather<...>.
#include <fmt/format.h>

#include <bit>
#include <charconv>

#include "frontend/stablehlo/text/parser.h"

namespace tuff::stablehlo {

Attribute Parser::parse_attribute() {
  Nest nest(*this);
  if (at(Tok::kString)) {
    std::string text = unescape(token_.text);
    advance();
    if (eat(':')) parse_type();
    return {std::move(text)};
  }
  if (at(Tok::kInteger) || at(Tok::kFloat) || at('-')) return parse_number_attribute();
  if (at('[')) return parse_array();
  if (at('{')) return {DictAttr{"", parse_attribute_dict()}};
  if (at(Tok::kSymbol)) return {SymbolAttr{parse_symbol_path()}};
  if (at(Tok::kHash)) return parse_hash_attribute();
  if (at(Tok::kBang) || at('(')) return {parse_type()};
  if (at(Tok::kWord)) return parse_word_attribute();
  fail("Expected an attribute here.");
  return {};
}

Attribute Parser::parse_number_attribute() {
  bool negative = eat('-');
  Token number = token_;
  if (at(Tok::kFloat)) {
    double value = parse_number();
    if (eat(':')) parse_type();
    return {negative ? -value : value};
  }
  int64_t value = parse_integer();
  if (negative) value = static_cast<int64_t>(0 - static_cast<uint64_t>(value));
  std::string type = eat(':') ? parse_type().to_string() : "";
  // 0x7F800000 : f32 is a float by its bits; narrower floats do not occur here.
  if (number.text.starts_with("0x") && type == "f32")
    return {static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(value)))};
  if (number.text.starts_with("0x") && type == "f64") return {std::bit_cast<double>(value)};
  return {value};
}

std::string Parser::parse_symbol_path() {
  std::string path = unescape(token_.text);
  advance();
  while (at(':')) {  // @module::@function
    Lexer ahead = lexer_;
    if (ahead.next().text != ":" || ahead.next().kind != Tok::kSymbol) break;
    advance();
    advance();
    path += "::" + unescape(token_.text);
    advance();
  }
  return path;
}

Attribute Parser::parse_array() {
  ArrayAttr array;
  expect('[');
  parse_list(']', [&] { array.items.push_back(parse_attribute()); });
  return {std::move(array)};
}

// array<i64: 1, 2>; floats are kept as an array of numbers.
Attribute Parser::parse_typed_array() {
  advance();
  expect('<');
  std::string element = parse_type().to_string();
  std::vector<int64_t> ints;
  ArrayAttr others;
  if (!eat(':')) {
    expect('>');
    return {ints};
  }
  bool is_int = !element.starts_with("f") && !element.starts_with("bf");
  parse_list('>', [&] {
    if (eat_word("true"))
      ints.push_back(1);
    else if (eat_word("false"))
      ints.push_back(0);
    else if (is_int)
      ints.push_back(parse_integer());
    else
      others.items.push_back(parse_number_attribute());
  });
  if (!is_int) return {std::move(others)};
  return {std::move(ints)};
}

Attribute Parser::parse_word_attribute() {
  std::string_view word = token_.text;
  if (eat_word("true")) return {true};
  if (eat_word("false")) return {false};
  if (eat_word("unit")) return {UnitAttr{}};
  if (word == "dense") return parse_dense();
  if (word == "array") return parse_typed_array();
  if (word == "loc") {
    advance();
    expect('(');
    parse_location_body();
    expect(')');
    return {OpaqueAttr{"loc"}};
  }
  if (word == "dense_resource") {
    fail_at(
        token_,
        "The constant's bytes are in a dense_resource section, which is not read; write the module "
        "with its constants inline, or pass them as arguments.",
        ErrorCode::kUnsupported);
    return {};
  }
  if (word == "sparse") {
    fail_at(token_, "Sparse constants are not supported; write the constant as dense.",
            ErrorCode::kUnsupported);
    return {};
  }
  for (std::string_view opaque : {"affine_map", "affine_set", "strided", "opaque", "distinct"})
    if (word == opaque) {
      advance();
      std::string text(word);
      while (at('<') || at('[')) text += skip_balanced();
      return {OpaqueAttr{text}};
    }
  return {parse_type()};
}

Attribute Parser::parse_hash_attribute() {
  std::string name(token_.text);
  Token start = token_;
  advance();
  if (auto alias = attribute_aliases_.find(name); alias != attribute_aliases_.end())
    return alias->second;
  if (at('<')) return parse_dialect_attribute(name);
  if (name.find('.') != std::string::npos) return {OpaqueAttr{"#" + name}};
  if (location_aliases_.contains(name) || name.starts_with("loc")) return {OpaqueAttr{"loc"}};
  fail_at(start, fmt::format("The attribute alias (#{}) is not defined.", name));
  return {};
}

// Of the dialects whose attributes matter there are three shapes: one enum word,
// `key = value, ...`, and the convolution's; anything else is kept as text.
Attribute Parser::parse_dialect_attribute(const std::string& name) {
  std::string dialect = name.substr(0, name.find('.'));
  bool known = dialect == "stablehlo" || dialect == "chlo" || dialect == "mhlo";
  if (!known) return {OpaqueAttr{"#" + name + skip_balanced()}};
  Lexer ahead = lexer_;
  Token first = ahead.next(), second = ahead.next();
  if (name.ends_with(".conv") && first.text == "[") {
    expect('<');
    DictAttr dims = parse_conv_dimensions();
    expect('>');
    return {std::move(dims)};
  }
  bool enum_like = first.kind == Tok::kWord && second.kind == Tok::kWord;
  bool short_enum = first.kind == Tok::kWord && second.text == ">" && first.text != "raw";
  if (short_enum || (enum_like && first.text != "raw" && ahead.next().text == ">")) {
    advance();
    if (enum_like) advance();
    EnumAttr value{std::string(token_.text)};
    advance();
    expect('>');
    return {std::move(value)};
  }
  bool is_struct =
      (first.kind == Tok::kWord && second.text == "=") || first.text == ">" || first.text == "raw";
  if (!is_struct) return {OpaqueAttr{"#" + name + skip_balanced()}};
  DictAttr dict{name, {}};
  expect('<');
  eat_word("raw");
  parse_list('>', [&] {
    std::string key(expect_kind(Tok::kWord, "a name"));
    expect('=');
    dict.entries.push_back({key, parse_attribute()});
  });
  return {std::move(dict)};
}

Attributes Parser::parse_attribute_dict() {
  Attributes attributes;
  expect('{');
  parse_list('}', [&] {
    NamedAttribute entry;
    if (at(Tok::kString)) {
      entry.name = unescape(token_.text);
      advance();
    } else {
      entry.name = expect_kind(Tok::kWord, "an attribute's name");
    }
    if (eat('=')) entry.value = parse_attribute();
    attributes.push_back(std::move(entry));
  });
  return attributes;
}

// One of [b, 0, 1, f]: where the letters are, and the dimension of each number.
void Parser::parse_conv_side(const char* side, const char* batch, const char* feature,
                             DictAttr* dims) {
  std::vector<int64_t> spatial;
  int64_t batch_at = -1, feature_at = -1, index = 0;
  std::string_view batch_letter = side == std::string_view("kernel") ? "i" : "b";
  std::string_view feature_letter = side == std::string_view("kernel") ? "o" : "f";
  Token start = token_;
  expect('[');
  parse_list(']', [&] {
    if (eat_word(batch_letter)) {
      batch_at = index;
    } else if (eat_word(feature_letter)) {
      feature_at = index;
    } else if (!eat('?')) {
      int64_t number = parse_integer();
      if (number < 0 || number > 64) fail("The spatial dimension is out of range.");
      if (failed()) return;
      if (static_cast<size_t>(number) >= spatial.size()) spatial.resize(number + 1, -1);
      spatial[number] = index;
    }
    ++index;
  });
  for (int64_t s : spatial)
    if (s < 0) fail_at(start, "A spatial dimension is missing.");
  if (batch_at < 0 || feature_at < 0)
    fail_at(start, fmt::format("The dimensions lack '{}' or '{}'.", batch_letter, feature_letter));
  std::string prefix = side;
  dims->entries.push_back({prefix + batch, {batch_at}});
  dims->entries.push_back({prefix + feature, {feature_at}});
  dims->entries.push_back({prefix + "_spatial_dimensions", {spatial}});
}

DictAttr Parser::parse_conv_dimensions() {
  DictAttr dims{"stablehlo.conv", {}};
  parse_conv_side("input", "_batch_dimension", "_feature_dimension", &dims);
  expect_word("x");
  parse_conv_side("kernel", "_input_feature_dimension", "_output_feature_dimension", &dims);
  expect_arrow();
  parse_conv_side("output", "_batch_dimension", "_feature_dimension", &dims);
  return dims;
}

}  // namespace tuff::stablehlo
