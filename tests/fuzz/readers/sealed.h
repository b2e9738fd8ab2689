// Bytes made a saved program whose size and digest are right, whatever else is wrong with it.
#pragma once

#include <string>
#include <string_view>

#include "frontend/saved/layout.h"

namespace tuff::fuzz {

inline std::string sealed(std::string_view bytes) {
  std::string file(bytes);
  if (file.size() < saved::kPrefixBytes) return file;
  auto put = [&file](size_t at, uint64_t value) {
    for (size_t i = 0; i < 8; ++i) file[at + i] = static_cast<char>(value >> (8 * i));
  };
  saved::Prefix prefix;
  file.replace(0, saved::kMagic.size(), saved::kMagic);
  put(8, prefix.format);
  for (size_t i = 0; i < 8; ++i)
    prefix.header_bytes |= uint64_t{static_cast<uint8_t>(file[16 + i])} << (8 * i);
  prefix.file_bytes = file.size();
  put(24, prefix.file_bytes);
  saved::Digest digest;
  digest.add(std::string_view(file).substr(saved::kPrefixBytes));
  put(32, digest.value(prefix));
  for (size_t at = 40; at < saved::kPrefixBytes; ++at) file[at] = '\0';
  return file;
}

}  // namespace tuff::fuzz
