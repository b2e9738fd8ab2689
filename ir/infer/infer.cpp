#include "ir/infer/infer.h"

#include <algorithm>

#include "ir/infer/infer_rules.h"
#include "ir/text/print.h"

namespace tuff {

namespace infer {

Result<Ints> ints_or(const char* name, const Ints& list, int64_t rank, int64_t missing) {
  if (list.empty()) return Ints(at(rank), missing);
  TUFF_RETURN_IF_ERROR(check_size(name, list, rank));
  return list;
}

Status check_size(const char* name, const Ints& list, int64_t size) {
  if (static_cast<int64_t>(list.size()) != size)
    return invalid("Attribute {} ({}) needs ({}) entries.", name, list_text(list), size);
  return {};
}

Status check_dimensions(const char* name, const Ints& list, int64_t rank) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] < 0 || list[i] >= rank)
      return invalid("Attribute {} ({}) names a dimension outside rank ({}).", name,
                     list_text(list), rank);
    if (std::find(list.begin(), list.begin() + static_cast<int64_t>(i), list[i]) !=
        list.begin() + static_cast<int64_t>(i))
      return invalid("Attribute {} ({}) names a dimension twice.", name, list_text(list));
  }
  return {};
}

Status check_one_dimension(const char* name, int64_t dimension, int64_t rank) {
  if (dimension < 0 || dimension >= rank)
    return invalid("Attribute {} ({}) is no dimension of rank ({}).", name, dimension, rank);
  return {};
}

Status check_range(const char* name, const Ints& list, int64_t low) {
  for (int64_t value : list)
    if (value < low || value >= int64_t{1} << 31)
      return invalid("{} ({}) has an entry outside [{}, 2^31).", name, list_text(list), low);
  return {};
}

Status check_index(const char* what, const TensorType& type) {
  if (type.rank() != 0 || !is_integer(type.dtype))
    return invalid("{} must be an integer scalar, found ({}).", what, print_type(type));
  return {};
}

Status check_same(const char* what, const TensorType& expected, const TensorType& found) {
  if (expected != found)
    return invalid("{} must be ({}), found ({}).", what, print_type(expected), print_type(found));
  return {};
}

Result<Types> checked(TensorType type) {
  TUFF_RETURN_IF_ERROR(checked_num_elements(type.shape));
  return Types{std::move(type)};
}

bool contains(const Ints& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Status check_num_regions(const Node& node, size_t count) {
  if (node.regions.size() != count)
    return invalid("The operation needs ({}) regions, found ({}).", count, node.regions.size());
  for (const GraphPtr& region : node.regions)
    if (!region) return invalid("A region is missing.");
  return {};
}

Status check_region(const Node& node, size_t index, const char* what, const Types& parameters,
                    const Types& results) {
  const Graph& region = *node.regions[index];
  Types found;
  for (uint32_t i = 0; i < region.num_parameters(); ++i) found.push_back(region.node(i).types[0]);
  if (found != parameters)
    return invalid("The {} must take ({}), found ({}).", what, types_text(parameters),
                   types_text(found));
  found.clear();
  for (Value v : region.outputs()) {
    if (v.node >= region.nodes().size() || v.result >= region.node(v).types.size())
      return invalid("The {} returns a value that does not exist.", what);
    found.push_back(region.type(v));
  }
  if (found != results)
    return invalid("The {} must return ({}), found ({}).", what, types_text(results),
                   types_text(found));
  return {};
}

std::string list_text(const Ints& list) { return print_attr(list); }

std::string types_text(const Types& types) {
  std::string out;
  for (const TensorType& type : types) out.append(out.empty() ? "" : ", ").append(print_type(type));
  return out.empty() ? "nothing" : out;
}

Result<int64_t> window_places(int64_t input, const WindowDimension& w) {
  TUFF_RETURN_IF_ERROR(check_range("The windowed size", {input}, 0));
  TUFF_RETURN_IF_ERROR(check_range("The window's size, stride and dilations",
                                   {w.size, w.stride, w.base_dilation, w.window_dilation}, 1));
  TUFF_RETURN_IF_ERROR(
      check_range("The window's padding", {w.pad_low, w.pad_high}, -(int64_t{1} << 31)));
  int64_t dilated = input == 0 ? 0 : (input - 1) * w.base_dilation + 1;
  int64_t padded = dilated + w.pad_low + w.pad_high;
  int64_t window = (w.size - 1) * w.window_dilation + 1;
  return padded <= 0 || window > padded ? 0 : (padded - window) / w.stride + 1;
}

namespace {

using Rule = Result<Types> (*)(const Node&, const Types&);

// Ops without a rule take and give any types (custom_call).
Rule find_rule(Op op) {
  switch (op) {
    case Op::kCompare: return compare;
    case Op::kConstant: return constant;
    case Op::kIota: return iota;
    case Op::kBitcastConvert: return bitcast_convert;
    case Op::kBroadcastInDim: return broadcast_in_dim;
    case Op::kReshape: return reshape;
    case Op::kTranspose: return transpose;
    case Op::kSlice: return slice;
    case Op::kReverse: return reverse;
    case Op::kPad: return pad;
    case Op::kConcatenate: return concatenate;
    case Op::kDynamicSlice: return dynamic_slice;
    case Op::kDynamicUpdateSlice: return dynamic_update_slice;
    case Op::kGather: return gather;
    case Op::kScatter: return scatter;
    case Op::kReduce: return reduce;
    case Op::kReduceWindow: return reduce_window;
    case Op::kSelectAndScatter: return select_and_scatter;
    case Op::kDotGeneral: return dot_general;
    case Op::kConvolution: return convolution;
    case Op::kSort: return sort;
    case Op::kTopK: return top_k;
    case Op::kRngBitGenerator: return rng_bit_generator;
    case Op::kFft: return fft;
    case Op::kCholesky: return cholesky;
    case Op::kTriangularSolve: return triangular_solve;
    case Op::kHostCall: return host_call;
    case Op::kBatchNormInference: return batch_norm_inference;
    case Op::kBatchNormTraining: return batch_norm_training;
    case Op::kBatchNormGrad: return batch_norm_grad;
    case Op::kWhile: return while_loop;
    case Op::kIf: return if_else;
    case Op::kCase: return case_of;
    case Op::kOptimizationBarrier: return optimization_barrier;
    case Op::kMap: return map;
    case Op::kFused: return fused;
    case Op::kHosted: return hosted;
    default: return is_elementwise(op) ? elementwise : nullptr;
  }
}

// reduce_precision is one operand and two attributes in a graph, three operands
// in a kernel, where op.def's row is read.
bool operand_count_fits(const Node& node) {
  auto count = static_cast<int>(node.operands.size());
  if (node.op == Op::kReducePrecision) return count == 1;
  const OpInfo& info = op_info(node.op);
  return count >= info.min_operands && (info.max_operands < 0 || count <= info.max_operands);
}

}  // namespace

}  // namespace infer

Result<Types> infer_types(const Node& node, const Types& operands) {
  if (!infer::operand_count_fits(node))
    return infer::invalid("The operation does not take ({}) operands.", operands.size());
  infer::Rule rule = infer::find_rule(node.op);
  return rule ? rule(node, operands) : node.types;
}

Result<Types> infer_types(const Graph& graph, const Node& node) {
  Types operands;
  for (Value v : node.operands) operands.push_back(graph.type(v));
  return infer_types(node, operands);
}

}  // namespace tuff
