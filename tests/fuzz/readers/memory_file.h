// A file in memory, for readers that take a path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tuff::fuzz {

class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

}  // namespace tuff::fuzz
