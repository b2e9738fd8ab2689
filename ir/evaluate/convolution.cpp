// convolution in full generality, as one matrix product per group: rows are
// (batch, output position), columns output features, depth (kernel position,
// input feature). Padding, strides, dilations and reversal are index arithmetic.
#include "ir/evaluate/contract.h"
#include "ir/evaluate/indexing.h"
#include "ir/evaluate/ops.h"
#include "ir/evaluate/walk.h"

namespace tuff::eval {

namespace {

struct Window {
  size_t rank;  // number of spatial dimensions
  std::vector<int64_t> strides, padding, lhs_dilation, rhs_dilation, reversal;

  explicit Window(const ConvolutionAttrs& attrs)
      : rank(attrs.input_spatial_dimensions.size()),
        strides(list_or(attrs.window_strides, rank, 1)),
        padding(list_or(attrs.padding, 2 * rank, 0)),
        lhs_dilation(list_or(attrs.lhs_dilation, rank, 1)),
        rhs_dilation(list_or(attrs.rhs_dilation, rank, 1)),
        reversal(list_or(attrs.window_reversal, rank, 0)) {}
};

// The dimension numbers of one tensor: batch (or kernel output feature), feature
// (or kernel input feature), spatial.
struct Axes {
  const Shape& shape;
  std::vector<int64_t> strides;
  size_t first, second;
  std::vector<int64_t> spatial;

  Axes(const Shape& s, int64_t first_dim, int64_t second_dim, const std::vector<int64_t>& dims)
      : shape(s),
        strides(row_major_strides(s)),
        first(static_cast<size_t>(first_dim)),
        second(static_cast<size_t>(second_dim)),
        spatial(dims) {}

  Shape spatial_shape() const { return pick(shape, spatial); }
  std::vector<int64_t> spatial_strides() const { return pick(strides, spatial); }
};

// Every index of a space times per-dimension factors plus shifts, flattened:
// entry i * rank + d.
std::vector<int64_t> positions(const Shape& shape, const std::vector<int64_t>& factors,
                               const std::vector<int64_t>& shifts) {
  std::vector<int64_t> all;
  for (Counter counter(shape); counter.valid(); counter.next())
    for (size_t d = 0; d < shape.size(); ++d) all.push_back(counter[d] * factors[d] + shifts[d]);
  return all;
}

// Everything about the walk that does not depend on element types.
struct Plan {
  Window window;
  Axes input, kernel, output;
  int64_t feature_groups, batch_groups;
  int64_t group_batch, group_in_features, group_out_features;
  Shape input_spatial;
  std::vector<int64_t> input_spatial_strides;
  std::vector<int64_t> output_positions;  // dilated input coordinate of the window's corner
  std::vector<int64_t> kernel_positions;  // dilated offset inside the window
  std::vector<int64_t> output_offsets, kernel_offsets;

  Plan(const ConvolutionAttrs& attrs, const Shape& lhs, const Shape& rhs, const Shape& out)
      : window(attrs),
        input(lhs, attrs.input_batch_dimension, attrs.input_feature_dimension,
              attrs.input_spatial_dimensions),
        kernel(rhs, attrs.kernel_output_feature_dimension, attrs.kernel_input_feature_dimension,
               attrs.kernel_spatial_dimensions),
        output(out, attrs.output_batch_dimension, attrs.output_feature_dimension,
               attrs.output_spatial_dimensions),
        feature_groups(attrs.feature_group_count),
        batch_groups(attrs.batch_group_count),
        group_batch(lhs[input.first] / batch_groups),
        group_in_features(rhs[kernel.second]),
        group_out_features(rhs[kernel.first] / (feature_groups * batch_groups)),
        input_spatial(input.spatial_shape()),
        input_spatial_strides(input.spatial_strides()) {
    std::vector<int64_t> low, zeros(window.rank, 0);
    for (size_t d = 0; d < window.rank; ++d) low.push_back(-window.padding[2 * d]);
    output_positions = positions(output.spatial_shape(), window.strides, low);
    kernel_positions = positions(kernel.spatial_shape(), window.rhs_dilation, zeros);
    output_offsets = offsets(output);
    kernel_offsets = reversed_kernel_offsets();
  }

  static std::vector<int64_t> offsets(const Axes& axes) {
    std::vector<int64_t> all, strides = axes.spatial_strides();
    for (Counter counter(axes.spatial_shape()); counter.valid(); counter.next())
      all.push_back(dot_offset(counter.index(), strides));
    return all;
  }

