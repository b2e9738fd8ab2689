#include "backend/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>

#include "backend/cache_entry.h"
#include "ir/support/hash.h"

namespace tuff {

namespace {

namespace fs = std::filesystem;
constexpr std::string_view kTemporary = "tuff-tmp-";
constexpr auto kStale = std::chrono::hours(1);  // of temporary files left by a crash

std::string error_text() { return std::strerror(errno); }

Digest key_digest(std::string_view kind, std::string_view key) {
  std::string text(kind);
  text += '\0';
  text += key;
  return sha256({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

std::string entry_name(std::string_view kind, const Digest& digest) {
  std::string name(kind);
  name += '-';
  for (uint8_t byte : digest) name += fmt::format("{:02x}", byte);
  return name;
}

bool is_temporary(std::string_view name) { return name.starts_with(kTemporary); }

// True iff the file has a name we give: the directory may hold other things.
bool is_ours(std::string_view name) {
  size_t dash = name.rfind('-');
  if (is_temporary(name)) return true;
  return dash != std::string_view::npos && name.size() - dash == 65 &&
         name.find_first_not_of("0123456789abcdef", dash + 1) == std::string_view::npos;
}

// The whole file, or nullopt; errno tells why. Links are not followed: an entry
// is a regular file, and none is larger than the cache.
std::optional<std::vector<uint8_t>> read_file(const std::string& path, int64_t max_bytes,
                                              bool mark_used) {
  struct File {
    int file;
    ~File() {
      if (file >= 0) ::close(file);
    }
  } opened{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (opened.file < 0) return std::nullopt;
  struct stat info {};
  if (::fstat(opened.file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > max_bytes) {
    errno = EINVAL;
    return std::nullopt;
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::read(opened.file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  if (mark_used) ::futimens(opened.file, nullptr);  // the oldest are evicted first
  return bytes;
}

struct Entry {
  std::string path, name;
  int64_t bytes = 0;
  std::chrono::nanoseconds used;  // since 1970
};

// Our files of the directory; those that cannot be looked at are left out (another process may
// remove them meanwhile). Not by std::filesystem, whose iterators end the process where there is no
// memory.
Result<std::vector<Entry>> list_entries(const std::string& directory) {
  std::vector<Entry> entries;
  std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(directory.c_str()), ::closedir);
  if (!opened && errno == ENOENT) return entries;
  errno = opened ? 0 : errno;
  while (const dirent* file = opened ? ::readdir(opened.get()) : nullptr) {
    struct stat info {};
    std::string_view name = file->d_name;
    if (is_ours(name) &&
        ::fstatat(::dirfd(opened.get()), file->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode))
      entries.push_back({fmt::format("{}/{}", directory, name), std::string(name),
                         int64_t{info.st_size},
                         std::chrono::seconds(info.st_mtim.tv_sec) +
                             std::chrono::nanoseconds(info.st_mtim.tv_nsec)});
    errno = 0;
  }
  if (errno != 0)
    return Error{
        ErrorCode::kRunFailed,
        fmt::format("The cache directory ({}) does not read ({}).", directory, error_text()), ""};
  return entries;
}

}  // namespace

std::string default_cache_directory() {
  auto read = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  if (std::string own = read("TUFF_CACHE_DIR"); !own.empty()) return own;
  // The XDG rules: a relative path there is invalid and ignored.
  if (std::string xdg = read("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/tuff";
  if (std::string home = read("HOME"); !home.empty()) return home + "/.cache/tuff";
  return "";
}

DiskCache::DiskCache(std::string directory, int64_t max_bytes, Log log)
    : directory_(std::move(directory)), max_bytes_(max_bytes), log_(std::move(log)) {
  if (!log_)
    log_ = [](const std::string& warning) { std::fprintf(stderr, "tuff: %s\n", warning.c_str()); };
}

std::shared_ptr<DiskCache> DiskCache::open_default() {
  std::string directory = default_cache_directory();
  return directory.empty() ? nullptr : std::make_shared<DiskCache>(directory);
}

void DiskCache::warn_once(const std::string& subject, const std::string& warning) {
  if (warned_.insert(subject).second) log_(warning);
}

// True iff the directory is there and private. Looked at each time: another
// process may clear it. Call with the mutex held.
bool DiskCache::ready(bool create) {
  if (off_) return false;
  struct stat info {};
  bool there = ::stat(directory_.c_str(), &info) == 0;
  if (!there && create) {
    std::error_code error;
    fs::create_directories(fs::path(directory_).parent_path(), error);
    there = (::mkdir(directory_.c_str(), 0700) == 0 || errno == EEXIST) &&
            ::stat(directory_.c_str(), &info) == 0;
    if (!there) {
      off_ = true;
      warn_once("directory",
                fmt::format("The cache directory ({}) cannot be made ({}); compiled "
                            "kernels are not kept. Name another one in TUFF_CACHE_DIR.",
                            directory_, error_text()));
    }
  }
  if (!there) return false;
  const char* reason = nullptr;
  if (!S_ISDIR(info.st_mode))
    reason = "it is no directory";
  else if (info.st_uid != ::geteuid())
    reason = "another user owns it";
  else if ((info.st_mode & 022) != 0)
    reason = "others may write to it; chmod 700 makes it private";
  if (reason == nullptr) return true;
  off_ = true;
  warn_once("directory",
            fmt::format("The cache directory ({}) is not used: {}.", directory_, reason));
  return false;
}

std::optional<std::vector<uint8_t>> DiskCache::get(std::string_view kind, std::string_view key) {
  {
    std::lock_guard lock(mutex_);
    if (!ready(false)) return std::nullopt;
  }
  Digest digest = key_digest(kind, key);
  std::string path = directory_ + "/" + entry_name(kind, digest);
  auto file = read_file(path, max_bytes_, true);
  if (!file && errno == ENOENT) return std::nullopt;
  DecodedEntry entry =
      file ? decode_cache_entry(*file, &digest) : DecodedEntry{{}, "it does not read"};
  if (entry.value) return std::move(entry.value);
  std::lock_guard lock(mutex_);
  warn_once(path, fmt::format("The cache entry ({}) is not used because {}; it is made anew.", path,
                              entry.doubt));
  ::unlink(path.c_str());
  return std::nullopt;
}

void DiskCache::put(std::string_view kind, std::string_view key, std::span<const uint8_t> value) {
  std::lock_guard lock(mutex_);
  if (!ready(true)) return;
  Digest digest = key_digest(kind, key);
  std::vector<uint8_t> bytes = encode_cache_entry(digest, value);
  if (static_cast<int64_t>(bytes.size()) > max_bytes_) return;
  evict(static_cast<int64_t>(bytes.size()));
  Status written = write_file(directory_ + "/" + entry_name(kind, digest), bytes);
  if (written) return;
  off_ = true;
  warn_once("write", written.error().message);
}

// Temporary file and rename: readers see the old entry, the new one, or none.
Status DiskCache::write_file(const std::string& path, std::span<const uint8_t> bytes) {
  static std::atomic<uint64_t> counter{0};
  std::string temporary = fmt::format("{}/{}{}-{}", directory_, kTemporary, ::getpid(), counter++);
  auto failed = [&] {
    return Error{
        ErrorCode::kRunFailed,
        fmt::format("The cache directory ({}) cannot be written ({}); compiled kernels are "
                    "not kept from now on.",
                    directory_, error_text()),
        ""};
  };
  int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return failed();
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t put = ::write(file, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    done += static_cast<size_t>(put);
  }
  bool good = done == bytes.size();
  Status status = good ? Status() : failed();
  if (::close(file) != 0 && good) good = false, status = failed();
  if (good && ::rename(temporary.c_str(), path.c_str()) != 0) good = false, status = failed();
  if (!good) ::unlink(temporary.c_str());
  return status;
}

// Looking at every file costs, so it is done once per sixteenth of the limit;
// a full cache is cut to three quarters.
void DiskCache::evict(int64_t added_bytes) {
  bytes_until_scan_ -= added_bytes;
  if (bytes_until_scan_ > 0) return;
  bytes_until_scan_ = max_bytes_ / 16;
  auto entries = list_entries(directory_);
  if (!entries) return;
  int64_t total = added_bytes;
  for (const Entry& entry : *entries) total += entry.bytes;
  std::sort(entries->begin(), entries->end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  auto stale = std::chrono::system_clock::now().time_since_epoch() - kStale;
  int64_t target = total > max_bytes_ - bytes_until_scan_ ? max_bytes_ / 4 * 3 : total;
  for (const Entry& entry : *entries) {
    bool temporary = is_temporary(entry.name);
    if (temporary ? entry.used > stale : total <= target) continue;
    std::error_code gone;
    if (fs::remove(entry.path, gone)) total -= entry.bytes;
  }
}

Result<CacheStat> DiskCache::stat() const {
  TUFF_ASSIGN(auto entries, list_entries(directory_));
  CacheStat stat{.directory = directory_, .max_bytes = max_bytes_};
  for (const Entry& entry : entries) {
    if (!is_temporary(entry.name)) ++stat.entries;
    stat.bytes += entry.bytes;
  }
  return stat;
}

Result<CacheVerdict> DiskCache::verify() const {
  TUFF_ASSIGN(auto entries, list_entries(directory_));
  CacheVerdict verdict;
  for (const Entry& entry : entries) {
    if (is_temporary(entry.name)) continue;
    auto file = read_file(entry.path, max_bytes_, false);
    if (!file) {
      if (errno != ENOENT) verdict.bad.push_back(entry.path + ": it does not read");
      continue;
    }
    // The digest in the name must be the one in the header.
    DecodedEntry decoded = decode_cache_entry(*file, nullptr);
    if (decoded.value) {
      Digest key;
      std::copy_n(&(*file)[24], key.size(), key.begin());
      std::string kind = entry.name.substr(0, entry.name.rfind('-'));
      if (entry_name(kind, key) != entry.name) decoded = {{}, "it belongs to another key"};
    }
    if (decoded.value)
      ++verdict.good;
    else
      verdict.bad.push_back(entry.path + ": " + decoded.doubt);
  }
  return verdict;
}

Result<CacheStat> DiskCache::clear() {
  TUFF_ASSIGN(auto entries, list_entries(directory_));
  CacheStat removed{.directory = directory_, .max_bytes = max_bytes_};
  for (const Entry& entry : entries) {
    std::error_code error;
    if (!fs::remove(entry.path, error)) continue;
    ++removed.entries;
    removed.bytes += entry.bytes;
  }
  return removed;
}

}  // namespace tuff
