// Kernel: one fused group as loops, loads and stores. No tensors, no shapes, no
// device. One description serves every target:
//   * the GLSL printer makes a workgroup of each grid point and an invocation of
//     each lane; it erases lane loops and puts a barrier between two lane loops
//     that touch the same shared array;
//   * the CPU runs grid points in parallel and each lane loop block-wise.
// Names are canonical (values, parameters and buffers numbered in order of
// appearance), so equal work has equal text, and the text is the cache key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/caps.h"
#include "ir/op.h"
#include "ir/type.h"

namespace tuff {

// A use of a value: an SSA value (loop variable or let), a size parameter of the
// dispatch (always i32), or an immediate.
struct Operand {
  enum class Kind : uint8_t { kValue, kParam, kImmediate };
  Kind kind = Kind::kImmediate;
  DType dtype = DType::kI32;
  uint32_t id = 0;    // kValue: value number; kParam: parameter number
  uint64_t bits = 0;  // kImmediate: little-endian bits of one element of dtype
  bool operator==(const Operand&) const = default;

  static Operand value(uint32_t id, DType dtype) { return {Kind::kValue, dtype, id, 0}; }
  static Operand param(uint32_t id) { return {Kind::kParam, DType::kI32, id, 0}; }
  static Operand i32(int64_t v) {
    return {Kind::kImmediate, DType::kI32, 0, static_cast<uint32_t>(static_cast<int32_t>(v))};
  }
  static Operand boolean(bool v) { return {Kind::kImmediate, DType::kBool, 0, v ? 1u : 0u}; }
  static Operand immediate(DType dtype, uint64_t bits) {
    return {Kind::kImmediate, dtype, 0, bits};
  }
};

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

// A tensor in memory, bound at dispatch. Indices are in elements.
struct BufferDecl {
  DType dtype = DType::kF32;
  Access access = Access::kRead;
  // Reached by device address, not by descriptor: tensors above
  // maxStorageBufferRange. The dispatch passes the address.
  bool by_address = false;
  // Read and written as words of so many neighbouring elements, 4, 8 or 16 bytes each
  // (kLoadWord or kStoreWord only).
  int64_t per_word = 1;
  // The kernel may write to the same memory as another of its buffers; a barrier stands between.
  bool aliased = false;
};

enum class Scope : uint8_t { kRegister, kShared };

// A small array: per lane (register) or per workgroup (shared). Contents are
// undefined until written.
struct ArrayDecl {
  Scope scope = Scope::kRegister;
  DType dtype = DType::kF32;
  int64_t count = 1;
};

// Sums of a tile of a matrix product that the subgroups of a workgroup hold as matrices of
// shape.m x shape.n (cooperative matrices), which no lane can look into. Operands come from, and
// sums go to, shared arrays: those of the operands are words of 32 bits, 4 / size neighbouring
// elements in each.
struct SubgroupMatrices {
  MatrixShape shape;
  int64_t subgroup = 32;  // lanes of one; the kernel's are a multiple
  // Each subgroup holds rows x columns matrices; `across` subgroups stand side by side, the
  // others below them.
  int64_t rows = 1, columns = 1, across = 1;
  int64_t depth = 16;  // steps of k in a tile of the operands
  // An operand's tile stands row by row of A (column by column of B), its steps side by side; or
  // else step by step. So many words from one to the next.
  bool a_along_k = true, b_along_k = true;
  int64_t a_pitch = 8, b_pitch = 8;

