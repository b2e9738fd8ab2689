// A kernel with its parameters as straight code and loops, for one thread.
//
// Lanes go by as many as a vector has; of the rest all are computed and those that are there
// stored, or with AVX2 they go by four, two and one. What does not depend on memory is computed
// here: extents, indices of the first lanes, guards. Arrays have their place in scratch memory,
// four bytes an element, a bool as ones or zeros.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "backend/cpu/native/known_memory.h"
#include "backend/cpu/native/lane_values.h"
#include "shaders/kernel/kernel.h"

namespace tuff::cpu::native {

// So many bytes behind one of the bases.
struct MemoryPlace {
  int64_t base = 0;
  int64_t offset_bytes = 0;
};

// Whether an instruction holds it.
inline constexpr bool fits_offset(int64_t offset) {
  return offset > -(1 << 30) && offset < (1 << 30);
}

// What is in a place of memory.
struct Element {
  Kind kind = Kind::kFloat;
  Cell cell = Cell::kWord;
};

class KernelCode {
 public:
  // `buffers` by the kernel's numbers; `scratch` is aligned to 64 bytes.
  KernelCode(MachineCode& code, const Kernel& kernel, std::span<const int32_t> params,
             std::span<const MemoryPlace> buffers, MemoryPlace scratch, KnownMemory& memory);

  // All points of the grid; or those from the context's first_point to before its last_point.
  // False: the kernel has something that there is no code for, or is too long; what has been
  // written is then of no use.
  bool write();
  bool write_range();

 private:
  // a + index * size + offset, of one element or of neighbours; or of lanes apart.
  struct Address {
    Reg base = kNone, index = kNone;
    uint8_t scale = 4;
    int64_t offset = 0;
  };

  bool is_writable() const;
  void place_strips();
  bool points(size_t loop);
  void locate_point(Reg point, std::span<const uint32_t> extents);
  bool block(const Block& body);
  bool statement(const Stmt& stmt);
  bool let(const Stmt& stmt, std::optional<LaneValue> value);
  template <typename Body>
  bool repeat(const LaneValue& extent, bool unroll, const Body& body);
  bool lane_loop(const Stmt& stmt);
  template <typename Body>
  bool strips(const LaneValue& extent, size_t statements, bool fills_rows, const Body& body);
  template <typename Run>
  bool known_strips(int64_t count, size_t statements, bool fills_rows, const Run& run);
  template <typename Run>
  bool strips_together(Reg counter, const Run& run);
  template <typename Run>
  bool all_strips_together(Reg last, Reg counter, const Run& run);
  template <typename Run>
  bool masked_strips(const LaneValue& extent, const Run& run);
  template <typename Run>
  bool narrowing_strips(const LaneValue& extent, const Run& run);
  bool repeat_while(const Stmt& stmt);
  bool reduce(const Stmt& stmt);
  bool reduce_level(const Stmt& stmt, int64_t width, bool first);
  std::optional<LaneValue> compute(const Stmt& stmt);
  std::optional<LaneValue> convert(const Stmt& stmt);
  bool load(const Stmt& stmt);
  bool load_word(const Stmt& stmt);
  bool store(const Stmt& stmt);
  bool store_word(const Stmt& stmt);
  bool store_at(uint32_t buffer, const LaneValue& index, const LaneValue& value,
                const std::optional<LaneValue>& guard);

