// GroupSpace: how a set of nodes can run as ONE kernel: its iteration space, and
// where each anchor and output stands in it. The group pass asks whether such a
// space exists; lowering builds the kernel from it. One proof for both.
//
// Elementwise members and views have no place of their own: their value is
// computed wherever it is demanded. Anchors (reduce, dot_general, convolution,
// windows, scatter, sort, loops) exist only at their canonical place, so every demand
// must meet them there.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/caps.h"
#include "ir/graph.h"
#include "ir/group/attention.h"
#include "ir/index/view_map.h"

namespace tuff {

// What a node is by itself.
GroupKind group_kind_of(Op op);
inline bool is_contraction(GroupKind kind) {
  return kind == GroupKind::kMatmul || kind == GroupKind::kConvolution;
}

// A value's place: its index as a function of the space's variables.
struct Place {
  IndexVector index;
  bool full = false;  // every point of the space has an element of its own; else: every row
  // Of a dynamic_update_slice that is an output: `index` is of its update, and only the
  // update is stored (see is_window_output).
  bool window = false;
};

struct GroupSpace {
  GroupKind kind = GroupKind::kMap;
  Shape dims;                     // of the hero: what is reduced, contracted into, or mapped
  std::vector<bool> reduced;      // rows: dimensions folded by the reduces; else all false
  IndexVector vars;               // one variable per dimension (constant 0 where size is 1)
  bool open = false;              // but dims[0] is 1, and vars[0] a variable all the same
  std::vector<uint32_t> anchors;  // ids, ascending
  std::map<uint32_t, Place> anchor_places;
  std::vector<Place> outputs;  // one per output asked for
  std::optional<AttentionSpace> attention;
};

// What a group is, seen from a graph it is (or may become) part of.
struct GroupView {
  const Graph* graph = nullptr;
  std::vector<uint32_t> members;            // work nodes (not views, not leaves), ascending
  std::function<bool(uint32_t)> is_member;  // work, view or leaf node computed inside
  std::vector<Value> outputs;
  std::optional<Attention> attention;  // what the members are, if they are one
};

// The space, or a sentence saying why there is none. Variables live in `context`.
struct GroupSpaceResult {
  std::optional<GroupSpace> space;
  std::string why_not;
};
// kOpen: rows or an attention whose leading dimension is of size 1, and kept, get a variable
// for it, so that what is built is the same as for a longer one. Such a space may be missing
// where there is a closed one.
enum class LeadingUnit { kClosed, kOpen };
GroupSpaceResult find_group_space(IndexContext& context, const GroupView& view,
                                  LeadingUnit unit = LeadingUnit::kClosed);

// A variable for each dimension; 0 where the size is 1.
IndexVector space_vars(IndexContext& context, const Shape& dims);

// True iff an output of the group is a dynamic_update_slice whose window alone has to be
// stored. What it updates lies outside of the group, and neither that nor the result is read
// in the group otherwise. The output's memory must hold what it updates before the kernel runs.
bool is_window_output(const GroupView& view, Value v);

// True for nodes whose value is recomputed wherever it is used, for free.
bool is_leaf(const Node& node);                           // iota, small constants
bool is_free_view(const Graph& graph, const Node& node);  // views but bitcasts that change width
bool is_anchor(Op op);
// A while that one lane can run: it carries scalars, and its condition and body compute
// with scalars only, or are such loops in turn. Within what loops of the device may run.
bool is_scalar_loop(const Node& node, const Caps& caps);
// A while of `graph` that is one kernel: over scalars, or over rows (row_loop.h).
bool is_kernel_loop(const Graph& graph, const Node& node, const Caps& caps);
// Ops that read an operand at data-dependent places, and cost no more than a load.
bool is_indexed_load(Op op);

// For gather and dynamic_slice: which element of start_indices gives component
// `component` of the start for result element `index`, and the operand's index
// given the (already clamped) start components as expressions.
struct IndexedLoad {
  std::vector<uint32_t> start_operand;   // operand number holding each start component
  std::vector<IndexVector> start_index;  // element of that operand
  std::vector<int64_t> start_dim;        // operand dimension it addresses
  std::vector<int64_t> start_max;        // clamp bound: 0 <= start <= max
  IndexVector base;                      // operand index before starts are added
};
IndexedLoad indexed_load(const Graph& graph, const Node& node, const IndexVector& index);

// dynamic_update_slice: where the window may start in each dimension; starts are
// operands 2, 3 ... and are clamped to [0, max].
std::vector<int64_t> update_start_max(const Graph& graph, const Node& node);

// bitcast_convert between widths: the operand elements whose bits make up (or hold)
// result element `index`, from the least significant up.
std::vector<IndexVector> bitcast_sources(const Graph& graph, const Node& node,
                                         const IndexVector& index);

}  // namespace tuff
