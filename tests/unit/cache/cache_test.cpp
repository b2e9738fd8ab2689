// The disk cache under hostile files, directories and company.
#include "backend/cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backend/cache_entry.h"

namespace tuff {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

class CacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tuff-cache-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    directory_ = root_ + "/cache";
  }
  void TearDown() override { fs::remove_all(root_); }

  DiskCache make(int64_t max_bytes = DiskCache::kDefaultMaxBytes) {
    return DiskCache(directory_, max_bytes,
                     [this](const std::string& w) { warnings_.push_back(w); });
  }
  // The one entry's file.
  fs::path only_file() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory_)) files.push_back(entry.path());
    EXPECT_EQ(files.size(), 1u);
    return files.at(0);
  }
  void overwrite(const fs::path& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  Bytes contents(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(in), {});
  }
  // Puts an entry, replaces its file by `damage(file)`, and expects a miss, one
  // warning that says `doubt`, and a sound entry after the next put.
  void expect_doubt(const std::function<Bytes(Bytes)>& damage, const std::string& doubt) {
    DiskCache cache = make();
    cache.put("kind", "key", Bytes{1, 2, 3, 4});
    fs::path path = only_file();
    overwrite(path, damage(contents(path)));
    EXPECT_EQ(cache.get("kind", "key"), std::nullopt);
    EXPECT_EQ(cache.get("kind", "key"), std::nullopt);
    ASSERT_EQ(warnings_.size(), 1u);
    EXPECT_THAT(warnings_[0], HasSubstr(doubt));
    cache.put("kind", "key", Bytes{1, 2, 3, 4});
    EXPECT_EQ(cache.get("kind", "key"), (Bytes{1, 2, 3, 4}));
  }

  std::string root_, directory_;
  std::vector<std::string> warnings_;
};

TEST_F(CacheTest, GivesBackWhatWasPut) {
  DiskCache cache = make();
  EXPECT_EQ(cache.get("spirv", "a"), std::nullopt);
  cache.put("spirv", "a", Bytes{7, 8});
  cache.put("spirv", "b", Bytes{});
  EXPECT_EQ(cache.get("spirv", "a"), (Bytes{7, 8}));
  EXPECT_EQ(cache.get("spirv", "b"), Bytes{});
  EXPECT_EQ(cache.get("other", "a"), std::nullopt);
  EXPECT_EQ(make().get("spirv", "a"), (Bytes{7, 8})) << "another process sees it";
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CacheTest, DirectoryIsPrivate) {
  DiskCache cache = make();
  EXPECT_EQ(cache.get("k", "a"), std::nullopt);
  EXPECT_FALSE(fs::exists(directory_)) << "reading makes nothing";
  cache.put("k", "a", Bytes{1});
  struct stat info {};
  ASSERT_EQ(::stat(directory_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(only_file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(CacheTest, DoubtsAFlippedBitOfTheValue) {
  expect_doubt([](Bytes b) { return b.back() ^= 1, b; }, "contents are damaged");
}
TEST_F(CacheTest, DoubtsAForeignMagic) {
  expect_doubt([](Bytes b) { return b[0] = 'X', b; }, "header is damaged");
}
TEST_F(CacheTest, DoubtsAnotherFormat) {
  expect_doubt([](Bytes b) { return b[8] = 99, b; }, "another version");
}
TEST_F(CacheTest, DoubtsATruncatedFile) {
  expect_doubt([](Bytes b) { return b.pop_back(), b; }, "length is not");
}
TEST_F(CacheTest, DoubtsATruncatedHeader) {
  expect_doubt([](Bytes b) { return b.resize(kCacheHeaderBytes - 1), b; },
               "shorter than its header");
}
TEST_F(CacheTest, DoubtsAnEmptyFile) {
  expect_doubt([](Bytes) { return Bytes{}; }, "shorter than its header");
}
TEST_F(CacheTest, DoubtsALongerFile) {
  expect_doubt([](Bytes b) { return b.push_back(0), b; }, "length is not");
}
TEST_F(CacheTest, DoubtsAHugeLength) {
  expect_doubt([](Bytes b) { return b[23] = 0xff, b; }, "length is not");
}
TEST_F(CacheTest, DoubtsTheEntryOfAnotherKey) {
  expect_doubt(
      [](Bytes) {
        Digest other{};
        return encode_cache_entry(other, Bytes{9, 9});
      },
      "another key");
}

TEST_F(CacheTest, EveryByteCounts) {
  Digest key{};
  key[3] = 5;
  Bytes file = encode_cache_entry(key, Bytes{1, 2, 3});
  ASSERT_TRUE(decode_cache_entry(file, &key).value);
  for (size_t i = 0; i < file.size(); ++i) {
    Bytes damaged = file;
    damaged[i] ^= 0x10;
    EXPECT_FALSE(decode_cache_entry(damaged, &key).value) << "byte " << i;
    EXPECT_FALSE(decode_cache_entry(std::span(file).first(i), &key).value) << "length " << i;
  }
}

TEST_F(CacheTest, LinksAreNotFollowed) {
  DiskCache cache = make();
  cache.put("k", "a", Bytes{1});
  fs::path path = only_file(), moved = root_ + "/moved";
  fs::rename(path, moved);
  fs::create_symlink(moved, path);
  EXPECT_EQ(cache.get("k", "a"), std::nullopt);
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(CacheTest, RefusesADirectoryOthersMayWrite) {
  fs::create_directory(directory_);
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  DiskCache cache = make();
  cache.put("k", "a", Bytes{1});
  EXPECT_EQ(cache.get("k", "a"), std::nullopt);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("others may write")));
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(CacheTest, RefusesAnothersDirectory) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  fs::create_directory(directory_);
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
  ASSERT_EQ(::chown(directory_.c_str(), 65534, 65534), 0);
  DiskCache cache = make();
  cache.put("k", "a", Bytes{1});
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("another user owns it")));
}

TEST_F(CacheTest, RefusesAFileInItsPlace) {
  std::ofstream(directory_) << "x";
  DiskCache cache = make();
  cache.put("k", "a", Bytes{1});
  EXPECT_EQ(cache.get("k", "a"), std::nullopt);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("no directory")));
}

