#include "backend/cpu/call_choice.h"

#include <algorithm>

#include "backend/cpu/attention/attention.h"
#include "backend/cpu/attention/row_calls.h"
#include "backend/cpu/convolution/depthwise.h"
#include "backend/cpu/convolution/window.h"
#include "backend/cpu/convolution/winograd.h"
#include "backend/cpu/fourier/fft.h"
#include "backend/cpu/gemm/bf16x6_product.h"
#include "backend/cpu/gemm/byte_product.h"
#include "backend/cpu/gemm/dot_product.h"
#include "backend/cpu/gemm/long_product.h"
#include "backend/cpu/gemm/panel_product.h"
#include "backend/cpu/gemm/row_sum_product.h"
#include "backend/cpu/gemm/small_product.h"
#include "backend/cpu/gemm/turned_product.h"
#include "backend/cpu/host/host_call.h"
#include "backend/cpu/indexing/copy.h"
#include "backend/cpu/indexing/scatter.h"
#include "backend/cpu/indexing/sort.h"
#include "backend/cpu/indexing/top_k.h"
#include "backend/cpu/linear_algebra/cholesky.h"
#include "backend/cpu/linear_algebra/triangular_solve.h"
#include "backend/cpu/thread_memory.h"
#ifdef TUFF_HAS_ONEDNN
#include "backend/cpu/convolution/convolution.h"
#include "backend/cpu/gemm/converted_gemm.h"
#include "backend/cpu/gemm/gemm.h"
#endif

namespace tuff::cpu {

namespace {

Error broken(const Step& step, const std::string& what) {
  return Error{ErrorCode::kRunFailed, "The program is not valid: " + what + ".", step.label};
}

// Whether a step finds an operand unchanged in the next run: constants and arguments that the
// program does not replace.
bool comes_again(const Program& program, const Range& range) {
  if (range.space == Range::Space::kConstants) return true;
  return range.space == Range::Space::kArgument &&
         std::none_of(program.donations.begin(), program.donations.end(),
                      [&](const Donation& donation) { return donation.argument == range.index; });
}

// The post-op whose operand is planned to lie where the result goes.
std::optional<size_t> post_op_in_result(const PostOpList& post_ops, const Step& step) {
  size_t binding = 2;
  for (size_t i = 0; i < post_ops.size(); ++i) {
    if (!post_ops[i].has_operand()) continue;
    bool there = step.bindings[binding++] == step.bindings.back();
    if (there && post_ops[i].with == PostOp::With::kElement) return i;
  }
  return std::nullopt;
}

ChosenCall choose_panels(PanelProductCall call, const LaneTable& table, DerivedOwner& owner) {
  if (pays_as_bf16x6(call, table))
    return {CallWay::kBf16x6, std::make_unique<Bf16x6Product>(std::move(call), table, owner)};
  return {CallWay::kPanels, std::make_unique<PanelProduct>(std::move(call), table, owner)};
}

ChosenCall own(LibraryCallPtr call) { return {CallWay::kOwn, std::move(call)}; }
Result<ChosenCall> own(Result<LibraryCallPtr> call) {
  if (!call.ok()) return call.take_error();
  return own(std::move(call).value());
}

// By the kind of a call.
class Chooser {
 public:
  Chooser(const Program& program, const Step& step, const LaneTable& table, DerivedOwner& owner,
          native::FunctionCache* functions)
      : program_(program), step_(step), table_(table), owner_(owner), functions_(functions) {}

  Result<ChosenCall> operator()(std::monostate) const {
    return broken(step_, "it does not say what it calls");
  }
  Result<ChosenCall> operator()(const SoftmaxCall& call) const {
    return own(create_softmax(call, table_));
  }
  Result<ChosenCall> operator()(const LayerNormCall& call) const {
    return own(create_layer_norm(call, table_));
  }
  Result<ChosenCall> operator()(const RmsNormCall& call) const {
    return own(create_rms_norm(call, table_));
  }
  Result<ChosenCall> operator()(const ByteProductCall& call) const {
    TUFF_ASSIGN(LibraryCallPtr product,
                create_byte_product(call, comes_again(program_, step_.bindings[1]), table_, owner_,
                                    functions_));
    return ChosenCall{CallWay::kBytes, std::move(product)};
  }
  Result<ChosenCall> operator()(const AttentionCall& call) const {
    return own(create_attention(call, table_));
  }
  Result<ChosenCall> operator()(const WindowCall& call) const {
    return own(create_window(call, table_));
  }
  Result<ChosenCall> operator()(const ScatterCall& call) const {
    return own(create_scatter(call, table_));
  }
  Result<ChosenCall> operator()(const TopKCall& call) const { return own(create_top_k(call)); }
  Result<ChosenCall> operator()(const SortCall& call) const { return own(create_sort(call)); }
  Result<ChosenCall> operator()(const CopyCall& call) const {
    return own(create_copy(call, table_));
  }
  Result<ChosenCall> operator()(const CholeskyCall& call) const {
    return own(create_cholesky(call, table_));
  }
  Result<ChosenCall> operator()(const TriangularSolveCall& call) const {
    return own(create_triangular_solve(call, table_));
  }
  Result<ChosenCall> operator()(const FftCall& call) const { return own(create_fft(call, table_)); }
#ifdef TUFF_HAS_ONEDNN
  Result<ChosenCall> operator()(const MatmulCall& call) const {
    return choose_matmul(call, comes_again(program_, step_.bindings[0]),
                         comes_again(program_, step_.bindings[1]), table_, owner_);
  }
  Result<ChosenCall> operator()(const ConvolutionCall& call) const {
    return choose_convolution(call, comes_again(program_, step_.bindings[1]),
                              post_op_in_result(call.post_ops, step_), table_, owner_);
  }
#else
  template <typename LibrarysCall>
  Result<ChosenCall> operator()(const LibrarysCall&) const {
    return broken(step_, "it calls a library that this build does not have");
  }
#endif

