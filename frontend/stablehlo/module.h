// Module: a StableHLO program as it was written, before it becomes a Graph. The
// text reader makes it; a bytecode reader can make the same. Nothing is checked
// here beyond the grammar: what tuff cannot run is refused by import, so that a
// message can name the operation and not just the syntax.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "ir/literal.h"

namespace tuff::stablehlo {

enum class TypeKind { kTensor, kScalar, kTuple, kFunction, kToken, kOpaque };

// A type in the source. Element types are spelled as in MLIR and may be ones that
// tuff lacks ("complex<f32>", "!quant.uniform<...>"); see to_tensor_type.
struct Type {
  TypeKind kind = TypeKind::kOpaque;
  std::string element;        // tensor, scalar: the element type; opaque: the spelling
  Shape shape;                // tensor: sizes, -1 where dynamic
  std::vector<Type> inputs;   // tuple: members; function: inputs
  std::vector<Type> results;  // function only
  bool operator==(const Type&) const = default;
  std::string to_string() const;  // in MLIR's spelling
};

// The type as the Graph knows it; kUnsupported with the reason (complex numbers,
// dynamic sizes ...) for the others, kBadInput where the sizes overflow.
Result<TensorType> to_tensor_type(const Type& type);
// The same where sizes may be open: those stay -1.
Result<TensorType> to_open_tensor_type(const Type& type);
bool has_open_size(const Shape& shape);
// The element type of a complex tensor's two parts ("f32" or "f64"); empty for other types.
std::string_view complex_part(const Type& type);
// What a constant of the type is stored as: of complex elements the two parts, as one more
// dimension, the last.
Result<TensorType> to_stored_type(const Type& type);
// The shape of one element of it.
inline Shape stored_element(const Type& type) {
  return complex_part(type).empty() ? Shape{} : Shape{2};
}
// What a tensor type is read as whose open sizes have bounds: import refuses it.
Type bounded_type(const Type& tensor);

// A dense constant. `values` is one element iff splat (a splat of a large type stays
// small), else has the type's shape; a complex element is two numbers (to_stored_type).
// Unreadable iff tuff lacks the element type.
struct DenseElements {
  Type type;
  bool splat = false;
  bool readable = true;
  Literal values;
};

struct Attribute;
struct NamedAttribute;
struct UnitAttr {};
struct SymbolAttr {
  std::string name;
};
struct EnumAttr {
  std::string name;
};
struct OpaqueAttr {
  std::string text;
};
struct ArrayAttr {
  std::vector<Attribute> items;
};
// `name` is the attribute's own ("stablehlo.gather"), empty for a plain dictionary.
struct DictAttr {
  std::string name;
  std::vector<NamedAttribute> entries;
};

struct Attribute {
  std::variant<UnitAttr, bool, int64_t, double, std::string, SymbolAttr, EnumAttr, OpaqueAttr, Type,
               std::vector<int64_t>, std::shared_ptr<const DenseElements>, ArrayAttr, DictAttr>
      value;
};

struct NamedAttribute {
  std::string name;
  Attribute value;
};
using Attributes = std::vector<NamedAttribute>;

const Attribute* find_attribute(const Attributes& attributes, std::string_view name);
// The integers of an array, array<i64: ...>, dense or single integer; false otherwise.
bool attribute_ints(const Attribute& attribute, std::vector<int64_t>* ints);
// The text of a string, enum or symbol; null otherwise.
const std::string* attribute_text(const Attribute& attribute);

struct Block;
struct Region {
  std::vector<Block> blocks;
};

// Values are numbered through the whole module; results of one operation are
// consecutive. Value ids are below Module::value_types.size().
struct Operation {
  std::string name;  // with its dialect: "stablehlo.add"
  std::vector<uint32_t> operands;
  uint32_t first_result = 0;
  std::vector<Type> types;  // one per result
  Attributes attributes;
  std::vector<Region> regions;
  uint32_t loc = 0;  // index into Module::locations
  uint32_t line = 0, column = 0;
};

struct Block {
  std::vector<uint32_t> arguments;
  std::vector<Operation> operations;
};

struct Function {
  std::string name;
  bool is_public = true;
  std::vector<Type> inputs, results;
  std::vector<Attributes> input_attributes, result_attributes;
  std::vector<std::string> input_names;  // empty where the source has none worth keeping
  std::vector<uint32_t> input_locs;
  Region body;  // no block: a declaration
  uint32_t line = 0, column = 0;
};

// A place in the model's source: "model.py:12:3" where a file is known, else a name.
struct Module {
  std::string file_name;
  std::string name;
  std::vector<Function> functions;
  std::unordered_map<std::string, size_t> function_index;
  std::vector<Type> value_types;
  std::vector<std::string> locations{""};
  int64_t num_replicas = 0, num_partitions = 0;         // 0: the module does not say
  std::unordered_map<std::string, std::string> meshes;  // sdy.mesh: "<["x"=4]>" by name
};

// sdy.mesh's attributes (sym_name, mesh) into the module's meshes.
void add_mesh(const Attributes& attributes, Module* module);

// What a graph says of where an operation stands: "model.py:12:3", followed by the named scopes
// around it where JAX tells them ("jit(f)/decoder/attention/add": " in decoder/attention"). Without
// a position it is the name.
std::string place_text(const std::string& name, const std::string& position);

}  // namespace tuff::stablehlo
