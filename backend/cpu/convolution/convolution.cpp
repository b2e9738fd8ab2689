#include "backend/cpu/convolution/convolution.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

#include "backend/cpu/convolution/column_affine.h"
#include "backend/cpu/convolution/one_pass.h"
#include "backend/cpu/convolution/scaled_weights.h"
#include "backend/cpu/gemm/onednn.h"
#include "backend/cpu/gemm/scratchpad.h"
#include "backend/cpu/thread_pool.h"
#include "ir/support/parts.h"

namespace tuff::cpu {

namespace {

using dnnl::memory;
using Kind = ConvolutionCall::Kind;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// oneDNN knows weights without groups by one dimension less.
StridedTensor without_single_group(StridedTensor weights) {
  if (weights.sizes[0] > 1) return weights;
  weights.sizes.erase(weights.sizes.begin());
  weights.strides.erase(weights.strides.begin());
  return weights;
}

// Channels last: what oneDNN's convolutions are as fast on as on its own layouts.
memory::dims channels_last_strides(const memory::dims& sizes) {
  memory::dims strides(sizes.size());
  strides[1] = 1;
  int64_t step = sizes[1];
  for (size_t d = sizes.size(); d-- > 2; step *= sizes[d]) strides[d] = step;
  strides[0] = step;
  return strides;
}

memory::desc channels_last(const memory::dims& sizes, DType dtype) {
  return {sizes, onednn_type(dtype), channels_last_strides(sizes)};
}

memory::desc any_layout(const memory::dims& sizes, DType dtype) {
  return {sizes, onednn_type(dtype), memory::format_tag::any};
}

// Along a dimension of one result: no stride, and no source elements that no window reaches.
ConvolutionCall without_idle_strides(ConvolutionCall call) {
  for (size_t d = 0; d < call.strides.size(); ++d) {
    int64_t window = (call.weights.sizes[3 + d] - 1) * call.dilations[d] + 1;
    int64_t reached = window - call.padding_low[d];
    if (call.strides[d] == 1 || call.destination.sizes[2 + d] != 1 || reached < 1) continue;
    int64_t& source = call.source.sizes[2 + d];
    source = std::min(source, reached);
    call.padding_high[d] = reached - source;
    call.strides[d] = 1;
  }
  return call;
}

class Convolution : public LibraryCall {
 public:
  Convolution(const ConvolutionCall& call, bool stable_weights, const LaneTable& table,
              DerivedOwner& owner)
      : table_(table),
        owner_(owner),
        stable_weights_(stable_weights),
        stream_(onednn_engine()),
        call_(kMisreadsIdleStrides && call.kind == Kind::kForward ? without_idle_strides(call)
                                                                  : call) {
    if (ends_in_gate(call_)) {
      gate_ = rows_function(call_.post_ops.back().kind, table);
      call_.post_ops.pop_back();
    }
    weights_ = without_single_group(call.weights);
    flops_ = 2.0 * static_cast<double>(num_elements(call.destination.sizes)) *
             static_cast<double>(num_elements(call.weights.sizes)) /
             static_cast<double>(call.destination.sizes[1]);
    ColumnAffine affine(call_.post_ops, call.destination.sizes[1]);
    // Whether it is done depends on nothing that was before: the bits of a result would too.
    bool can_scale = stable_weights && ScaledWeights::can_scale(call.weights);
    bool foldable = call.kind == Kind::kForward && call.source.dtype == DType::kF32 &&
                    affine.size() > 0 && (!affine.scales() || can_scale);
    if (foldable) affine_ = std::move(affine);
  }

  // in_result: the post-op whose operand lies where the result goes, if that is known.
  Status create(std::optional<size_t> in_result) {
    if (operand_type() != DType::kF16 && !reads_past_source()) {  // f16: oneDNN has none
      Result<Form*> own = find_form(affine_.has_value(), in_result);
      bool unknown_type = !own.ok() && own.error().code == ErrorCode::kUnsupported;
      if (own.ok()) return {};
      if (!unknown_type || operand_type() == DType::kF32) return own.take_error();
    }
    wide_ = true;
    Result<Form*> wide = find_form(affine_.has_value(), in_result);
    if (!wide.ok()) return wide.take_error();
    return {};
  }

