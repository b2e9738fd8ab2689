#include "shaders/kernel/kernel_alias.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

bool is_load(const Stmt& stmt) {
  return stmt.kind == Stmt::Kind::kLoad || stmt.kind == Stmt::Kind::kLoadWord;
}
bool is_store(const Stmt& stmt) {
  return stmt.kind == Stmt::Kind::kStore || stmt.kind == Stmt::Kind::kStoreWord;
}

bool touches(const Stmt& stmt, uint32_t a, uint32_t b) {
  return (is_load(stmt) || is_store(stmt)) && (stmt.target == a || stmt.target == b);
}

bool contains_touch(const Stmt& stmt, uint32_t a, uint32_t b) {
  bool found = touches(stmt, a, b);
  for_each_stmt(stmt.body, [&](const Stmt& inner) { found |= touches(inner, a, b); });
  return found;
}

// A load or store that runs once per lane, by its place in the order of statements.
struct OrderedAccess {
  size_t at;
  const Stmt* stmt;
};

struct Accesses {
  std::vector<OrderedAccess> loads, stores;
};

bool is_one(const Operand& extent) {
  return extent.kind == Operand::Kind::kImmediate && extent.bits == 1;
}

// What one lane does to the two buffers, in order; nothing where an access stands in a
// loop, which may come back to it. Accesses outside of lane loops are every lane's.
std::optional<Accesses> accesses_of_a_lane(const Kernel& kernel, uint32_t read, uint32_t written,
                                           bool one_lane) {
  Accesses found;
  size_t at = 0;
  auto note = [&](const Stmt& stmt) {
    ++at;
    if (touches(stmt, read, written))
      (is_load(stmt) ? found.loads : found.stores).push_back({at, &stmt});
  };
  int lane_loops = 0;
  for (const Stmt& stmt : kernel.body) {
    if (!contains_touch(stmt, read, written)) continue;
    if (stmt.kind != Stmt::Kind::kLane) {
      if (!one_lane || !stmt.body.empty()) return std::nullopt;
      note(stmt);
      continue;
    }
    if (++lane_loops > 1 && !one_lane) return std::nullopt;
    for (const Stmt& inner : stmt.body) {
      if (!inner.body.empty() && contains_touch(inner, read, written)) return std::nullopt;
      note(inner);
    }
  }
  return found;
}

// The kernel is one lane of one workgroup.
bool runs_once(const Kernel& kernel) {
  return std::all_of(kernel.grid.begin(), kernel.grid.end(),
                     [](const GridLoop& loop) { return is_one(loop.extent); }) &&
         std::all_of(kernel.body.begin(), kernel.body.end(), [](const Stmt& stmt) {
           return stmt.kind != Stmt::Kind::kLane || is_one(stmt.operands[0]);
         });
}

// The lane stores at the element it loads, and does so afterwards. Every element is stored
// once at most, so no other lane and no other store touches it.
bool replaces_what_it_loads(const Stmt& load, const Stmt& store) {
  // A lane that stores nowhere may stand at an element that is another lane's.
  size_t values = store.kind == Stmt::Kind::kStore ? 1 : load.results.size();
  bool same_guard = store.operands.size() < 2 + values ||
                    (load.operands.size() > 1 && load.operands[1] == store.operands[1 + values]);
  return load.operands[0] == store.operands[0] && same_guard;
}

}  // namespace

bool may_share_memory(const Kernel& kernel, uint32_t read, uint32_t written) {
  if (kernel.buffers[read].dtype != kernel.buffers[written].dtype) return false;
  // Else a lane reads what others may store.
  if (kernel.buffers[read].per_word != kernel.buffers[written].per_word) return false;
  if (kernel.buffers[read].access != Access::kRead ||
      kernel.buffers[written].access != Access::kWrite)
    return false;
  bool one_lane = runs_once(kernel);
  std::optional<Accesses> lane = accesses_of_a_lane(kernel, read, written, one_lane);
  if (!lane) return false;
  return std::all_of(lane->loads.begin(), lane->loads.end(), [&](const OrderedAccess& load) {
    auto later = [&](const OrderedAccess& store) {
      return store.at > load.at && replaces_what_it_loads(*load.stmt, *store.stmt);
    };
    auto too_early = [&](const OrderedAccess& store) {
      return store.at < load.at && (one_lane || store.stmt->operands[0] == load.stmt->operands[0]);
    };
    const auto& stores = lane->stores;
    return (one_lane || std::any_of(stores.begin(), stores.end(), later)) &&
           std::none_of(stores.begin(), stores.end(), too_early);
  });
}

}  // namespace tuff
