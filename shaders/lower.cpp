#include "shaders/lower.h"

#include <algorithm>

#include "shaders/families/family.h"
#include "shaders/storage.h"

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
  if (lowering.is_whole) {
    lowered.scratch_bytes = lowering.scratch_bytes;
    lowered.steps.push_back(std::move(lowering.step));
    return lowered;
  }
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
  if (!in_place) lowered.scratch_bytes = storage_bytes(result, group.caps);
  lowering.step.bindings.push_back(c);
  lowered.steps.push_back(std::move(lowering.step));
  AnchorOrder order = lowering.in_output_order ? AnchorOrder::kOutput : AnchorOrder::kSpace;
  PointAnchor anchor = stored_anchor(group, c, order);
  anchor.buffer_type = result;
  anchor.value = lowering.result;
  TUFF_ASSIGN(LoweredStep epilogue, lower_map(group, &anchor));
  lowered.steps.push_back(std::move(epilogue));
  return lowered;
}

// The ways that a family goes, from its row.
struct Family {
  std::optional<LibraryLowering> (*call)(GroupContext&);
  Result<LoweredGroup> (*kernels)(GroupContext&);
};
std::optional<LibraryLowering> no_call(GroupContext&) { return std::nullopt; }

constexpr Family kFamilies[] = {
#define FAMILY(kind, name, takes, work, call, kernels, ...) {call, kernels},
#include "ir/group/family.def"
};

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

Result<LoweredGroup> lower_group(const Node& fused, const Caps& caps,
                                 const std::vector<Replacement>& replacements) {
  const Graph& region = *fused.regions[0];
  if (all_outputs_empty(region)) return LoweredGroup{};
  TUFF_ASSIGN(GroupContext group,
              make_group_context(region, caps, fused.attrs.as<FusedAttrs>().composite));
  std::vector<Place> outputs = group.space.outputs;
  const Family& family = kFamilies[static_cast<size_t>(group.space.kind)];
  auto call = caps.library_calls ? family.call(group) : std::nullopt;
  TUFF_ASSIGN(LoweredGroup lowered, call
                                        ? lower_library_group(group, *std::move(call), replacements)
                                        : family.kernels(group));
  for (uint32_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].window)
      lowered.updates.push_back({i, region.node(region.outputs()[i]).operands[0].node});
  return lowered;
}

}  // namespace tuff