  Status run(std::span<const CallOperand> operands) override {
    try {
      ThreadsFor threads(flops_);
      std::span<const CallOperand> post_operands = operands.subspan(2, operands.size() - 3);
      std::optional<InResult> shared =
          find_in_result(call_.post_ops, post_operands, operands.back().data);
      bool folds = affine_ && affine_->compute(post_operands);
      TUFF_ASSIGN(Form * form,
                  find_form(folds, shared ? std::optional(shared->post_op) : std::nullopt));
      return run_form(*form, operands, post_operands);
    } catch (const dnnl::error& error) {
      return onednn_error(error, "convolution");
    }
  }

 private:
  // A primitive and its tensors by the names of its arguments.
  struct Form {
    bool folds = false;               // the post-ops that affine_ stands for
    std::optional<size_t> in_result;  // the post-op that is a sum with what is there
    dnnl::primitive primitive;
    int names[3] = {};
    PlacedTensor tensors[3];
    std::optional<ScaledWeights> scaled;
    std::optional<PostOps> post_ops;
    Scratchpad scratchpad;
    PrimitiveArguments arguments;
  };

  DType operand_type() const {
    return call_.kind == Kind::kBackwardData ? weights_.dtype : call_.source.dtype;
  }
  // What a tensor is to the primitive.
  DType type_of(const StridedTensor& tensor) const { return wide_ ? DType::kF32 : tensor.dtype; }
  memory::desc weights_desc() const { return any_layout(weights_.sizes, type_of(weights_)); }

  Status run_form(Form& form, std::span<const CallOperand> operands,
                  std::span<const CallOperand> post_operands) {
    PrimitiveArguments& arguments = form.arguments;
    arguments[form.names[0]] = form.tensors[0].read(operands[0], stream_);
    arguments[form.names[1]] = read_weights(form, operands[1]);
    arguments[form.names[2]] = form.tensors[2].write(operands.back());
    if (form.folds) {
      arguments[DNNL_ARG_BIAS] = bias_;
      bias_.set_data_handle(const_cast<float*>(affine_->shift().data()));
      post_operands = post_operands.subspan(affine_->num_operands());
    }
    form.post_ops->bind(post_operands, arguments);
    form.scratchpad.bind(arguments);
    arguments.execute(form.primitive, stream_);
    stream_.wait();
    form.tensors[2].finish_write(operands.back(), stream_);
    if (gate_ != nullptr) apply_gate(operands.back());
    for (PlacedTensor& tensor : form.tensors) tensor.end();
    if (form.scaled) form.scaled->end();
    return {};
  }

  // To all pixels, a few of them at a time.
  void apply_gate(const CallOperand& destination) const {
    constexpr int64_t kPieceElements = 1 << 14;
    auto* result = reinterpret_cast<float*>(destination.data) + call_.destination.offset;
    const int64_t channels = call_.destination.sizes[1];
    const int64_t pixels = num_elements(call_.destination.sizes) / channels;
    const int64_t piece = ceil_div(kPieceElements, channels), count = ceil_div(pixels, piece);
    const int threads = count > 1 ? max_threads() : 1;
    SplitRange pieces(count, threads);
    in_parallel(threads, [&](int part) {
      for (int64_t i, next; pieces.take(part, i, next);)
        gate_(std::min(piece, pixels - i * piece), channels, result + i * piece * channels,
              channels);
    });
  }

  // The second operand, which in all but one kind of call is the weights.
  const memory& read_weights(Form& form, const CallOperand& weights) {
    if (!form.scaled) return form.tensors[1].read(weights, stream_);
    auto scale = [&] {
      CallOperand scaled = form.scaled->scale(weights, affine_->scale());
      if (scaled.data == nullptr) throw dnnl::error(dnnl_out_of_memory, "no memory for weights");
      return scaled;
    };
    // By reference: a std::function of so many captures would allocate.
    return form.tensors[1].read(weights, stream_, affine_->scale(), std::ref(scale));
  }

  // Errors: kUnsupported where oneDNN has no fast code for the types.
  Result<Form*> find_form(bool folds, std::optional<size_t> in_result) {
    for (Form& made : forms_)
      if (made.folds == folds && made.in_result == in_result) return &made;
    Form form;
    form.folds = folds;
    form.in_result = in_result;
    try {
      ThreadsFor threads(flops_);
      TUFF_RETURN_IF_ERROR(create_form(form));
    } catch (const dnnl::error& error) {
      return onednn_error(error, "convolution");
    }
    return &forms_.emplace_back(std::move(form));
  }

