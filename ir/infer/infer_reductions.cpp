// Ops with a body applied along dimensions or windows; sort.
#include "ir/infer/infer_rules.h"
#include "ir/text/print.h"

namespace tuff::infer {

namespace {

// N inputs of one shape, N scalars that start them, and a body of 2N scalars.
// The body may work in a wider element type, which the results then have.
Status check_reduction(const Node& node, const Types& operands) {
  if (operands.size() % 2 != 0)
    return invalid("The operation does not take ({}) operands.", operands.size());
  size_t n = operands.size() / 2;
  if (node.types.size() != n)
    return invalid("The operation needs ({}) results, found ({}).", n, node.types.size());
  Types results, parameters;
  for (size_t i = 0; i < n; ++i) {
    if (operands[i].shape != operands[0].shape)
      return invalid("Every input must have the shape of ({}), found ({}).",
                     print_type(operands[0]), print_type(operands[i]));
    if (operands[n + i].rank() != 0 ||
        is_float(operands[n + i].dtype) != is_float(operands[i].dtype))
      return invalid("The initial value must be ({}), found ({}).",
                     print_type({operands[i].dtype, {}}), print_type(operands[n + i]));
    results.push_back({node.types[i].dtype, {}});
  }
  for (size_t i = 0; i < 2 * n; ++i) parameters.push_back(results[i % n]);
  TUFF_RETURN_IF_ERROR(check_num_regions(node, 1));
  return check_region(node, 0, "body", parameters, results);
}

Types with_shape(const Node& node, const Shape& shape) {
  Types types;
  for (const TensorType& type : node.types) types.push_back({type.dtype, shape});
  return types;
}

Result<std::vector<WindowDimension>> read_window(const WindowAttrs& attrs, int64_t rank) {
  TUFF_ASSIGN(Ints sizes, ints_or("window_dimensions", attrs.window_dimensions, rank, 1));
  TUFF_ASSIGN(Ints strides, ints_or("window_strides", attrs.window_strides, rank, 1));
  TUFF_ASSIGN(Ints base, ints_or("base_dilations", attrs.base_dilations, rank, 1));
  TUFF_ASSIGN(Ints dilation, ints_or("window_dilations", attrs.window_dilations, rank, 1));
  TUFF_ASSIGN(Ints padding, ints_or("padding", attrs.padding, 2 * rank, 0));
  std::vector<WindowDimension> window;
  for (size_t d = 0; d < sizes.size(); ++d)
    window.push_back(
        {sizes[d], strides[d], base[d], dilation[d], padding[2 * d], padding[2 * d + 1]});
  return window;
}

Result<Shape> window_shape(const Node& node, const Shape& input) {
  TUFF_ASSIGN(std::vector<WindowDimension> window,
              read_window(node.attrs.as<WindowAttrs>(), static_cast<int64_t>(input.size())));
  Shape shape;
  for (size_t d = 0; d < input.size(); ++d) {
    TUFF_ASSIGN(int64_t places, window_places(input[d], window[d]));
    shape.push_back(places);
  }
  return shape;
}

}  // namespace

Result<Types> reduce(const Node& node, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_reduction(node, operands));
  const Ints& dims = node.attrs.as<DimensionsAttrs>().dimensions;
  TUFF_RETURN_IF_ERROR(check_dimensions("dimensions", dims, operands[0].rank()));
  Shape shape;
  for (int64_t d = 0; d < operands[0].rank(); ++d)
    if (!contains(dims, d)) shape.push_back(operands[0].shape[static_cast<size_t>(d)]);
  return with_shape(node, shape);
}

Result<Types> reduce_window(const Node& node, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_reduction(node, operands));
  TUFF_ASSIGN(Shape shape, window_shape(node, operands[0].shape));
  return with_shape(node, shape);
}

Result<Types> select_and_scatter(const Node& node, const Types& operands) {
  const TensorType &operand = operands[0], &source = operands[1];
  if (node.types.size() != 1) return invalid("The operation has one result.");
  TUFF_ASSIGN(Shape windows, window_shape(node, operand.shape));
  TUFF_RETURN_IF_ERROR(check_same("The source", {source.dtype, windows}, source));
  if (operands[2].rank() != 0)
    return invalid("The initial value must be a scalar, found ({}).", print_type(operands[2]));
  TUFF_RETURN_IF_ERROR(check_num_regions(node, 2));
  TensorType selected{operand.dtype, {}}, scattered{node.types[0].dtype, {}};
  TUFF_RETURN_IF_ERROR(
      check_region(node, 0, "selection", {selected, selected}, {{DType::kBool, {}}}));
  TUFF_RETURN_IF_ERROR(
      check_region(node, 1, "scatter computation", {scattered, scattered}, {scattered}));
  return Types{{node.types[0].dtype, operand.shape}};
}

Result<Types> sort(const Node& node, const Types& operands) {
  Types parameters;
  for (const TensorType& type : operands) {
    if (type.shape != operands[0].shape)
      return invalid("Every operand must have the shape of ({}), found ({}).",
                     print_type(operands[0]), print_type(type));
    parameters.insert(parameters.end(), 2, {type.dtype, {}});
  }
  int64_t dimension = node.attrs.as<SortAttrs>().dimension;
  if (dimension == -1) dimension = operands[0].rank() - 1;
  if (operands[0].rank() > 0)
    TUFF_RETURN_IF_ERROR(check_one_dimension("dimension", dimension, operands[0].rank()));
  TUFF_RETURN_IF_ERROR(check_num_regions(node, 1));
  TUFF_RETURN_IF_ERROR(check_region(node, 0, "comparator", parameters, {{DType::kBool, {}}}));
  return operands;
}

Result<Types> top_k(const Node& node, const Types& operands) {
  int64_t k = node.attrs.as<TopKAttrs>().k;
  if (operands[0].rank() == 0)
    return invalid("The operand must have a last dimension, found ({}).", print_type(operands[0]));
  if (k < 0 || k > operands[0].shape.back())
    return invalid("Attribute k ({}) must be in [0, {}].", k, operands[0].shape.back());
  Shape shape = operands[0].shape;
  shape.back() = k;
  return Types{{operands[0].dtype, shape}, {DType::kI32, shape}};
}

}  // namespace tuff::infer
