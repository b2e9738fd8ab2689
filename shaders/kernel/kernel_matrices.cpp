#include <fmt/format.h>

#include "shaders/kernel/kernel_rules.h"
#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

// An operand's tile: `lines` rows of A or columns of B.
std::string pitch_rule(const SubgroupMatrices& m, char operand, bool along_k, int64_t lines,
                       int64_t pitch) {
  int64_t elements = along_k ? m.depth : lines;
  if (elements % m.per_word() == 0 && pitch * m.per_word() >= elements) return "";
  return fmt::format("{} elements of {} do not fit {} words", elements, operand, pitch);
}

std::string array_rule(const Kernel& kernel, uint32_t id, DType dtype, int64_t count) {
  const ArrayDecl& array = kernel.arrays[id];
  if (array.scope != Scope::kShared) return "its array is not shared";
  if (array.dtype != dtype)
    return fmt::format("its array is of {}, not {}", dtype_name(array.dtype), dtype_name(dtype));
  if (array.count >= count) return "";
  return fmt::format("it takes {} elements of an array of {}", count, array.count);
}

std::string multiply_rule(const Kernel& kernel, const Stmt& stmt) {
  const SubgroupMatrices& m = *kernel.matrices;
  if (stmt.arrays.size() != 2) return "it has no two arrays";
  int64_t a_lines = m.a_along_k ? m.tile_rows(kernel.lanes) : m.depth;
  int64_t b_lines = m.b_along_k ? m.tile_columns() : m.depth;
  std::string wrong = array_rule(kernel, stmt.arrays[0], DType::kU32, a_lines * m.a_pitch);
  if (!wrong.empty()) return wrong;
  return array_rule(kernel, stmt.arrays[1], DType::kU32, b_lines * m.b_pitch);
}

std::string store_rule(const Kernel& kernel, const Stmt& stmt) {
  const SubgroupMatrices& m = *kernel.matrices;
  if (stmt.arrays.size() != 1) return "it has no array";
  const Operand& number = stmt.operands[0];
  if (number.kind != Operand::Kind::kImmediate || number.dtype != DType::kI32 ||
      number.bits >= static_cast<uint64_t>(m.held()))
    return fmt::format("its matrix is none of the {} that a subgroup holds", m.held());
  return array_rule(kernel, stmt.arrays[0], m.shape.sum,
                    kernel.lanes / m.subgroup * m.shape.m * m.shape.n);
}

}  // namespace

std::string matrices_rule(const Kernel& kernel) {
  constexpr int64_t kMost = 4096;  // of anything
  if (!kernel.matrices) return "";
  const SubgroupMatrices& m = *kernel.matrices;
  for (int64_t count : {m.shape.m, m.shape.n, m.shape.k, m.subgroup, m.rows, m.columns, m.across,
                        m.depth, m.a_pitch, m.b_pitch})
    if (count < 1 || count > kMost)
      return fmt::format("a size of its matrices ({}) is not in [1, {}]", count, kMost);
  if (kernel.lanes / m.subgroup > kMost) return "it has too many subgroups";
  if (dtype_size(m.shape.element) > 4)
    return fmt::format("matrices of {} do not lie in words", dtype_name(m.shape.element));
  if (kernel.lanes % (m.subgroup * m.across) != 0)
    return fmt::format("{} lanes are no rows of {} subgroups of {}", kernel.lanes, m.across,
                       m.subgroup);
  if (m.depth % m.shape.k != 0)
    return fmt::format("the depth ({}) is no multiple of {}", m.depth, m.shape.k);
  std::string wrong = pitch_rule(m, 'A', m.a_along_k, m.tile_rows(kernel.lanes), m.a_pitch);
  return wrong.empty() ? pitch_rule(m, 'B', m.b_along_k, m.tile_columns(), m.b_pitch) : wrong;
}

std::string matrix_rule(const Kernel& kernel, const Stmt& stmt) {
  if (!is_matrix(stmt.kind)) return "";
  if (!kernel.matrices) return "the kernel has no matrices";
  if (stmt.kind == Stmt::Kind::kMatrixMultiply) return multiply_rule(kernel, stmt);
  if (stmt.kind == Stmt::Kind::kMatrixStore) return store_rule(kernel, stmt);
  return stmt.arrays.empty() ? "" : "it has an array";
}

}  // namespace tuff
