// Pretty forms with a grammar of their own, one function each.
#include <fmt/format.h>

#include "frontend/stablehlo/text/parser.h"

namespace tuff::stablehlo {

bool Parser::parse_special_form(Operation* op) {
  struct Form {
    std::string_view name;
    void (Parser::*parse)(Operation*);
  };
  static constexpr Form kForms[] = {
      {"call", &Parser::parse_call},
      {"func.call", &Parser::parse_call},
      {"stablehlo.constant", &Parser::parse_constant},
      {"chlo.constant", &Parser::parse_constant},
      {"stablehlo.reduce", &Parser::parse_reduce},
      {"stablehlo.while", &Parser::parse_while},
      {"stablehlo.slice", &Parser::parse_slice},
      {"stablehlo.dot", &Parser::parse_dot_general},
      {"stablehlo.dot_general", &Parser::parse_dot_general},
      {"stablehlo.convolution", &Parser::parse_convolution},
      {"stablehlo.custom_call", &Parser::parse_custom_call},
      {"stablehlo.composite", &Parser::parse_composite},
      {"stablehlo.reduce_precision", &Parser::parse_reduce_precision},
      {"stablehlo.get_tuple_element", &Parser::parse_get_tuple_element},
      {"chlo.top_k", &Parser::parse_top_k},
      {"chlo.scan", &Parser::parse_scan},
      {"sdy.sharding_constraint", &Parser::parse_sharding_op},
      {"sdy.reshard", &Parser::parse_sharding_op},
      {"sdy.manual_computation", &Parser::parse_manual_computation},
  };
  for (const Form& form : kForms) {
    if (form.name != op->name) continue;
    (this->*form.parse)(op);
    return true;
  }
  return false;
}

// call @f(%a, %b) {attributes} : (types) -> types
void Parser::parse_call(Operation* op) {
  op->name = "func.call";
  if (!at(Tok::kSymbol)) fail("Expected the function's name (@name) here.");
  op->attributes.push_back({"callee", {SymbolAttr{parse_symbol_path()}}});
  expect('(');
  parse_operand_list(')', &op->operands);
  parse_trailing_types(op, 1);
}

// constant {attributes} dense<...> : type
void Parser::parse_constant(Operation* op) {
  op->name = "stablehlo.constant";
  op->attributes = parse_optional_dict();
  Token where = token_;
  Attribute value = parse_attribute();
  auto* dense = std::get_if<std::shared_ptr<const DenseElements>>(&value.value);
  if (!dense || !*dense) return fail_at(where, "Expected a constant (dense<...> : type) here.");
  op->types = {(*dense)->type};
  // A quantized constant: its storage's type is repeated as the result's.
  if (at(Tok::kArrow)) {
    advance();
    op->types = {parse_type()};
  }
  op->attributes.push_back({"value", std::move(value)});
}

// slice %a [0:2, 0:6:2] : (type) -> type
void Parser::parse_slice(Operation* op) {
  op->operands.push_back(parse_operand());
  std::vector<int64_t> starts, limits, strides;
  expect('[');
  parse_list(']', [&] {
    starts.push_back(parse_integer());
    expect(':');
    limits.push_back(parse_integer());
    strides.push_back(eat(':') ? parse_integer() : 1);
  });
  op->attributes = {
      {"start_indices", {starts}}, {"limit_indices", {limits}}, {"strides", {strides}}};
  parse_trailing_types(op, 1);
}

// dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [0],
//   precision = [DEFAULT, DEFAULT], algorithm = <...>
void Parser::parse_dot_general(Operation* op) {
  parse_operands(&op->operands);
  DictAttr dims{"stablehlo.dot", {}};
  auto pair = [&](const char* kind) {
    expect('=');
    dims.entries.push_back({std::string("lhs_") + kind, parse_array()});
    expect_word("x");
    dims.entries.push_back({std::string("rhs_") + kind, parse_array()});
  };
  while (at(Tok::kWord) && !failed()) {
    if (eat_word("batching_dims"))
      pair("batching_dimensions");
    else if (eat_word("contracting_dims"))
      pair("contracting_dimensions");
    else
      parse_precision(op);
    if (!eat(',')) break;
  }
  if (op->name == "stablehlo.dot_general")
    op->attributes.push_back({"dot_dimension_numbers", {std::move(dims)}});
  parse_trailing_types(op, 1);
}

void Parser::parse_precision(Operation* op) {
  if (eat_word("algorithm")) {
    expect('=');
    op->attributes.push_back({"algorithm", {OpaqueAttr{skip_balanced()}}});
    return;
  }
  expect_word("precision");
  expect('=');
  ArrayAttr precisions;
  expect('[');
  parse_list(']', [&] {
    precisions.items.push_back({EnumAttr{std::string(expect_kind(Tok::kWord, "a precision"))}});
  });
  op->attributes.push_back({"precision_config", {std::move(precisions)}});
}

// convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {...}
void Parser::parse_convolution(Operation* op) {
  expect('(');
  parse_operand_list(')', &op->operands);
  expect_word("dim_numbers");
  expect('=');
  op->attributes.push_back({"dimension_numbers", {parse_conv_dimensions()}});
  expect(',');
  expect_word("window");
  expect('=');
  parse_window(op);
  parse_trailing_types(op, 1);
}

// {stride = [1, 1], pad = [[0, 0], [1, 1]], lhs_dilate = ..., rhs_dilate = ..., reverse = ...}
void Parser::parse_window(Operation* op) {
  expect('{');
  parse_list('}', [&] {
    Token where = token_;
    std::string_view key = expect_kind(Tok::kWord, "a part of the window");
    expect('=');
    std::string name = key == "stride"       ? "window_strides"
                       : key == "pad"        ? "padding"
                       : key == "lhs_dilate" ? "lhs_dilation"
                       : key == "rhs_dilate" ? "rhs_dilation"
                       : key == "reverse"    ? "window_reversal"
                                             : "";
    if (name.empty()) fail_at(where, fmt::format("A window has no part named ({}).", key));
    Attribute value = parse_array();
    if (key == "pad") {  // pairs, flattened
      ArrayAttr flat;
      if (auto* rows = std::get_if<ArrayAttr>(&value.value))
        for (Attribute& row : rows->items)
          if (auto* pair = std::get_if<ArrayAttr>(&row.value))
            for (Attribute& item : pair->items) flat.items.push_back(std::move(item));
      value = {std::move(flat)};
    }
    op->attributes.push_back({name, std::move(value)});
  });
}

// custom_call @target(%a) {attributes} : (types) -> types
void Parser::parse_custom_call(Operation* op) {
  if (!at(Tok::kSymbol)) fail("Expected the call's target (@name) here.");
  op->attributes.push_back({"call_target_name", {parse_symbol_path()}});
  expect('(');
  parse_operand_list(')', &op->operands);
  parse_trailing_types(op, 1);
}

// composite "name" %a, %b {composite_attributes = {...}, decomposition = @f} : ...
void Parser::parse_composite(Operation* op) {
  op->attributes.push_back({"name", {unescape(expect_kind(Tok::kString, "the composite's name"))}});
  parse_operands(&op->operands);
  if (eat('(')) parse_list(')', [&] { op->regions.push_back(parse_region()); });
  parse_trailing_types(op, 1);
}

// reduce_precision %a, format = e5m10 : type
void Parser::parse_reduce_precision(Operation* op) {
  parse_operands(&op->operands);
  expect_word("format");
  expect('=');
  Token where = token_;
  std::string format(expect_kind(Tok::kWord, "a format such as e5m10"));
  unsigned exponent = 0, mantissa = 0;
  int length = 0;
  if (std::sscanf(format.c_str(), "e%3um%3u%n", &exponent, &mantissa, &length) != 2 ||
      length != static_cast<int>(format.size()))
    fail_at(where, "Expected a format such as e5m10 here.");
  op->attributes.push_back({"exponent_bits", {static_cast<int64_t>(exponent)}});
  op->attributes.push_back({"mantissa_bits", {static_cast<int64_t>(mantissa)}});
  parse_trailing_types(op, 1);
}

// get_tuple_element %a[0] : (tuple<...>) -> type
void Parser::parse_get_tuple_element(Operation* op) {
  op->operands.push_back(parse_operand());
  expect('[');
  op->attributes.push_back({"index", {parse_integer()}});
  expect(']');
  parse_trailing_types(op, 1);
}

// chlo.top_k(%a, k = 2, is_stable = true) : type -> (type, type)
void Parser::parse_top_k(Operation* op) {
  expect('(');
  parse_operands(&op->operands);
  parse_list(')', [&] {
    std::string key(expect_kind(Tok::kWord, "k"));
    expect('=');
    op->attributes.push_back(
        {key, at(Tok::kInteger) ? Attribute{parse_integer()} : parse_attribute()});
  });
  parse_trailing_types(op, 2);
}

// sdy.sharding_constraint %a <@mesh, [...]> : type
void Parser::parse_sharding_op(Operation* op) {
  op->operands.push_back(parse_operand());
  if (at('<')) op->attributes.push_back({"sharding", {OpaqueAttr{skip_balanced()}}});
  parse_trailing_types(op, 1);
}

// sdy.manual_computation(%a) in_shardings=[<...>] out_shardings=[<...>] manual_axes={"x"}
//     (%arg: type) {...} : (types) -> types
void Parser::parse_manual_computation(Operation* op) {
  expect('(');
  parse_operand_list(')', &op->operands);
  for (const char* name : {"in_shardings", "out_shardings", "manual_axes"}) {
    expect_word(name);
    expect('=');
    op->attributes.push_back({name, {OpaqueAttr{skip_balanced()}}});
  }
  std::vector<std::pair<std::string_view, Type>> arguments;
  if (eat('('))
    parse_list(')', [&] {
      std::string_view name = expect_kind(Tok::kValue, "a value");
      expect(':');
      arguments.emplace_back(name, parse_type());
      parse_optional_location();
    });
  op->regions.push_back(parse_region(arguments));
  parse_trailing_types(op, 1);
}

}  // namespace tuff::stablehlo
