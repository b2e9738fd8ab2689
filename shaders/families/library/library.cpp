// Contractions as library calls (oneDNN on our CPU device).
#include "shaders/families/library/library.h"

#include <algorithm>

#include "ir/group/byte_access.h"
#include "ir/ops/contraction.h"

namespace tuff {

namespace {

constexpr size_t kMaxBatchLoops = 3;

// A result that is only wanted rounded to the operands' type is stored so.
void absorb_rounding(const Graph& region, const Node& anchor, LibraryLowering& lowering) {
  const auto& outputs = region.outputs();
  if (std::find(outputs.begin(), outputs.end(), lowering.result) != outputs.end()) return;
  DType narrow = region.type(anchor.operands[0]).dtype;
  if (narrow == DType::kF32 || region.type(lowering.result).dtype != DType::kF32) return;
  std::optional<uint32_t> user;
  for (uint32_t id = 0; id < region.nodes().size(); ++id) {
    const auto& operands = region.node(id).operands;
    if (std::find(operands.begin(), operands.end(), lowering.result) == operands.end()) continue;
    if (user || region.node(id).op != Op::kConvert) return;
    user = id;
  }
  if (!user || region.type({*user, 0}).dtype != narrow) return;
  Call& call = lowering.step.call;
  if (auto* matmul = std::get_if<MatmulCall>(&call)) matmul->result_type = narrow;
  if (auto* convolution = std::get_if<ConvolutionCall>(&call))
    result_of(*convolution).dtype = narrow;
  lowering.result = {*user, 0};
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

std::optional<AffineAccess> input_access(const Graph& region, Value v) {
  auto access = affine_access(region, v, [](uint32_t) { return true; });
  if (!access || region.node(access->base).op != Op::kParameter) return std::nullopt;
  return access;
}

namespace {

// The same of a contraction's operand, which a dot reads as it is stored.
std::optional<StoredAccess> operand_access(const Graph& region, const Node& node, size_t operand) {
  Value v = node.operands[operand];
  const DType wanted = region.type(v).dtype;
  if (node.op != Op::kDotGeneral) {
    auto read = input_access(region, v);
    return read ? std::optional(StoredAccess{*std::move(read), wanted}) : std::nullopt;
  }
  auto access = stored_access(region, v, [](uint32_t) { return true; });
  if (!access || region.node(access->read.base).op != Op::kParameter) return std::nullopt;
  return library_reads(access->dtype, wanted) ? access : std::nullopt;
}

std::optional<MatmulCall> dot_call(const Graph& region, const Node& dot, const StoredAccess& a,
                                   const StoredAccess& b, const std::vector<int64_t>& c_strides) {
  auto call = matmul_call(region, dot, a.read, b.read, c_strides);
  if (!call) return std::nullopt;
  if (a.dtype != call->operand_type) call->a_narrow = a.dtype;
  if (b.dtype != call->operand_type) call->b_narrow = b.dtype;
  return call;
}

}  // namespace

int64_t product_at(const Shape& shape, const std::vector<int64_t>& dims) {
  int64_t product = 1;
  for (int64_t d : dims) product *= shape[static_cast<size_t>(d)];
  return product;
}

bool only_output_is(const Graph& region, Value value) {
  if (region.outputs().size() != 1) return false;
  Value v = region.outputs()[0];
  while (v != value && is_view(region.node(v).op)) v = region.node(v).operands[0];
  return v == value;
}

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
  call.m = m.size, call.n = n.size, call.k = product_at(lhs, dims.lhs_contract);
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
  call.operand_type = region.type(dot.operands[0]).dtype;
  call.result_type = dot.types[0].dtype;
  return call;
}

LibraryLowering whole_call(Call call, const std::vector<uint32_t>& parameters) {
  LibraryLowering lowering;
  lowering.is_whole = true;
  lowering.step.call = std::move(call);
  for (uint32_t parameter : parameters)
    lowering.step.bindings.push_back({GroupBuffer::Kind::kInput, parameter});
  lowering.step.bindings.push_back({GroupBuffer::Kind::kOutput, 0});
  lowering.step.workgroups = 1;
  return lowering;
}

std::optional<LibraryLowering> lower_contraction_call(GroupContext& group) {
  const Graph& region = group.region;
  const Node& node = region.node(group.space.anchors[0]);
  if (is_byte_product(region, node)) return lower_byte_product(group);
  if (!has_library_types(region, node)) return std::nullopt;
  for (Value v : node.operands)
    if (region.type(v).num_elements() == 0) return std::nullopt;
  auto a = operand_access(region, node, 0);
  auto b = operand_access(region, node, 1);
  if (!a || !b) return std::nullopt;

  LibraryLowering lowering;
  auto describe = [&](const std::vector<int64_t>& c_strides) {
    auto take = [&](auto call) {
      if (call) lowering.step.call = *std::move(call);
      return call.has_value();
    };
    if (node.op == Op::kDotGeneral) return take(dot_call(region, node, *a, *b, c_strides));
    return take(one_window_call(region, node, a->read, b->read, c_strides)) ||
           take(convolution_call(region, node, a->read, b->read, c_strides));
  };
  // In the output's own order, so that what follows walks both in one direction.
  auto c_strides = output_strides(group);
  lowering.in_output_order = c_strides && describe(*c_strides);
  if (!lowering.in_output_order) c_strides = row_major_strides(group.space.dims);
  if (!lowering.in_output_order && !describe(*c_strides)) return std::nullopt;
  lowering.step.bindings = {{GroupBuffer::Kind::kInput, a->read.base.node},
                            {GroupBuffer::Kind::kInput, b->read.base.node}};
  lowering.result = {group.space.anchors[0], 0};
  absorb_post_ops(group, node, *c_strides, lowering);
  absorb_rounding(region, node, lowering);
  lowering.stores_output = lowering.in_output_order && only_output_is(region, lowering.result);
  lowering.step.workgroups = 1;
  return lowering;
}

}  // namespace tuff
