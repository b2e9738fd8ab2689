#include "shaders/emit/emit_glsl_shuffle.h"

#include <algorithm>

#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

bool is_access(const Stmt& stmt) {
  return stmt.kind == Stmt::Kind::kRead || stmt.kind == Stmt::Kind::kWrite;
}

bool can_shuffle(DType dtype) { return dtype_size(dtype) <= 4; }

std::set<uint32_t> find_arrays(const Kernel& kernel) {
  std::set<uint32_t> found;
  for (uint32_t i = 0; i < kernel.arrays.size(); ++i) {
    const ArrayDecl& array = kernel.arrays[i];
    if (array.scope == Scope::kShared && array.count == kernel.lanes && can_shuffle(array.dtype))
      found.insert(i);
  }
  // Accesses that every lane makes at once: statements of a full lane loop itself. (Those
  // of a serial loop inside it may be made by some lanes more often than by others.)
  std::set<const Stmt*> together;
  for_each_stmt(kernel.body, [&](const Stmt& loop) {
    if (loop.kind != Stmt::Kind::kLane || !(loop.operands[0] == Operand::i32(kernel.lanes))) return;
    for (const Stmt& stmt : loop.body)
      if (stmt.kind == Stmt::Kind::kRead ||
          (stmt.kind == Stmt::Kind::kWrite &&
           stmt.operands[0] == Operand::value(loop.result, DType::kI32)))
        together.insert(&stmt);
  });
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    if (is_access(stmt) && !together.contains(&stmt)) found.erase(stmt.target);
    if (is_matrix(stmt.kind))
      for (uint32_t id : stmt.arrays) found.erase(id);
  });
  return found;
}

}  // namespace

Shuffles find_shuffles(const Kernel& kernel, const Caps& caps) {
  if (!caps.subgroup_shuffle || kernel.lanes == 1) return {};
  bool whole = kernel.lanes == caps.subgroup_size;
  bool several =
      is_gpu(caps) && kernel.lanes > caps.subgroup_size && kernel.lanes % caps.subgroup_size == 0;
  if (!whole && !several) return {};
  Shuffles found;
  if (whole) found.arrays = find_arrays(kernel);
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    if (stmt.kind == Stmt::Kind::kReduceLanes &&
        reduced_lanes(kernel, stmt) % caps.subgroup_size == 0 &&
        std::all_of(stmt.arrays.begin(), stmt.arrays.end(),
                    [&](uint32_t id) { return can_shuffle(kernel.arrays[id].dtype); }))
      (whole ? found.reduces : found.in_subgroups).insert(&stmt);
  });
  return found;
}

}  // namespace tuff
