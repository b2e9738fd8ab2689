#include "frontend/weights/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "ir/support/mapped_files.h"

namespace tuff {

namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Error system_error(ErrorCode code, const std::string& path, const char* what) {
  return {code, fmt::format("The file {} ({}).", what, std::strerror(errno)), path};
}

// Opens a regular file for reading. Others are no input: a pipe may never be written to, a
// device may never end. O_NONBLOCK is for these alone: the open of a pipe would wait.
Status open_input(const std::string& path, Descriptor& descriptor, size_t* size_bytes) {
  descriptor.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor.fd < 0) return system_error(ErrorCode::kBadInput, path, "does not open");
  struct stat info {};
  if (::fstat(descriptor.fd, &info) != 0)
    return system_error(ErrorCode::kBadInput, path, "cannot be examined");
  if (S_ISDIR(info.st_mode))
    return Error{ErrorCode::kBadInput, "The path is a directory where a file is expected.", path};
  if (!S_ISREG(info.st_mode))
    return Error{ErrorCode::kBadInput,
                 "The path is no regular file; save what a pipe or a device gives to a file first.",
                 path};
  *size_bytes = static_cast<size_t>(info.st_size);
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  Descriptor file;
  size_t size_bytes = 0, used = 0;
  TUFF_RETURN_IF_ERROR(open_input(path, file, &size_bytes));
  std::string bytes(size_bytes, '\0');
  while (used < size_bytes) {
    ssize_t got = ::read(file.fd, bytes.data() + used, size_bytes - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(ErrorCode::kBadInput, path, "cannot be read");
    if (got == 0) break;  // it became shorter meanwhile
    used += static_cast<size_t>(got);
  }
  bytes.resize(used);
  return bytes;
}

namespace {

using Pieces = std::span<const std::string_view>;

// All of them, or false; errno tells why.
bool write_all(int fd, Pieces pieces) {
  for (std::string_view bytes : pieces)
    while (!bytes.empty()) {
      ssize_t put = ::write(fd, bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return false;
      bytes.remove_prefix(static_cast<size_t>(put));
    }
  return true;
}

// Pipes and devices take bytes as they come; there is no file to replace.
bool is_stream(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Status write_stream(const std::string& path, Pieces pieces) {
  Descriptor stream{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (stream.fd < 0) return system_error(ErrorCode::kRunFailed, path, "cannot be opened");
  if (write_all(stream.fd, pieces)) return {};
  return system_error(ErrorCode::kRunFailed, path, "cannot be written");
}

// A new file beside the one of that name, with a name that nothing has.
int create_beside(const std::string& path, std::string& temporary) {
  static std::atomic<uint64_t> counter{0};
  int fd = -1;
  do {
    temporary = fmt::format("{}.part-{}-{}", path, ::getpid(), counter++);
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EEXIST);
  return fd;
}

}  // namespace

Status write_file(const std::string& path, std::string_view bytes) {
  return write_file(path, Pieces(&bytes, 1));
}

Status write_file(const std::string& path, Pieces pieces) {
  if (is_stream(path)) return write_stream(path, pieces);
  std::string temporary;
  int fd = create_beside(path, temporary);
  if (fd < 0) return system_error(ErrorCode::kRunFailed, path, "cannot be created");
  bool written = write_all(fd, pieces);
  int why = errno;
  if (::close(fd) != 0 && written) why = errno, written = false;
  if (written && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
  if (written) why = errno;
  ::unlink(temporary.c_str());
  errno = why;
  return system_error(ErrorCode::kRunFailed, path, "cannot be written");
}

Status check_output_file(const std::string& path) {
  if (path.empty() || is_stream(path)) return {};
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return Error{ErrorCode::kRunFailed, "The path is a directory where a file is to be written.",
                 path};
  size_t slash = path.rfind('/');
  std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return system_error(ErrorCode::kRunFailed, path, "cannot be created");
  return {};
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  Descriptor file;
  size_t size = 0;
  TUFF_RETURN_IF_ERROR(open_input(path, file, &size));
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->path_ = path;
  if (size > 0) {
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) return system_error(ErrorCode::kBadInput, path, "cannot be mapped");
    mapped->data_ = static_cast<const std::byte*>(data);
    mapped->size_ = size;
    mapped_file_bytes += static_cast<int64_t>(size);
  }
  return std::shared_ptr<const MappedFile>(std::move(mapped));
}

MappedFile::~MappedFile() {
  if (!data_) return;
  ::munmap(const_cast<std::byte*>(data_), size_);
  mapped_file_bytes -= static_cast<int64_t>(size_);
}

}  // namespace tuff
