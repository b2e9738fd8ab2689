// Runs a KernelProgram at one grid point after another: one thread's part.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "backend/cpu/kernels/kernel_program.h"
#include "backend/cpu/kernels/slot.h"
#include "backend/cpu/lanes/lane_tiles.h"

namespace tuff::cpu {

// Memory bound to one buffer of a kernel.
struct BufferView {
  std::byte* data = nullptr;
  int64_t size_bytes = 0;
};

class LaneInterpreter {
 public:
  // Slots of at least slot_bytes(program), scratch of program.scratch_bytes, 64-byte aligned. With
  // `checked`, every index is compared with the size of what it indexes; the first one out of
  // range stops the run and is told by error().
  LaneInterpreter(const KernelProgram& program, std::span<const int32_t> params,
                  std::span<const BufferView> buffers, std::byte* slots, std::byte* scratch,
                  bool checked);

  static size_t slot_bytes(const KernelProgram& program);

  // Points [first, last), numbered with the innermost grid loop fastest; stops at an error.
  void run_points(int64_t first, int64_t last);
  // Goes on with other memory of the same sizes.
  void rebind(std::span<const BufferView> buffers) {
    buffers_ = buffers;
    tiles_.forget();
    tileable_.reset();
  }
  const std::string& error() const { return error_; }

 private:
  void set_point(int64_t point);
  void next_point();
  void run(uint32_t pc);
  void begin_block(const Instr& begin);
  uint32_t end_block(const Instr& end, uint32_t pc);
  void reduce(const Instr& begin, uint32_t pc);
  void reduce_step(const Reduction& reduction, uint32_t pc, int64_t at, int64_t half);

  // These return how many instructions they completed: 2 where the result was made
  // in the next one's destination.
  uint32_t compute(const Instr& instr);
  uint32_t convert(const Instr& instr);
  void compute_uniform(const Instr& instr, Slot& out);
  void copy(const Instr& instr);
  void copy_form(Slot& out, const Slot& from);

  void load_scalar(const Instr& instr);
  void load(const Instr& instr);
  const std::byte* load_from_tile(const Instr& instr, const Slot& index);
  void load_guarded(const Instr& instr, const Slot& guard);
  void store(const Instr& instr);
  void store_guarded(const Instr& instr, const Slot& guard);
  void store_lanes(std::byte* to, DType dtype, const Slot& index, const Slot& value);
  void read(const Instr& instr);
  void write(const Instr& instr);

  // Where `next`, a store or a write, would put n contiguous lanes; null if it is
  // not so simple.
  std::byte* direct_target(const Instr& next);
  std::byte* destination(const Instr& instr, Slot& out, uint32_t* completed);
  // The lanes of a slot as an array; `k` picks the array for spreading uniform ones.
  const std::byte* lanes_of(Slot& slot, int k);
  // An index as lanes of i32 or i64.
  const std::byte* index_lanes(Slot& index, bool* wide);
  const MoveFns& moves_of(int64_t size) const;
  std::byte* array_row(const ArrayInfo& array, int64_t row);

  // Checked runs only. `count` elements may be indexed; lanes where guard is false
  // do not count.
  bool in_range(const Slot& index, const uint8_t* guard, int64_t count, const char* what,
                uint32_t id);
  bool report(const char* what, uint32_t id, int64_t index, int64_t count);
  int64_t elements(const Instr& instr) const;

  int64_t base(uint32_t slot) const { return slots_[slot].base; }

  const KernelProgram& program_;
  const Instr* code_;
  Slot* slots_;
  std::byte* scratch_;
  std::span<const BufferView> buffers_;
  int64_t n_ = 1;      // lanes of the current block
  int64_t lane0_ = 0;  // its first lane
  bool checked_;
  LoadTiles tiles_;
  // Bit b: buffer b is read only, and its memory is no other one's. Found once it is asked for.
  std::optional<uint64_t> tileable_;
  std::string error_;
};

}  // namespace tuff::cpu
