// fft as a call; devices without calls get it as products (`decompose`).
#include <algorithm>

#include "shaders/families/family.h"

namespace tuff {

std::optional<LibraryLowering> lower_fft_call(GroupContext& group) {
  const Graph& region = group.region;
  const uint32_t anchor = group.space.anchors[0];
  const Node& node = region.node(anchor);
  FftCall call{node.types[0].dtype, fft_form(node), 1};
  const Shape& shape = node.types[0].shape;
  for (size_t d = 0; d + call.form.length.size() < shape.size(); ++d) call.outer *= shape[d];
  LibraryLowering lowering;
  lowering.is_whole = true;
  lowering.step.call = std::move(call);
  lowering.step.workgroups = 1;
  for (Value v : node.operands)
    lowering.step.bindings.push_back({GroupBuffer::Kind::kInput, v.node});
  // A part of the result that nobody reads is still made.
  const std::vector<Value>& outputs = region.outputs();
  for (uint32_t i = 0; i < node.types.size(); ++i) {
    const auto output = std::find(outputs.begin(), outputs.end(), Value{anchor, i});
    if (output != outputs.end()) {
      const auto index = static_cast<uint32_t>(output - outputs.begin());
      lowering.step.bindings.push_back({GroupBuffer::Kind::kOutput, index});
      continue;
    }
    lowering.step.bindings.push_back({GroupBuffer::Kind::kScratch, 0});
    lowering.scratch_bytes = node.types[i].size_bytes();
  }
  return lowering;
}

Result<LoweredGroup> lower_fft(GroupContext& group) {
  return Error{ErrorCode::kUnsupported, "An fft has no kernel of its own.",
               group.region.node(group.space.anchors[0]).loc};
}

}  // namespace tuff
