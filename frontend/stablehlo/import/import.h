// Importer: Module to Graph, one operation at a time. Not for use outside this
// folder: see read.h. Split by what is imported: attributes, regions and control
// flow, dynamic_* operations, composites, chlo, one-process collectives.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/stablehlo/import/sharding.h"
#include "frontend/stablehlo/module.h"
#include "frontend/stablehlo/read.h"
#include "ir/graph.h"
#include "ir/spmd/partition.h"

namespace tuff::stablehlo {

// A source value: one graph value, or a tuple's members in order, or a complex tensor's two
// parts, or none (a token).
using Values = std::vector<Value>;

// Source values by their numbers in the module.
class ValueTable {
 public:
  std::optional<std::span<const Value>> find(uint32_t id) const;
  bool contains(uint32_t id) const { return find(id).has_value(); }
  // It must be there. Ends with the next `set`.
  std::span<const Value> at(uint32_t id) const;
  void set(uint32_t id, std::span<const Value> values);

 private:
  struct Entry {
    uint32_t id, begin, count;
  };
  std::vector<Entry> entries_;  // by id: a module numbers its values as they come
  std::vector<Value> values_;
};

// What the names of one function body or region stand for in one graph.
struct Scope {
  Graph* graph = nullptr;
  ValueTable values;
};

class Importer;

// A program for several devices, while it is imported.
struct SpreadProgram {
  MeshTable meshes;
};

// One operation being imported: its operands and result types flattened, and the
// means to add nodes that carry its location.
struct OpContext {
  Importer& importer;
  const Operation& op;
  Scope& scope;
  Values operands;
  std::vector<TensorType> types;  // open sizes are -1 where resolve_types has no answer
  std::string loc;

  Graph& graph() const { return *scope.graph; }
  const TensorType& type(Value v) const { return graph().type(v); }
  std::string_view short_name() const;  // without "stablehlo." or "chlo."
  const Attribute* attribute(std::string_view name) const {
    return find_attribute(op.attributes, name);
  }
  int64_t int_attribute(std::string_view name, int64_t missing = 0) const;
  Result<std::vector<int64_t>> ints_attribute(std::string_view name) const;
  std::string text_attribute(std::string_view name) const;

  Value add(Op kind, Values operands, TensorType type, Attrs attrs = {}) const {
    return add_op(graph(), kind, std::move(operands), std::move(type), std::move(attrs), loc);
  }
  // All results of a node, after its types are checked against its op's rule; open
  // sizes become those of the rule.
  Result<Values> add_checked(Node node) const;
  Error error(ErrorCode code, std::string sentence) const;
  Error bad(std::string sentence) const { return error(ErrorCode::kBadInput, std::move(sentence)); }
  Error unsupported(std::string sentence) const {
    return error(ErrorCode::kUnsupported, std::move(sentence));
  }
  Status expect_operands(size_t count) const;
  Status expect_results(size_t count) const;
};

using OpResult = Result<Values>;  // the operation's results, flattened

class Importer {
 public:
  Importer(const Module& module, const ArgumentShapes& shapes, std::string_view shape_option);
  Result<Model> run();
  // The same for a program for several devices (import_sharding.cpp).
  Result<WholeProgram> run_spread();

  // The operations of a block into the scope; what its terminator returns.
  Result<Values> import_block(const Block& block, Scope& scope);
  Result<Values> inline_function(const std::string& name, const std::vector<Values>& arguments,
                                 OpContext& context);
  // The operands as they are in the source, one entry each.
  std::vector<Values> operand_values(const OpContext& context) const;

  std::string place(uint32_t loc, uint32_t line, uint32_t column) const;
  const Module& module() const { return module_; }
  // Null where the program is for one device, which then is all there is.
  const SpreadProgram* spread() const { return spread_; }
  // Not a region's graph.
  bool is_main(const Graph& graph) const { return &graph == main_graph_; }

  // --- regions (import_regions.cpp)
  // The values used in the regions and defined outside, each once, in order of use.
  std::vector<uint32_t> captures(const std::vector<Region>& regions) const;
  // A closed graph: the block's arguments, then the captured values, are parameters;
  // captured constants are copied in. `passed` are the captures that become
  // parameters, `through`: they are also returned last (a while's body).
  Result<GraphPtr> import_region(OpContext& context, const Region& region,
                                 const std::vector<uint32_t>& passed, bool through);

  // --- open sizes (import_shapes.cpp)
  // Puts what the operands imply into the context's open result types.
  Status resolve_types(OpContext& context) const;