 private:
  const Program& program_;
  const Step& step_;
  const LaneTable& table_;
  DerivedOwner& owner_;
  native::FunctionCache* functions_;
};

}  // namespace

bool pays_as_bf16x6(const PanelProductCall& call, const LaneTable& table) {
  // With fewer rows the parts of kept weights, half as many bytes again, take longer from memory
  // than what they save; of weights that change, splitting both sides takes what is gained.
  const int64_t least_rows = call.keeps_panels ? 128 : 256;
  constexpr int64_t kLeastColumns = 128, kLeastDepth = 64;
  const int64_t rows = num_elements(call.row_sizes);
  const int64_t a_bytes = (rows + kSplitLines) * (call.depth + kSplitDepth) * kSplitParts * 2;
  const bool all_f32 =
      call.a_type == DType::kF32 && call.b_type == DType::kF32 && call.c_type == DType::kF32;
  // Rows that are split by columns are at one distance.
  const bool split = call.a_col == 1 || rows == call.row_sizes.back();
  return table.multiply_bf16x6 != nullptr && all_f32 && split && rows >= least_rows &&
         call.columns >= kLeastColumns && call.depth >= kLeastDepth && a_bytes <= kMaxBytesOfRun;
}

Result<ChosenCall> choose_call(const Program& program, const Step& step, const LaneTable& table,
                               DerivedOwner& owner, native::FunctionCache* functions) {
  if (step.kind == Step::Kind::kHost) return own(create_host_call(*step.host_call));
  return std::visit(Chooser(program, step, table, owner, functions), step.call);
}

#ifdef TUFF_HAS_ONEDNN
Result<ChosenCall> choose_matmul(const MatmulCall& call, bool stable_a, bool stable_b,
                                 const LaneTable& table, DerivedOwner& owner) {
  if (is_small_product(call, stable_a || stable_b)) return own(create_small_product(call, table));
  if (is_long_product(call)) return own(create_long_product(call, table));
  if (is_dot_product(call, table)) return own(create_dot_product(call, table));
  // Kept panels come from memory a little faster than rows do: each is one stream in four parts.
  const bool keeps_panels = is_all_f32(call) && (call.n == 1 ? stable_a : stable_b);
  if (!keeps_panels && is_row_sum_product(call, table))
    return own(create_row_sum_product(call, table));
  std::optional<PanelProductCall> panels = panel_product_call(call, stable_a, stable_b);
  const bool narrow = call.operand_type != DType::kF32;
  if (panels && !narrow) return choose_panels(std::move(*panels), table, owner);
  if (is_turned_product(call)) {
    panels = panel_product_call(with_dense_result(call), stable_a, stable_b);
    if (panels && !panels->swapped) {
      LibraryCallPtr dense = choose_panels(std::move(*panels), table, owner).call;
      return own(create_turned_product(call, std::move(dense)));
    }
    panels.reset();
  }
  // oneDNN's operands are of one type.
  const bool widens = (call.a_narrow || call.b_narrow) && call.k > 0;
  if (!widens) {
    Result<LibraryCallPtr> product = create_onednn_matmul(call, stable_a, stable_b, table, owner);
    if (product.ok()) return ChosenCall{CallWay::kOnednn, std::move(product).value()};
    if (product.error().code != ErrorCode::kUnsupported) return product.take_error();
  }
  if (panels) return choose_panels(std::move(*panels), table, owner);
  TUFF_ASSIGN(LibraryCallPtr converted, create_converted_matmul(call, table, owner));
  return ChosenCall{CallWay::kConverted, std::move(converted)};
}

Result<ChosenCall> choose_convolution(const ConvolutionCall& call, bool stable_weights,
                                      std::optional<size_t> in_result, const LaneTable& table,
                                      DerivedOwner& owner) {
  if (is_pointwise(call)) return choose_panels(pointwise_call(call, stable_weights), table, owner);
  if (is_depthwise(call)) return own(create_depthwise(call, stable_weights, table, owner));
  if (winograd_tile(call) > 0)
    return ChosenCall{CallWay::kWinograd, create_winograd(call, stable_weights, table, owner)};
  TUFF_ASSIGN(LibraryCallPtr direct,
              create_onednn_convolution(call, stable_weights, table, owner, in_result));
  return ChosenCall{CallWay::kOnednn, std::move(direct)};
}
#endif

}  // namespace tuff::cpu