  int64_t held() const { return rows * columns; }
  int64_t per_word() const { return 4 / dtype_size(shape.element); }
  int64_t tile_rows(int64_t lanes) const { return lanes / subgroup / across * rows * shape.m; }
  int64_t tile_columns() const { return across * columns * shape.n; }
  bool operator==(const SubgroupMatrices&) const = default;
};

struct Stmt;
using Block = std::vector<Stmt>;

// One statement. Fields not named for its kind are empty.
struct Stmt {
  enum class Kind : uint8_t {
    kSerial,       // for (result = 0; result < operands[0]; ++result) body
    kUnroll,       // the same, operands[0] is an immediate and the body is repeated
    kLane,         // for each lane result < operands[0] <= Kernel::lanes: body. Lanes are
                   // independent within the body; lane loops do not nest.
    kWhile,        // as long as the register array `target` holds true in its element 0: body.
                   // Inside the lane loop of a single lane.
    kCompute,      // result = op(operands); op is a plain elementwise row of op.def
    kConvert,      // result = convert(operands[0]) to dtype, by StableHLO's convert
    kBitcast,      // result = the bits of operands[0] as dtype (equal widths)
    kPack,         // result = the bits of two operands of 32 bits as one ui64, the first one's low
    kLoad,         // result = buffer[operands[0]], or operands[2] where operands[1] (i1) is
                   // false; operands 1 and 2 are absent when the load needs no guard
    kLoadWord,     // results[i] = element i of word operands[0] of the buffer, or 0 where
                   // operands[1] (i1, optional) is false
    kStore,        // buffer[operands[0]] = operands[1], only where operands[2] (i1, optional)
    kStoreWord,    // word operands[0] of the buffer = the elements operands[1] ... operands[n] of
                   // a word, only where operands[n + 1] (i1, optional)
    kRead,         // result = array[operands[0]]
    kWrite,        // array[operands[0]] = operands[1]
    kReduceLanes,  // between lane loops: folds register arrays[i][0] of all lanes into one
                   // value results[i], known to every lane. `body` combines: its inputs are
                   // values lhs[i] and rhs[i], its outputs operands[i]. The combiner is
                   // associative and commutative; the tree is fixed by the lane count. Where
                   // `target` is not 0, only the first so many lanes' are folded.
    // Between lane loops, of a kernel with matrices; subgroups do it, each with its own.
    kMatrixClear,     // all sums = 0
    kMatrixMultiply,  // sums += tile of A in arrays[0] times tile of B in arrays[1]
    kMatrixStore,     // arrays[0] = matrix number operands[0] (an immediate) of each subgroup, in
                      // their order, row by row
    // Between lane loops, of a kernel that runs the steps of a loop, or after others.
    kBarrier,      // all lanes come here, and see what any has stored to buffers
    kIf,           // where operands[0] (i1) is true: body
    kBreakUnless,  // leaves the innermost serial loop where operands[0] (i1) is false
  };
  Kind kind = Kind::kCompute;
  Op op = Op::kAdd;           // kCompute
  DType dtype = DType::kI32;  // type of the result
  uint32_t result = 0;        // value number: let result or loop variable (i32)
  // Buffer (kLoad*, kStore*), array (kRead, kWrite, kWhile) or lanes (kReduceLanes).
  uint32_t target = 0;
  std::vector<Operand> operands;
  std::vector<uint32_t> arrays;    // kReduceLanes, kMatrix*
  std::vector<uint32_t> results;   // kReduceLanes, kLoadWord
  std::vector<uint32_t> lhs, rhs;  // kReduceLanes
  Block body;
};

// The workgroup grid: one loop, outermost first; points are independent.
struct GridLoop {
  uint32_t var = 0;  // value number, i32
  Operand extent;    // parameter or immediate
};

// Invariants (verify_kernel):
//   * values are defined once and before use; one defined in a loop is used only inside it;
//   * lane loops stand under serial or unroll loops and kIf only;
//   * kReduceLanes, kMatrix*, loads and lets outside lane loops are uniform over lanes, and so
//     are the conditions of kIf and kBreakUnless;
//   * arrays of register scope are accessed, and stores stand, inside lane loops;
//   * every index is in range or guarded;
//   * with unrolled loops written out there are at most 2^20 statements.
struct Kernel {
  std::string family;  // "map", "rows", "matmul" ...: for people and profiles
  std::vector<BufferDecl> buffers;
  std::vector<ArrayDecl> arrays;
  uint32_t num_params = 0;  // int32 parameters of a dispatch
  uint32_t num_values = 0;
  int64_t lanes = 1;  // invocations per workgroup
  std::optional<SubgroupMatrices> matrices;
  std::vector<GridLoop> grid;
  Block body;
};

// Checks the invariants above; the message prints the offending statement.
Status verify_kernel(const Kernel& kernel);

}  // namespace tuff
