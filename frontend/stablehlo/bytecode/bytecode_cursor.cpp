#include "frontend/stablehlo/bytecode/bytecode_cursor.h"

#include <fmt/format.h>

#include <bit>

namespace tuff::stablehlo {

void ByteSource::fail(size_t at, const std::string& sentence, ErrorCode code) {
  if (!error) error = Error{code, sentence, fmt::format("{}: byte {}", file_name, at)};
}

uint8_t ByteCursor::byte() {
  if (at_end()) {
    fail("The bytes end in the middle of a part.");
    return 0;
  }
  return static_cast<uint8_t>(source_->bytes[position_++]);
}

uint64_t ByteCursor::varint() {
  uint8_t first = byte();
  int extra = first == 0 ? 8 : std::countr_zero(first);
  std::string_view rest = bytes(static_cast<size_t>(extra));
  uint64_t value = 0;
  for (size_t i = rest.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(rest[i]);
  if (first == 0) return value;
  // The first byte without the mark of the length; nothing is left with 7 further bytes.
  return (value << (7 - extra)) | static_cast<uint64_t>(first >> (extra + 1));
}

int64_t ByteCursor::signed_varint() {
  uint64_t value = varint();
  return static_cast<int64_t>((value >> 1) ^ (0 - (value & 1)));
}

size_t ByteCursor::index(size_t limit, const char* what) {
  size_t at = position_;
  uint64_t value = varint();
  if (value < limit) return value;
  source_->fail(at, fmt::format("The number ({}) is not one of the ({}) {}.", value, limit, what));
  return 0;
}

size_t ByteCursor::count(const char* what) {
  size_t at = position_;
  uint64_t value = varint();
  if (value <= remaining()) return value;
  source_->fail(at,
                fmt::format("({}) {} do not fit the ({}) bytes left.", value, what, remaining()));
  return 0;
}

std::string_view ByteCursor::bytes(size_t size) {
  if (size > remaining()) {
    fail(fmt::format("({}) bytes are needed, but ({}) are left.", size, remaining()));
    return {};
  }
  std::string_view taken = source_->bytes.substr(position_, size);
  position_ += size;
  return taken;
}

std::string_view ByteCursor::null_terminated() {
  std::string_view rest = source_->bytes.substr(position_, remaining());
  size_t length = rest.find('\0');
  if (length == std::string_view::npos) {
    fail("A string has no end.");
    return {};
  }
  position_ += length + 1;
  return rest.substr(0, length);
}

ByteCursor ByteCursor::part(size_t size) {
  size_t begin = position_;
  size_t taken = bytes(size).size();
  return {*source_, begin, begin + taken};
}

void ByteCursor::align(uint64_t alignment) {
  if (!std::has_single_bit(alignment) || alignment > 1 << 20)
    return fail(fmt::format("The alignment ({}) is not a power of two.", alignment));
  while (!source_->failed() && position_ % alignment != 0)
    if (byte() != 0xCB) fail("The padding of a section is not 0xCB.");
}

}  // namespace tuff::stablehlo
