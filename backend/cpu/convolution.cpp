#include "backend/cpu/convolution.h"

#include <algorithm>
#include <optional>

#include "backend/cpu/onednn.h"
#include "backend/cpu/scratchpad.h"

namespace tuff::cpu {

namespace {

using dnnl::memory;
using Kind = ConvolutionCall::Kind;

// oneDNN knows weights without groups by one dimension less.
StridedTensor without_single_group(StridedTensor weights) {
  if (weights.sizes[0] > 1) return weights;
  weights.sizes.erase(weights.sizes.begin());
  weights.strides.erase(weights.strides.begin());
  return weights;
}

// Channels last: what oneDNN's convolutions are as fast on as on its own layouts.
memory::desc channels_last(const memory::dims& sizes, DType dtype) {
  memory::dims strides(sizes.size());
  strides[1] = 1;
  int64_t step = sizes[1];
  for (size_t d = sizes.size(); d-- > 2; step *= sizes[d]) strides[d] = step;
  strides[0] = step;
  return {sizes, onednn_type(dtype), strides};
}

memory::desc any_layout(const memory::dims& sizes, DType dtype) {
  return {sizes, onednn_type(dtype), memory::format_tag::any};
}

// A primitive and its tensors by the names of its arguments.
class Convolution : public LibraryCall {
 public:
  explicit Convolution(const ConvolutionCall& call) : stream_(onednn_engine()), call_(call) {
    weights_ = without_single_group(call.weights);
    flops_ = 2.0 * static_cast<double>(num_elements(call.destination.sizes)) *
             static_cast<double>(num_elements(call.weights.sizes)) /
             static_cast<double>(call.destination.sizes[1]);
  }

  Status create(const LaneTable& table) {
    table_ = &table;
    if (operand_type() != DType::kF16) {  // which oneDNN has none for
      Status own = create_with(operand_type());
      bool unknown_type = !own.ok() && own.error().code == ErrorCode::kUnsupported;
      if (!unknown_type || operand_type() == DType::kF32) return own;
    }
    wide_ = true;
    return create_with(DType::kF32);
  }

  Status run(std::span<const CallOperand> operands) override {
    try {
      ThreadsFor threads(flops_);
      for (int i = 0; i < 2; ++i) arguments_[names_[i]] = tensors_[i].read(operands[i], stream_);
      arguments_[names_[2]] = tensors_[2].write(operands.back());
      post_ops_->bind(operands.subspan(2), arguments_);
      scratchpad_.bind(arguments_);
      arguments_.execute(primitive_, stream_);
      stream_.wait();
      tensors_[2].finish_write(operands.back(), stream_);
    } catch (const dnnl::error& error) {
      return onednn_error(error, "convolution");
    }
    return {};
  }

 private:
  DType operand_type() const {
    return call_.kind == Kind::kBackwardData ? weights_.dtype : call_.source.dtype;
  }
  // What a tensor is to the primitive.
  DType type_of(const StridedTensor& tensor) const { return wide_ ? DType::kF32 : tensor.dtype; }
  memory::desc weights_desc() const { return any_layout(weights_.sizes, type_of(weights_)); }

  Status create_with(DType operand_type) {
    try {
      ThreadsFor threads(flops_);
      source_desc_ = channels_last(call_.source.sizes, type_of(call_.source));
      destination_desc_ = channels_last(call_.destination.sizes, type_of(call_.destination));
      post_ops_.emplace(call_.post_ops, destination_desc_, 1);
      switch (call_.kind) {
        case Kind::kForward: return create_forward();
        case Kind::kBackwardData: return create_backward_data(operand_type);
        case Kind::kBackwardWeights: return create_backward_weights(operand_type);
      }
    } catch (const dnnl::error& error) {
      return onednn_error(error, "convolution");
    }
    return {};
  }

  // The forward convolution that a gradient belongs to, all of one type.
  dnnl::convolution_forward::primitive_desc forward_hint(DType type) const {
    dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
        channels_last(call_.source.sizes, type), any_layout(weights_.sizes, type),
        channels_last(call_.destination.sizes, type), call_.strides, dilates(), call_.padding_low,
        call_.padding_high);
    return {desc, onednn_engine()};
  }

