#include "frontend/weights/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST(File, DirectoriesAndMissingFilesAreNamed) {
  test::TemporaryFolder folder;
  EXPECT_THAT(trouble_with(folder.path()), HasSubstr("is a directory"));
  EXPECT_THAT(trouble_with(folder.path("none")),
              HasSubstr("none: The file does not open (No such"));
}

}  // namespace
}  // namespace tuff