 private:
  Result<const Function*> find_main() const;
  Result<std::vector<TensorType>> argument_types(const Function& main, size_t index) const;
  Status check_shape_names(const Function& main) const;
  // Small integers that are known become constants, so that sizes made of sizes are.
  void fold_sizes(Graph& graph, Values& results) const;
  std::string node_location(const Operation& op) const;
  Status import_operation(const Operation& op, Scope& scope);
  Status add_parameters(const Function& main, Model* model, Scope* scope) const;
  Status check_results(const Function& main, const Graph& graph, const Values& results) const;
  void set_outputs(const Function& main, const Values& results, Model* model) const;
  Status record_donations(const Function& main, Graph* graph) const;
  struct Declared {
    std::optional<Sharding> sharding;  // nothing where it is left open
    std::vector<int64_t> unreduced;    // axes along which devices have shares of a sum
  };
  Result<Declared> declared_sharding(const Attributes& attributes, const TensorType& type,
                                     bool is_complex) const;

  const Module& module_;
  const ArgumentShapes& shapes_;
  const std::string_view shape_option_;
  const SpreadProgram* spread_ = nullptr;
  const Graph* main_graph_ = nullptr;  // while it is made
  bool open_ = false;                  // some type of the module has an open size
  std::vector<const Function*> call_stack_;
  int depth_ = 0;
  int64_t num_imported_ = 0;
};

// The flattened types of a source type, open sizes -1; kUnsupported for those tuff lacks.
Result<std::vector<TensorType>> flatten_type(const Type& type);
// The same but for sizes that are open in `declared`.
bool fits(const TensorType& declared, const TensorType& found);

// What the operation's regions use from outside and cannot copy (import_regions.cpp).
std::vector<uint32_t> passed_captures(const OpContext& context);

// Handlers, by file. Each returns nothing if the operation is not its own.
using Handler = OpResult (*)(OpContext&);
Handler find_structural_handler(std::string_view name);  // import_structure.cpp
Handler find_dot_handler(std::string_view name);         // import_dot.cpp
Handler find_control_handler(std::string_view name);     // import_control.cpp
Handler find_dynamic_handler(std::string_view name);     // import_dynamic.cpp
Handler find_sharding_handler(std::string_view name);    // import_sharding.cpp
Handler find_collective_handler(std::string_view name);  // import_collectives.cpp
Handler find_bits_handler(std::string_view name);        // import_bits.cpp
Handler find_chlo_handler(std::string_view name);        // chlo.cpp
OpResult import_table_op(OpContext& context);            // import_ops.cpp
OpResult import_identity(OpContext& context);            // import_structure.cpp
OpResult import_composite(OpContext& context);           // import_composite.cpp
OpResult import_top_k(OpContext& context, int64_t k);    // import_top_k.cpp
// Of the k greatest elements, by a custom_call's target; null for another (import_top_k.cpp).
Handler find_top_k_handler(std::string_view target);
// A custom_call of what the host does; null for another target (import_host.cpp).
Handler find_host_handler(std::string_view target);
// The handler of an operation on real tensors, by its full name.
Handler find_handler(std::string_view name);  // import.cpp
// That of an operation with complex operands or results; null for others.
Handler find_complex_handler(const Operation& op, const std::vector<Type>& value_types);
// Of each member of a tuple, in order, or of the type itself: whether it is complex. None of a
// token.
std::vector<bool> complex_members(const Type& type);
// Of a body (a.re, a.im, b.re, b.im) -> (re, im): what computes one part, if it does so from that
// part alone, as a sum does.
std::optional<GraphPtr> body_of_part(const Graph& body, uint32_t part);
// Part 0 (real) or 1 of a complex tensor that lies as one, and back.
Value part_of(Graph& graph, Value whole, int64_t part);
Value join_parts(Graph& graph, Value re, Value im);

// The operation's attribute `name`, a dictionary; null if there is none.
const DictAttr* dict_attribute(const OpContext& context, std::string_view name);
// The entry `name` of it where that is an integer.
std::optional<int64_t> dict_int(const DictAttr* dict, std::string_view name);

// The text of an attribute, of whatever kind: "<a = 1, b = f32>" of a structure.
std::string attribute_words(const Attribute& attribute);

// The node attributes of a table operation, in the Graph's spelling.
Result<Attrs> import_attributes(OpContext& context, Op kind);

// A dense constant in the graph; a large splat is a scalar that is broadcast.
Value import_constant(OpContext& context, const DenseElements& dense, const TensorType& type);
// The value's integers where it is a small constant or follows from such.
std::optional<std::vector<int64_t>> constant_ints(const Graph& graph, Value value);
// limit - start, where that is known whatever `start` is.
std::optional<std::vector<int64_t>> known_distance(const Graph& graph, Value start, Value limit);

}  // namespace tuff::stablehlo
