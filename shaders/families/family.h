// What the kernel families share: the group being lowered, and the store.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/group/row_loop.h"
#include "ir/ops/window.h"
#include "shaders/builder.h"
#include "shaders/emit/emit_value.h"
#include "shaders/lower.h"

namespace tuff {

// A group and its space; `index` owns the space's variables.
struct GroupContext {
  const Graph& region;
  const Caps& caps;
  IndexContext index;
  GroupSpace space;
  Composite composite;
};

// Finds the space anew (the group pass proved that it exists).
Result<GroupContext> make_group_context(const Graph& region, const Caps& caps,
                                        const Composite& composite = {});

// Where output 0 has the element of each point of the space, as strides by dimension;
// nothing unless it is the space with its dimensions in some order.
std::optional<std::vector<int64_t>> output_strides(const GroupContext& group);

// The kernel as a step; `first` are its leading buffers, the emitter's inputs follow.
Result<LoweredStep> finish_step(KernelBuilder& builder, const ValueEmitter& emitter,
                                std::vector<GroupBuffer> first);

struct StoredElement {
  IndexExpr place;
  Operand value;
};
// How many of these places of a buffer, all that a lane stores, are one word of up to 16 bytes: 1
// where not all of them come in words. `run` is a multiple of it.
int64_t elements_of_word(KernelBuilder& builder, const TensorType& type,
                         const std::vector<IndexExpr>& places, int64_t run);
// Stores neighbours as words of so many; the buffer has no other elements or words.
void store_words(KernelBuilder& builder, uint32_t buffer,
                 const std::vector<StoredElement>& elements, int64_t per_word,
                 const std::optional<Operand>& guard);
// Stores all that a lane has of a buffer, as words where its places come in them.
void store_run(KernelBuilder& builder, uint32_t buffer, const TensorType& type,
               const std::vector<StoredElement>& elements,
               const std::optional<Operand>& guard = std::nullopt);

// One kernel under construction. Buffers: the region's outputs first, in order,
// then inputs as they are first loaded.
class FamilyKernel {
 public:
  // with_outputs: false if it stores none of them.
  FamilyKernel(GroupContext& group, int64_t lanes, bool with_outputs = true);

  KernelBuilder builder;
  ValueEmitter emitter;

  // Stores region output i, read at its place, into its buffer; of a window output, the
  // update's element.
  void store_output(size_t i, const std::optional<Operand>& guard);
  // The element of region output i at the point that the space's variables are bound to.
  StoredElement output_element(size_t i);
  // Its place alone.
  IndexExpr output_place(size_t i);
  // Stores all that a lane has of region output i.
  void store_run(size_t i, const std::vector<StoredElement>& elements,
                 const std::optional<Operand>& guard = std::nullopt);
  Result<LoweredStep> finish();
  // The same of a kernel that has added one more buffer first of all, which is `more`.
  Result<LoweredStep> finish_with(GroupBuffer more);

 protected:
  GroupContext& group_;

 private:
  std::vector<GroupBuffer> outputs_;
};

// How an anchor's results are had where each lane owns one element of the space.
struct PointAnchor {
  // Memory they are read from, if any; bound right after the outputs.
  std::optional<GroupBuffer> buffer;
  TensorType buffer_type;
  // One value per result, at the point the space's variables are bound to.
  std::function<std::vector<Operand>(GroupContext&, FamilyKernel&, uint32_t buffer)> results;
  // The same by element of a lane's run, where it has them in one loop; bind(e) binds the variables
  // to element e.
  using Bind = std::function<void(int64_t e)>;
  std::function<std::vector<std::vector<Operand>>(GroupContext&, FamilyKernel&, int64_t run,
                                                  const Bind& bind)>
      results_of_run = {};
  // What is read, where that is not the anchor's value but one computed from it, or of a group
  // without an anchor.
  std::optional<Value> value = std::nullopt;
};
// The anchor's values lie in memory: the epilogue of a call, or of kernels that came
// before. Their order is row-major in the space, or the same as in output 0.
enum class AnchorOrder { kSpace, kOutput };
PointAnchor stored_anchor(const GroupContext& group, GroupBuffer buffer,
                          AnchorOrder order = AnchorOrder::kSpace);

// Elementwise work over the whole space, around an anchor if there is one.
Result<LoweredStep> lower_map(GroupContext& group, const PointAnchor* anchor);
// A group that is this step alone.
Result<LoweredGroup> one_step(Result<LoweredStep> step);

// Whether our CPU executor has code for all types of the region.
bool becomes_native(const Caps& caps, const Graph& region);

// Groups as kernels, by family (ir/group/family.def).
Result<LoweredGroup> lower_elementwise(GroupContext& group);
Result<LoweredGroup> lower_rows(GroupContext& group);
Result<LoweredGroup> lower_contraction(GroupContext& group);  // dot_general and convolution
Result<LoweredGroup> lower_window(GroupContext& group);
Result<LoweredGroup> lower_select_scatter(GroupContext& group);
Result<LoweredGroup> lower_scatter(GroupContext& group);
Result<LoweredGroup> lower_sort(GroupContext& group);  // sort and top_k
// A while that is one kernel: over scalars, or over rows.
Result<LoweredGroup> lower_loop(GroupContext& group);
Result<LoweredGroup> lower_row_loop(GroupContext& group, const RowLoop& rows);
Result<LoweredGroup> lower_attention(GroupContext& group);
Result<LoweredGroup> lower_triangular(GroupContext& group);  // cholesky and triangular_solve
Result<LoweredGroup> lower_fft(GroupContext& group);         // an error: `decompose` leaves none

// The anchor is the group's only output, as it stands.
bool result_is_output(const GroupContext& group);
// A reduce_window over the prefixes of a dimension, where a scan is the way to do it.
std::optional<WindowScan> scan_of(const GroupContext& group);
Result<LoweredGroup> lower_scan(GroupContext& group, const WindowScan& scan);

// A group, or the anchor of one, as a library call.
struct LibraryLowering {
  LoweredStep step;  // bindings: the call's operands; its result is to be bound by the caller
  Value result;      // what the call leaves: the anchor's value, or what post-ops made of it
  // It is in the order of region output 0, not row-major in the space.
  bool in_output_order = false;
  bool stores_output = false;  // it is region output 0 itself
  bool is_whole = false;       // the step is all of the group, its results bound
  int64_t scratch_bytes = 0;   // that a whole one binds
};
// By family (ir/group/family.def); nothing if the library cannot say it.
std::optional<LibraryLowering> lower_contraction_call(GroupContext& group);
// The same of bytes whose sums are integers.
std::optional<LibraryLowering> lower_byte_product(GroupContext& group);
// An attention whose dots the library does, block by block of scores that stay in the cache.
std::optional<LibraryLowering> lower_attention_call(GroupContext& group);
// A composite of rows.
std::optional<LibraryLowering> lower_row_call(GroupContext& group);
// A reduce_window of what lies in memory, over elements side by side that no window reaches across.
std::optional<LibraryLowering> lower_window_call(GroupContext& group);
// A map that computes nothing, but puts a large result together of pieces.
std::optional<LibraryLowering> lower_copy_call(GroupContext& group);
std::optional<LibraryLowering> lower_triangular_call(GroupContext& group);
std::optional<LibraryLowering> lower_fft_call(GroupContext& group);
// A call that computes the region's output 0, the group's only one, from parameters of it.
LibraryLowering whole_call(Call call, const std::vector<uint32_t>& parameters);

}  // namespace tuff
