// What the kernel families share: the group being lowered, and the store.
#pragma once

#include <optional>

#include "shaders/builder.h"
#include "shaders/emit_value.h"
#include "shaders/lower.h"

namespace tuff {

// A group and its space; `index` owns the space's variables.
struct GroupContext {
  const Graph& region;
  const Caps& caps;
  IndexContext index;
  GroupSpace space;
};

// Finds the space anew (the group pass proved that it exists).
Result<GroupContext> make_group_context(const Graph& region, const Caps& caps);

// One kernel under construction. Buffers: the region's outputs first, in order,
// then inputs as they are first loaded.
class FamilyKernel {
 public:
  FamilyKernel(GroupContext& group, int64_t lanes);

  KernelBuilder builder;
  ValueEmitter emitter;

  // Stores region output i, read at its place, into its buffer.
  void store_output(size_t i, const std::optional<Operand>& guard);
  Result<LoweredStep> finish();

 protected:
  GroupContext& group_;
};

// Elementwise work over the whole space. With an anchor, the anchor's values are
// read from `anchor_buffer` (the epilogue of a library call).
Result<LoweredStep> lower_map(GroupContext& group, std::optional<GroupBuffer> anchor_buffer);
Result<LoweredStep> lower_rows(GroupContext& group);
// dot_general and convolution.
Result<LoweredStep> lower_contraction(GroupContext& group);
// The anchor as a library call with result C in row-major order of the space, or in
// the output's own layout where nothing else is to be done; nothing if the library
// cannot say it.
struct LibraryLowering {
  LoweredStep call;            // bindings: A, B; C is to be bound by the caller
  bool stores_output = false;  // C is region output 0 itself, in its layout
};
std::optional<LibraryLowering> lower_library_call(GroupContext& group);

}  // namespace tuff