  Status create_form(Form& form) {
    source_desc_ = channels_last(call_.source.sizes, type_of(call_.source));
    destination_desc_ = channels_last(call_.destination.sizes, type_of(call_.destination));
    size_t folded = form.folds ? affine_->size() : 0;
    PostOpList rest(call_.post_ops.begin() + static_cast<int64_t>(folded), call_.post_ops.end());
    std::optional<size_t> in_result;
    if (form.in_result) in_result = *form.in_result - folded;
    const memory::dims& sizes = call_.destination.sizes;
    form.post_ops.emplace(rest, sizes, channels_last_strides(sizes), 1, in_result);
    switch (call_.kind) {
      case Kind::kForward: return create_forward(form);
      case Kind::kBackwardData: return create_backward_data(form);
      case Kind::kBackwardWeights: return create_backward_weights(form);
    }
    return {};
  }

  // The forward convolution that a gradient belongs to, all of one type.
  dnnl::convolution_forward::primitive_desc forward_hint() const {
    DType type = wide_ ? DType::kF32 : operand_type();
    Description<dnnl::convolution_forward> found(
        onednn_engine(), dnnl::primitive_attr(), dnnl::prop_kind::forward_training, kDirect,
        channels_last(call_.source.sizes, type), any_layout(weights_.sizes, type),
        channels_last(call_.destination.sizes, type), call_.strides, dilates(), call_.padding_low,
        call_.padding_high);
    return *found;
  }

  // oneDNN's (2.6.3) convolution by gemm looks for a post-op's elements as if channels came
  // before pixels.
  bool misreads_elements(const std::string& implementation) const {
    return implementation.find("gemm") != std::string::npos &&
           std::any_of(call_.post_ops.begin(), call_.post_ops.end(),
                       [](const PostOp& op) { return op.with == PostOp::With::kElement; });
  }

  // oneDNN's (2.6.3) products of blocks by AMX follow a null pointer for a window that lies in the
  // padding as a whole.
  bool fails_in_padding(const std::string& implementation) const {
    if (implementation.find("brgconv") == std::string::npos ||
        implementation.find("amx") == std::string::npos)
      return false;
    for (size_t d = 0; d < call_.strides.size(); ++d)
      if (misses_source(d)) return true;
    return false;
  }

  // Whether some window has no place within the source along spatial dimension `d`.
  bool misses_source(size_t d) const {
    const int64_t source = call_.source.sizes[d + 2], taps = call_.weights.sizes[d + 3];
    for (int64_t y = 0; y < call_.destination.sizes[d + 2]; ++y) {
      int64_t first = y * call_.strides[d] - call_.padding_low[d], inside = 0;
      for (int64_t t = 0; t < taps; ++t) {
        int64_t place = first + t * call_.dilations[d];
        inside += place >= 0 && place < source;
      }
      if (inside == 0) return true;
    }
    return false;
  }

  // oneDNN's (2.6.3) gradient of weights in bf16 takes source elements in pairs a stride apart, the
  // second where there is none, too. What lies there times zero is added: NaN where it is one.
  bool reads_past_source() const {
    return call_.kind == Kind::kBackwardWeights && operand_type() == DType::kBF16 &&
           call_.strides.back() > call_.source.sizes.back();
  }

  // oneDNN counts the elements left out.
  memory::dims dilates() const {
    memory::dims result = call_.dilations;
    for (int64_t& d : result) --d;
    return result;
  }

