// Pretty forms with regions: reduce, while, scan.
#include <fmt/format.h>

#include "frontend/stablehlo/text/parser.h"

namespace tuff::stablehlo {

// reduce(%a init: %c), (%b init: %d) applies stablehlo.add across dimensions = [1] : ...
// reduce(%a init: %c) across dimensions = [1] : ... reducer(...) {...}
void Parser::parse_reduce(Operation* op) {
  std::vector<uint32_t> inits;
  do {
    expect('(');
    op->operands.push_back(parse_operand());
    expect_word("init");
    expect(':');
    inits.push_back(parse_operand());
    expect(')');
  } while (!failed() && eat(','));
  op->operands.insert(op->operands.end(), inits.begin(), inits.end());
  std::string inner;
  if (eat_word("applies")) {
    inner = expect_kind(Tok::kWord, "an operation");
    if (inner.starts_with("mhlo.")) inner = "stablehlo." + inner.substr(5);
  }
  expect_word("across");
  expect_word("dimensions");
  expect('=');
  op->attributes.push_back({"dimensions", parse_array()});
  for (NamedAttribute& entry : parse_optional_dict()) op->attributes.push_back(std::move(entry));
  expect(':');
  Token where = token_;
  set_function_type(op, parse_type(), where);
  if (failed()) return;
  if (inner.empty())
    parse_reducer(op);
  else
    parse_reduce_body(op, inner);
}

// The short form's body: one binary operation on two scalars.
void Parser::parse_reduce_body(Operation* op, std::string_view inner) {
  if (op->operands.size() != 2) return fail("The short form of reduce has one operand.");
  Type scalar = module_.value_types[op->operands[1]];
  Block block;
  block.arguments = {define({}, {scalar}), define({}, {scalar})};
  Operation combine, result;
  combine.name = inner;
  combine.operands = block.arguments;
  combine.types = {scalar};
  combine.first_result = define({}, {scalar});
  combine.line = result.line = op->line;
  combine.column = result.column = op->column;
  result.name = "stablehlo.return";
  result.operands = {combine.first_result};
  result.first_result = static_cast<uint32_t>(module_.value_types.size());
  block.operations.push_back(std::move(combine));
  block.operations.push_back(std::move(result));
  op->regions.emplace_back().blocks.push_back(std::move(block));
}

// reducer(%a: t, %c: t) (%b: u, %d: u) { ... }: the pairs' firsts come first.
void Parser::parse_reducer(Operation* op) {
  expect_word("reducer");
  std::vector<std::pair<std::string_view, Type>> arguments, inits;
  auto argument = [&] {
    std::string_view name = expect_kind(Tok::kValue, "a value");
    expect(':');
    Type type = parse_type();
    parse_optional_location();
    return std::pair<std::string_view, Type>(name, std::move(type));
  };
  while (!failed() && eat('(')) {
    arguments.push_back(argument());
    expect(',');
    inits.push_back(argument());
    expect(')');
  }
  arguments.insert(arguments.end(), inits.begin(), inits.end());
  op->regions.push_back(parse_region(arguments));
}

// while(%i = %a, %j = %b) : t, u attributes {...} cond {...} do {...}
void Parser::parse_while(Operation* op) {
  std::vector<std::pair<std::string_view, Type>> arguments;
  expect('(');
  parse_list(')', [&] {
    std::string_view name = expect_kind(Tok::kValue, "a value");
    expect('=');
    op->operands.push_back(parse_operand());
    arguments.emplace_back(name, Type{});
  });
  if (!arguments.empty()) {
    expect(':');
    Token where = token_;
    do op->types.push_back(parse_type());
    while (!failed() && eat(','));
    check_operand_types(*op, op->types, where);
  }
  if (failed()) return;
  for (size_t i = 0; i < arguments.size(); ++i) arguments[i].second = op->types[i];
  if (eat_word("attributes")) op->attributes = parse_attribute_dict();
  expect_word("cond");
  op->regions.push_back(parse_region(arguments));
  expect_word("do");
  op->regions.push_back(parse_region(arguments));
}

// chlo.scan(%a) inits (%c) dimension=0 attributes {...} { ^bb0(...): ... } : type
void Parser::parse_scan(Operation* op) {
  expect('(');
  parse_operand_list(')', &op->operands);
  auto num_inputs = static_cast<int64_t>(op->operands.size());
  expect_word("inits");
  expect('(');
  parse_operand_list(')', &op->operands);
  expect_word("dimension");
  expect('=');
  int64_t dimension = parse_integer();
  if (eat_word("attributes")) op->attributes = parse_attribute_dict();
  op->attributes.push_back({"dimension", {dimension}});
  op->attributes.push_back({"num_inputs", {num_inputs}});
  op->regions.push_back(parse_region());
  expect(':');
  Token where = token_;
  set_function_type(op, parse_type(), where);
}

}  // namespace tuff::stablehlo
