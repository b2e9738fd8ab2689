// Operations in generic form, regions, and the scopes of values.
#include <fmt/format.h>

#include <charconv>

#include "frontend/stablehlo/text/parser.h"

namespace tuff::stablehlo {

namespace {

// The number that is spelled so, and only so.
std::optional<uint32_t> as_number(std::string_view name) {
  if (name.size() > 9 || (name.size() > 1 && name[0] == '0')) return std::nullopt;
  uint32_t number = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<Parser::Named> Parser::NameTable::find(std::string_view name) const {
  std::optional<uint32_t> number = as_number(name);
  if (number && *number >= first_number_ && *number - first_number_ < numbers_.size())
    return numbers_[*number - first_number_];
  auto it = others_.find(name);
  if (it == others_.end()) return std::nullopt;
  return it->second;
}

void Parser::NameTable::add(std::string_view name, Named named) {
  std::optional<uint32_t> number = as_number(name);
  if (number && numbers_.empty()) first_number_ = *number;
  if (number && *number == first_number_ + numbers_.size())
    numbers_.push_back(named);
  else
    others_.emplace(name, named);
}

uint32_t Parser::define(std::string_view name, const std::vector<Type>& types) {
  Named named{static_cast<uint32_t>(module_.value_types.size()),
              static_cast<uint32_t>(types.size())};
  module_.value_types.insert(module_.value_types.end(), types.begin(), types.end());
  if (name.empty()) return named.first;
  if (scopes_.back().find(name)) fail(fmt::format("The value (%{}) is defined twice.", name));
  scopes_.back().add(name, named);
  return named.first;
}

uint32_t Parser::parse_operand() {
  Token where = token_;
  std::string_view name = expect_kind(Tok::kValue, "a value");
  int64_t index = 0;
  if (at(Tok::kHash)) {
    index = -1;
    if (token_.text.size() < 9 &&
        token_.text.find_first_not_of("0123456789") == std::string_view::npos &&
        !token_.text.empty())
      index = std::stol(std::string(token_.text));
    advance();
  }
  if (failed()) return 0;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    std::optional<Named> named = scope->find(name);
    if (!named) continue;
    if (index < 0 || index >= named->count) {
      fail_at(where, fmt::format("The value (%{}) does not have that many results.", name));
      return 0;
    }
    return named->first + static_cast<uint32_t>(index);
  }
  fail_at(where, fmt::format("The value (%{}) is not defined before its use.", name));
  return 0;
}

void Parser::parse_operands(std::vector<uint32_t>* operands) {
  while (at(Tok::kValue)) {
    operands->push_back(parse_operand());
    if (!at(',')) return;
    // A trailing comma leads on to an attribute: "%a, %b, dim = 0".
    advance();
  }
}

void Parser::parse_operand_list(char close, std::vector<uint32_t>* operands) {
  parse_list(close, [&] { operands->push_back(parse_operand()); });
}

void Parser::check_operand_types(const Operation& op, const std::vector<Type>& types,
                                 const Token& where) {
  if (failed()) return;
  if (types.size() != op.operands.size()) {
    fail_at(where, fmt::format("The operation has ({}) operands, but its type has ({}).",
                               op.operands.size(), types.size()));
    return;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const Type& actual = module_.value_types[op.operands[i]];
    if (actual == types[i]) continue;
    fail_at(where, fmt::format("Operand ({}) has the type ({}), but is used as ({}).", i,
                               actual.to_string(), types[i].to_string()));
    return;
  }
}

void Parser::set_function_type(Operation* op, Type type, const Token& where) {
  if (failed()) return;
  if (type.kind != TypeKind::kFunction) {
    fail_at(where, "Expected a function type here: (operands) -> results.");
    return;
  }
  check_operand_types(*op, type.inputs, where);
  op->types = std::move(type.results);
}

void Parser::parse_operations(Block* block) {
  while (!failed() && !at('}') && !at(Tok::kCaret) && !at(Tok::kEnd)) parse_operation(block);
}

void Parser::parse_operation(Block* block) {
  Nest nest(*this);
  std::vector<Result_> names;
  uint32_t num_results = 0;
  Token start = token_;
  if (at(Tok::kValue)) {
    do {
      Result_ result{expect_kind(Tok::kValue, "a value"), 1};
      if (eat(':')) {
        int64_t count = parse_integer();
        if (count < 1 || count > 1 << 20) fail("The number of results is out of range.");
        result.count = static_cast<uint32_t>(count);
      }
      num_results += result.count;
      names.push_back(result);
    } while (eat(','));
    expect('=');
  }
  Operation op;
  Token where = token_;
  op.line = where.line;
  op.column = where.column;
  bool generic = at(Tok::kString);
  op.name = generic ? unescape(token_.text) : std::string(expect_kind(Tok::kWord, "an operation"));
  if (generic) advance();
  if (failed()) return;
  if (generic)
    parse_generic_operation(&op);
  else
    parse_pretty_operation(&op, num_results);
  op.loc = parse_optional_location();
  if (failed()) return;
  if (op.name == "stablehlo.reduce")  // the short form's body is nowhere else
    for (Region& region : op.regions)
      for (Block& body : region.blocks)
        for (Operation& inner : body.operations)
          if (inner.loc == 0 && inner.line == op.line) inner.loc = op.loc;
  if (!names.empty() && num_results != op.types.size()) {
    fail_at(start, fmt::format("The operation has ({}) results, but ({}) are named.",
                               op.types.size(), num_results));
    return;
  }
  op.first_result = static_cast<uint32_t>(module_.value_types.size());
  if (names.empty()) define({}, op.types);
  size_t first = 0;
  for (const Result_& result : names) {
    define(result.name, {op.types.begin() + first, op.types.begin() + first + result.count});
    first += result.count;
  }
  block->operations.push_back(std::move(op));
}

// "dialect.name"(%a, %b) [^successors] <{properties}> ({region}) {attributes} : type
void Parser::parse_generic_operation(Operation* op) {
  expect('(');
  parse_operand_list(')', &op->operands);
  if (at('[')) parse_successors();
  if (at('<')) {
    advance();
    op->attributes = parse_attribute_dict();
    expect('>');
  }
  if (eat('(')) {
    bool isolated = op->name == "func.func" || op->name == "builtin.module";
    std::vector<NameTable> outer;
    if (isolated) {
      outer.swap(scopes_);
      scopes_.emplace_back();
    }
    parse_list(')', [&] { op->regions.push_back(parse_region()); });
    if (isolated) outer.swap(scopes_);
  }
  for (NamedAttribute& entry : parse_optional_dict()) op->attributes.push_back(std::move(entry));
  expect(':');
  Token where = token_;
  set_function_type(op, parse_type(), where);
}

void Parser::parse_successors() {
  fail_at(token_, "Branches between blocks are not supported; only structured control flow is.",
          ErrorCode::kUnsupported);
}

// `arguments` are named by the operation (while, reduce), else by the block's label.
Region Parser::parse_region(const std::vector<std::pair<std::string_view, Type>>& arguments) {
  Nest nest(*this);
  Region region;
  expect('{');
  scopes_.emplace_back();
  Block* block = &region.blocks.emplace_back();
  for (const auto& [name, type] : arguments) block->arguments.push_back(define(name, {type}));
  if (at(Tok::kCaret)) parse_block_label(block);
  parse_operations(block);
  while (!failed() && at(Tok::kCaret)) {
    block = &region.blocks.emplace_back();
    parse_block_label(block);
    parse_operations(block);
  }
  scopes_.pop_back();
  expect('}');
  return region;
}

// ^bb0(%arg0: tensor<f32> loc("x"), ...):
void Parser::parse_block_label(Block* block) {
  advance();
  if (eat('(')) {
    parse_list(')', [&] {
      std::string_view name = expect_kind(Tok::kValue, "a value");
      expect(':');
      Type type = parse_type();
      parse_optional_location();
      block->arguments.push_back(define(name, {std::move(type)}));
    });
  }
  expect(':');
}

}  // namespace tuff::stablehlo
