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

}  // namespace tuff::cpu