  std::optional<LaneValue> operand(const Operand& operand);
  std::optional<LaneValue> array_index(const ArrayDecl& array, const Operand& index);
  std::optional<LaneValue> read(const Stmt& stmt);
  bool write(const Stmt& stmt);
  void promote_arrays();
  LaneValue read_variable(uint32_t array);
  void write_variable(uint32_t array, const LaneValue& value);
  Reg base_of(const MemoryPlace& place);
  Address address(Reg base, int64_t offset, const LaneValue& index, int64_t size);
  bool neighbours(const LaneValue& index) const;
  bool is_far_apart(const LaneValue& index) const;
  bool is_close(const LaneValue& index) const;
  std::optional<LaneValue> load_from(Reg base, int64_t offset, Element element,
                                     const LaneValue& index);
  std::optional<LaneValue> load_close(Reg base, int64_t offset, Element element,
                                      const LaneValue& index, const LaneValue& wanted);
  std::optional<LaneValue> load_lanes(Reg base, int64_t offset, Element element,
                                      const LaneValue& index,
                                      const std::optional<LaneValue>& wanted);
  LaneValue load_row(Reg base, int64_t offset, Element element, const LaneValue& index,
                     int32_t first, int count);
  std::optional<LaneValue> load_same(const Address& at, Element element);
  std::optional<LaneValue> load_where(Reg base, int64_t offset, Element element,
                                      const LaneValue& index, const LaneValue& guard,
                                      const LaneValue& other);
  std::optional<LaneValue> load_guarded(Reg base, int64_t offset, Element element,
                                        const LaneValue& index, const LaneValue& guard,
                                        const LaneValue& other);
  void store_parts(Address to, Reg value, int64_t count);
  void store_whole(const Address& to, Reg value);
  bool store_to(Reg base, int64_t offset, Cell cell, const LaneValue& index,
                const LaneValue& value);
  void store_one(const Address& to, Cell cell, const LaneValue& value, int lane);
  bool store_lanes(Reg base, int64_t offset, Cell cell, const LaneValue& index,
                   const LaneValue& value, const LaneValue* guard);
  bool store_guarded(Reg base, int64_t offset, Cell cell, const LaneValue& index,
                     const LaneValue& value, const LaneValue& guard);
  LaneValue lane_of(const LaneValue& value, int lane);
  Reg mask_of(const LaneValue& guard);
  void move_vector(Reg out, Reg from);
  // Where no lane's guard, which is `mask`, holds.
  void jump_if_none(const LaneValue& guard, Reg mask, int64_t label);
  // The guard, if any, of the lanes that there are.
  LaneValue within(const LaneValue& guard);

  void emit_memory(Code code, uint8_t lanes, const Address& at, Reg out, Reg value,
                   Cell cell = Cell::kWord);
  // A result as its type holds it.
  std::optional<LaneValue> narrowed(DType dtype, const LaneValue& value);
  Reg rounded_to_bf16(Reg value);
  void jump_if(Condition condition, Reg a, Reg b, int64_t value, int64_t label);
  void set_label(int64_t label);
  // What is known of the memory behind a base is kept from this offset on; of others nothing is.
  std::optional<int64_t> known_space(Reg base) const;
  std::optional<int64_t> lanes_there() const;
  // Neighbours in the first lanes; a single one in all.
  std::optional<LaneValue> known_row(const Address& at, Element element, int64_t count);
  void note_store(Reg base, int64_t offset, int64_t size, const LaneValue& index, LaneValue value);

  bool is_function_ = false;
  bool is_narrow_ = false;  // some buffer is
  int64_t together_ = 1;    // strips that are written one behind the other, see lane_divisions.h
  MachineCode& code_;
  LaneValues lanes_;
  const Kernel& kernel_;
  std::span<const int32_t> params_;
  MemoryPlace scratch_;
  KnownMemory& memory_;
  std::vector<Reg> buffers_;     // where each begins
  std::vector<int64_t> spaces_;  // what is known of each, of a loop's kernel
  std::vector<int64_t> offsets_;
  Reg arrays_ = kNone;
  std::vector<int64_t> array_offsets_;
  // By array: the variable that it is, of one element and lane; kNone for those in memory.
  std::vector<Reg> variables_;
  std::vector<bool> is_loaded_;      // by value: of 16-bit floats
  std::map<Reg, Reg> rounded_from_;  // what was rounded to f16; a store rounds, too
  std::vector<std::optional<LaneValue>> values_;
  LaneValue lane_;  // the number of the current lanes
  // Which of the current lanes there are, where not all are.
  std::optional<LaneValue> active_;
  bool are_last_ = false;  // the current lanes, of a loop over them whose code is elsewhere
};

// What the arrays of a kernel take.
int64_t scratch_bytes(const Kernel& kernel);
Cell cell_of(DType dtype);
inline bool is_narrow(DType dtype) { return dtype != DType::kBool && dtype_size(dtype) < 4; }

}  // namespace tuff::cpu::native
