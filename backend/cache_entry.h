// One file of the disk cache: a header that says whose value it is and what its
// bytes hash to, then the value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tuff {

using Digest = std::array<uint8_t, 32>;
inline constexpr size_t kCacheHeaderBytes = 8 + 4 + 4 + 8 + 32 + 32;

// Header and value as they lie on disk.
std::vector<uint8_t> encode_cache_entry(const Digest& key, std::span<const uint8_t> value);

// The value, or what is wrong with the file (empty `value`, non-empty `doubt`).
struct DecodedEntry {
  std::optional<std::vector<uint8_t>> value;
  std::string doubt;  // "its header is damaged"; completes "because ..."
};
// `key` null: any key is right (verify).
DecodedEntry decode_cache_entry(std::span<const uint8_t> file, const Digest* key);

}  // namespace tuff
