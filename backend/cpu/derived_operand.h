// Operands derived from others: packed weights, their bf16 parts, transformed filters. A copy is
// kept with the version of what it was made of. All have one owner, which has a budget: where there
// is no room for a copy, a call does the same work while it loads the operand.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/machine_memory.h"
#include "backend/device.h"

namespace tuff::cpu {

// What copies there are.
enum class DerivedKind : uint8_t {
  kPanels,           // panels of columns
  kBf16Parts,        // three bf16 for each f32
  kWinogradFilters,  // transformed windows
  kWindowTaps,       // windows, a row of channels for each of their elements
  kScaledWeights,    // weights times factors
  kBytePanels,       // panels of columns of bytes, and their sums
  kLibraryLayout     // what oneDNN likes best
};
inline constexpr int kNumDerivedKinds = 7;
using DerivedBytes = std::array<int64_t, kNumDerivedKinds>;

// Those that are not 0.
PackedList packed_list(const DerivedBytes& bytes);

class DerivedOperand;

// Outlives its operands. Thread safe.
class DerivedOwner {
 public:
  // limit_bytes: of all copies together; none: what the machine has free, less what it is to have
  // left. `machine` tells what it has.
  explicit DerivedOwner(
      std::optional<int64_t> limit_bytes,
      std::function<MachineMemory()> machine = [] { return machine_memory(); });

  // What the operands would take if there were room for all, and what they take.
  DerivedBytes planned() const;
  DerivedBytes kept() const;

  // Memory that has been allocated but not written yet, so that the machine counts it as free.
  void promise(int64_t size_bytes) { promised_bytes_ += size_bytes; }
  // Before so much is allocated for something else: drops copies where there would be too little,
  // those first that were used longest ago. Copies in use stay.
  void make_room(int64_t size_bytes);

 private:
  friend class DerivedOperand;
  void add(DerivedOperand& operand);
  void remove(DerivedOperand& operand);
  bool grant(const DerivedOperand& operand);
  void give_back(const DerivedOperand& operand);
  int64_t free_bytes() const;
  int64_t room_bytes();

  const std::optional<int64_t> limit_bytes_;
  const std::function<MachineMemory()> machine_;
  std::atomic<int64_t> promised_bytes_ = 0;
  std::atomic<uint64_t> uses_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::vector<DerivedOperand*> operands_;
  DerivedBytes kept_ = {};
  int64_t machine_room_bytes_ = 0;
  std::chrono::steady_clock::time_point measured_;
};

// A copy of one operand of one call. It is made for the first contents, so that a model's second
// run finds its weights packed, and for contents that have been here before. What changes from run
// to run is packed in vain once.
class DerivedOperand {
 public:
  DerivedOperand(DerivedOwner& owner, DerivedKind kind, int64_t size_bytes);
  ~DerivedOperand();
  DerivedOperand(const DerivedOperand&) = delete;
  DerivedOperand& operator=(const DerivedOperand&) = delete;

  // The copy's memory, which stays while this lives.
  struct Use {
    std::byte* bytes = nullptr;  // null: there is none
    std::unique_lock<std::mutex> held;
  };
  // For contents of this version. None where no copy is worth keeping (of version 0 never is one),
  // or where there is no room. One use at a time.
  Use use(uint64_t version);

  // In a use: whether the memory holds the copy of these contents, times these factors of columns;
  // and that it does now.
  bool holds(uint64_t version, const std::vector<float>& factors = {}) const;
  void set(uint64_t version, const std::vector<float>& factors = {});

 private:
  friend class DerivedOwner;
  bool pays(uint64_t version);
  void allocate();
  void drop();

  DerivedOwner& owner_;
  const DerivedKind kind_;
  const int64_t size_bytes_;
  std::mutex in_use_;  // of what follows
  AlignedBytes bytes_;
  uint64_t version_ = 0, seen_version_ = 0;
  std::vector<float> factors_;
  uint64_t last_use_ = 0;
};

}  // namespace tuff::cpu
