#include "backend/cpu/convolution.h"

#include <optional>

#include "backend/cpu/onednn.h"

namespace tuff::cpu {

namespace {

using dnnl::memory;

// [n, spatial.., c] as oneDNN names it: sizes n, c, spatial.. with their strides.
memory::desc activations(const std::vector<int64_t>& shape) {
  auto strides = row_major_strides(shape);
  memory::dims sizes{shape.front(), shape.back()}, steps{strides.front(), strides.back()};
  sizes.insert(sizes.end(), shape.begin() + 1, shape.end() - 1);
  steps.insert(steps.end(), strides.begin() + 1, strides.end() - 1);
  return {sizes, memory::data_type::f32, steps};
}

// [spatial.., ci, co] as sizes (groups), co, ci, spatial..
struct KernelLayout {
  memory::dims sizes, strides;
};
KernelLayout kernel_layout(const std::vector<int64_t>& shape, int64_t groups) {
  auto strides = row_major_strides(shape);
  size_t spatial = shape.size() - 2;
  int64_t outputs = shape.back() / groups;
  KernelLayout layout{{outputs, shape[spatial]}, {1, strides[spatial]}};
  layout.sizes.insert(layout.sizes.end(), shape.begin(), shape.end() - 2);
  layout.strides.insert(layout.strides.end(), strides.begin(), strides.end() - 2);
  if (groups > 1) {
    layout.sizes.insert(layout.sizes.begin(), groups);
    layout.strides.insert(layout.strides.begin(), outputs);
  }
  return layout;
}

class Convolution : public LibraryCall {
 public:
  Convolution() : stream_(onednn_engine()) {}

  Status create(const ConvolutionCall& call) {
    input_ = activations(call.input);
    output_ = activations(call.output);
    KernelLayout kernel = kernel_layout(call.kernel, call.groups);
    memory::dims dilates;
    for (int64_t dilation : call.rhs_dilation) dilates.push_back(dilation - 1);
    flops_ = 2.0 * static_cast<double>(num_elements(call.output)) *
             static_cast<double>(num_elements(call.kernel)) /
             static_cast<double>(call.kernel.back());
    try {
      ThreadsFor threads(flops_);
      memory::desc any(kernel.sizes, memory::data_type::f32, memory::format_tag::any);
      dnnl::convolution_forward::primitive_desc primitive(
          dnnl::convolution_forward::desc(
              dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, input_, any,
              output_, call.strides, dilates, call.padding_low, call.padding_high),
          onednn_engine());
      primitive_ = dnnl::convolution_forward(primitive);
      weights_.emplace(memory::desc(kernel.sizes, memory::data_type::f32, kernel.strides),
                       primitive.weights_desc());
    } catch (const dnnl::error& error) {
      return onednn_error(error, "convolution");
    }
    return {};
  }

  // The weights are packed in every run in which they are new: no fast kernel of
  // oneDNN takes them as they come.
  Status run(std::span<const CallOperand, 3> operands) override {
    try {
      ThreadsFor threads(flops_);
      if (arguments_.empty()) {
        arguments_[DNNL_ARG_SRC] = memory(input_, onednn_engine(), operands[0].data);
        arguments_[DNNL_ARG_DST] = memory(output_, onednn_engine(), operands[2].data);
      }
      arguments_[DNNL_ARG_SRC].set_data_handle(operands[0].data);
      arguments_[DNNL_ARG_DST].set_data_handle(operands[2].data);
      arguments_[DNNL_ARG_WEIGHTS] = weights_->pack(operands[1], stream_);
      primitive_.execute(stream_, arguments_);
      stream_.wait();
    } catch (const dnnl::error& error) {
      return onednn_error(error, "convolution");
    }
    return {};
  }

 private:
  memory::desc input_, output_;
  dnnl::stream stream_;
  dnnl::convolution_forward primitive_;
  std::optional<PackedWeights> weights_;
  std::unordered_map<int, memory> arguments_;
  double flops_ = 0;
};

}  // namespace

Result<LibraryCallPtr> create_convolution(const ConvolutionCall& call) {
  for (size_t dim = 0; dim < call.strides.size(); ++dim)
    if (call.padding_low[dim] < 0 || call.padding_high[dim] < 0)
      return Error{ErrorCode::kUnsupported,
                   "oneDNN has no convolution with a negative padding; disable library_calls.", ""};
  auto convolution = std::make_unique<Convolution>();
  TUFF_RETURN_IF_ERROR(convolution->create(call));
  return LibraryCallPtr(std::move(convolution));
}

}  // namespace tuff::cpu
