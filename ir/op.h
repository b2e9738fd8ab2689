// Op: what a graph node does. The facts about each op live in op.def.
#pragma once

#include <optional>
#include <string_view>

#include "ir/type.h"

namespace tuff {

enum class Op {
#define ELEMENTWISE(enumerator, ...) enumerator,
#define KERNEL_ONLY(enumerator, ...) enumerator,
#define OP(enumerator, ...) enumerator,
#include "ir/op.def"
};
inline constexpr size_t kNumOps = 0
#define ELEMENTWISE(...) +1
#define KERNEL_ONLY(...) +1
#define OP(...) +1
#include "ir/op.def"
    ;

enum class OpCategory {
  kLeaf,
  kElementwise,
  kView,
  kIndexing,
  kScatter,
  kReduction,
  kWindow,
  kContraction,
  kSort,
  kRandom,
  kLibrary,
  kComposite,
  kControl,
  kFused,
};

// How an elementwise op's operand and result types relate; see op.def.
enum class TypeRule {
  kNotElementwise,
  kSame,
  kPredicate,
  kSelect,
  kClamp,
  kConvert,
  kPrecision,
  kTotalOrder
};

// One row of op.def. Bodies are null where the op is not defined for a class.
struct OpInfo {
  const char* name;
  OpCategory category;
  int min_operands;
  int max_operands;  // -1 = any number
  TypeRule type_rule;
  bool kernel_only;
  const char* float_body;
  const char* signed_body;
  const char* unsigned_body;
  const char* bool_body;
};

const OpInfo& op_info(Op op);
inline const char* op_name(Op op) { return op_info(op).name; }
inline OpCategory op_category(Op op) { return op_info(op).category; }
inline bool is_elementwise(Op op) { return op_category(op) == OpCategory::kElementwise; }
// fused and hosted: what stands in their regions is settled, and no pass enters them.
inline bool is_settled(Op op) { return op_category(op) == OpCategory::kFused; }
// while, if and case: their regions are blocks that run zero, one or many times.
inline bool is_control_flow(Op op) { return op == Op::kWhile || op == Op::kIf || op == Op::kCase; }
inline bool is_view(Op op) { return op_category(op) == OpCategory::kView; }

// By StableHLO name without the dialect prefix.
std::optional<Op> find_op(std::string_view name);

// The body text of an elementwise row for an element type, or null.
const char* op_body(Op op, DType dtype);

}  // namespace tuff
