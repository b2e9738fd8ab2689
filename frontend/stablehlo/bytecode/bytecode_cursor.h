// ByteCursor: checked reads of MLIR bytecode's primitives. Errors stick, as in
// Parser: after the first one every cursor of the file is at its end and reads
// zeros, so the code reads straight on and the first error is what is reported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/support/result.h"

namespace tuff::stablehlo {

// The whole file, and the first error in it.
struct ByteSource {
  std::string_view bytes;
  std::string file_name;
  std::optional<Error> error;

  bool failed() const { return error.has_value(); }
  void fail(size_t at, const std::string& sentence, ErrorCode code = ErrorCode::kBadInput);
};

class ByteCursor {
 public:
  // The bytes [begin, end) of the source, which outlives the cursor.
  ByteCursor(ByteSource& source, size_t begin, size_t end)
      : source_(&source), position_(begin), end_(end) {}

  size_t position() const { return position_; }
  size_t remaining() const { return source_->failed() ? 0 : end_ - position_; }
  bool at_end() const { return remaining() == 0; }

  uint8_t byte();
  uint64_t varint();  // the trailing zeros of the first byte count the further bytes
  int64_t signed_varint();
  // A varint below `limit`, which `what` counts ("strings"); 0 after an error.
  size_t index(size_t limit, const char* what);
  // How many items follow. Each takes a byte at least, so what a caller allocates
  // for them is bounded by the file.
  size_t count(const char* what);
  std::string_view bytes(size_t size);
  std::string_view null_terminated();
  // A part of these bytes, which are skipped.
  ByteCursor part(size_t size);
  void align(uint64_t alignment);  // to a power of two, counted from the file's start

  void fail(const std::string& sentence, ErrorCode code = ErrorCode::kBadInput) {
    source_->fail(position_, sentence, code);
  }

 private:
  ByteSource* source_;
  size_t position_, end_;
};

}  // namespace tuff::stablehlo
