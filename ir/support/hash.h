// Hashing: a fast 64-bit mix for tables in memory, and SHA-256 for names and
// digests that reach the disk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tuff {

inline uint64_t hash_mix(uint64_t seed, uint64_t value) {
  uint64_t x = seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  return x;
}

// FNV-1a style over bytes, eight at a time. Not stable across versions of tuff.
uint64_t hash_bytes(const void* data, size_t size, uint64_t seed = 0);
inline uint64_t hash_string(std::string_view s, uint64_t seed = 0) {
  return hash_bytes(s.data(), s.size(), seed);
}

// SHA-256 (FIPS 180-4). Stable: used for cache keys and digests on disk.
std::array<uint8_t, 32> sha256(std::span<const uint8_t> data);
std::string sha256_hex(std::string_view data);

}  // namespace tuff
