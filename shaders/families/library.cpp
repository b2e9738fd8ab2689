// Contractions as library calls (oneDNN on our CPU device).
#include "shaders/families/library.h"

#include <algorithm>

#include "ir/contraction.h"

namespace tuff {

namespace {

constexpr size_t kMaxBatchLoops = 3;

std::optional<AffineAccess> input_access(const Graph& region, Value v) {
  auto access = affine_access(region, v, [](uint32_t) { return true; });
  if (!access || region.node(access->base).op != Op::kParameter) return std::nullopt;
  return access;
}

bool only_output_is(const Graph& region, Value value) {
  if (region.outputs().size() != 1) return false;
  Value v = region.outputs()[0];
  while (v != value && is_view(region.node(v).op)) v = region.node(v).operands[0];
  return v == value;
}

// The only node that uses `value`, if one does and `value` is no output.
const Node* only_user(const Graph& region, Value value) {
  const auto& outputs = region.outputs();
  if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return nullptr;
  const Node* user = nullptr;
  for (const Node& node : region.nodes())
    for (Value v : node.operands) {
      if (v != value) continue;
      if (user != nullptr) return nullptr;
      user = &node;
    }
  return user;
}

std::optional<PostOp::Kind> post_op_kind(Op op) {
  if (op == Op::kAdd) return PostOp::Kind::kAdd;
  if (op == Op::kSubtract) return PostOp::Kind::kSubtract;
  if (op == Op::kMultiply) return PostOp::Kind::kMultiply;
  return std::nullopt;
}

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

struct PostOperand {
  PostOp op;
  uint32_t parameter;
};

// `node` as one operation on `value`, a value of the anchor's shape stored with
// `c_strides`.
std::optional<PostOperand> post_operand(const Graph& region, const Node& node, Value value,
                                        const std::vector<int64_t>& columns,
                                        const std::vector<int64_t>& c_strides) {
  auto kind = post_op_kind(node.op);
  bool left = node.operands[0] == value;
  if (!kind || node.types[0].dtype != DType::kF32 || (!left && kind == PostOp::Kind::kSubtract))
    return std::nullopt;
  auto access = input_access(region, node.operands[left ? 1 : 0]);
  if (!access || region.type(access->base).dtype != DType::kF32) return std::nullopt;
  const Shape& shape = node.types[0].shape;
  std::vector<int64_t> elsewhere = access->strides;
  for (int64_t d : columns) elsewhere[static_cast<size_t>(d)] = 0;
  if (same_strides(shape, elsewhere, std::vector<int64_t>(shape.size(), 0)) &&
      merged_stride(columns, shape, access->strides) == 1)
    return PostOperand{{*kind, true, access->offset}, access->base.node};
  if (access->offset == 0 && same_strides(shape, access->strides, c_strides) &&
      same_strides(shape, c_strides, row_major_strides(shape)))
    return PostOperand{{*kind, false, 0}, access->base.node};
  return std::nullopt;
}

// What directly follows the anchor becomes post-ops as far as that goes.
void absorb_post_ops(const Graph& region, const Node& anchor, const std::vector<int64_t>& c_strides,
                     LibraryLowering& lowering) {
  constexpr size_t kMaxPostOps = 8;
  std::vector<int64_t> columns = column_dims(region, anchor);
  auto& call = lowering.call;
  bool forward = call.convolution && call.convolution->kind == ConvolutionCall::Kind::kForward;
  if (!forward && !(call.matmul && call.matmul->c_col == 1)) return;
  // Where columns became batch loops, no operand is "per column".
  if (call.matmul && merged_stride(columns, anchor.types[0].shape, c_strides) != 1) return;
  auto& post_ops = forward ? call.convolution->post_ops : call.matmul->post_ops;
  while (post_ops.size() < kMaxPostOps) {
    const Node* user = only_user(region, lowering.result);
    if (user == nullptr || user->types[0].shape != anchor.types[0].shape) return;
    auto operand = post_operand(region, *user, lowering.result, columns, c_strides);
    if (!operand) return;
    post_ops.push_back(operand->op);
    call.bindings.push_back({GroupBuffer::Kind::kInput, operand->parameter});
    lowering.result = {static_cast<uint32_t>(user - region.nodes().data()), 0};
  }
}

// Takes free dimensions apart: the innermost run that is one strided loop in both
// places becomes the matrix dimension, the others become batch loops.
struct FreeDims {
  std::vector<size_t> loop;   // positions in `dims` merged into the matrix loop
  std::vector<size_t> outer;  // positions that become batch loops
  int64_t size = 1, operand_stride = 1, c_stride = 1;
};

FreeDims split_free(const std::vector<int64_t>& dims, const Shape& shape,
                    const std::vector<int64_t>& strides, const std::vector<int64_t>& c_strides,
                    size_t c_first) {
  FreeDims free;
  bool open = true;
  for (size_t i = dims.size(); i-- > 0;) {
    auto d = static_cast<size_t>(dims[i]);
    int64_t size = shape[d], a = strides[d], c = c_strides[c_first + i];
    if (size == 1) continue;
    bool first = free.loop.empty();
    bool joins =
        open && (first || (a == free.operand_stride * free.size && c == free.c_stride * free.size));
    open = joins;
    if (!joins) {
      free.outer.push_back(i);
      continue;
    }
    if (first) free.operand_stride = a, free.c_stride = c;
    free.size *= size;
    free.loop.push_back(i);
  }
  return free;
}

}  // namespace

std::optional<MatmulCall> matmul_call(const Graph& region, const Node& dot, const AffineAccess& a,
                                      const AffineAccess& b,
                                      const std::vector<int64_t>& c_strides) {
  const Shape& lhs = region.type(dot.operands[0]).shape;
  const Shape& rhs = region.type(dot.operands[1]).shape;
  DotDims dims = dot_dims(dot, static_cast<int64_t>(lhs.size()), static_cast<int64_t>(rhs.size()));
  auto a_col = merged_stride(dims.lhs_contract, lhs, a.strides);
  auto b_row = merged_stride(dims.rhs_contract, rhs, b.strides);
  if (!a_col || !b_row) return std::nullopt;
  size_t batches = dims.lhs_batch.size();
  FreeDims m = split_free(dims.lhs_free, lhs, a.strides, c_strides, batches);
  FreeDims n = split_free(dims.rhs_free, rhs, b.strides, c_strides, batches + dims.lhs_free.size());
  MatmulCall call;
  call.m = m.size, call.n = n.size, call.k = 1;
  for (int64_t d : dims.lhs_contract) call.k *= lhs[static_cast<size_t>(d)];
  call.a_offset = a.offset, call.a_row = m.operand_stride, call.a_col = *a_col;
  call.b_offset = b.offset, call.b_row = *b_row, call.b_col = n.operand_stride;
  call.c_row = m.c_stride, call.c_col = n.c_stride;
  auto add_batch = [&call](int64_t size, int64_t as, int64_t bs, int64_t cs) {
    if (size == 1) return;
    call.batch.push_back(size);
    call.a_batch_strides.push_back(as);
    call.b_batch_strides.push_back(bs);
    call.c_batch_strides.push_back(cs);
  };
  for (size_t i = 0; i < batches; ++i) {
    auto l = static_cast<size_t>(dims.lhs_batch[i]), r = static_cast<size_t>(dims.rhs_batch[i]);
    add_batch(lhs[l], a.strides[l], b.strides[r], c_strides[i]);
  }
  for (size_t i : m.outer) {
    auto d = static_cast<size_t>(dims.lhs_free[i]);
    add_batch(lhs[d], a.strides[d], 0, c_strides[batches + i]);
  }
  for (size_t i : n.outer) {
    auto d = static_cast<size_t>(dims.rhs_free[i]);
    add_batch(rhs[d], 0, b.strides[d], c_strides[batches + dims.lhs_free.size() + i]);
  }
  if (call.batch.size() > kMaxBatchLoops) return std::nullopt;
  return call;
}

std::optional<LibraryLowering> lower_library_call(GroupContext& group) {
  const Graph& region = group.region;
  const Node& node = region.node(group.space.anchors[0]);
  for (Value v : node.operands)
    if (region.type(v).dtype != DType::kF32 || region.type(v).num_elements() == 0)
      return std::nullopt;
  if (node.types[0].dtype != DType::kF32) return std::nullopt;
  auto a = input_access(region, node.operands[0]);
  auto b = input_access(region, node.operands[1]);
  if (!a || !b) return std::nullopt;

  LibraryLowering lowering;
  auto describe = [&](const std::vector<int64_t>& c_strides) {
    if (node.op == Op::kDotGeneral)
      lowering.call.matmul = matmul_call(region, node, *a, *b, c_strides);
    else
      lowering.call.convolution = convolution_call(region, node, *a, *b, c_strides);
    return lowering.call.matmul || lowering.call.convolution;
  };
  // In the output's own order, so that what follows walks both in one direction.
  auto c_strides = output_strides(group);
  lowering.in_output_order = c_strides && describe(*c_strides);
  if (!lowering.in_output_order) c_strides = row_major_strides(group.space.dims);
  if (!lowering.in_output_order && !describe(*c_strides)) return std::nullopt;
  lowering.call.bindings = {{GroupBuffer::Kind::kInput, a->base.node},
                            {GroupBuffer::Kind::kInput, b->base.node}};
  lowering.result = {group.space.anchors[0], 0};
  absorb_post_ops(region, node, *c_strides, lowering);
  lowering.stores_output = lowering.in_output_order && only_output_is(region, lowering.result);
  lowering.call.workgroups = 1;
  return lowering;
}

}  // namespace tuff
