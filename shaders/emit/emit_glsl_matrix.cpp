#include "shaders/emit/emit_glsl_matrix.h"

#include <fmt/format.h>

#include "shaders/emit/emit_glsl_body.h"

namespace tuff {

namespace {

// Numbers of SPIR-V and its extension SPV_KHR_cooperative_matrix.
constexpr int kCapabilityFloat16 = 9, kCapabilityInt8 = 39;
constexpr int kAllSigned = 0xf;  // cooperative matrix operands: A, B, C and the result
constexpr int kByRows = 0, kByColumns = 1;

uint32_t component(DType dtype) {
  auto bits = static_cast<uint32_t>(8 * dtype_size(dtype));
  return is_float(dtype) ? bits : bits + kGlslSignedComponent;
}

}  // namespace

// Numbers that are to be constants of the module have names; the compiler leaves literals as
// they are.
std::string glsl_matrix_declarations(const SubgroupMatrices& matrices) {
  const MatrixShape& shape = matrices.shape;
  bool floats = is_float(shape.element);
  return fmt::format(
      R"(const uint kSubgroup = 3, kM = {m}, kN = {n}, kK = {k}, kA = 0, kB = 1, kSums = 2;
#define SPV extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, {capability}]
#define MatrixA spirv_type(SPV, id = 4456, {element}, kSubgroup, kM, kK, kA)
#define MatrixB spirv_type(SPV, id = 4456, {element}, kSubgroup, kK, kN, kB)
#define MatrixSums spirv_type(SPV, id = 4456, {sum}, kSubgroup, kM, kN, kSums)
spirv_instruction(SPV, id = 4457) MatrixA load_a(spirv_by_reference uint at, int order, int pitch);
spirv_instruction(SPV, id = 4457) MatrixB load_b(spirv_by_reference uint at, int order, int pitch);
spirv_instruction(SPV, id = 4458) void store_sums(spirv_by_reference {type} at, MatrixSums sums, int order, int pitch);
spirv_instruction(SPV, id = 4459) MatrixSums multiply_add(MatrixA a, MatrixB b, MatrixSums sums{signs});
spirv_instruction(SPV, id = 80) MatrixSums all_sums({type} value);
)",
      fmt::arg("m", shape.m), fmt::arg("n", shape.n), fmt::arg("k", shape.k),
      fmt::arg("capability", floats ? kCapabilityFloat16 : kCapabilityInt8),
      fmt::arg("element", component(shape.element)), fmt::arg("sum", component(shape.sum)),
      fmt::arg("type", glsl_type(shape.sum, {})),
      fmt::arg("signs", floats ? "" : ", spirv_literal int signs"));
}

// Where the subgroup's matrices begin in the workgroup's tile.
void GlslBody::declare_matrices() {
  const SubgroupMatrices& m = *kernel_.matrices;
  line(fmt::format("int matrix_row = int(gl_SubgroupID) / {} * {};", m.across, m.rows * m.shape.m));
  line(fmt::format("int matrix_column = int(gl_SubgroupID) % {} * {};", m.across,
                   m.columns * m.shape.n));
  for (int64_t i = 0; i < m.held(); ++i) line(fmt::format("MatrixSums m{};", i));
}

void GlslBody::matrix_clear() {
  const char* zero = is_float(kernel_.matrices->shape.sum) ? "0.0" : "0";
  for (int64_t i = 0; i < kernel_.matrices->held(); ++i)
    line(fmt::format("m{} = all_sums({});", i, zero));
}

void GlslBody::matrix_multiply(const Stmt& stmt) {
  const SubgroupMatrices& m = *kernel_.matrices;
  // A matrix of an operand: `first` is its first line's name in the tile, `by` lines on.
  auto load = [&](char use, uint32_t array, const char* first, int64_t by, int64_t step,
                  bool along_k, int64_t pitch) {
    std::string line_number = by == 0 ? first : fmt::format("({} + {})", first, by);
    std::string at = along_k ? fmt::format("{} * {} + {}", line_number, pitch, step / m.per_word())
                             : fmt::format("{} + {} / {}", step * pitch, line_number, m.per_word());
    bool by_rows = along_k == (use == 'a');
    return fmt::format("load_{}(s{}[{}], {}, {})", use, array, at, by_rows ? kByRows : kByColumns,
                       pitch);
  };
  std::string signs = is_float(m.shape.element) ? "" : fmt::format(", {}", kAllSigned);
  for (int64_t step = 0; step < m.depth; step += m.shape.k) {
    line("{");
    ++depth_;
    for (int64_t i = 0; i < m.rows; ++i)
      line(fmt::format(
          "MatrixA left{} = {};", i,
          load('a', stmt.arrays[0], "matrix_row", i * m.shape.m, step, m.a_along_k, m.a_pitch)));
    for (int64_t j = 0; j < m.columns; ++j) {
      line(fmt::format(
          "MatrixB right{} = {};", j,
          load('b', stmt.arrays[1], "matrix_column", j * m.shape.n, step, m.b_along_k, m.b_pitch)));
      for (int64_t i = 0; i < m.rows; ++i)
        line(fmt::format("m{0} = multiply_add(left{1}, right{2}, m{0}{3});", i * m.columns + j, i,
                         j, signs));
    }
    --depth_;
    line("}");
  }
}

void GlslBody::matrix_store(const Stmt& stmt) {
  const MatrixShape& shape = kernel_.matrices->shape;
  line(fmt::format("store_sums(s{}[int(gl_SubgroupID) * {}], m{}, {}, {});", stmt.arrays[0],
                   shape.m * shape.n, stmt.operands[0].bits, kByRows, shape.n));
}

}  // namespace tuff
