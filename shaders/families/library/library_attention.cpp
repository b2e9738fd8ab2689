// An attention group as one library call: see AttentionCall.
#include <algorithm>

#include "ir/group/strided_attention.h"
#include "shaders/families/library/library.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

namespace {

// The elementwise work between `from`, which a library has made of the scores, and the
// logits.
Result<LoweredStep> lower_logits(GroupContext group, const StridedAttention& strided,
                                 int64_t rows_per_point, Value from) {
  const GroupSpace& space = group.space;
  const AttentionSpace& a = *space.attention;
  int64_t columns = strided.columns;
  // Rows of a point together are one block of lanes, which must not reach into the next point's.
  int64_t lanes = rows_per_point > 1
                      ? rows_per_point * columns
                      : choose_map_schedule(group.caps, rows_per_point * columns).lanes;
  KernelBuilder b("logits", lanes, group.index, group.caps);
  ValueEmitter emitter(group.region, group.index, b);
  uint32_t scores = b.add_buffer(DType::kF32, Access::kReadWrite, strided.rows * columns * 4);
  for (size_t d : a.batch) b.bind(space.vars[d], b.grid("b" + std::to_string(d), space.dims[d]));
  Shape row_sizes;
  for (size_t d : a.rows) row_sizes.push_back(space.dims[d]);
  int64_t points = (strided.rows + rows_per_point - 1) / rows_per_point;
  IndexExpr row = b.grid("rows", points) * rows_per_point, first = row * columns;
  IndexExpr base = b.begin_serial("c", (rows_per_point * columns + lanes - 1) / lanes) * lanes;
  IndexVector at;
  IndexExpr element;
  if (rows_per_point == 1) {
    IndexExpr column = base + b.begin_lanes(b.lane_extent(base, columns));
    element = first + column;
    at = delinearize(group.index, row, row_sizes);
    IndexVector columns_at = delinearize(group.index, column, a.column_sizes);
    at.insert(at.end(), columns_at.begin(), columns_at.end());
  } else {
    element = first + b.begin_lanes(b.lane_extent(first, strided.rows * columns));
    Shape sizes = row_sizes;
    sizes.insert(sizes.end(), a.column_sizes.begin(), a.column_sizes.end());
    at = delinearize(group.index, element, sizes);
  }
  for (size_t i = 0; i < at.size(); ++i)
    b.bind(i < a.rows.size() ? space.vars[a.rows[i]] : a.columns[i - a.rows.size()], at[i]);
  Operand score = b.load_now(scores, element, std::nullopt);
  emitter.stored = from;
  emitter.anchor_value = [score](Value) { return score; };
  b.store(scores, element, emitter.emit(a.nodes.logits, a.scores), std::nullopt);
  b.end();
  b.end();
  return finish_step(b, emitter, {{GroupBuffer::Kind::kScratch, 0}});
}

BatchMatrix batch_matrix(const StridedMatrix& m) { return {m.offset, m.batch, m.row, m.col}; }

// Where the result lies, if it is a matrix that the library can write.
std::optional<BatchMatrix> result_matrix(const GroupSpace& space, const StridedAttention& strided,
                                         const std::vector<int64_t>& strides) {
  const AttentionSpace& a = *space.attention;
  auto row = merged_stride({a.rows.begin(), a.rows.end()}, space.dims, strides);
  auto col = merged_stride({a.out.begin(), a.out.end()}, space.dims, strides);
  if (!row || !col || !is_plain_matrix(strided.rows, strided.outs, *row, *col)) return std::nullopt;
  BatchMatrix result{0, {}, *row, *col};
  for (size_t d : a.batch) result.batch.push_back(strides[d]);
  return result;
}

}  // namespace

std::optional<LibraryLowering> lower_attention_call(GroupContext& group) {
  const Graph& region = group.region;
  const GroupSpace& space = group.space;
  const AttentionSpace& a = *space.attention;
  auto strided =
      strided_attention(region, a, space.dims, space.vars, [](uint32_t) { return true; });
  if (!strided) return std::nullopt;
  LibraryLowering lowering;
  AttentionCall& call = lowering.step.call.emplace<AttentionCall>();
  for (const StridedMatrix* m : {&strided->queries, &strided->keys, &strided->values}) {
    if (region.node(m->base).op != Op::kParameter) return std::nullopt;
    lowering.step.bindings.push_back({GroupBuffer::Kind::kInput, m->base.node});
  }
  call.batch = strided->batch;
  call.rows = strided->rows, call.columns = strided->columns;
  call.depth = strided->depth, call.outs = strided->outs;
  call.queries = batch_matrix(strided->queries);
  call.keys = batch_matrix(strided->keys);
  call.values = batch_matrix(strided->values);

  auto strides = output_strides(group);
  auto result = strides ? result_matrix(space, *strided, *strides) : std::nullopt;
  lowering.in_output_order = result.has_value();
  if (!result) result = result_matrix(space, *strided, row_major_strides(space.dims));
  if (!result) return std::nullopt;
  call.result = *result;

  Value from = absorb_constant_post_ops(region, {a.nodes.scores, 0}, call.post_ops);
  if (from != a.nodes.logits) {
    // Short rows fill a block of lanes together.
    constexpr int64_t kLanes = 512;
    call.logits_rows = std::clamp<int64_t>(kLanes / call.columns, 1, call.rows);
    auto logits = lower_logits(group, *strided, call.logits_rows, from);
    if (!logits.ok()) return std::nullopt;
    call.logits = std::move(logits->kernel);
    call.logits_params = std::move(logits->params);
    lowering.step.bindings.insert(lowering.step.bindings.end(), logits->bindings.begin() + 1,
                                  logits->bindings.end());
  }
  lowering.result = {a.nodes.values, 0};
  lowering.stores_output = lowering.in_output_order && only_output_is(region, lowering.result);
  lowering.step.workgroups = 1;
  return lowering;
}

}  // namespace tuff
