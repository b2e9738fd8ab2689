// Pretty forms that a table can say. A format is what stands between the
// operation's name and its attribute dictionary:
//   %      operands, as many as follow (and the comma after them, if any)
//   $name  an attribute        ^name  an attribute that is one bare word
//   ?      the rest is optional
// anything else stands for itself. What the table cannot say is in
// read_pretty_forms.cpp; operations in neither have the format "%".
#include <fmt/format.h>

#include <iterator>

#include "frontend/stablehlo/text/parser.h"

namespace tuff::stablehlo {

namespace {

struct Format {
  std::string_view name;
  const char* format;
};

constexpr Format kFormats[] = {
    {"stablehlo.iota", "dim = $iota_dimension"},
    {"stablehlo.dynamic_iota", "% dim = $iota_dimension"},
    {"stablehlo.broadcast", "% sizes = $broadcast_sizes"},
    {"stablehlo.broadcast_in_dim", "% dims = $broadcast_dimensions"},
    {"stablehlo.dynamic_broadcast_in_dim", "% dims = $broadcast_dimensions"},
    {"stablehlo.transpose", "% dims = $permutation"},
    {"stablehlo.reverse", "% dims = $dimensions"},
    {"stablehlo.concatenate", "% dim = $dimension"},
    {"stablehlo.pad",
     "% low = $edge_padding_low , high = $edge_padding_high , interior = $interior_padding"},
    {"stablehlo.dynamic_slice", "% sizes = $slice_sizes"},
    {"stablehlo.compare", "^comparison_direction , % ? ^compare_type"},
    {"stablehlo.cholesky", "% ? lower = $lower"},
    {"stablehlo.fft", "% type = ^fft_type , length = $fft_length"},
    {"stablehlo.einsum", "% config = $einsum_config"},
    {"stablehlo.unary_einsum", "% config = $einsum_config"},
    {"stablehlo.get_dimension_size", "% dim = $dimension"},
    {"stablehlo.set_dimension_size", "% dim = $dimension"},
    {"stablehlo.rng", "% distribution = ^rng_distribution"},
    {"stablehlo.rng_bit_generator", "% algorithm = ^rng_algorithm"},
};

}  // namespace

void Parser::parse_by_format(const char* format, Operation* op) {
  std::string_view rest = format;
  while (!rest.empty() && !failed()) {
    size_t space = rest.find(' ');
    std::string_view item = rest.substr(0, space);
    rest = space == std::string_view::npos ? std::string_view{} : rest.substr(space + 1);
    std::string name(item.substr(1));
    if (item == "%") {
      parse_operands(&op->operands);
    } else if (item == "?") {
      if (at('{') || at(':')) return;
    } else if (item[0] == '$') {
      // A bare integer has no type of its own here: the colon after it is the operation's.
      bool number = at(Tok::kInteger) || at('-');
      op->attributes.push_back({name, number ? Attribute{parse_integer()} : parse_attribute()});
    } else if (item[0] == '^') {
      op->attributes.push_back({name, {EnumAttr{std::string(expect_kind(Tok::kWord, "a word"))}}});
    } else if (item == "," || item == "=") {
      expect(item[0]);
    } else {
      expect_word(item);
    }
  }
}

// `: (a, b) -> c`, `: a, b -> c`, or the types alone: one for all operands and
// results, or (select) the last is the result's, or (a barrier) one for each.
void Parser::parse_trailing_types(Operation* op, uint32_t num_results) {
  for (NamedAttribute& entry : parse_optional_dict()) op->attributes.push_back(std::move(entry));
  if (!eat(':')) {
    if (num_results > 0 || !op->operands.empty())
      fail("Expected ':' and the operation's type here.");
    return;
  }
  Token where = token_;
  if (at('(')) return set_function_type(op, parse_type(), where);
  std::vector<Type> types;
  do types.push_back(parse_type());
  while (!failed() && eat(','));
  if (at(Tok::kArrow)) {
    advance();
    check_operand_types(*op, types, where);
    if (at('('))
      op->types = parse_type_list();
    else
      op->types.push_back(parse_type());
    return;
  }
  if (eat_word("to")) {  // a cast: t to u
    check_operand_types(*op, types, where);
    do op->types.push_back(parse_type());
    while (!failed() && eat(','));
    return;
  }
  bool has_results = num_results > 0;
  bool is_return = op->name == "return" || op->name.ends_with(".return");
  if (is_return || types.size() == op->operands.size()) check_operand_types(*op, types, where);
  if (is_return || !has_results) return;
  if (op->name == "stablehlo.select") {
    op->types = {types.back()};
  } else if (types.size() == 1 || types.size() == num_results) {
    op->types = types;
    // The one type is every operand's too, unless the operation relates them.
    bool related = op->name == "stablehlo.complex" || op->name == "stablehlo.tuple" ||
                   op->name == "stablehlo.after_all";
    if (types.size() == 1 && !related)
      check_operand_types(*op, std::vector<Type>(op->operands.size(), types[0]), where);
  } else {
    fail_at(where,
            "The operation's results cannot be told from its types; write (operands) -> results.");
  }
}

void Parser::parse_pretty_operation(Operation* op, uint32_t num_results) {
  std::string_view name = op->name;
  if (name.find('.') == std::string_view::npos && name != "return" && name != "call") {
    fail_at(token_, fmt::format("The operation ({}) is unknown.", name));
    return;
  }
  if (name.starts_with("mhlo.")) op->name = "stablehlo." + op->name.substr(5);
  if (parse_special_form(op)) return;
  const char* format = "%";
  for (const Format& row : kFormats)
    if (row.name == op->name) format = row.format;
  if (op->name == "stablehlo.optimization_barrier" && eat('(')) {
    expect(')');
    parse_optional_dict();
    return;
  }
  parse_by_format(format, op);
  parse_trailing_types(op, num_results);
}

}  // namespace tuff::stablehlo
