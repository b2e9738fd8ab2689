#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "shaders/kernel/kernel_rules.h"

namespace tuff {

namespace {

// The values an expression takes. Both ends are taken: an index whose range
// passes the array's end IS out of range in some iteration. So only affine
// expressions of independent loop variables are known.
struct Range {
  int64_t low = 0, high = 0;
  std::set<uint32_t> variables;
};

class Ranges {
 public:
  explicit Ranges(const Kernel& kernel) : kernel_(kernel) {}

  Complaint run() {
    for (const GridLoop& loop : kernel_.grid) variable(loop.var, loop.extent);
    block(kernel_.body);
    return found_;
  }

 private:
  void variable(uint32_t id, const Operand& extent) {
    if (extent.kind != Operand::Kind::kImmediate) return;
    auto count = static_cast<int32_t>(extent.bits);
    if (count > 0) known_[id] = {0, count - 1, {id}};
  }

  std::optional<Range> range(const Operand& operand) const {
    if (operand.dtype != DType::kI32) return std::nullopt;
    if (operand.kind == Operand::Kind::kImmediate) {
      int64_t value = static_cast<int32_t>(operand.bits);
      return Range{value, value, {}};
    }
    auto it = known_.find(operand.id);
    if (operand.kind == Operand::Kind::kParam || it == known_.end()) return std::nullopt;
    return it->second;
  }

  static std::optional<Range> combine(Op op, const Range& a, const Range& b) {
    Range out;
    out.variables = a.variables;
    out.variables.insert(b.variables.begin(), b.variables.end());
    bool independent = out.variables.size() == a.variables.size() + b.variables.size();
    int64_t factor = b.variables.empty() ? b.low : a.low;
    const Range& scaled = b.variables.empty() ? a : b;
    if (op == Op::kAdd && independent) {
      out.low = a.low + b.low;
      out.high = a.high + b.high;
    } else if (op == Op::kSubtract && independent) {
      out.low = a.low - b.high;
      out.high = a.high - b.low;
    } else if (op == Op::kMultiply && (a.variables.empty() || b.variables.empty())) {
      out.low = std::min(scaled.low * factor, scaled.high * factor);
      out.high = std::max(scaled.low * factor, scaled.high * factor);
    } else {
      return std::nullopt;
    }
    bool wraps = out.low < INT32_MIN || out.high > INT32_MAX;
    return wraps ? std::nullopt : std::optional(out);
  }

  void block(const Block& body) {
    for (const Stmt& stmt : body) {
      if (!found_.text.empty()) return;
      statement(stmt);
      block(stmt.body);
    }
  }

  void statement(const Stmt& stmt) {
    switch (stmt.kind) {
      case Stmt::Kind::kSerial:
      case Stmt::Kind::kUnroll:
      case Stmt::Kind::kLane: return variable(stmt.result, stmt.operands[0]);
      case Stmt::Kind::kCompute: {
        if (stmt.operands.size() != 2) return;
        auto a = range(stmt.operands[0]), b = range(stmt.operands[1]);
        if (!a || !b) return;
        if (auto out = combine(stmt.op, *a, *b)) known_[stmt.result] = *out;
        return;
      }
      case Stmt::Kind::kRead:
      case Stmt::Kind::kWrite: return index(stmt);
      default: return;
    }
  }

  void index(const Stmt& stmt) {
    auto at = range(stmt.operands[0]);
    int64_t count = kernel_.arrays[stmt.target].count;
    if (!at || (at->low >= 0 && at->high < count)) return;
    found_ = {
        fmt::format("the index takes values {} to {} of an array of {}", at->low, at->high, count),
        &stmt};
  }

  const Kernel& kernel_;
  std::unordered_map<uint32_t, Range> known_;
  Complaint found_;
};

}  // namespace

Complaint ranges_rule(const Kernel& kernel) { return Ranges(kernel).run(); }

}  // namespace tuff