  // oneDNN's (2.6.3) convolution by gemm looks for a post-op's elements as if channels came
  // before pixels.
  bool misreads_elements(const std::string& implementation) const {
    return implementation.find("gemm") != std::string::npos &&
           std::any_of(call_.post_ops.begin(), call_.post_ops.end(),
                       [](const PostOp& op) { return op.with == PostOp::With::kElement; });
  }

  // oneDNN counts the elements left out.
  memory::dims dilates() const {
    memory::dims result = call_.dilations;
    for (int64_t& d : result) --d;
    return result;
  }

  Status create_forward() {
    dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference,
                                         dnnl::algorithm::convolution_direct, source_desc_,
                                         weights_desc(), destination_desc_, call_.strides,
                                         dilates(), call_.padding_low, call_.padding_high);
    dnnl::convolution_forward::primitive_desc primitive(desc, post_ops_->attributes(),
                                                        onednn_engine());
    while (misreads_elements(primitive.impl_info_str()) && primitive.next_impl()) {
    }
    TUFF_RETURN_IF_ERROR(check_fast(primitive.impl_info_str(), type_of(call_.source)));
    primitive_ = dnnl::convolution_forward(primitive);
    scratchpad_ = Scratchpad(primitive.scratchpad_desc());
    return place({DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                 {&call_.source, &weights_, &call_.destination},
                 {primitive.src_desc(), primitive.weights_desc(), primitive.dst_desc()});
  }

  Status create_backward_data(DType type) {
    dnnl::convolution_backward_data::desc desc(dnnl::algorithm::convolution_direct, source_desc_,
                                               weights_desc(), destination_desc_, call_.strides,
                                               dilates(), call_.padding_low, call_.padding_high);
    dnnl::convolution_backward_data::primitive_desc primitive(desc, post_ops_->attributes(),
                                                              onednn_engine(), forward_hint(type));
    TUFF_RETURN_IF_ERROR(check_fast(primitive.impl_info_str(), type));
    primitive_ = dnnl::convolution_backward_data(primitive);
    scratchpad_ = Scratchpad(primitive.scratchpad_desc());
    return place({DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
                 {&call_.destination, &weights_, &call_.source},
                 {primitive.diff_dst_desc(), primitive.weights_desc(), primitive.diff_src_desc()});
  }

  Status create_backward_weights(DType type) {
    dnnl::convolution_backward_weights::desc desc(dnnl::algorithm::convolution_direct, source_desc_,
                                                  weights_desc(), destination_desc_, call_.strides,
                                                  dilates(), call_.padding_low, call_.padding_high);
    dnnl::convolution_backward_weights::primitive_desc primitive(
        desc, post_ops_->attributes(), onednn_engine(), forward_hint(type));
    TUFF_RETURN_IF_ERROR(check_fast(primitive.impl_info_str(), type));
    primitive_ = dnnl::convolution_backward_weights(primitive);
    scratchpad_ = Scratchpad(primitive.scratchpad_desc());
    return place({DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS},
                 {&call_.source, &call_.destination, &weights_},
                 {primitive.src_desc(), primitive.diff_dst_desc(), primitive.diff_weights_desc()});
  }

  Status place(const int (&names)[3], const StridedTensor* const (&places)[3],
               const memory::desc (&wanted)[3]) {
    for (int i = 0; i < 3; ++i) {
      names_[i] = names[i];
      TUFF_RETURN_IF_ERROR(tensors_[i].create(*places[i], wanted[i], type_of(*places[i]), *table_));
    }
    return {};
  }

  dnnl::stream stream_;
  const LaneTable* table_ = nullptr;
  bool wide_ = false;  // computed on copies in f32
  ConvolutionCall call_;
  StridedTensor weights_;
  memory::desc source_desc_, destination_desc_;
  dnnl::primitive primitive_;
  int names_[3] = {};
  PlacedTensor tensors_[3];
  std::optional<PostOps> post_ops_;
  Scratchpad scratchpad_;
  PrimitiveArguments arguments_;
  double flops_ = 0;
};

}  // namespace

Result<LibraryCallPtr> create_convolution(const ConvolutionCall& call, const LaneTable& table) {
  auto convolution = std::make_unique<Convolution>(call);
  TUFF_RETURN_IF_ERROR(convolution->create(table));
  return LibraryCallPtr(std::move(convolution));
}

}  // namespace tuff::cpu
