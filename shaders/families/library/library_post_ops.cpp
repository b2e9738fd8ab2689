// What follows a contraction and its library can do while it stores: biases, scales,
// residuals, an optimiser's update, gelu.
#include <algorithm>

#include "ir/ops/contraction.h"
#include "ir/rewrite.h"
#include "shaders/families/library/library.h"

namespace tuff {

namespace {

constexpr size_t kMaxPostOps = 8;

// Strides of dimensions of size 1 mean nothing.
bool same_strides(const Shape& shape, const std::vector<int64_t>& a,
                  const std::vector<int64_t>& b) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && a[d] != b[d]) return false;
  return true;
}

// The dimensions of a contraction's result that make up C's columns.
std::vector<int64_t> column_dims(const Graph& region, const Node& node) {
  if (node.op == Op::kConvolution) return {convolution_dims(node).output_feature};
  DotDims dims = dot_dims(node, static_cast<int64_t>(region.type(node.operands[0]).rank()),
                          static_cast<int64_t>(region.type(node.operands[1]).rank()));
  auto rank = static_cast<int64_t>(node.types[0].rank());
  std::vector<int64_t> columns;
  for (int64_t d = rank - static_cast<int64_t>(dims.rhs_free.size()); d < rank; ++d)
    columns.push_back(d);
  return columns;
}

// [n, channels, spatial..] with the channels innermost.
std::vector<int64_t> channels_last_strides(const Shape& sizes) {
  Shape order{sizes[0]};
  order.insert(order.end(), sizes.begin() + 2, sizes.end());
  order.push_back(sizes[1]);
  std::vector<int64_t> steps = row_major_strides(order);
  std::vector<int64_t> strides{steps.front(), steps.back()};
  strides.insert(strides.end(), steps.begin() + 1, steps.end() - 1);
  return strides;
}

// Which operands the post-ops of a call may have besides constants, and where its result
// lies.
struct Operands {
  bool columns = false;   // C's columns lie side by side
  bool elements = false;  // C is dense, in an order that the library writes
  std::vector<int64_t> column_dims, c_strides;
};

// Batches, rows and columns follow each other in memory in that order without gaps.
bool is_dense(const MatmulCall& call) {
  int64_t inner = call.n;
  auto follows = [&inner](int64_t size, int64_t stride) {
    bool ok = size == 1 || stride == inner;
    inner *= size;
    return ok;
  };
  bool dense = follows(call.m, call.c_row);
  for (size_t i = call.batch.size(); i-- > 0;)
    dense = follows(call.batch[i], call.c_batch_strides[i]) && dense;
  return dense;
}

Operands allowed_operands(const Graph& region, const Node& anchor,
                          const std::vector<int64_t>& c_strides, const LoweredStep& step) {
  Operands allowed{false, false, column_dims(region, anchor), c_strides};
  if (const auto* convolution = std::get_if<ConvolutionCall>(&step.call)) {
    const StridedTensor& c = convolution->destination;
    allowed.columns = true;
    allowed.elements = same_strides(c.sizes, c.strides, channels_last_strides(c.sizes));
    return allowed;
  }
  const Shape& shape = anchor.types[0].shape;
  const auto& c = std::get<MatmulCall>(step.call);
  // Where batches and rows lie in memory the other way round, oneDNN (2.6.3) looks for operands
  // in the wrong place.
  bool dense = c.c_col == 1 && is_dense(c);
  // Where columns became batch loops, no operand is "per column".
  allowed.columns = dense && c.n == product_at(shape, allowed.column_dims);
  bool rows_follow = dense && same_strides(shape, c_strides, row_major_strides(shape));
  bool columns_follow = c.batch.empty() && c.c_row == 1 && c.c_col == c.m;
  allowed.elements = rows_follow || columns_follow;
  return allowed;
}

