// The fusion rules as data: what may join a group, by the group's anchor. The
// proof that a join is possible at all is find_group_space; this table says what
// is wanted.
#pragma once

#include <algorithm>
#include <optional>

#include "ir/group/group_space.h"

namespace tuff {

// Beyond this many buffers no kernel is asked for, whatever the device allows.
inline constexpr int64_t kMaxKernelBuffers = 28;
inline int64_t kernel_buffers(const Caps& caps) {
  return std::min(caps.max_storage_buffers, kMaxKernelBuffers);
}

// Beyond this many operations a kernel gains nothing more, and takes long to compile. The bound
// holds for all that follows a group's operations from one to the next, too.
inline constexpr size_t kMaxGroupMembers = 256;

// Statements of a loop's kernel: drivers take their time for long ones.
inline constexpr int64_t kMaxLoopStatements = 3000;
// What a dispatch may take on a card that shows a picture, too.
inline constexpr double kMaxDispatchMs = 100;

// May a node of category `joining` (an elementwise op or indexed load: kMap; a
// reduce: kRows; a contraction) join the group of one of its operands?
struct FusionRule {
  GroupKind producer;  // the group that computes an operand
  GroupKind joining;   // what the joining node is by itself
  bool allowed;
  int preference;  // among several producers the highest wins, then the latest
};

inline constexpr FusionRule kFusionRules[] = {
    // The store of a contraction takes elementwise work: bias, activation, residual.
    {GroupKind::kMatmul, GroupKind::kMap, true, 3},
    {GroupKind::kConvolution, GroupKind::kMap, true, 3},
    // Softmax and layer norm: what follows a row reduce over the same rows.
    {GroupKind::kRows, GroupKind::kMap, true, 2},
    {GroupKind::kRows, GroupKind::kRows, true, 2},
    // Pooling: what feeds a window is done in its loads, what follows in its store.
    {GroupKind::kWindow, GroupKind::kMap, true, 2},
    {GroupKind::kMap, GroupKind::kWindow, true, 1},
    // The input of a scatter, and what follows: the optimiser's update.
    {GroupKind::kScatter, GroupKind::kMap, true, 2},
    {GroupKind::kMap, GroupKind::kScatter, true, 1},
    // What follows a sort or the gradient of a max pool.
    {GroupKind::kSort, GroupKind::kMap, true, 2},
    {GroupKind::kSelectScatter, GroupKind::kMap, true, 2},
    // Elementwise chains, and chains that end in reduces.
    {GroupKind::kMap, GroupKind::kMap, true, 1},
    {GroupKind::kMap, GroupKind::kRows, true, 1},
    // A tile does not hold a whole row. (Dot, softmax and dot become one attention after
    // all joins: see join_attention.)
    {GroupKind::kMatmul, GroupKind::kRows, false, 0},
    {GroupKind::kConvolution, GroupKind::kRows, false, 0},
};

// What the loads of a contraction may compute, by operation. Each reader computes it anew from
// what lies in memory, every element as often as it loads it. Wanted where that is no larger
// than what is computed: see find_load_work.
struct LoadRule {
  enum class Beside : uint8_t { kNothing, kSmall, kSmallOnTheRight };
  Op op;
  Beside beside;  // a second operand, of far fewer elements, that is spread over the first
};

inline constexpr LoadRule kLoadRules[] = {
    {Op::kConvert, LoadRule::Beside::kNothing},
    // Zero points and scales of weights of few bits.
    {Op::kSubtract, LoadRule::Beside::kSmallOnTheRight},
    {Op::kMultiply, LoadRule::Beside::kSmall},
};

// The number of the operand that a node of a contraction's load passes on, element by element
// or as a view; at the end of such a chain is what the load reads. Nothing for nodes that no
// load computes.
std::optional<size_t> load_operand(const Graph& graph, const Node& node);

// The rule for a pair. Contractions join no producer: what their loads compute is copied.
inline const FusionRule* find_fusion_rule(GroupKind producer, GroupKind joining) {
  for (const FusionRule& rule : kFusionRules)
    if (rule.producer == producer && rule.joining == joining) return rule.allowed ? &rule : nullptr;
  return nullptr;
}

}  // namespace tuff
