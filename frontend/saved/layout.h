// How a saved program lies in its file. All numbers are little-endian.
//
//   0   "TUFFPROG"
//   8   format (4 bytes), zero (4)
//   16  bytes of the header, of the file (8 each)
//   32  digest of all other bytes (8)
//   40  zeros
//   64  the header: a JSON object (read.cpp says what is in it), padded with spaces
//   ..  pieces of data, where the header says; each begins at a multiple of 64
//
// The digest finds damage; it is no signature.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "ir/support/hash.h"

namespace tuff::saved {

inline constexpr std::string_view kMagic = "TUFFPROG";
// Another one where the layout, the header, the text of graphs or hash_mix changes.
inline constexpr uint32_t kFormat = 2;
inline constexpr size_t kAlignment = 64;
inline constexpr size_t kPrefixBytes = 64;
inline constexpr int kMaxHeaderDepth = 4;  // {"arguments": [{"init": {

struct Prefix {
  uint32_t format = kFormat;
  uint64_t header_bytes = 0, file_bytes = 0, digest = 0;
};

inline constexpr size_t aligned(size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

// Of pieces that are each filled up with zeros to a multiple of 64 bytes, and so of their file.
class Digest {
 public:
  void add(std::string_view piece) {
    for (; piece.size() >= kAlignment; piece.remove_prefix(kAlignment)) add_block(piece.data());
    if (piece.empty()) return;
    char last[kAlignment] = {};
    std::memcpy(last, piece.data(), piece.size());
    add_block(last);
  }
  uint64_t value(const Prefix& prefix) const {
    uint64_t h = hash_mix(hash_mix(prefix.format, prefix.header_bytes), prefix.file_bytes);
    for (uint64_t lane : lanes_) h = hash_mix(h, lane);
    return h;
  }

 private:
  // Eight words side by side, which do not wait for each other.
  void add_block(const char* block) {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      uint64_t word;
      std::memcpy(&word, block + i * sizeof word, sizeof word);
      lanes_[i] = hash_mix(lanes_[i], word);
    }
  }

  std::array<uint64_t, kAlignment / sizeof(uint64_t)> lanes_{};
};

}  // namespace tuff::saved
