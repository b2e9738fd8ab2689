// VHLO's operations as StableHLO has them: VHLO gives each a version of its own and
// keeps all attributes side by side, StableHLO has dimension numbers as a structure.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/stablehlo/bytecode/bytecode.h"

namespace tuff::stablehlo {

namespace {

// Attributes that StableHLO has within a structure.
struct Structure {
  std::string_view operation;  // without its version
  const char* name;            // of the attribute
  const char* type;            // of the structure
  const char* members;         // with a comma after each
};

constexpr char kGatherDims[] =
    "offset_dims,collapsed_slice_dims,operand_batching_dims,start_indices_batching_dims,"
    "start_index_map,index_vector_dim,";
constexpr char kScatterDims[] =
    "update_window_dims,inserted_window_dims,input_batching_dims,scatter_indices_batching_dims,"
    "scatter_dims_to_operand_dims,index_vector_dim,";
constexpr char kDotDims[] =
    "lhs_batching_dimensions,rhs_batching_dimensions,lhs_contracting_dimensions,"
    "rhs_contracting_dimensions,";
constexpr char kConvDims[] =
    "input_batch_dimension,input_feature_dimension,input_spatial_dimensions,"
    "kernel_input_feature_dimension,kernel_output_feature_dimension,kernel_spatial_dimensions,"
    "output_batch_dimension,output_feature_dimension,output_spatial_dimensions,";

constexpr Structure kStructures[] = {
    {"gather", "dimension_numbers", "stablehlo.gather", kGatherDims},
    {"dynamic_gather", "dimension_numbers", "stablehlo.gather", kGatherDims},
    {"scatter", "scatter_dimension_numbers", "stablehlo.scatter", kScatterDims},
    {"dot_general", "dot_dimension_numbers", "stablehlo.dot", kDotDims},
    {"convolution", "dimension_numbers", "stablehlo.conv", kConvDims},
    {"dynamic_conv", "dimension_numbers", "stablehlo.conv", kConvDims},
};

// A dot's algorithm, in the order of its text.
constexpr const char* kAlgorithm[] = {"lhs_precision_type",          "rhs_precision_type",
                                      "accumulation_type",           "lhs_component_count",
                                      "rhs_component_count",         "num_primitive_operations",
                                      "allow_imprecise_accumulation"};

bool is_member(std::string_view members, std::string_view name) {
  while (!members.empty()) {
    size_t comma = members.find(',');
    if (members.substr(0, comma) == name) return true;
    members.remove_prefix(comma + 1);
  }
  return false;
}

void make_structure(const Structure& row, Operation* op) {
  DictAttr dims{row.type, {}};
  Attributes others;
  for (NamedAttribute& entry : op->attributes)
    (is_member(row.members, entry.name) ? dims.entries : others).push_back(std::move(entry));
  others.push_back({row.name, {std::move(dims)}});
  op->attributes = std::move(others);
}

std::string spelled(const Attribute& attribute) {
  if (auto* type = std::get_if<Type>(&attribute.value)) return type->to_string();
  if (auto* i = std::get_if<int64_t>(&attribute.value)) return std::to_string(*i);
  if (auto* b = std::get_if<bool>(&attribute.value)) return *b ? "true" : "false";
  return "?";
}

// "<lhs_precision_type = tf32, ...>"; without an algorithm all its parts are "none".
void make_algorithm(Operation* op) {
  std::string text;
  for (const char* name : kAlgorithm) {
    const Attribute* part = find_attribute(op->attributes, name);
    if (!part) return;
    text += fmt::format("{}{} = {}", text.empty() ? "<" : ", ", name, spelled(*part));
  }
  if (text.find("accumulation_type = none") != std::string::npos) text.clear();
  std::erase_if(op->attributes, [](const NamedAttribute& entry) {
    return std::find(std::begin(kAlgorithm), std::end(kAlgorithm), entry.name) !=
           std::end(kAlgorithm);
  });
  if (!text.empty()) op->attributes.push_back({"algorithm", {OpaqueAttr{text + ">"}}});
}

// What VHLO has as a string and StableHLO as @name.
void make_symbols(Operation* op) {
  for (NamedAttribute& entry : op->attributes)
    if (entry.name == "callee" || entry.name == "decomposition")
      if (auto* text = std::get_if<std::string>(&entry.value.value))
        entry.value = {SymbolAttr{std::move(*text)}};
}

}  // namespace

void translate_operation(std::string_view vhlo_name, Operation* op) {
  std::string_view name = vhlo_name.substr(0, vhlo_name.rfind("_v"));
  bool is_func = name == "func" || name == "call";  // of another dialect in text
  op->name = fmt::format("{}.{}", is_func ? "func" : "stablehlo", name);
  for (const Structure& row : kStructures)
    if (row.operation == name) make_structure(row, op);
  if (name == "dot_general") make_algorithm(op);
  if (name == "call" || name == "composite") make_symbols(op);
}

}  // namespace tuff::stablehlo
