// Between lowering and memory: instructions over slots. A slot is memory for one
// value at a time. Values of different blocks share a slot where nothing has to
// happen in between (a loop's invariants, what a branch is given). Where a value
// moves from one slot to another (into a loop's carry, out of a branch) there is a
// copy. `coalesce` then takes it away where the two slots can be one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/plan/assemble.h"
#include "backend/program.h"

namespace tuff {

struct Slot {
  int64_t size_bytes = 0;      // > 0, also for empty tensors: no binding is empty
  bool empty = false;          // true iff its tensor has no elements: it is never copied
  std::optional<Range> fixed;  // arguments, constants and outputs; others get arena
  std::string owner;           // for people: whose value it is
  bool writable() const {
    return !fixed || fixed->space == Range::Space::kOutput || fixed->space == Range::Space::kArena;
  }
};

struct Instr;
using Code = std::vector<Instr>;

struct Instr {
  enum class Kind : uint8_t { kGroup, kHost, kCopy, kWhile, kCase };
  Kind kind = Kind::kGroup;
  const Graph* graph = nullptr;              // the graph of `item`
  const LoweredBlock::Item* item = nullptr;  // all but copies
  std::vector<uint32_t> operands;            // slots, by operand of the node; kCopy: the source
  std::vector<uint32_t> results;             // slots, by result of the node; kCopy: the target
  std::optional<uint32_t> scratch;

  // Slots it reads and writes at `at`. kWhile: reads the predicate, at ends[0] (none with
  // a trip count); `writes` are the carries, which copies in and before it write.
  std::vector<uint32_t> reads, writes;
  std::vector<Code> blocks;  // kWhile: condition, body; kCase: branches, by index
  std::optional<int64_t> trip_count;

  // Positions in one count over the whole program, blocks included: at < those of
  // blocks[0] < ends[0] < those of blocks[1] < ends[1] ... A branch begins right after
  // the previous one's end.
  int64_t at = 0;
  std::vector<int64_t> ends;
};

struct SlotProgram {
  std::vector<Slot> slots;
  Code code;
  int64_t positions = 0;  // `at` and `ends` are below
};

// Calls visit(instr) on every instruction, one before those of its blocks.
template <typename AnyCode, typename Visit>
void for_each_instr(AnyCode& code, Visit&& visit) {
  for (auto& instr : code) {
    visit(instr);
    for (auto& block : instr.blocks) for_each_instr(block, visit);
  }
}

// The code of a lowered graph. Adds its arguments, outputs and constants to `program`.
SlotProgram make_slot_code(const LoweredGraph& lowered, const Caps& caps, Program& program);

// When each slot holds a value that is still read: ranges of positions, both ends
// included, in order and apart from each other. A slot written at p and read last at
// q has [p, q]; one that a loop carries has a hole between the last read of the old
// value and the write of the new one.
struct LiveRange {
  int64_t first = 0, last = 0;
  bool operator==(const LiveRange&) const = default;
};
std::vector<std::vector<LiveRange>> find_live_ranges(const SlotProgram& program);

struct Coalesced {
  std::vector<uint32_t> homes;      // by slot: the slot that stands for it
  std::vector<Donation> donations;  // of the graph
};
// Gives slots one home where no value is lost by it: those that a copy joins, and a group's
// result with an operand that dies. Large temporaries share with an output that is at least as
// large and written later. `ranges` become those of the homes.
Coalesced coalesce(const SlotProgram& program, const LoweredGraph& lowered,
                   std::vector<std::vector<LiveRange>>& ranges);

}  // namespace tuff
