// How much memory the packed copies of weights may take.
#pragma once

#include <cstdint>

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

}  // namespace tuff::cpu