// Runs `body` in a child process and expects it to return true.
void in_child(const std::function<bool()>& body) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Root writes everywhere, so the child becomes nobody.
TEST_F(CacheTest, ReadOnlyDirectoryWarnsOnceAndGoesOn) {
  make().put("k", "a", Bytes{1});
  bool root = ::geteuid() == 0;
  for (const std::string& path : {root_, directory_, only_file().string()}) {
    if (root) {
      ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    }
  }
  ASSERT_EQ(::chmod(directory_.c_str(), 0500), 0);
  in_child([&] {
    if (root && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return false;
    DiskCache cache = make();
    bool read = cache.get("k", "a") == Bytes{1};
    cache.put("k", "b", Bytes{2});
    cache.put("k", "c", Bytes{3});
    return read && warnings_.size() == 1 &&
           warnings_[0].find("cannot be written") != std::string::npos;
  });
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
}

TEST_F(CacheTest, FullDiskWarnsOnceAndLeavesNoPieces) {
  in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit {
      1000, 1000
    };  // a write past it fails, as on a full disk
    ::setrlimit(RLIMIT_FSIZE, &limit);
    DiskCache cache = make();
    cache.put("k", "a", Bytes(5000));
    cache.put("k", "b", Bytes(5000));
    return warnings_.size() == 1 && fs::is_empty(directory_) && !cache.get("k", "a");
  });
}

TEST_F(CacheTest, ManyWritersOneTruth) {
  constexpr int kProcesses = 4, kThreads = 3, kRounds = 40;
  auto value = [](int key) { return Bytes(static_cast<size_t>(100 + 1000 * key), uint8_t(key)); };
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    DiskCache cache = make();
    std::atomic<bool> right{true};
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&] {
          for (int i = 0; i < kRounds; ++i) {
            int key = i % 5;
            cache.put("k", std::to_string(key), value(key));
            auto got = cache.get("k", std::to_string(key));
            if (!got || *got != value(key)) right = false;
          }
        });
    }
    ::_exit(right && warnings_.empty() ? 0 : 1);
  }
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  DiskCache cache = make();
  EXPECT_EQ(cache.stat()->entries, 5);
  EXPECT_TRUE(cache.verify()->bad.empty());
}

TEST_F(CacheTest, OldestEntriesGoFirst) {
  constexpr int64_t kMax = 16000;
  DiskCache cache = make(kMax);
  for (int i = 0; i < 40; ++i) {
    cache.put("k", std::to_string(i), Bytes(900));
    ASSERT_LE(cache.stat()->bytes, kMax);
    ::usleep(2000);  // file times tick
    EXPECT_TRUE(cache.get("k", "0")) << "used all the time, so never the oldest";
  }
  EXPECT_FALSE(cache.get("k", "1"));
  EXPECT_TRUE(cache.get("k", "39"));
  cache.put("k", "large", Bytes(kMax));
  EXPECT_FALSE(cache.get("k", "large")) << "above the limit: not kept";
}

TEST_F(CacheTest, LeavesForeignFilesAlone) {
  make().put("k", "a", Bytes(500));
  overwrite(directory_ + "/thesis.txt", Bytes(5000));
  DiskCache cache = make(1000);
  for (int i = 0; i < 8; ++i) cache.put("k", std::to_string(i), Bytes(300));
  ASSERT_TRUE(cache.clear().ok());
  EXPECT_EQ(only_file().filename(), "thesis.txt");
}

TEST_F(CacheTest, StatVerifyClear) {
  DiskCache cache = make();
  EXPECT_EQ(cache.stat()->entries, 0) << "no directory yet";
  cache.put("k", "a", Bytes(10));
  fs::path bad = only_file();
  cache.put("k", "b", Bytes(20));
  EXPECT_EQ(cache.stat()->entries, 2);
  EXPECT_EQ(cache.stat()->bytes, 30 + 2 * static_cast<int64_t>(kCacheHeaderBytes));
  EXPECT_EQ(cache.verify()->good, 2);
  Bytes bytes = contents(bad);
  bytes.back() ^= 1;
  overwrite(bad, bytes);
  EXPECT_EQ(cache.verify()->good, 1);
  EXPECT_THAT(cache.verify()->bad, ElementsAre(HasSubstr("contents are damaged")));
  EXPECT_EQ(cache.clear()->entries, 2);
  EXPECT_EQ(cache.stat()->entries, 0);
}

TEST(CacheDirectory, FollowsTheEnvironment) {
  in_child([] {
    ::setenv("TUFF_CACHE_DIR", "/a", 1);
    ::setenv("XDG_CACHE_HOME", "/b", 1);
    ::setenv("HOME", "/c", 1);
    bool right = default_cache_directory() == "/a";
    ::unsetenv("TUFF_CACHE_DIR");
    right = right && default_cache_directory() == "/b/tuff";
    ::setenv("XDG_CACHE_HOME", "relative", 1);
    right = right && default_cache_directory() == "/c/.cache/tuff";
    ::unsetenv("HOME");
    return right && default_cache_directory().empty() && DiskCache::open_default() == nullptr;
  });
}

}  // namespace
}  // namespace tuff
