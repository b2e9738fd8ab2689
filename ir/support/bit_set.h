// BitSet: a fixed-size set of small integers, for reachability over thousands of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tuff {

class BitSet {
 public:
  BitSet() = default;
  explicit BitSet(size_t size) : words_((size + 63) / 64) {}

  bool test(size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void set(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  void reset(size_t i) { words_[i / 64] &= ~(uint64_t{1} << (i % 64)); }
  void clear() { words_.assign(words_.size(), 0); }
  BitSet& operator|=(const BitSet& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
    return *this;
  }
  // Calls f(i) for each member, ascending, until it returns false; false iff stopped.
  template <typename F>
  bool for_each(const F& f) const {
    for (size_t w = 0; w < words_.size(); ++w)
      for (uint64_t bits = words_[w]; bits != 0; bits &= bits - 1)
        if (!f(w * 64 + static_cast<size_t>(__builtin_ctzll(bits)))) return false;
    return true;
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace tuff