class PostOpAbsorber {
 public:
  // gelu: those of the region, if any; call: the convolution whose post-ops these are, if it is
  // one.
  PostOpAbsorber(const Graph& region, Value value, Operands allowed, PostOpList& post_ops,
                 const Gelu* gelu = nullptr, const ConvolutionCall* call = nullptr)
      : region_(region),
        gelu_(gelu),
        call_(call),
        shape_(region.type(value).shape),
        allowed_(std::move(allowed)),
        post_ops_(post_ops),
        result_(value) {}

  void run() {
    while (post_ops_.size() < kMaxPostOps &&
           (absorb_transpose() || absorb_arithmetic() || absorb_gelu() || absorb_gate())) {
    }
  }
  void run_arithmetic() {
    while (post_ops_.size() < kMaxPostOps && absorb_arithmetic()) {
    }
  }
  Value result() const { return result_; }
  // The parameters that operands are read from.
  const std::vector<uint32_t>& parameters() const { return parameters_; }

 private:
  // The nodes that use `v`; nothing if the region returns it.
  std::optional<std::vector<uint32_t>> users(Value v) const {
    const auto& outputs = region_.outputs();
    if (std::find(outputs.begin(), outputs.end(), v) != outputs.end()) return std::nullopt;
    std::vector<uint32_t> found;
    for (uint32_t id = 0; id < region_.nodes().size(); ++id) {
      const auto& operands = region_.node(id).operands;
      if (std::find(operands.begin(), operands.end(), v) != operands.end()) found.push_back(id);
    }
    return found;
  }

  bool elementwise_here(const Node& node) const {
    return is_elementwise(node.op) && node.types[0] == TensorType{DType::kF32, shape_};
  }

  // A transpose changes no element and no place in memory.
  bool absorb_transpose() {
    auto next = users(result_);
    if (!next || next->size() != 1) return false;
    const Node& node = region_.node((*next)[0]);
    if (node.op != Op::kTranspose) return false;
    const auto& permutation = node.attrs.as<TransposeAttrs>().permutation;
    Operands before = allowed_;
    shape_ = node.types[0].shape;
    allowed_.column_dims.clear();
    for (int64_t column : before.column_dims) {
      auto at = std::find(permutation.begin(), permutation.end(), column);
      allowed_.column_dims.push_back(at - permutation.begin());
    }
    for (size_t d = 0; d < before.c_strides.size(); ++d)
      allowed_.c_strides[d] = before.c_strides[static_cast<size_t>(permutation[d])];
    result_ = {(*next)[0], 0};
    return true;
  }

  // The next node, as one or two operations on the result so far.
  bool absorb_arithmetic() {
    Value x = result_;
    auto next = users(x);
    if (!next || next->size() != 1) return false;
    const Node& node = region_.node((*next)[0]);
    auto kind = post_op_kind(node.op);
    if (!kind || !elementwise_here(node)) return false;
    bool left = node.operands[0] == x;
    Value other = node.operands[left ? 1 : 0];
    if (other == x || (!left && kind == PostOp::Kind::kDivide)) return false;
    auto op = with_operand(*kind, other);
    if (!op) return false;
    size_t before = post_ops_.size();
    if (!left && kind == PostOp::Kind::kSubtract) {  // y - x = x * -1 + y, exactly
      if (post_ops_.size() + 2 > kMaxPostOps) return false;
      post_ops_.push_back({PostOp::Kind::kMultiply, PostOp::With::kValue, 0, -1.0f});
      op->kind = PostOp::Kind::kAdd;
    }
    post_ops_.push_back(*op);
    if (!keeps_bounds()) {
      post_ops_.resize(before);
      return false;
    }
    if (op->has_operand()) parameters_.push_back(parameter_);
    result_ = {(*next)[0], 0};
    return true;
  }

  bool keeps_bounds() const {
    using Kind = PostOp::Kind;
    bool has_bounds = std::any_of(post_ops_.begin(), post_ops_.end(), [](const PostOp& op) {
      return op.kind == Kind::kMaximum || op.kind == Kind::kMinimum || op.kind == Kind::kSilu ||
             op.kind == Kind::kHardSwish;
    });
    return !has_bounds || (call_ != nullptr && takes_bounds(*call_));
  }