  Status create_forward(Form& form) {
    memory::desc bias(memory::dims{call_.destination.sizes[1]}, memory::data_type::f32,
                      memory::format_tag::x);
    if (form.folds && !bias_) bias_ = memory(bias, onednn_engine(), nullptr);
    std::optional<Description<dnnl::convolution_forward>> found;
    auto find = [&](const auto&... biases) {
      found.emplace(onednn_engine(), form.post_ops->attributes(),
                    dnnl::prop_kind::forward_inference, kDirect, source_desc_, weights_desc(),
                    biases..., destination_desc_, call_.strides, dilates(), call_.padding_low,
                    call_.padding_high);
    };
    form.folds ? find(bias) : find();
    dnnl::convolution_forward::primitive_desc& primitive = **found;
    auto is_wrong = [&] {
      std::string implementation = primitive.impl_info_str();
      return misreads_elements(implementation) || fails_in_padding(implementation);
    };
    while (is_wrong())
      if (!primitive.next_impl())
        return Error{ErrorCode::kUnsupported, "oneDNN has no code for this convolution.", ""};
    TUFF_RETURN_IF_ERROR(check_fast(primitive.impl_info_str(), type_of(call_.source)));
    form.primitive = dnnl::convolution_forward(primitive);
    form.scratchpad = Scratchpad(primitive.scratchpad_desc());
    StridedTensor weights = weights_;
    if (form.folds && affine_->scales()) {
      form.scaled.emplace(call_.weights);
      weights.offset = 0;
    }
    return place(form, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                 {&call_.source, &weights, &call_.destination},
                 {primitive.src_desc(), primitive.weights_desc(), primitive.dst_desc()});
  }

  Status create_backward_data(Form& form) {
    Description<dnnl::convolution_backward_data> found(
        onednn_engine(), form.post_ops->attributes(), forward_hint(), kDirect, source_desc_,
        weights_desc(), destination_desc_, call_.strides, dilates(), call_.padding_low,
        call_.padding_high);
    dnnl::convolution_backward_data::primitive_desc& primitive = *found;
    TUFF_RETURN_IF_ERROR(check_fast(primitive.impl_info_str(), type_of(weights_)));
    form.primitive = dnnl::convolution_backward_data(primitive);
    form.scratchpad = Scratchpad(primitive.scratchpad_desc());
    return place(form, {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
                 {&call_.destination, &weights_, &call_.source},
                 {primitive.diff_dst_desc(), primitive.weights_desc(), primitive.diff_src_desc()});
  }

  Status create_backward_weights(Form& form) {
    Description<dnnl::convolution_backward_weights> found(
        onednn_engine(), form.post_ops->attributes(), forward_hint(), kDirect, source_desc_,
        weights_desc(), destination_desc_, call_.strides, dilates(), call_.padding_low,
        call_.padding_high);
    dnnl::convolution_backward_weights::primitive_desc& primitive = *found;
    TUFF_RETURN_IF_ERROR(check_fast(primitive.impl_info_str(), type_of(call_.source)));
    form.primitive = dnnl::convolution_backward_weights(primitive);
    form.scratchpad = Scratchpad(primitive.scratchpad_desc());
    return place(form, {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS},
                 {&call_.source, &call_.destination, &weights_},
                 {primitive.src_desc(), primitive.diff_dst_desc(), primitive.diff_weights_desc()});
  }

  Status place(Form& form, const int (&names)[3], const StridedTensor* const (&places)[3],
               const memory::desc (&wanted)[3]) {
    for (int i = 0; i < 3; ++i) {
      form.names[i] = names[i];
      form.tensors[i].create(*places[i], wanted[i], type_of(*places[i]), table_);
    }
    if (!stable_weights_ || call_.kind == Kind::kBackwardWeights) return {};
    if (form.tensors[1].copies())
      form.tensors[1].keep_in(owner_);
    else if (form.scaled)
      form.scaled->keep_in(owner_);
    return {};
  }

  const LaneTable& table_;
  DerivedOwner& owner_;
  const bool stable_weights_;
  dnnl::stream stream_;
  bool wide_ = false;      // computed on copies in f32
  ConvolutionCall call_;   // without the gate
  RowsFn gate_ = nullptr;  // null: none
  StridedTensor weights_;
  memory::desc source_desc_, destination_desc_;
  std::optional<ColumnAffine> affine_;
  memory bias_;             // over affine_'s shift
  std::deque<Form> forms_;  // those that were needed; they stay where they are
  double flops_ = 0;
};

}  // namespace

Result<LibraryCallPtr> create_onednn_convolution(const ConvolutionCall& call, bool stable_weights,
                                                 const LaneTable& table, DerivedOwner& owner,
                                                 std::optional<size_t> in_result) {
  auto convolution = std::make_unique<Convolution>(call, stable_weights, table, owner);
  TUFF_RETURN_IF_ERROR(convolution->create(in_result));
  return LibraryCallPtr(std::move(convolution));
}

}  // namespace tuff::cpu
