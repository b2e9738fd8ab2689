// DiskCache: values that are dear to make, kept on disk under the digest of
// everything they depend on. It never fails: any doubt is a miss and a warning.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"

namespace tuff {

struct CacheStat {
  std::string directory;
  int64_t entries = 0, bytes = 0, max_bytes = 0;
};
struct CacheVerdict {
  int64_t good = 0;
  std::vector<std::string> bad;  // "FILE: its contents are damaged"
};

// Where the cache lies: $TUFF_CACHE_DIR, $XDG_CACHE_HOME/tuff or ~/.cache/tuff;
// empty if the environment names none.
std::string default_cache_directory();

// Thread-safe; processes may share a directory.
class DiskCache {
 public:
  using Log = std::function<void(const std::string& warning)>;  // default: stderr
  static constexpr int64_t kDefaultMaxBytes = int64_t{1} << 30;

  // The directory is created (mode 0700) by the first put. One that another user
  // owns, or that group or world may write, is refused: warning, nothing is cached.
  explicit DiskCache(std::string directory, int64_t max_bytes = kDefaultMaxBytes, Log log = {});
  // The user's cache; null if the environment names no directory.
  static std::shared_ptr<DiskCache> open_default();

  // `kind` is a short word and begins the file's name ("spirv"); `key` must hold
  // everything the value depends on.
  std::optional<std::vector<uint8_t>> get(std::string_view kind, std::string_view key);
  void put(std::string_view kind, std::string_view key, std::span<const uint8_t> value);

  // For the command line. Errors: kRunFailed when the directory cannot be read.
  Result<CacheStat> stat() const;
  Result<CacheVerdict> verify() const;
  Result<CacheStat> clear();  // what was removed

  const std::string& directory() const { return directory_; }

 private:
  bool ready(bool create);
  void warn_once(const std::string& subject, const std::string& warning);
  void evict(int64_t added_bytes);
  Status write_file(const std::string& path, std::span<const uint8_t> bytes);

  std::string directory_;
  int64_t max_bytes_;
  Log log_;
  std::mutex mutex_;
  bool off_ = false;  // the directory was refused, or writing failed
  std::set<std::string> warned_;
  int64_t bytes_until_scan_ = 0;  // of puts; then the directory's size is looked at
};

}  // namespace tuff