  // The operation with `other` as its y; parameter_ is what that is read from.
  std::optional<PostOp> with_operand(PostOp::Kind kind, Value other) {
    if (const Literal* splat = splat_value(region_, other))
      return PostOp{kind, PostOp::With::kValue, 0, static_cast<float>(splat->get_double(0))};
    if (!allowed_.columns && !allowed_.elements) return std::nullopt;
    auto access = input_access(region_, other);
    if (!access || region_.type(access->base).dtype != DType::kF32) return std::nullopt;
    parameter_ = access->base.node;
    std::vector<int64_t> nowhere(shape_.size(), 0), elsewhere = access->strides;
    if (same_strides(shape_, access->strides, nowhere))
      return PostOp{kind, PostOp::With::kScalar, access->offset};
    for (int64_t d : allowed_.column_dims) elsewhere[static_cast<size_t>(d)] = 0;
    if (allowed_.columns && same_strides(shape_, elsewhere, nowhere) &&
        merged_stride(allowed_.column_dims, shape_, access->strides) == 1)
      return PostOp{kind, PostOp::With::kColumn, access->offset};
    if (allowed_.elements && access->offset == 0 &&
        same_strides(shape_, access->strides, allowed_.c_strides))
      return PostOp{kind, PostOp::With::kElement};
    return std::nullopt;
  }

  bool absorb_gelu() {
    if (!gelu_ || region_.type(result_) != TensorType{DType::kF32, shape_}) return false;
    for (auto [list, kind] : {std::pair(&gelu_->by_erf, PostOp::Kind::kGeluErf),
                              std::pair(&gelu_->by_tanh, PostOp::Kind::kGeluTanh)})
      for (const AppliedFunction& gelu : *list) {
        if (Value{gelu.input, 0} != result_) continue;
        post_ops_.push_back({kind});
        if (keeps_bounds()) {
          result_ = {gelu.result, 0};
          return true;
        }
        post_ops_.pop_back();
      }
    return false;
  }

  // x times a function of x.
  bool absorb_gate() {
    std::optional<Gate> gate = find_gate(region_, result_);
    if (!gate || region_.type(result_) != TensorType{DType::kF32, shape_}) return false;
    post_ops_.push_back({gate->kind});
    if (!keeps_bounds()) {
      post_ops_.pop_back();
      return false;
    }
    result_ = gate->result;
    return true;
  }

  const Graph& region_;
  const Gelu* gelu_;
  const ConvolutionCall* call_;
  Shape shape_;  // of the result
  Operands allowed_;
  PostOpList& post_ops_;
  Value result_;
  uint32_t parameter_ = 0;  // of the operand found last
  std::vector<uint32_t> parameters_;
};

}  // namespace

void absorb_post_ops(const GroupContext& group, const Node& anchor,
                     const std::vector<int64_t>& c_strides, LibraryLowering& lowering) {
  LoweredStep& step = lowering.step;
  if (!is_float(anchor.types[0].dtype)) return;
  auto* convolution = std::get_if<ConvolutionCall>(&step.call);
  if (convolution && convolution->kind != ConvolutionCall::Kind::kForward) return;
  PostOpAbsorber absorber(
      group.region, lowering.result, allowed_operands(group.region, anchor, c_strides, step),
      convolution ? convolution->post_ops : std::get<MatmulCall>(step.call).post_ops,
      std::get_if<Gelu>(&group.composite), convolution);
  absorber.run();
  lowering.result = absorber.result();
  for (uint32_t parameter : absorber.parameters())
    step.bindings.push_back({GroupBuffer::Kind::kInput, parameter});
}

Value absorb_constant_post_ops(const Graph& region, Value value, PostOpList& post_ops) {
  PostOpAbsorber absorber(region, value, {}, post_ops);
  absorber.run_arithmetic();
  return absorber.result();
}

}  // namespace tuff
