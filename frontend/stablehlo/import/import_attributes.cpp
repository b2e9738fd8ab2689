// Attributes of table operations: one row each, with the value a missing one has.
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"

namespace tuff::stablehlo {

namespace {

enum class Kind {
  kInts,       // a list, empty where missing
  kInt,        // required
  kFlag,       // 0 or 1; left out where 0, which is what a missing one means
  kText,       // an enum or string; left out where missing
  kFloat,      // required
  kDims,       // a structure whose entries become attributes (see kDimLists)
  kPrecision,  // a list of words; left out where all are DEFAULT
  kWindow,     // one entry per window dimension, 1 where missing
  kZeros,      // the same, 0 where missing
  kPadding,    // pairs, 0 where missing
};

struct AttrRow {
  Op op;
  const char* name;
  Kind kind;
};

constexpr AttrRow kRows[] = {
    {Op::kIota, "iota_dimension", Kind::kInt},
    {Op::kBroadcastInDim, "broadcast_dimensions", Kind::kInts},
    {Op::kTranspose, "permutation", Kind::kInts},
    {Op::kReverse, "dimensions", Kind::kInts},
    {Op::kSlice, "start_indices", Kind::kInts},
    {Op::kSlice, "limit_indices", Kind::kInts},
    {Op::kSlice, "strides", Kind::kInts},
    {Op::kPad, "edge_padding_low", Kind::kInts},
    {Op::kPad, "edge_padding_high", Kind::kInts},
    {Op::kPad, "interior_padding", Kind::kInts},
    {Op::kConcatenate, "dimension", Kind::kInt},
    {Op::kReducePrecision, "exponent_bits", Kind::kInt},
    {Op::kReducePrecision, "mantissa_bits", Kind::kInt},
    {Op::kDynamicSlice, "slice_sizes", Kind::kInts},
    {Op::kGather, "dimension_numbers", Kind::kDims},
    {Op::kGather, "slice_sizes", Kind::kInts},
    {Op::kGather, "indices_are_sorted", Kind::kFlag},
    {Op::kScatter, "scatter_dimension_numbers", Kind::kDims},
    {Op::kScatter, "indices_are_sorted", Kind::kFlag},
    {Op::kScatter, "unique_indices", Kind::kFlag},
    {Op::kReduce, "dimensions", Kind::kInts},
    {Op::kReduceWindow, "window_dimensions", Kind::kWindow},
    {Op::kReduceWindow, "window_strides", Kind::kWindow},
    {Op::kReduceWindow, "base_dilations", Kind::kWindow},
    {Op::kReduceWindow, "window_dilations", Kind::kWindow},
    {Op::kReduceWindow, "padding", Kind::kPadding},
    {Op::kSelectAndScatter, "window_dimensions", Kind::kWindow},
    {Op::kSelectAndScatter, "window_strides", Kind::kWindow},
    {Op::kSelectAndScatter, "padding", Kind::kPadding},
    {Op::kDotGeneral, "dot_dimension_numbers", Kind::kDims},
    {Op::kDotGeneral, "precision_config", Kind::kPrecision},
    {Op::kConvolution, "dimension_numbers", Kind::kDims},
    {Op::kConvolution, "window_strides", Kind::kWindow},
    {Op::kConvolution, "padding", Kind::kPadding},
    {Op::kConvolution, "lhs_dilation", Kind::kWindow},
    {Op::kConvolution, "rhs_dilation", Kind::kWindow},
    {Op::kConvolution, "window_reversal", Kind::kZeros},
    {Op::kConvolution, "feature_group_count", Kind::kInt},
    {Op::kConvolution, "batch_group_count", Kind::kInt},
    {Op::kConvolution, "precision_config", Kind::kPrecision},
    {Op::kSort, "is_stable", Kind::kFlag},
    {Op::kTopK, "k", Kind::kInt},
    {Op::kRngBitGenerator, "rng_algorithm", Kind::kText},
    {Op::kFft, "fft_type", Kind::kText},
    {Op::kFft, "fft_length", Kind::kInts},
    {Op::kCholesky, "lower", Kind::kFlag},
    {Op::kTriangularSolve, "left_side", Kind::kInt},
    {Op::kTriangularSolve, "lower", Kind::kFlag},
    {Op::kTriangularSolve, "unit_diagonal", Kind::kFlag},
    {Op::kTriangularSolve, "transpose_a", Kind::kText},
    {Op::kBatchNormInference, "epsilon", Kind::kFloat},
    {Op::kBatchNormInference, "feature_index", Kind::kInt},
    {Op::kBatchNormTraining, "epsilon", Kind::kFloat},
    {Op::kBatchNormTraining, "feature_index", Kind::kInt},
    {Op::kBatchNormGrad, "epsilon", Kind::kFloat},
    {Op::kBatchNormGrad, "feature_index", Kind::kInt},
    {Op::kMap, "dimensions", Kind::kInts},
};

struct DimList {
  Op op;
  const char* name;
  bool is_list;
};
constexpr DimList kDimLists[] = {
    {Op::kGather, "offset_dims", true},
    {Op::kGather, "collapsed_slice_dims", true},
    {Op::kGather, "operand_batching_dims", true},
    {Op::kGather, "start_indices_batching_dims", true},
    {Op::kGather, "start_index_map", true},
    {Op::kGather, "index_vector_dim", false},
    {Op::kScatter, "update_window_dims", true},
    {Op::kScatter, "inserted_window_dims", true},
    {Op::kScatter, "input_batching_dims", true},
    {Op::kScatter, "scatter_indices_batching_dims", true},
    {Op::kScatter, "scatter_dims_to_operand_dims", true},
    {Op::kScatter, "index_vector_dim", false},
    {Op::kDotGeneral, "lhs_batching_dimensions", true},
    {Op::kDotGeneral, "rhs_batching_dimensions", true},
    {Op::kDotGeneral, "lhs_contracting_dimensions", true},
    {Op::kDotGeneral, "rhs_contracting_dimensions", true},
    {Op::kConvolution, "input_batch_dimension", false},
    {Op::kConvolution, "input_feature_dimension", false},
    {Op::kConvolution, "input_spatial_dimensions", true},
    {Op::kConvolution, "kernel_input_feature_dimension", false},
    {Op::kConvolution, "kernel_output_feature_dimension", false},
    {Op::kConvolution, "kernel_spatial_dimensions", true},
    {Op::kConvolution, "output_batch_dimension", false},
    {Op::kConvolution, "output_feature_dimension", false},
    {Op::kConvolution, "output_spatial_dimensions", true},
};

Status set_dims(const OpContext& context, Op kind, const Attribute& attribute, Attrs* attrs) {
  auto* dims = std::get_if<DictAttr>(&attribute.value);
  if (!dims) return context.bad("The dimension numbers are not a structure.");
  for (const DimList& row : kDimLists) {
    if (row.op != kind) continue;
    std::vector<int64_t> ints;
    const Attribute* entry = find_attribute(dims->entries, row.name);
    if (entry && !attribute_ints(*entry, &ints))
      return context.bad(
          fmt::format("The dimension numbers' ({}) is not a list of integers.", row.name));
    if (row.is_list)
      attrs->set(row.name, ints);
    else
      attrs->set(row.name, ints.empty() ? int64_t{0} : ints[0]);
  }
  return {};
}

// The number of window dimensions, which the missing lists take theirs from.
Result<size_t> window_rank(const OpContext& context, Op kind) {
  if (context.operands.empty()) return context.bad("The operation needs operands.");
  auto rank = static_cast<size_t>(context.type(context.operands[0]).rank());
  if (kind != Op::kConvolution) return rank;
  if (rank < 2) return context.bad("A convolution's operands have at least two dimensions.");
  return rank - 2;
}

Status set_precision(const OpContext& context, const Attribute& attribute, Attrs* attrs) {
  auto* array = std::get_if<ArrayAttr>(&attribute.value);
  if (!array) return context.bad("The precision is not a list.");
  std::vector<std::string> words;
  bool is_default = true;
  for (const Attribute& item : array->items) {
    const std::string* word = attribute_text(item);
    if (!word) return context.bad("The precision is not a list of words.");
    words.push_back(*word);
    is_default = is_default && *word == "DEFAULT";
  }
  if (!is_default) attrs->set("precision_config", words);
  return {};
}

Status set_window(const OpContext& context, const AttrRow& row, Attrs* attrs) {
  TUFF_ASSIGN(size_t rank, window_rank(context, row.op));
  TUFF_ASSIGN(std::vector<int64_t> ints, context.ints_attribute(row.name));
  size_t count = row.kind == Kind::kPadding ? 2 * rank : rank;
  if (!context.attribute(row.name)) ints.assign(count, row.kind == Kind::kWindow ? 1 : 0);
  // A splat (padding = dense<0>) is already spelled out; a wrong length is the
  // writer's error.
  if (ints.size() != count)
    return context.bad(fmt::format("The attribute ({}) has ({}) entries, but needs ({}).", row.name,
                                   ints.size(), count));
  attrs->set(row.name, ints);
  return {};
}

Status set_row(const OpContext& context, const AttrRow& row, Attrs* attrs) {
  const Attribute* value = context.attribute(row.name);
  switch (row.kind) {
    case Kind::kInts: {
      TUFF_ASSIGN(std::vector<int64_t> ints, context.ints_attribute(row.name));
      attrs->set(row.name, std::move(ints));
      return {};
    }
    case Kind::kInt: {
      bool is_count = std::string_view(row.name).ends_with("_count");
      if (!value && !is_count) break;
      attrs->set(row.name, context.int_attribute(row.name, 1));
      return {};
    }
    case Kind::kFlag:
      if (context.int_attribute(row.name) != 0) attrs->set(row.name, int64_t{1});
      return {};
    case Kind::kText:
      if (value) attrs->set(row.name, attribute_words(*value));
      return {};
    case Kind::kFloat: {
      if (!value) break;
      auto* number = std::get_if<double>(&value->value);
      attrs->set(row.name, number ? *number : static_cast<double>(context.int_attribute(row.name)));
      return {};
    }
    case Kind::kDims:
      if (!value) break;
      return set_dims(context, row.op, *value, attrs);
    case Kind::kPrecision:
      if (!value) return {};
      return set_precision(context, *value, attrs);
    case Kind::kWindow:
    case Kind::kZeros:
    case Kind::kPadding: return set_window(context, row, attrs);
  }
  return context.bad(fmt::format("The attribute ({}) is missing.", row.name));
}

}  // namespace

std::string attribute_words(const Attribute& attribute) {
  if (const std::string* text = attribute_text(attribute)) return *text;
  if (auto* opaque = std::get_if<OpaqueAttr>(&attribute.value)) return opaque->text;
  if (auto* type = std::get_if<Type>(&attribute.value)) return type->to_string();
  if (auto* i = std::get_if<int64_t>(&attribute.value)) return std::to_string(*i);
  if (auto* b = std::get_if<bool>(&attribute.value)) return *b ? "true" : "false";
  std::string text;
  if (auto* dict = std::get_if<DictAttr>(&attribute.value))
    for (const NamedAttribute& entry : dict->entries)
      text += (text.empty() ? "<" : ", ") + entry.name + " = " + attribute_words(entry.value);
  return text.empty() ? text : text + ">";
}

Result<Attrs> import_attributes(OpContext& context, Op kind) {
  Attrs attrs;
  for (const AttrRow& row : kRows)
    if (row.op == kind) TUFF_RETURN_IF_ERROR(set_row(context, row, &attrs));
  return attrs;
}

}  // namespace tuff::stablehlo