  // Kernel element used at each window position: mirrored where reversed.
  std::vector<int64_t> reversed_kernel_offsets() const {
    Shape shape = kernel.spatial_shape();
    std::vector<int64_t> strides = kernel.spatial_strides(), all;
    for (Counter counter(shape); counter.valid(); counter.next()) {
      int64_t offset = 0;
      for (size_t d = 0; d < shape.size(); ++d)
        offset += (window.reversal[d] ? shape[d] - 1 - counter[d] : counter[d]) * strides[d];
      all.push_back(offset);
    }
    return all;
  }

  // Spatial offset of the input element under output position o and kernel
  // position k, or -1 on padding and between dilated elements.
  int64_t input_offset(int64_t o, int64_t k) const {
    const int64_t* corner = output_positions.data() + o * static_cast<int64_t>(window.rank);
    const int64_t* inside = kernel_positions.data() + k * static_cast<int64_t>(window.rank);
    int64_t offset = 0;
    for (size_t d = 0; d < window.rank; ++d) {
      int64_t position = corner[d] + inside[d], dilation = window.lhs_dilation[d];
      if (position < 0) return -1;
      if (dilation != 1) {
        if (position % dilation != 0) return -1;
        position /= dilation;
      }
      if (position >= input_spatial[d]) return -1;
      offset += position * input_spatial_strides[d];
    }
    return offset;
  }
};

// Group g: with feature groups its slice of input features, with batch groups its
// slice of the batch; always its slice of kernel and output features.
template <typename A>
void convolve_group(const Plan& plan, int64_t g, const Literal& lhs, const Literal& rhs,
                    Literal& result) {
  const Axes &in = plan.input, &kernel = plan.kernel, &output = plan.output;
  auto spatial = static_cast<int64_t>(plan.output_offsets.size());
  auto taps = static_cast<int64_t>(plan.kernel_offsets.size());
  int64_t first_feature = g * plan.group_out_features, first_input = 0;
  if (plan.feature_groups > 1) first_input += g * plan.group_in_features * in.strides[in.second];
  if (plan.batch_groups > 1) first_input += g * plan.group_batch * in.strides[in.first];
  Product<A> product{plan.group_batch * spatial,
                     plan.group_out_features,
                     plan.group_in_features * taps,
                     lhs.bytes(),
                     rhs.bytes(),
                     result.mutable_bytes(),
                     pack_function<A>(lhs.type().dtype),
                     store_function<A>(result.type().dtype)};
  auto left = [&](int64_t m, int64_t k) {
    int64_t offset = plan.input_offset(m % spatial, k % taps);
    return offset < 0 ? -1
                      : first_input + offset + m / spatial * in.strides[in.first] +
                            k / taps * in.strides[in.second];
  };
  auto right = [&](int64_t k, int64_t n) {
    return plan.kernel_offsets[size_t(k % taps)] + k / taps * kernel.strides[kernel.second] +
           (first_feature + n) * kernel.strides[kernel.first];
  };
  product.run(left, right, [&](int64_t m, int64_t n) {
    return plan.output_offsets[size_t(m % spatial)] + m / spatial * output.strides[output.first] +
           (first_feature + n) * output.strides[output.second];
  });
}

}  // namespace

Result<Literals> evaluate_convolution(const Node& node, const Literals& operands) {
  const Literal &lhs = operands[0], &rhs = operands[1];
  DType type = node.types[0].dtype;
  if (lhs.type().dtype != rhs.type().dtype)
    return evaluate_convolution(node, {convert_literal(lhs, type), convert_literal(rhs, type)});
  if (is_float(lhs.type().dtype) != is_float(type))
    return unsupported(node, "mixes floats and integers");
  Plan plan(node.attrs.as<ConvolutionAttrs>(), lhs.type().shape, rhs.type().shape,
            node.types[0].shape);
  Literal result(node.types[0]);
  for (int64_t g = 0; g < plan.feature_groups * plan.batch_groups; ++g) {
    if (is_float(type))
      convolve_group<double>(plan, g, lhs, rhs, result);
    else
      convolve_group<uint64_t>(plan, g, lhs, rhs, result);
  }
  return Literals{std::move(result)};
}

}  // namespace tuff::eval
