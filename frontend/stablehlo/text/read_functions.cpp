// The module, its aliases and its functions.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/stablehlo/text/parser.h"

namespace tuff::stablehlo {

namespace {

bool all_digits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

void Parser::parse_alias_definition() {
  bool is_type = at(Tok::kBang);
  std::string name(token_.text);
  advance();
  expect('=');
  if (is_type) {
    type_aliases_[name] = parse_type();
  } else if (at_word("loc")) {
    advance();
    expect('(');
    location_aliases_[name] = parse_location_body();
    expect(')');
  } else {
    attribute_aliases_[name] = parse_attribute();
  }
}

void Parser::parse_top_level() {
  scopes_.emplace_back();
  while (!failed() && !at(Tok::kEnd)) {
    Lexer ahead = lexer_;
    if (at(Tok::kHash) || at(Tok::kBang)) {
      parse_alias_definition();
    } else if (at_word("module") || at_word("builtin.module")) {
      advance();
      if (at(Tok::kSymbol)) module_.name = parse_symbol_path();
      if (eat_word("attributes")) parse_module_attributes(parse_attribute_dict());
      expect('{');
      parse_module_body();
      expect('}');
      parse_optional_location();
    } else if (at('{') && ahead.next().text == "-") {
      // {-# ... #-}: resources. Constants that refer to them are refused.
      size_t end = lexer_.source().find("#-}", token_.offset);
      if (end == std::string_view::npos) fail("The file's metadata ({-#) is not closed by #-}.");
      lexer_.skip_to(std::min(end, lexer_.source().size() - 3) + 3);
      advance();
    } else {
      parse_module_body();
      if (!failed() && !at(Tok::kEnd) && !at(Tok::kHash) && !at(Tok::kBang) && !at_word("module"))
        fail("Expected a function or a module here.");
    }
  }
}

void Parser::parse_module_attributes(const Attributes& attributes) {
  auto number = [&](std::string_view name) {
    const Attribute* attribute = find_attribute(attributes, name);
    const int64_t* value = attribute ? std::get_if<int64_t>(&attribute->value) : nullptr;
    return value ? *value : 0;
  };
  module_.num_replicas = number("mhlo.num_replicas");
  module_.num_partitions = number("mhlo.num_partitions");
}

// Functions up to a closing brace; what says nothing about values is skipped.
void Parser::parse_module_body() {
  while (!failed()) {
    if (at_word("func.func") || at_word("func")) {
      parse_function();
    } else if (at(Tok::kString)) {
      Token where = token_;
      Block block;
      parse_operation(&block);
      if (!failed()) add_generic_function(block.operations.back(), where);
    } else if (at(Tok::kWord) && token_.text.starts_with("sdy.")) {
      skip_top_level_op();
    } else if (at_word("module") && scopes_.size() > 1) {
      fail("A module within a module is not read.");
    } else {
      return;
    }
  }
}

// sdy.mesh @mesh = <["x"=2]>
void Parser::skip_top_level_op() {
  advance();
  std::string name = at(Tok::kSymbol) ? parse_symbol_path() : "";
  if (eat('=')) {
    if (at('<'))
      module_.meshes[name] = skip_balanced();
    else
      parse_attribute();
  }
  parse_optional_dict();
  parse_optional_location();
}

void Parser::parse_function() {
  Token where = token_;
  advance();
  Function function;
  if (eat_word("private"))
    function.is_public = false;
  else
    eat_word("public");
  if (!at(Tok::kSymbol)) fail("Expected the function's name (@name) here.");
  where = token_;
  function.name = parse_symbol_path();
  scopes_.emplace_back();
  parse_function_arguments(&function);
  parse_function_results(&function);
  if (eat_word("attributes")) parse_attribute_dict();
  if (at('{')) {
    advance();
    parse_operations(&function.body.blocks[0]);
    expect('}');
  } else {
    function.body.blocks.clear();
  }
  parse_optional_location();
  scopes_.pop_back();
  add_function(std::move(function), where);
}

void Parser::parse_function_arguments(Function* function) {
  Block& entry = function->body.blocks.emplace_back();
  expect('(');
  parse_list(')', [&] {
    std::string_view name;
    if (at(Tok::kValue)) {
      name = token_.text;
      advance();
      expect(':');
    }
    function->inputs.push_back(parse_type());
    function->input_attributes.push_back(parse_optional_dict());
    function->input_locs.push_back(parse_optional_location());
    bool is_plain = all_digits(name) || (name.starts_with("arg") && all_digits(name.substr(3)));
    function->input_names.emplace_back(is_plain ? "" : name);
    entry.arguments.push_back(define(name, {function->inputs.back()}));
  });
}

void Parser::parse_function_results(Function* function) {
  if (!at(Tok::kArrow)) return;
  advance();
  if (!eat('(')) {
    function->results.push_back(parse_type());
    function->result_attributes.emplace_back();
    return;
  }
  parse_list(')', [&] {
    function->results.push_back(parse_type());
    function->result_attributes.push_back(parse_optional_dict());
  });
}

void Parser::add_function(Function function, const Token& where) {
  if (failed()) return;
  function.line = where.line;
  function.column = where.column;
  auto [it, is_new] = module_.function_index.emplace(function.name, module_.functions.size());
  if (!is_new) {
    fail_at(where, fmt::format("The function (@{}) is defined twice.", function.name));
    return;
  }
  module_.functions.push_back(std::move(function));
}

// "func.func"() <{function_type = ..., sym_name = "main"}> ({...}), and
// "builtin.module"() ({...}) around it.
void Parser::add_generic_function(Operation& op, const Token& where) {
  if (op.name == "builtin.module") {
    parse_module_attributes(op.attributes);
    for (Region& region : op.regions)
      for (Block& block : region.blocks)
        for (Operation& inner : block.operations) {
          if (inner.name == "builtin.module")
            fail_at(where, "A module within a module is not read.");
          else
            add_generic_function(inner, where);
        }
    return;
  }
  if (op.name == "sdy.mesh") add_mesh(op.attributes, &module_);
  if (op.name != "func.func") return;
  Function function;
  const Attribute* name = find_attribute(op.attributes, "sym_name");
  const Attribute* type = find_attribute(op.attributes, "function_type");
  const Attribute* visibility = find_attribute(op.attributes, "sym_visibility");
  const std::string* text = name ? attribute_text(*name) : nullptr;
  const Type* signature = type ? std::get_if<Type>(&type->value) : nullptr;
  if (!text || !signature || signature->kind != TypeKind::kFunction || op.regions.size() != 1) {
    fail_at(where, "The function lacks its name, type or body.");
    return;
  }
  function.name = *text;
  if (visibility && attribute_text(*visibility))
    function.is_public = *attribute_text(*visibility) != "private";
  function.inputs = signature->inputs;
  function.results = signature->results;
  auto dicts = [&](const char* key, size_t count) {
    std::vector<Attributes> all(count);
    const Attribute* list = find_attribute(op.attributes, key);
    if (auto* array = list ? std::get_if<ArrayAttr>(&list->value) : nullptr)
      for (size_t i = 0; i < std::min(count, array->items.size()); ++i)
        if (auto* dict = std::get_if<DictAttr>(&array->items[i].value)) all[i] = dict->entries;
    return all;
  };
  function.input_attributes = dicts("arg_attrs", function.inputs.size());
  function.result_attributes = dicts("res_attrs", function.results.size());
  function.input_names.resize(function.inputs.size());
  function.input_locs.resize(function.inputs.size());
  function.body = std::move(op.regions[0]);
  if (!function.body.blocks.empty() &&
      function.body.blocks[0].arguments.size() != function.inputs.size())
    fail_at(where, "The function's block does not have the arguments of its type.");
  add_function(std::move(function), where);
  if (failed()) return;
  module_.functions.back().line = op.line;
  module_.functions.back().column = op.column;
}

}  // namespace tuff::stablehlo
