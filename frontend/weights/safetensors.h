// Weights from a .safetensors file, mapped: a tensor's bytes are the file's.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/weights/file.h"
#include "ir/literal.h"

namespace tuff {

// One entry of the header. Its bytes lie inside the file, whatever its type.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // the format's spelling: "F32", "BF16", "F8_E4M3"
  Shape shape;
  uint64_t begin = 0, end = 0;  // bytes from the start of the data
};

// A file whose header holds: tensors do not overlap, leave no holes and cover the
// data; sizes follow from shapes. Immutable; may be shared by threads.
class Safetensors {
 public:
  static constexpr uint64_t kMaxHeaderBytes = 100'000'000;

  // Errors: kBadInput naming the file, the tensor and the numbers.
  static Result<Safetensors> open(const std::string& path);

  // In the order of their data.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  const SafetensorsEntry* find(std::string_view name) const;
  const std::string& path() const { return file_->path(); }

  // The tensor as a view on the mapped file (a copy where the file does not align
  // it). Errors: kBadInput when there is none, kUnsupported for its element type.
  Result<Literal> tensor(const std::string& name) const;

 private:
  Safetensors() = default;
  Status read_header();
  Status check_layout() const;

  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> data_;
  std::vector<SafetensorsEntry> entries_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace tuff
