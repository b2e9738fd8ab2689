#include "backend/plan/kernel_in_place.h"

#include <algorithm>
#include <set>

#include "shaders/kernel/kernel_alias.h"
#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

bool uses(const Stmt& stmt, const std::set<uint32_t>& values) {
  return std::any_of(stmt.operands.begin(), stmt.operands.end(), [&](const Operand& operand) {
    return operand.kind == Operand::Kind::kValue && values.count(operand.id) > 0;
  });
}

// True iff what the load at `at` gives ends up in stores under `guard` only.
bool serves_guarded_stores(const Block& body, size_t at, const Operand& guard) {
  std::set<uint32_t> derived = {body[at].result};
  for (size_t i = at + 1; i < body.size(); ++i) {
    const Stmt& stmt = body[i];
    if (!stmt.body.empty()) return false;  // no family computes on it in a loop
    if (!uses(stmt, derived)) continue;
    bool computes = is_pure(stmt.kind);
    bool stores =
        stmt.kind == Stmt::Kind::kStore && stmt.operands.size() > 2 && stmt.operands[2] == guard &&
        !(stmt.operands[0].kind == Operand::Kind::kValue && derived.count(stmt.operands[0].id) > 0);
    if (!computes && !stores) return false;
    if (computes) derived.insert(stmt.result);
  }
  return true;
}

// Lanes at an edge load at a clamped index and store nothing. Where nothing else comes of
// such a load it may as well be guarded as the store is.
void guard_loads(Block& body, uint32_t read, uint32_t written) {
  for (size_t i = 0; i < body.size(); ++i) {
    Stmt& load = body[i];
    if (load.kind != Stmt::Kind::kLoad || load.target != read || load.operands.size() > 1) continue;
    auto store = std::find_if(body.begin() + static_cast<long>(i), body.end(), [&](const Stmt& s) {
      return s.kind == Stmt::Kind::kStore && s.target == written && s.operands.size() > 2 &&
             s.operands[0] == load.operands[0];
    });
    if (store != body.end() && serves_guarded_stores(body, i, store->operands[2]))
      load.operands.insert(load.operands.end(),
                           {store->operands[2], Operand::immediate(load.dtype, 0)});
  }
}

}  // namespace

bool writes_where_it_reads(const Kernel& kernel, uint32_t read, uint32_t written) {
  if (may_share_memory(kernel, read, written)) return true;
  Kernel guarded = kernel;
  for (Stmt& stmt : guarded.body)
    if (stmt.kind == Stmt::Kind::kLane) guard_loads(stmt.body, read, written);
  return may_share_memory(guarded, read, written);
}

}  // namespace tuff
