#include "backend/cache_entry.h"

#include <algorithm>
#include <cstring>

#include "ir/support/hash.h"

namespace tuff {

namespace {

constexpr char kMagic[8] = {'T', 'U', 'F', 'F', 'C', 'A', 'C', 'H'};
constexpr uint32_t kFormat = 1;

// magic, format, zero, length (little-endian), digest of the key, digest of the value.
void put_number(std::vector<uint8_t>& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

uint64_t get_number(const uint8_t* in, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= uint64_t{in[i]} << (8 * i);
  return value;
}

}  // namespace

std::vector<uint8_t> encode_cache_entry(const Digest& key, std::span<const uint8_t> value) {
  std::vector<uint8_t> out(kMagic, kMagic + sizeof kMagic);
  out.reserve(kCacheHeaderBytes + value.size());
  put_number(out, kFormat, 4);
  put_number(out, 0, 4);
  put_number(out, value.size(), 8);
  out.insert(out.end(), key.begin(), key.end());
  Digest digest = sha256(value);
  out.insert(out.end(), digest.begin(), digest.end());
  out.insert(out.end(), value.begin(), value.end());
  return out;
}

DecodedEntry decode_cache_entry(std::span<const uint8_t> file, const Digest* key) {
  if (file.size() < kCacheHeaderBytes) return {{}, "it is shorter than its header"};
  if (std::memcmp(file.data(), kMagic, sizeof kMagic) != 0 || get_number(&file[12], 4) != 0)
    return {{}, "its header is damaged"};
  if (get_number(&file[8], 4) != kFormat) return {{}, "another version of tuff wrote it"};
  if (get_number(&file[16], 8) != file.size() - kCacheHeaderBytes)
    return {{}, "its length is not what its header says"};
  if (key != nullptr && !std::equal(key->begin(), key->end(), &file[24]))
    return {{}, "it belongs to another key"};
  std::span<const uint8_t> value = file.subspan(kCacheHeaderBytes);
  Digest digest = sha256(value);
  if (!std::equal(digest.begin(), digest.end(), &file[56])) return {{}, "its contents are damaged"};
  return {std::vector<uint8_t>(value.begin(), value.end()), ""};
}

}  // namespace tuff
