// Products and convolutions of bytes: see ByteProductCall.
#include <algorithm>

#include "ir/group/byte_access.h"
#include "ir/ops/contraction.h"
#include "shaders/families/library/library.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

namespace {

using Zero = ByteProductCall::Zero;
using Dims = std::vector<int64_t>;

struct Operand8 {
  ByteAccess access;
  const Shape& shape;

  int64_t size(int64_t dim) const { return shape[static_cast<size_t>(dim)]; }
  int64_t stride(int64_t dim) const { return access.read.strides[static_cast<size_t>(dim)]; }
};

bool is_parameter(const Graph& region, Value v) { return region.node(v).op == Op::kParameter; }

std::optional<Operand8> operand_of(const Graph& region, Value operand) {
  auto access = byte_access(region, operand, [](uint32_t) { return true; });
  if (!access || !is_parameter(region, access->read.base)) return std::nullopt;
  return Operand8{*std::move(access), region.type(operand).shape};
}

// The zero point, which may differ along `columns`, those of B.
std::optional<Zero> zero_of(const Graph& region, const Operand8& operand, const Dims& columns) {
  Zero zero;
  if (auto known = operand.access.known_zero(region)) {
    zero.value = static_cast<int32_t>(*known);
    return zero;
  }
  const AffineAccess& read = *operand.access.zero;
  if (!is_parameter(region, read.base)) return std::nullopt;
  auto col = merged_stride(columns, operand.shape, read.strides);
  Dims others = read.strides;
  for (int64_t d : columns) others[static_cast<size_t>(d)] = 0;
  for (size_t d = 0; d < others.size(); ++d)
    if (others[d] != 0 && operand.shape[d] > 1) return std::nullopt;
  zero.is_operand = true;
  zero.dtype = operand.access.zero_dtype;
  zero.offset = read.offset;
  const bool spreads = product_at(operand.shape, columns) > 1;
  zero.col = col && spreads ? *col : 0;
  if (!col || (zero.col != 0 && zero.col != 1)) return std::nullopt;
  return zero;
}

bool take_zeros(const Graph& region, const Operand8& a, const Operand8& b, const Dims& columns,
                ByteProductCall& call) {
  auto za = zero_of(region, a, {}), zb = zero_of(region, b, columns);
  if (!za || !zb) return false;
  call.a_zero = *za, call.b_zero = *zb;
  return true;
}

std::optional<ByteProductCall> dot_call(const Graph& region, const Node& dot, const Operand8& a,
                                        const Operand8& b) {
  DotDims dims =
      dot_dims(dot, static_cast<int64_t>(a.shape.size()), static_cast<int64_t>(b.shape.size()));
  auto a_col = merged_stride(dims.lhs_contract, a.shape, a.access.read.strides);
  auto b_row = merged_stride(dims.rhs_contract, b.shape, b.access.read.strides);
  auto b_col = merged_stride(dims.rhs_free, b.shape, b.access.read.strides);
  ByteProductCall call;
  if (!a_col || !b_row || !b_col || !take_zeros(region, a, b, dims.rhs_free, call))
    return std::nullopt;
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i) {
    call.batch.push_back(a.size(dims.lhs_batch[i]));
    call.a_batch_strides.push_back(a.stride(dims.lhs_batch[i]));
    call.b_batch_strides.push_back(b.stride(dims.rhs_batch[i]));
  }
  for (int64_t d : dims.lhs_free) call.rows.push_back({a.size(d), a.stride(d)});
  call.depth = product_at(a.shape, dims.lhs_contract);
  call.columns = product_at(b.shape, dims.rhs_free);
  call.a_col = *a_col, call.b_row = *b_row, call.b_col = *b_col;
  return call;
}

// With the result's channels last and its batch first.
std::optional<ByteProductCall> convolution_call(const Graph& region, const Node& node,
                                                const Operand8& a, const Operand8& b) {
  ConvolutionDims dims = convolution_dims(node);
  const Shape& result = node.types[0].shape;
  ByteProductCall call;
  const auto rank = static_cast<int64_t>(result.size());
  constexpr int64_t kMostWindows = 3;
  bool in_order = dims.output_batch == 0 && rank <= kMostWindows + 2 &&
                  dims.output_feature == rank - 1 &&
                  std::is_sorted(dims.output_spatial.begin(), dims.output_spatial.end());
  if (!in_order || !take_zeros(region, a, b, {dims.kernel_output_feature}, call))
    return std::nullopt;
  call.rows = {{a.size(dims.input_batch), a.stride(dims.input_batch)}};
  call.b_offset = 0;
  for (size_t i = 0; i < dims.input_spatial.size(); ++i) {
    int64_t from = dims.input_spatial[i], tap = dims.kernel_spatial[i];
    ByteProductCall::Window window;
    window.results = result[static_cast<size_t>(dims.output_spatial[i])];
    window.source = a.size(from), window.a = a.stride(from);
    window.size = b.size(tap), window.b = b.stride(tap);
    window.step = dims.strides[i], window.dilation = dims.rhs_dilation[i];
    window.padding_low = dims.padding_low[i];
    if (dims.reversal[i]) {
      call.b_offset += (window.size - 1) * window.b;
      window.b = -window.b;
    }
    call.windows.push_back(window);
  }
  call.depth = a.size(dims.input_feature), call.columns = b.size(dims.kernel_output_feature);
  call.a_col = a.stride(dims.input_feature);
  call.b_row = b.stride(dims.kernel_input_feature);
  call.b_col = b.stride(dims.kernel_output_feature);
  return call;
}

