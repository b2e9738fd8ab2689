#include "backend/cpu/native/lanes_inside.h"

#include <algorithm>
#include <set>

#include "shaders/kernel/kernel_walk.h"

namespace tuff::cpu::native {

namespace {

using Values = std::set<uint32_t>;

bool uses_any(const Stmt& stmt, const Values& values) {
  const Block alone{stmt};
  bool found = false;
  for_each_stmt(alone, [&](const Stmt& inner) {
    for (const Operand& operand : inner.operands)
      found |= operand.kind == Operand::Kind::kValue && values.contains(operand.id);
  });
  return found;
}

bool is_cheap(const Stmt& stmt) {
  return stmt.kind == Stmt::Kind::kCompute || stmt.kind == Stmt::Kind::kConvert ||
         stmt.kind == Stmt::Kind::kBitcast;
}

bool has_effect(const Block& block) { return !std::all_of(block.begin(), block.end(), is_cheap); }

// The body of one lane loop in parts.
class Parts {
 public:
  explicit Parts(const Stmt& lanes) : lanes_(lanes) {}

  std::optional<Block> take() {
    Values here{lanes_.result};
    for (const Stmt& stmt : lanes_.body) {
      if (stmt.kind == Stmt::Kind::kWhile || uses_any(stmt, before_)) return std::nullopt;
      if (stmt.kind == Stmt::Kind::kSerial) {
        end_part();
        const Operand& steps = stmt.operands[0];
        if (steps.kind == Operand::Kind::kValue && here.contains(steps.id)) return std::nullopt;
        std::optional<Block> body = Parts(in_lanes(stmt.body)).take();
        if (!body || uses_any(stmt, before_)) return std::nullopt;
        parts_.push_back(stmt);
        parts_.back().body = std::move(*body);
        continue;
      }
      part_.push_back(stmt);
      here.insert(stmt.result);
      here.insert(stmt.results.begin(), stmt.results.end());
      if (is_cheap(stmt) && !uses_any(stmt, part_only_)) {
        cheap_.push_back(stmt);
      } else if (is_let(stmt.kind)) {
        part_only_.insert(stmt.result);
        part_only_.insert(stmt.results.begin(), stmt.results.end());
      }
    }
    end_part();
    return std::move(parts_);
  }

 private:
  // A lane loop around what the block takes of the cheap values, and the block.
  Stmt in_lanes(const Block& block) const {
    Stmt loop = lanes_;
    loop.body.clear();
    Values used;
    auto note = [&](const Stmt& stmt) {
      for (const Operand& operand : stmt.operands)
        if (operand.kind == Operand::Kind::kValue) used.insert(operand.id);
    };
    for_each_stmt(block, note);
    for (auto stmt = cheap_.rbegin(); stmt != cheap_.rend(); ++stmt) {
      const bool defined = std::any_of(block.begin(), block.end(), [&](const Stmt& other) {
        return is_let(other.kind) && other.result == stmt->result;
      });
      if (defined || !used.contains(stmt->result)) continue;
      note(*stmt);
      loop.body.insert(loop.body.begin(), *stmt);
    }
    loop.body.insert(loop.body.end(), block.begin(), block.end());
    return loop;
  }

  void end_part() {
    if (has_effect(part_)) parts_.push_back(in_lanes(part_));
    part_.clear();
    before_.merge(part_only_);
  }

  const Stmt& lanes_;
  Block parts_, part_;
  Block cheap_;
  Values part_only_, before_;  // what is neither cheap nor to be had in other parts
};

std::optional<Block> turned(const Block& block) {
  Block result;
  for (const Stmt& stmt : block) {
    if (stmt.kind == Stmt::Kind::kLane) {
      std::optional<Block> parts = Parts(stmt).take();
      if (!parts) return std::nullopt;
      result.insert(result.end(), parts->begin(), parts->end());
      continue;
    }
    result.push_back(stmt);
    // That of a reduction of lanes is no place for lanes.
    if (stmt.body.empty() || stmt.kind == Stmt::Kind::kReduceLanes) continue;
    std::optional<Block> body = turned(stmt.body);
    if (!body) return std::nullopt;
    result.back().body = std::move(*body);
  }
  return result;
}

}  // namespace

std::optional<Kernel> with_lanes_inside(const Kernel& kernel) {
  std::optional<Block> body = turned(kernel.body);
  if (!body) return std::nullopt;
  Kernel result = kernel;
  result.body = std::move(*body);
  return result;
}

}  // namespace tuff::cpu::native
