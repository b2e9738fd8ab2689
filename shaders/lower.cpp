#include "shaders/lower.h"

#include <algorithm>

#include "ir/passes/place.h"
#include "ir/rewrite.h"
#include "shaders/families/family.h"
#include "shaders/families/reducer.h"

namespace tuff {

namespace {

bool all_outputs_empty(const Graph& region) {
  return std::all_of(region.outputs().begin(), region.outputs().end(),
                     [&](Value v) { return region.type(v).num_elements() == 0; });
}

// The call cannot write to output 0 if that is to lie where an input does: something reads
// that input otherwise than by updating it.
bool overwrites(const LibraryLowering& lowering, const std::vector<Replacement>& replacements) {
  const std::vector<GroupBuffer>& bindings = lowering.step.bindings;
  return std::any_of(replacements.begin(), replacements.end(), [&](const Replacement& r) {
    GroupBuffer input{GroupBuffer::Kind::kInput, r.input};
    auto read = std::find(bindings.begin(), bindings.end(), input);
    bool updated =
        lowering.stores_output && read != bindings.end() &&
        std::count(bindings.begin(), bindings.end(), input) == 1 &&
        updates_in_place(lowering.step.call, static_cast<size_t>(read - bindings.begin()));
    return r.output == 0 && !updated;
  });
}

// The call, then the rest of the group over its result: in place in output 0 when
// the result fits there point for point, else through scratch memory.
Result<LoweredGroup> lower_library_group(GroupContext& group, LibraryLowering lowering,
                                         const std::vector<Replacement>& replacements) {
  LoweredGroup lowered;
  const Graph& region = group.region;
  bool through_output = lowering.in_output_order && !overwrites(lowering, replacements);
  if (lowering.stores_output && through_output) {
    lowering.step.bindings.push_back({GroupBuffer::Kind::kOutput, 0});
    lowered.steps.push_back(std::move(lowering.step));
    return lowered;
  }
  const TensorType& result = region.type(lowering.result);
  const TensorType& output = region.type(region.outputs()[0]);
  bool in_place = output.dtype == result.dtype && through_output;
  GroupBuffer c = in_place ? GroupBuffer{GroupBuffer::Kind::kOutput, 0}
                           : GroupBuffer{GroupBuffer::Kind::kScratch, 0};
  if (!in_place) lowered.scratch_bytes = result.size_bytes();
  lowering.step.bindings.push_back(c);
  lowered.steps.push_back(std::move(lowering.step));
  AnchorOrder order = lowering.in_output_order ? AnchorOrder::kOutput : AnchorOrder::kSpace;
  PointAnchor anchor = stored_anchor(group, c, order);
  anchor.buffer_type = result;
  anchor.value = lowering.result;
  anchor.buffer_type = result;
  TUFF_ASSIGN(LoweredStep epilogue, lower_map(group, &anchor));
  lowered.steps.push_back(std::move(epilogue));
  return lowered;
}

// Windows that are the prefixes of a dimension, if it is long enough to care. Each
// window also combines the initial value once for every place where it leaves the
// input, which a scan does not: it must change nothing.
std::optional<WindowScan> scan_of(const GroupContext& group) {
  constexpr int64_t kShortest = 16;
  const Node& node = group.region.node(group.space.anchors[0]);
  auto scan = window_scan(node, group.space.dims);
  if (!scan || group.space.dims[scan->dim] <= kShortest) return std::nullopt;
  const Literal* initial = constant_value(group.region, node.operands.back());
  std::optional<Operand> identity = reducer_identity(node);
  bool neutral = initial && identity && immediate_of(*initial) == *identity;
  return neutral ? scan : std::nullopt;
}

// The whole group is one node that only C++ computes.
Result<LoweredGroup> lower_host_function(const GroupContext& group) {
  const Graph& region = group.region;
  const Node& node = region.node(group.space.anchors[0]);
  if (auto missing = kernel_missing(region, node, group.caps))
    return Error{ErrorCode::kUnsupported, *missing + ".", node.loc};
  const Shape& a = region.type(node.operands[0]).shape;
  const TensorType& result = node.types[0];
  size_t rank = result.shape.size();
  int64_t rows = result.shape[rank - 2], columns = result.shape[rank - 1];
  int64_t matrices = result.num_elements() / (rows * columns);
  auto flag = [&](const char* name) { return node.attrs.get_int(name) != 0; };
  LoweredStep step;
  if (node.op == Op::kCholesky)
    step.call = CholeskyCall{result.dtype, matrices, columns, flag("lower")};
  else
    step.call =
        TriangularSolveCall{result.dtype,
                            matrices,
                            a.back(),
                            rows,
                            columns,
                            flag("left_side"),
                            flag("lower"),
                            flag("unit_diagonal"),
                            node.attrs.get_string("transpose_a", "NO_TRANSPOSE") != "NO_TRANSPOSE"};
  for (Value v : node.operands) step.bindings.push_back({GroupBuffer::Kind::kInput, v.node});
  step.bindings.push_back({GroupBuffer::Kind::kOutput, 0});
  step.workgroups = 1;
  LoweredGroup lowered;
  lowered.steps.push_back(std::move(step));
  return lowered;
}

Result<LoweredStep> lower_kernel(GroupContext& group) {
  switch (group.space.kind) {
    case GroupKind::kMap: return lower_map(group, nullptr);
    case GroupKind::kAttention: return lower_attention(group);
    case GroupKind::kWindow: return lower_window(group);
    case GroupKind::kLoop: return lower_loop(group);
    case GroupKind::kMatmul:  // more than one kernel
    case GroupKind::kConvolution:
    case GroupKind::kRows:
    case GroupKind::kScatter:
    case GroupKind::kSelectScatter:
    case GroupKind::kSort:
    case GroupKind::kHostFunction: break;
  }
  TUFF_CHECK(false, "a group of an unknown kind");
}

// The group as one call and nothing else, if it is one.
std::optional<LoweredStep> lower_whole_call(const GroupContext& group) {
  if (group.space.kind == GroupKind::kWindow && !scan_of(group)) return lower_window_call(group);
  if (group.space.kind != GroupKind::kRows) return std::nullopt;
  auto call = lower_softmax_call(group);
  return call ? call : lower_layer_norm_call(group);
}

Result<LoweredGroup> lower_nonempty(GroupContext& group,
                                    const std::vector<Replacement>& replacements) {
  GroupKind kind = group.space.kind;
  bool contraction = kind == GroupKind::kMatmul || kind == GroupKind::kConvolution;
  if (contraction && group.caps.library_calls)
    if (auto library = lower_library_call(group))
      return lower_library_group(group, std::move(*library), replacements);
  if (kind == GroupKind::kAttention && group.caps.library_calls)
    if (auto library = lower_attention_call(group))
      return lower_library_group(group, std::move(*library), replacements);
  if (group.caps.library_calls)
    if (auto call = lower_whole_call(group)) {
      LoweredGroup lowered;
      lowered.steps.push_back(std::move(*call));
      return lowered;
    }
  if (contraction) return lower_contraction(group);
  if (kind == GroupKind::kRows) return lower_rows(group);
  if (kind == GroupKind::kScatter) return lower_scatter(group);
  if (kind == GroupKind::kSelectScatter) return lower_select_scatter(group);
  if (kind == GroupKind::kSort) return lower_sort(group);
  if (kind == GroupKind::kHostFunction) return lower_host_function(group);
  if (kind == GroupKind::kWindow)
    if (auto scan = scan_of(group)) return lower_scan(group, *scan);
  LoweredGroup lowered;
  TUFF_ASSIGN(LoweredStep step, lower_kernel(group));
  lowered.steps.push_back(std::move(step));
  return lowered;
}

}  // namespace

std::string step_name(const LoweredStep& step) {
  if (step.kernel) return step.kernel->family;
  return std::visit(
      [](const auto& call) {
        if constexpr (std::is_same_v<decltype(call), const std::monostate&>)
          return std::string();
        else
          return std::string("library ") + call.kName;
      },
      step.call);
}

Result<LoweredGroup> lower_group(const Graph& region, const Caps& caps,
                                 const std::vector<Replacement>& replacements) {
  if (all_outputs_empty(region)) return LoweredGroup{};
  TUFF_ASSIGN(GroupContext group, make_group_context(region, caps));
  std::vector<Place> outputs = group.space.outputs;
  TUFF_ASSIGN(LoweredGroup lowered, lower_nonempty(group, replacements));
  for (uint32_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].window)
      lowered.updates.push_back({i, region.node(region.outputs()[i]).operands[0].node});
  return lowered;
}

}  // namespace tuff
