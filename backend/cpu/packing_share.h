// Packed copies of weights: how much memory they may take, and which are kept.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/kernels/execute_kernel.h"
#include "ir/support/result.h"

namespace tuff::cpu {

// One copy's share. All shares of a process together are a quarter of the machine's memory at
// most: the weights themselves are there as well. Shares of different owners may be taken at the
// same time.
class PackingShare {
 public:
  PackingShare() = default;
  ~PackingShare() { give_back(); }
  PackingShare(const PackingShare&) = delete;
  PackingShare& operator=(const PackingShare&) = delete;

  // False, and nothing is taken, where that would be too much. True if it is taken already.
  bool take(int64_t size_bytes);
  void give_back();

 private:
  int64_t size_bytes_ = 0;
};

// Which contents a packed copy, for which there is a share, is of.
class PackedVersion {
 public:
  // True iff a copy of these contents is expected to pay: they have been here before, or
  // nothing has, so that a model's second run finds them packed. Contents that change
  // from run to run are packed in vain once. False also where there is no memory for it.
  bool worth_packing(uint64_t version, int64_t size_bytes);
  // Whether a copy is kept that may be of use again.
  bool kept() const { return version_ != 0; }

  // Whether the copy is of these contents; 0 are never.
  bool is(uint64_t version) const { return version != 0 && version == version_; }
  void set(uint64_t version) { version_ = version; }

 private:
  PackingShare share_;
  uint64_t version_ = 0, seen_version_ = 0;
};

Error no_memory_for_weights(int64_t size_bytes);

// A packed copy of weights, perhaps times factors of their columns.
class PackedCopy {
 public:
  // Room for a copy, of this size in every call, of these contents; null where it is not worth
  // keeping. kOutOfMemory where it is and there is none.
  Result<std::byte*> room(uint64_t version, int64_t size_bytes);
  // Whether the room holds that copy.
  bool is(uint64_t version, const std::vector<float>& factors) const;
  void set(uint64_t version, const std::vector<float>& factors);

 private:
  AlignedBytes bytes_;
  PackedVersion version_;
  std::vector<float> factors_;
};

}  // namespace tuff::cpu
