// Parser: recursive descent over MLIR text, split over several files by what is
// read (read_types, read_attributes, read_dense, read_locations, read_functions,
// read_operations, read_pretty). Not for use outside this folder: see read.h.
//
// Errors stick: after the first one every token is the end of the input, so the
// code reads straight on, loops end, and the first error is what is reported.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/stablehlo/module.h"
#include "frontend/stablehlo/text/lexer.h"
#include "ir/support/deep_stack.h"

namespace tuff::stablehlo {

// Where something is from, as it is spelled; aliases are followed at the end,
// because MLIR prints their definitions after their uses.
struct Location {
  std::string name;      // loc("name"...)
  std::string position;  // "model.py:12:3"
  std::string alias;     // the rest is #alias
};

class Parser {
 public:
  Parser(std::string_view source, const std::string& file_name);
  Result<Module> parse_module();

 private:
  // --- tokens (parser.cpp)
  bool at(Tok kind) const { return token_.kind == kind; }
  bool at(char punct) const { return at(Tok::kPunct) && token_.text[0] == punct; }
  bool at_word(std::string_view word) const { return at(Tok::kWord) && token_.text == word; }
  void advance();
  bool eat(char punct);
  bool eat_word(std::string_view word);
  void expect(char punct);
  void expect_word(std::string_view word);
  void expect_arrow();
  std::string_view expect_kind(Tok kind, const char* what);
  int64_t parse_integer();
  double parse_number();
  bool failed() const { return error_.has_value(); }
  void fail(const std::string& sentence) { fail_at(token_, sentence); }
  void fail_at(const Token& token, const std::string& sentence,
               ErrorCode code = ErrorCode::kBadInput);
  // "`,`-separated items until `close`", which is eaten; the opening one is already.
  void parse_list(char close, const std::function<void()>& item);
  // From an opening bracket past its closing one; the text between and with them.
  std::string skip_balanced();

  // --- types
  Type parse_type();
  Type parse_tensor_type();
  Type parse_bang_type();
  Type parse_function_type();
  Type parse_scalar_or_container(std::string_view word);
  std::vector<Type> parse_type_list();  // in parentheses

  // --- attributes
  Attribute parse_attribute();
  Attribute parse_number_attribute();
  Attribute parse_word_attribute();
  Attribute parse_hash_attribute();
  Attribute parse_dialect_attribute(const std::string& name);
  Attribute parse_array();
  Attribute parse_typed_array();
  std::string parse_symbol_path();
  Attributes parse_attribute_dict();  // { ... }, the brace is the current token
  Attributes parse_optional_dict() { return at('{') ? parse_attribute_dict() : Attributes{}; }
  DictAttr parse_conv_dimensions();
  void parse_conv_side(const char* side, const char* batch, const char* feature, DictAttr* dims);

  // --- dense constants
  struct Element {
    Token token;
    bool negative = false;
  };
  Attribute parse_dense();
  void parse_dense_list(size_t depth, std::vector<Element>* elements, Shape* shape);
  void parse_dense_element(std::vector<Element>* elements);
  void fill_elements(const std::vector<Element>& elements, DenseElements* dense);
  void fill_from_hex(const Token& hex, DenseElements* dense);
  void store_element(const Element& element, int64_t index, Literal* values);

  // --- locations
  Location parse_location_body();
  uint32_t parse_optional_location();
  uint32_t add_location(Location location);
  void resolve_locations();
  const Location* follow(const Location& location) const;

  // --- module, functions
  void parse_top_level();
  void parse_alias_definition();
  void parse_module_body();
  void parse_module_attributes(const Attributes& attributes);
  void parse_function();
  void parse_function_arguments(Function* function);
  void parse_function_results(Function* function);
  void add_function(Function function, const Token& where);
  void add_generic_function(Operation& op, const Token& where);
  void skip_top_level_op();

  // --- operations and regions
  struct Result_ {
    std::string_view name;
    uint32_t count;
  };
  struct Named {
    uint32_t first = 0, count = 0;
  };
  // The values of a scope by their names. Most are numbers, one after the other.
  class NameTable {
   public:
    std::optional<Named> find(std::string_view name) const;
    void add(std::string_view name, Named named);

   private:
    uint32_t first_number_ = 0;
    std::vector<Named> numbers_;
    std::unordered_map<std::string_view, Named> others_;
  };
  void parse_operations(Block* block);
  void parse_operation(Block* block);
  void parse_generic_operation(Operation* op);
  void parse_successors();
  Region parse_region(const std::vector<std::pair<std::string_view, Type>>& arguments = {});
  void parse_block_label(Block* block);
  uint32_t parse_operand();
  void parse_operands(std::vector<uint32_t>* operands);  // as long as there are values
  void parse_operand_list(char close, std::vector<uint32_t>* operands);
  uint32_t define(std::string_view name, const std::vector<Type>& types);
  void check_operand_types(const Operation& op, const std::vector<Type>& types, const Token& where);
  void set_function_type(Operation* op, Type type, const Token& where);

  // --- pretty forms
  void parse_pretty_operation(Operation* op, uint32_t num_results);
  bool parse_special_form(Operation* op);
  void parse_by_format(const char* format, Operation* op);
  void parse_trailing_types(Operation* op, uint32_t num_results);
  void parse_call(Operation* op);
  void parse_constant(Operation* op);
  void parse_reduce(Operation* op);
  void parse_reduce_body(Operation* op, std::string_view inner);
  void parse_reducer(Operation* op);
  void parse_while(Operation* op);
  void parse_slice(Operation* op);
  void parse_dot_general(Operation* op);
  void parse_precision(Operation* op);
  void parse_convolution(Operation* op);
  void parse_window(Operation* op);
  void parse_custom_call(Operation* op);
  void parse_composite(Operation* op);
  void parse_reduce_precision(Operation* op);
  void parse_get_tuple_element(Operation* op);
  void parse_top_k(Operation* op);
  void parse_scan(Operation* op);
  void parse_sharding_op(Operation* op);
  void parse_manual_computation(Operation* op);

  // Depth of the input's nesting, bounded so that no input exhausts the stack.
  class Nest {
   public:
    explicit Nest(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > nesting_limit())
        parser_.fail("The text is nested too deeply (" + std::to_string(nesting_limit()) +
                     " levels).");
    }
    ~Nest() { --parser_.depth_; }

   private:
    Parser& parser_;
  };

  Lexer lexer_;
  Token token_;
  std::optional<Error> error_;
  int depth_ = 0;
  Module module_;
  std::unordered_map<std::string, Attribute> attribute_aliases_;
  std::unordered_map<std::string, Type> type_aliases_;
  std::unordered_map<std::string, Location> location_aliases_;
  std::vector<Location> locations_{Location{}};
  std::vector<NameTable> scopes_;
};

}  // namespace tuff::stablehlo
