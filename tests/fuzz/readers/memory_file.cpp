#include "tests/fuzz/readers/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/readers/target.h"

namespace tuff::fuzz {

MemoryFile::MemoryFile(const uint8_t* data, size_t size)
    : fd_(::memfd_create("tuff_fuzz", MFD_CLOEXEC)) {
  if (fd_ < 0 || ::write(fd_, data, size) != static_cast<ssize_t>(size))
    found("The system does not give a file in memory.");
  path_ = "/proc/self/fd/" + std::to_string(fd_);
}

MemoryFile::~MemoryFile() { ::close(fd_); }

}  // namespace tuff::fuzz
