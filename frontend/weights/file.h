// Bytes of files, read whole or mapped. Input is regular files only: a pipe may never be written
// to, a device may never end.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ir/support/result.h"

namespace tuff {

// The whole file. Errors: kBadInput with the path and the system's reason.
Result<std::string> read_file(const std::string& path);

// Replaces the file, at once and as a whole; the old one stays for those who have mapped it.
// Errors: kRunFailed with the path and the system's reason.
Status write_file(const std::string& path, std::string_view bytes);
// The pieces one after another.
Status write_file(const std::string& path, std::span<const std::string_view> pieces);

// Before the work whose result goes there. Errors: as write_file has them, as far as they show.
// Nothing is written. An empty path is right.
Status check_output_file(const std::string& path);

// A file mapped read-only; the mapping lives as long as the object. Sizes are checked against the
// file as it is when it is opened. A file that is replaced by another one (renamed over, as most
// programs save) stays as it was for the mapping. One that is written in place may change under it,
// and reading past the new end of one that is cut short ends the process (SIGBUS): do neither while
// a model runs.
class MappedFile {
 public:
  // Errors: kBadInput.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile() = default;

  std::string path_;
  const std::byte* data_ = nullptr;  // null iff the file is empty
  size_t size_ = 0;
};

}  // namespace tuff
