// Writes messages in the protocol buffers' wire format, field by field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tuff::pjrt {

inline void write_varint(std::string* bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes->push_back(static_cast<char>(value | 0x80));
  bytes->push_back(static_cast<char>(value));
}

inline void write_number(std::string* bytes, uint32_t field, int64_t value) {
  write_varint(bytes, field << 3);
  write_varint(bytes, static_cast<uint64_t>(value));
}

inline void write_bytes(std::string* bytes, uint32_t field, std::string_view value) {
  write_varint(bytes, field << 3 | 2);
  write_varint(bytes, value.size());
  bytes->append(value);
}

}  // namespace tuff::pjrt
