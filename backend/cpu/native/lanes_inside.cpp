#include "backend/cpu/native/lanes_inside.h"

#include <algorithm>
#include <set>

#include "shaders/kernel/kernel_walk.h"

namespace tuff::cpu::native {

namespace {

using Values = std::set<uint32_t>;

// Those that the statement uses, or what stands in it.
Values used_of(const Stmt& stmt, const Values& values) {
  const Block alone{stmt};
  Values used;
  for_each_stmt(alone, [&](const Stmt& inner) {
    for (const Operand& operand : inner.operands)
      if (operand.kind == Operand::Kind::kValue && values.contains(operand.id))
        used.insert(operand.id);
  });
  return used;
}

bool uses_any(const Stmt& stmt, const Values& values) { return !used_of(stmt, values).empty(); }

bool is_cheap(const Stmt& stmt) { return is_pure(stmt.kind); }

bool has_effect(const Block& block) { return !std::all_of(block.begin(), block.end(), is_cheap); }

// The body of one lane loop in parts. What a part needs of another and cannot compute again is kept
// in arrays, which are added to the kernel's.
class Parts {
 public:
  Parts(const Stmt& lanes, std::vector<ArrayDecl>& arrays) : lanes_(lanes), arrays_(arrays) {}

  std::optional<Block> take() {
    const Values kept = crossing();
    Values here{lanes_.result};
    for (const Stmt& stmt : lanes_.body) {
      if (stmt.kind == Stmt::Kind::kWhile || uses_any(stmt, before_)) return std::nullopt;
      if (stmt.kind == Stmt::Kind::kSerial) {
        end_part();
        const Operand& steps = stmt.operands[0];
        if (steps.kind == Operand::Kind::kValue && here.contains(steps.id)) return std::nullopt;
        const Stmt lanes = in_lanes(stmt.body);
        std::optional<Block> body = Parts(lanes, arrays_).take();
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
      } else if (kept.contains(stmt.result) && stmt.results.empty()) {
        keep(stmt);
      } else if (is_let(stmt.kind)) {
        part_only_.insert(stmt.result);
        part_only_.insert(stmt.results.begin(), stmt.results.end());
      }
    }
    end_part();
    return std::move(parts_);
  }

 private:
  // Values that later parts use, of which these could not compute them.
  Values crossing() const {
    Values crossing, part_only, before;
    for (const Stmt& stmt : lanes_.body) {
      if (stmt.kind == Stmt::Kind::kSerial) before.merge(part_only);
      crossing.merge(used_of(stmt, before));
      const bool again = is_cheap(stmt) && !uses_any(stmt, part_only) && !uses_any(stmt, before);
      if (is_let(stmt.kind) && stmt.results.empty() && !again) part_only.insert(stmt.result);
    }
    return crossing;
  }

  void keep(const Stmt& stmt) {
    const auto array = static_cast<uint32_t>(arrays_.size());
    arrays_.push_back({Scope::kRegister, stmt.dtype, 1});
    Stmt write, read;
    write.kind = Stmt::Kind::kWrite;
    write.target = read.target = array;
    write.operands = {Operand::i32(0), Operand::value(stmt.result, stmt.dtype)};
    read.kind = Stmt::Kind::kRead;
    read.dtype = stmt.dtype;
    read.operands = {Operand::i32(0)};
    read.result = stmt.result;
    part_.push_back(std::move(write));
    cheap_.push_back(std::move(read));
  }

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
  std::vector<ArrayDecl>& arrays_;
  Block parts_, part_;
  Block cheap_;                // to be had in other parts as well
  Values part_only_, before_;  // the rest, of this part and those before
};

std::optional<Block> turned(const Block& block, std::vector<ArrayDecl>& arrays) {
  Block result;
  for (const Stmt& stmt : block) {
    if (stmt.kind == Stmt::Kind::kLane) {
      std::optional<Block> parts = Parts(stmt, arrays).take();
      if (!parts) return std::nullopt;
      result.insert(result.end(), parts->begin(), parts->end());
      continue;
    }
    result.push_back(stmt);
    // That of a reduction of lanes is no place for lanes.
    if (stmt.body.empty() || stmt.kind == Stmt::Kind::kReduceLanes) continue;
    std::optional<Block> body = turned(stmt.body, arrays);
    if (!body) return std::nullopt;
    result.back().body = std::move(*body);
  }
  return result;
}

}  // namespace

std::optional<Kernel> with_lanes_inside(const Kernel& kernel) {
  Kernel result = kernel;
  std::optional<Block> body = turned(kernel.body, result.arrays);
  if (!body) return std::nullopt;
  result.body = std::move(*body);
  return result;
}

}  // namespace tuff::cpu::native
