#include "shaders/kernel/renumber.h"

#include <algorithm>
#include <map>
#include <set>

#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

void count_uses(const Block& block, std::map<uint32_t, int>& uses) {
  for (const Stmt& stmt : block) {
    for (const Operand& o : stmt.operands)
      if (o.kind == Operand::Kind::kValue) ++uses[o.id];
    count_uses(stmt.body, uses);
  }
}

bool is_unused(const Stmt& stmt, std::map<uint32_t, int>& uses) {
  if (stmt.kind == Stmt::Kind::kLoadWord)
    return std::all_of(stmt.results.begin(), stmt.results.end(),
                       [&](uint32_t id) { return uses[id] == 0; });
  return is_let(stmt.kind) && uses[stmt.result] == 0;
}

// Backwards, so that a let used only by a dropped let goes too.
void drop_unused(Block& block, std::map<uint32_t, int>& uses) {
  Block kept;
  for (size_t i = block.size(); i-- > 0;) {
    Stmt& stmt = block[i];
    if (is_unused(stmt, uses)) {
      for (const Operand& o : stmt.operands)
        if (o.kind == Operand::Kind::kValue) --uses[o.id];
      continue;
    }
    drop_unused(stmt.body, uses);
    kept.push_back(std::move(stmt));
  }
  block.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

class Renumberer {
 public:
  explicit Renumberer(const std::vector<int32_t>& params) : params_(params) {}

  void visit(Kernel& kernel) {
    for (GridLoop& loop : kernel.grid) {
      loop.var = define(loop.var);
      use(loop.extent);
    }
    visit(kernel.body);
    kernel.num_values = next_value_;
    kernel.num_params = static_cast<uint32_t>(new_params.size());
  }

  std::vector<int32_t> new_params;

 private:
  uint32_t define(uint32_t id) { return values_[id] = next_value_++; }

  void use(Operand& o) {
    if (o.kind == Operand::Kind::kValue) o.id = values_.at(o.id);
    if (o.kind != Operand::Kind::kParam) return;
    auto [it, fresh] = param_ids_.try_emplace(o.id, static_cast<uint32_t>(new_params.size()));
    if (fresh) new_params.push_back(params_[o.id]);
    o.id = it->second;
  }

  void visit(Block& block) {
    for (Stmt& stmt : block) {
      if (stmt.kind == Stmt::Kind::kReduceLanes) {
        for (uint32_t& v : stmt.lhs) v = define(v);
        for (uint32_t& v : stmt.rhs) v = define(v);
        visit(stmt.body);
        for (Operand& o : stmt.operands) use(o);
        for (uint32_t& v : stmt.results) v = define(v);
        continue;
      }
      for (Operand& o : stmt.operands) use(o);
      bool defines = is_let(stmt.kind) || is_loop(stmt.kind);
      if (defines) stmt.result = define(stmt.result);
      for (uint32_t& v : stmt.results) v = define(v);
      visit(stmt.body);
    }
  }

  const std::vector<int32_t>& params_;
  std::map<uint32_t, uint32_t> values_, param_ids_;
  uint32_t next_value_ = 0;
};

}  // namespace

std::vector<int32_t> renumber(Kernel& kernel, const std::vector<int32_t>& params) {
  std::map<uint32_t, int> uses;
  count_uses(kernel.body, uses);
  drop_unused(kernel.body, uses);
  Renumberer r(params);
  r.visit(kernel);
  return std::move(r.new_params);
}

}  // namespace tuff