// What follows the sums, for one block of lanes in a grid point: a row of many columns, or some
// rows of few.
Result<LoweredStep> lower_store(GroupContext& group, int64_t columns, int64_t rows_per_point,
                                Value sums) {
  const GroupSpace& space = group.space;
  const int64_t rows = num_elements(space.dims) / columns;
  const int64_t lanes =
      rows_per_point > 1 ? rows_per_point * columns
                         : std::min(columns, choose_map_schedule(group.caps, rows * columns).lanes);
  FamilyKernel kernel(group, lanes);
  KernelBuilder& b = kernel.builder;
  uint32_t buffer = b.add_buffer(DType::kI32, Access::kRead, rows * columns * 4);
  IndexExpr row = b.grid("rows", (rows + rows_per_point - 1) / rows_per_point) * rows_per_point;
  IndexExpr first = row * columns, element;
  if (rows_per_point == 1) {
    IndexExpr base = b.begin_serial("c", (columns + lanes - 1) / lanes) * lanes;
    element = first + base + b.begin_lanes(b.lane_extent(base, columns));
  } else {
    element = first + b.begin_lanes(b.lane_extent(first, rows * columns));
  }
  IndexVector at = delinearize(group.index, element, space.dims);
  for (size_t d = 0; d < at.size(); ++d) b.bind(space.vars[d], at[d]);
  Operand sum = b.load(buffer, element, std::nullopt);
  kernel.emitter.stored = sums;
  kernel.emitter.anchor_value = [sum](Value) { return sum; };
  kernel.store_output(0, std::nullopt);
  b.end();
  if (rows_per_point == 1) b.end();
  return kernel.finish_with({GroupBuffer::Kind::kScratch, 0});
}

// True where the call does all of the group.
bool take_store(GroupContext& group, LibraryLowering& lowering) {
  const Graph& region = group.region;
  auto& call = std::get<ByteProductCall>(lowering.step.call);
  if (region.outputs().size() != 1 || group.space.anchors.size() != 1 ||
      group.space.outputs[0].window)
    return false;
  constexpr int64_t kLanes = 512;
  const int64_t rows = call.num_rows();
  call.store_rows = std::clamp<int64_t>(kLanes / call.columns, 1, rows);
  // The rows of a batch element are whole grid points.
  while (!call.batch.empty() && rows % call.store_rows != 0) --call.store_rows;
  auto store = lower_store(group, call.columns, call.store_rows, lowering.result);
  if (!store.ok()) return false;
  call.store = std::move(store->kernel);
  call.store_params = std::move(store->params);
  auto& bindings = lowering.step.bindings;
  bindings.insert(bindings.end(), store->bindings.begin() + 2, store->bindings.end());
  bindings.push_back({GroupBuffer::Kind::kOutput, 0});
  return true;
}

}  // namespace

std::optional<LibraryLowering> lower_byte_product(GroupContext& group) {
  const Graph& region = group.region;
  const Node& node = region.node(group.space.anchors[0]);
  auto a = operand_of(region, node.operands[0]), b = operand_of(region, node.operands[1]);
  if (!a || !b || num_elements(group.space.dims) == 0) return std::nullopt;
  auto call = node.op == Op::kDotGeneral ? dot_call(region, node, *a, *b)
                                         : convolution_call(region, node, *a, *b);
  if (!call) return std::nullopt;
  call->a_type = a->access.dtype, call->b_type = b->access.dtype;
  call->a_offset += a->access.read.offset, call->b_offset += b->access.read.offset;
  LibraryLowering lowering;
  lowering.step.bindings = {{GroupBuffer::Kind::kInput, a->access.read.base.node},
                            {GroupBuffer::Kind::kInput, b->access.read.base.node}};
  for (auto [operand, zero] : {std::pair(&*a, &call->a_zero), std::pair(&*b, &call->b_zero)})
    if (zero->is_operand)
      lowering.step.bindings.push_back(
          {GroupBuffer::Kind::kInput, operand->access.zero->base.node});
  lowering.step.call = *std::move(call);
  lowering.step.workgroups = 1;
  lowering.result = {group.space.anchors[0], 0};
  const bool as_it_is = only_output_is(region, lowering.result) &&
                        output_strides(group) == row_major_strides(group.space.dims);
  if (as_it_is) {
    lowering.in_output_order = lowering.stores_output = true;
  } else {
    lowering.is_whole = take_store(group, lowering);
  }
  return lowering;
}

}  // namespace tuff
