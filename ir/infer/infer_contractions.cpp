// dot_general and convolution.
#include "ir/infer/infer_rules.h"
#include "ir/text/print.h"

namespace tuff::infer {

namespace {

Status check_pairs(const char* what, const Ints& lhs, const Ints& rhs, const TensorType& a,
                   const TensorType& b) {
  if (lhs.size() != rhs.size())
    return invalid("The {} dimensions ({}) and ({}) differ in number.", what, list_text(lhs),
                   list_text(rhs));
  for (size_t i = 0; i < lhs.size(); ++i)
    if (a.shape[at(lhs[i])] != b.shape[at(rhs[i])])
      return invalid("The {} dimensions ({}) of ({}) and ({}) of ({}) differ in size.", what,
                     lhs[i], print_type(a), rhs[i], print_type(b));
  return {};
}

Ints joined(Ints a, const Ints& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Batch, feature and spatial dimensions of one tensor are a permutation of its rank.
Result<Ints> read_layout(int64_t first, int64_t second, const char* name, const Ints& spatial,
                         int64_t rank) {
  Ints dims = joined({first, second}, spatial);
  TUFF_RETURN_IF_ERROR(check_size(name, dims, rank));
  TUFF_RETURN_IF_ERROR(check_dimensions(name, dims, rank));
  return dims;
}

Status check_groups(const ConvolutionAttrs& attrs, int64_t batch, int64_t feature,
                    int64_t kernel_in, int64_t kernel_out) {
  int64_t features = attrs.feature_group_count, batches = attrs.batch_group_count;
  if (features < 1 || batches < 1 || (features > 1 && batches > 1))
    return invalid(
        "feature_group_count ({}) and batch_group_count ({}) must be at least 1, one of them 1.",
        features, batches);
  if (feature % features != 0 || feature / features != kernel_in)
    return invalid("Input features ({}) in ({}) groups do not fit the kernel's ({}).", feature,
                   features, kernel_in);
  if (batch % batches != 0 || kernel_out % features != 0 || kernel_out % batches != 0)
    return invalid("Batch ({}) and output features ({}) do not divide into ({}) and ({}) groups.",
                   batch, kernel_out, batches, features);
  return {};
}

}  // namespace

Result<Types> dot_general(const Node& node, const Types& operands) {
  const auto& attrs = node.attrs.as<DotGeneralAttrs>();
  const TensorType &a = operands[0], &b = operands[1];
  if (node.types.size() != 1) return invalid("The operation has one result.");
  const Ints &lhs_batch = attrs.lhs_batching_dimensions, &rhs_batch = attrs.rhs_batching_dimensions,
             &lhs_contract = attrs.lhs_contracting_dimensions,
             &rhs_contract = attrs.rhs_contracting_dimensions;
  Ints lhs_taken = joined(lhs_batch, lhs_contract), rhs_taken = joined(rhs_batch, rhs_contract);
  TUFF_RETURN_IF_ERROR(check_dimensions("lhs dimensions", lhs_taken, a.rank()));
  TUFF_RETURN_IF_ERROR(check_dimensions("rhs dimensions", rhs_taken, b.rank()));
  TUFF_RETURN_IF_ERROR(check_pairs("batching", lhs_batch, rhs_batch, a, b));
  TUFF_RETURN_IF_ERROR(check_pairs("contracting", lhs_contract, rhs_contract, a, b));
  TensorType type{node.types[0].dtype, {}};  // the preferred element type is free
  for (int64_t d : lhs_batch) type.shape.push_back(a.shape[at(d)]);
  for (int64_t d = 0; d < a.rank(); ++d)
    if (!contains(lhs_taken, d)) type.shape.push_back(a.shape[at(d)]);
  for (int64_t d = 0; d < b.rank(); ++d)
    if (!contains(rhs_taken, d)) type.shape.push_back(b.shape[at(d)]);
  return checked(type);
}

Result<Types> convolution(const Node& node, const Types& operands) {
  const auto& attrs = node.attrs.as<ConvolutionAttrs>();
  const TensorType &input = operands[0], &kernel = operands[1];
  if (node.types.size() != 1) return invalid("The operation has one result.");
  int64_t rank = input.rank(), spatial = rank - 2;
  if (rank < 2 || kernel.rank() != rank)
    return invalid("The input ({}) and the kernel ({}) must have the same rank, at least 2.",
                   print_type(input), print_type(kernel));
  TUFF_ASSIGN(Ints in,
              read_layout(attrs.input_batch_dimension, attrs.input_feature_dimension,
                          "input_spatial_dimensions", attrs.input_spatial_dimensions, rank));
  TUFF_ASSIGN(
      Ints taps,
      read_layout(attrs.kernel_input_feature_dimension, attrs.kernel_output_feature_dimension,
                  "kernel_spatial_dimensions", attrs.kernel_spatial_dimensions, rank));
  TUFF_ASSIGN(Ints out,
              read_layout(attrs.output_batch_dimension, attrs.output_feature_dimension,
                          "output_spatial_dimensions", attrs.output_spatial_dimensions, rank));
  int64_t kernel_out = kernel.shape[at(taps[1])];
  TUFF_RETURN_IF_ERROR(check_groups(attrs, input.shape[at(in[0])], input.shape[at(in[1])],
                                    kernel.shape[at(taps[0])], kernel_out));
  TUFF_ASSIGN(Ints strides, ints_or("window_strides", attrs.window_strides, spatial, 1));
  TUFF_ASSIGN(Ints padding, ints_or("padding", attrs.padding, 2 * spatial, 0));
  TUFF_ASSIGN(Ints base, ints_or("lhs_dilation", attrs.lhs_dilation, spatial, 1));
  TUFF_ASSIGN(Ints dilation, ints_or("rhs_dilation", attrs.rhs_dilation, spatial, 1));
  TUFF_RETURN_IF_ERROR(ints_or("window_reversal", attrs.window_reversal, spatial, 0));
  TensorType type{node.types[0].dtype, Shape(at(rank))};
  type.shape[at(out[0])] = input.shape[at(in[0])] / attrs.batch_group_count;
  type.shape[at(out[1])] = kernel_out;
  for (size_t s = 0; s < at(spatial); ++s) {
    WindowDimension window{kernel.shape[at(taps[s + 2])],
                           strides[s],
                           base[s],
                           dilation[s],
                           padding[2 * s],
                           padding[2 * s + 1]};
    if (window.size == 0) return invalid("The kernel ({}) has no taps.", print_type(kernel));
    TUFF_ASSIGN(type.shape[at(out[s + 2])], window_places(input.shape[at(in[s + 2])], window));
  }
  return checked(type);
}

}  // namespace tuff::infer
