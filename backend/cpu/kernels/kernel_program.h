// A Kernel made ready for the CPU: one flat list of instructions over slots.
//
// A slot is a value. Outside lane loops it is uniform: one element. Inside, its
// form is found at run time, per block of lanes: uniform, affine in the lane
// (i32 and i64: base + stride * lane) or one element per lane. Index arithmetic
// stays affine as long as it can. Loads and stores then know at once that they are
// contiguous, strided or one element. Guards that hold for the whole block cost
// nothing, and a quotient that does not change within the block is uniform.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/cpu/lanes/lane_table.h"
#include "shaders/kernel/kernel.h"

namespace tuff::cpu {

// Lanes handled per instruction. Larger lane loops run in blocks of this size:
// enough to amortise dispatching an instruction, few enough for a kernel's live
// values to stay in the first-level cache.
inline constexpr int64_t kMaxBlock = 512;

struct Instr {
  enum class Code : uint8_t {
    kLoopBegin,   // slot out = 0; past `jump` if in[0] <= 0
    kLoopEnd,     // ++slot of the begin at `jump`; back to its body while < extent
    kWhileBegin,  // past `jump` if element 0 of array `target` is false
    kWhileEnd,    // to the begin at `jump`
    kLaneBegin,   // as loops, over blocks of lanes
    kLaneEnd,
    kScalarAdd,  // i32 on uniform values: most index arithmetic of inner loops
    kScalarSubtract,
    kScalarMultiply,
    kScalarLoad,  // of one element, without a guard
    kCompute,
    kConvert,
    kCopy,  // out = in[0], bits unchanged: bitcast
    kLoad,
    kStore,
    kRead,
    kWrite,
    kReduce,  // runs the instructions up to `jump` once per level of the tree
    kReduceEnd,
    kEnd,
  };
  Code code = Code::kEnd;
  Op op = Op::kAdd;
  DType dtype = DType::kI32;     // of the result; of the element for stores and writes
  DType in_dtype = DType::kI32;  // compute: what the body computes in; convert: from
  uint8_t arity = 0;             // operands present
  uint8_t size = 4;              // bytes of an element of dtype
  bool affine = false;           // kCompute: may stay affine or fold (see fold_affine)
  // kLoad, kRead: the value is used after something that may overwrite its source,
  // so it is copied at once instead of being read in place.
  bool copy = false;
  // kCompute, kConvert: the next instruction stores or writes the result and is its
  // only user, so the result may be made in its destination.
  bool forward = false;
  uint32_t out = 0;                  // slot
  uint32_t in[3] = {};               // slots
  uint32_t target = 0;               // buffer, array, or index in `reductions`
  uint32_t jump = 0;                 // the other end of a loop
  int64_t block = kMaxBlock;         // kLaneBegin: lanes per block
  const LaneFn* variants = nullptr;  // kCompute: by which operands are single
  LaneFn convert = nullptr;
};

// Where the parts of one kReduce live.
struct Reduction {
  std::vector<uint32_t> arrays, results, lhs, rhs, outputs;
  std::vector<int64_t> scratch_offsets;  // bytes, per array: a copy the tree folds in
  // Set where the body is one op of the two sides of one array: no need to interpret.
  LaneFn combine = nullptr;
};

struct SlotInfo {
  DType dtype = DType::kI32;
  int64_t memory_offset = -1;  // of the lanes in the thread's scratch; -1: always uniform
  int64_t initial = 0;         // bits, for immediates
};

struct ArrayInfo {
  ArrayDecl decl;
  int64_t offset = 0;  // in the thread's scratch
  int64_t row = 1;     // elements from one index to the next: the lanes, or 1 if shared
  int64_t size = 4;    // bytes of an element
};

struct KernelProgram {
  std::string family;
  std::vector<Instr> code;
  std::vector<SlotInfo> slots;  // values, then parameters, then immediates
  uint32_t first_param = 0;
  uint32_t num_params = 0;
  std::vector<ArrayInfo> arrays;
  std::vector<Reduction> reductions;
  std::vector<BufferDecl> buffers;
  std::vector<uint32_t> grid_vars, grid_extents;  // slots, outermost first
  int64_t lanes = 1;
  int64_t spread_offset = 0;  // three lane arrays: operands spread for a call
  int64_t scratch_bytes = 0;  // per thread
  const LaneTable* table = nullptr;
};

// Errors: kUnsupported naming an op that is not defined for its element type.
// The kernel must satisfy verify_kernel.
Result<KernelProgram> prepare_kernel(const Kernel& kernel, const LaneTable& table);

}  // namespace tuff::cpu
