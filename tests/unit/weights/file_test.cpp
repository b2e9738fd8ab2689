#include "frontend/weights/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "tests/unit/weights/files.h"

namespace tuff {
namespace {

using testing::HasSubstr;

// What both ways of reading say of a path that neither reads; the mapping's where they part.
std::string trouble_with(const std::string& path) {
  Result<std::string> read = read_file(path);
  auto mapped = MappedFile::open(path);
  if (read.ok() || mapped.ok()) return "reads";
  EXPECT_EQ(read.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(read.error().to_string(), mapped.error().to_string());
  return mapped.error().to_string();
}

TEST(File, RegularOnesAreReadWhole) {
  test::TemporaryFolder folder;
  for (const std::string& bytes :
       {std::string(), std::string("a\0b", 3), std::string(70000, 'x')}) {
    std::string path = folder.write("f", bytes);
    EXPECT_EQ(*read_file(path), bytes);
    auto mapped = *MappedFile::open(path);
    EXPECT_EQ(
        std::string(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()),
        bytes);
  }
}

TEST(File, WhatMayNeverEndIsRefusedAtOnce) {
  test::TemporaryFolder folder;
  std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(trouble_with(pipe), HasSubstr("no regular file"));
  EXPECT_THAT(trouble_with("/dev/zero"), HasSubstr("no regular file"));
}

// What stands in a folder, by name.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(File, WritingReplacesTheFileAsAWhole) {
  test::TemporaryFolder folder;
  std::string path = folder.write("out", "old");
  auto mapped = *MappedFile::open(path);
  ASSERT_TRUE(write_file(path, "new bytes").ok());
  EXPECT_EQ(*read_file(path), "new bytes");
  EXPECT_EQ(std::memcmp(mapped->bytes().data(), "old", 3), 0);
  EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("out"));
}

TEST(File, WritingFollowsNoLink) {
  test::TemporaryFolder folder;
  std::string other = folder.write("other", "others' bytes");
  std::string path = folder.path("out");
  ASSERT_EQ(::symlink(other.c_str(), path.c_str()), 0);
  ASSERT_TRUE(write_file(path, "ours").ok());
  EXPECT_EQ(*read_file(other), "others' bytes");
  EXPECT_EQ(*read_file(path), "ours");
}

// A file system that is full: nothing is left of the new file, and the old one stays.
TEST(File, WritingThatFailsLeavesTheOldFile) {
  test::TemporaryFolder folder;
  std::string path = folder.write("out", "old");
  rlimit before{}, small{100, RLIM_INFINITY};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  small.rlim_max = before.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = write_file(path, std::string(200, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().to_string(), HasSubstr("out: The file cannot be written (File too"));
  EXPECT_EQ(*read_file(path), "old");
  EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("out"));
}

TEST(File, StreamsAreWrittenToAsTheyAre) {
  Status status = write_file("/dev/full", "x");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().to_string(), HasSubstr("No space left"));
  EXPECT_TRUE(write_file("/dev/null", "x").ok());
}

TEST(File, DirectoriesAndMissingFilesAreNamed) {
  test::TemporaryFolder folder;
  EXPECT_THAT(trouble_with(folder.path()), HasSubstr("is a directory"));
  EXPECT_THAT(trouble_with(folder.path("none")),
              HasSubstr("none: The file does not open (No such"));
}

}  // namespace
}  // namespace tuff
