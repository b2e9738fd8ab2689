#include "frontend/weights/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/weights/files.h"

namespace tuff {
namespace {

using testing::HasSubstr;

std::string length_prefix(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
  return length_prefix(header.size()) + header + data;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape +
         "],\"data_offsets\":[" + offsets + "]}";
}

class SafetensorsFile : public testing::Test {
 protected:
  Result<Safetensors> open(const std::string& bytes) {
    return Safetensors::open(folder_.write("w.safetensors", bytes));
  }
  std::string error_of(const std::string& bytes) {
    Result<Safetensors> result = open(bytes);
    if (result.ok()) return "opens";
    EXPECT_EQ(result.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(result.error().where, folder_.path("w.safetensors"));
    return result.error().message;
  }
  test::TemporaryFolder folder_;
};

TEST_F(SafetensorsFile, TensorsAreViewsThatOutliveTheReader) {
  // 88 bytes of header: the data starts at 96, aligned for f32.
  std::string header = "{" + entry("a", "F32", "2", "0,8") + "}";
  header.append(88 - header.size(), ' ');
  Literal literal;
  {
    auto file = open(file_of(header, std::string("\0\0\x80\x3f\0\0\0\x40", 8)));
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    literal = *file->tensor("a");
  }
  EXPECT_EQ(literal, Literal::from_doubles(DType::kF32, {2}, {1, 2}));
}

TEST_F(SafetensorsFile, UnalignedTensorsAreCopied) {
  std::string header =
      "{" + entry("b", "U8", "1", "0,1") + "," + entry("a", "F32", "", "1,5") + "}";
  auto file = open(file_of(header, std::string("\7\0\0\x80\x3f", 5)));
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  EXPECT_EQ(*file->tensor("a"), Literal::scalar(DType::kF32, 1));
  EXPECT_EQ(*file->tensor("b"), Literal::from_ints(DType::kU8, {1}, {7}));
}

TEST_F(SafetensorsFile, MetadataZeroSizesAndUnsupportedTypesAreListed) {
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}," + entry("z", "F32", "0,4", "0,0") +
                       "," + entry("q", "F4", "4", "0,2") + "," +
                       entry("n", "NEW", "2", "2,3") + "}";
  auto file = open(file_of(header, "123"));
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  EXPECT_EQ(file->entries().size(), 3u);
  EXPECT_EQ(file->tensor("z")->num_elements(), 0);
  for (const char* name : {"q", "n"})
    EXPECT_EQ(file->tensor(name).error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(file->tensor("none").error().to_string(), HasSubstr("holds no tensor (none)"));
}

TEST_F(SafetensorsFile, Truncated) {
  EXPECT_THAT(error_of(""), HasSubstr("(0) bytes"));
  EXPECT_THAT(error_of("1234567"), HasSubstr("(7) bytes"));
  std::string whole = file_of("{" + entry("a", "F32", "2", "0,8") + "}", "12345678");
  EXPECT_THAT(error_of(whole.substr(0, 20)), HasSubstr("truncated"));
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 1)),
              HasSubstr("tensor (a) has data_offsets (0, 8) outside the file's data (7 bytes)"));
  EXPECT_THAT(error_of(whole + "x"), HasSubstr("cover (8) bytes of (9)"));
}

TEST_F(SafetensorsFile, HeaderLengthsThatLie) {
  EXPECT_THAT(error_of(length_prefix(UINT64_MAX) + "{}"), HasSubstr("at most (100000000)"));
  EXPECT_THAT(error_of(length_prefix(100'000'001) + "{}"), HasSubstr("at most"));
  EXPECT_THAT(error_of(length_prefix(99'999'999) + "{}"), HasSubstr("truncated"));
  EXPECT_THAT(error_of(length_prefix(1) + "{}"), HasSubstr("not a JSON object"));
}

TEST_F(SafetensorsFile, HeadersThatAreNoHeader) {
  EXPECT_THAT(error_of(file_of("[]", "")), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_of(file_of("{\"a\":1}", "")), HasSubstr("has no dtype"));
  EXPECT_THAT(error_of(file_of("{\"a\":{\"dtype\":\"F32\"}}", "")), HasSubstr("no shape"));
  EXPECT_THAT(error_of(file_of("{" + entry("a", "F32", "-1", "0,4") + "}", "1234")),
              HasSubstr("no shape"));
  EXPECT_THAT(error_of(file_of("{" + entry("a", "F32", "1.5", "0,4") + "}", "1234")),
              HasSubstr("no shape"));
  EXPECT_THAT(error_of(file_of("{" + entry("a", "F32", "1", "0") + "}", "1234")),
              HasSubstr("data_offsets"));
  EXPECT_THAT(
      error_of(file_of("{\"a\":" + std::string(10'000, '[') + std::string(10'000, ']') + "}", "")),
      HasSubstr("nested more than 3"));
  std::string twice = entry("a", "F32", "1", "0,4");
  EXPECT_THAT(error_of(file_of("{" + twice + "," + twice + "}", "1234")),
              HasSubstr("key (a) twice"));
}

TEST_F(SafetensorsFile, NumbersThatDoNotFit) {
  auto one = [](const std::string& shape, const std::string& offsets) {
    return file_of("{" + entry("a", "F32", shape, offsets) + "}", "12345678");
  };
  EXPECT_THAT(error_of(one("4294967296,4294967296", "0,8")), HasSubstr("too many elements"));
  EXPECT_THAT(error_of(one("18446744073709551615", "0,8")), HasSubstr("63 bits"));
  EXPECT_THAT(error_of(one("4611686018427387904,4", "0,8")), HasSubstr("too many elements"));
  EXPECT_THAT(error_of(one("3", "0,8")),
              HasSubstr("needs (12) bytes, but its data_offsets (0, 8) give (8)"));
  EXPECT_THAT(error_of(one("2", "8,0")), HasSubstr("outside"));
  EXPECT_THAT(error_of(one("2", "0,18446744073709551615")), HasSubstr("outside"));
}

TEST_F(SafetensorsFile, OverlapsAndHoles) {
  auto two = [](const std::string& first, const std::string& second) {
    return file_of("{" + entry("a", "U8", "4", first) + "," + entry("b", "U8", "4", second) + "}",
                   "12345678");
  };
  EXPECT_THAT(error_of(two("0,4", "2,6")), HasSubstr("tensors (a) and (b) overlap"));
  EXPECT_THAT(error_of(two("0,4", "0,4")), HasSubstr("overlap"));
  EXPECT_THAT(error_of(two("1,5", "5,9")), HasSubstr("outside"));
  EXPECT_THAT(error_of(file_of("{" + entry("a", "U8", "4", "4,8") + "}", "12345678")),
              HasSubstr("hole"));
}

}  // namespace
}  // namespace tuff
