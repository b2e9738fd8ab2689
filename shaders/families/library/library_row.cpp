// Composites of rows as library calls.
#include "shaders/families/family.h"

namespace tuff {

namespace {

int64_t row_count(const Graph& region, uint32_t input, int64_t columns) {
  return region.type({input, 0}).num_elements() / columns;
}

LibraryLowering call_of(const Graph& region, const Softmax& c) {
  return whole_call(SoftmaxCall{row_count(region, c.input, c.columns), c.columns}, {c.input});
}

// A norm of rows, with the vectors that it has.
template <typename Call, typename Norm>
LibraryLowering norm_call(const Graph& region, const Norm& c,
                          const std::optional<RowVector>& shift) {
  Call call;
  call.rows = row_count(region, c.input, c.columns);
  call.columns = c.columns;
  call.epsilon = static_cast<float>(c.epsilon);
  std::vector<uint32_t> parameters{c.input};
  for (auto [vector, offset] :
       {std::pair(&c.scale, &call.scale_offset), std::pair(&shift, &call.shift_offset)}) {
    if (!*vector) continue;
    *offset = (*vector)->offset;
    parameters.push_back((*vector)->parameter);
  }
  return whole_call(call, parameters);
}

// A call goes row by row, at 30 ns for each. Native code has the few vectors of a short row in
// registers; of a softmax it computes each exponential twice. Few rows aren't worth its making.
bool is_better_as_kernel(const GroupContext& group, uint32_t input, int64_t columns) {
  const bool is_softmax = std::holds_alternative<Softmax>(group.composite);
  const int64_t most_columns = is_softmax ? 16 : 32, least_rows = 256;
  return columns <= most_columns && row_count(group.region, input, columns) >= least_rows &&
         becomes_native(group.caps, group.region);
}

}  // namespace

std::optional<LibraryLowering> lower_row_call(GroupContext& group) {
  const Graph& region = group.region;
  if (region.type(region.outputs()[0]).dtype != DType::kF32) return std::nullopt;
  auto is_call = [&](const auto& row) {
    return row && !is_better_as_kernel(group, row->input, row->columns);
  };
  if (auto* softmax = std::get_if<Softmax>(&group.composite); is_call(softmax))
    return call_of(region, *softmax);
  if (auto* norm = std::get_if<LayerNorm>(&group.composite); is_call(norm))
    return norm_call<LayerNormCall>(region, *norm, norm->shift);
  if (auto* norm = std::get_if<RmsNorm>(&group.composite); is_call(norm))
    return norm_call<RmsNormCall>(region, *norm, std::nullopt);
  return std::nullopt;
}

}  // namespace tuff
