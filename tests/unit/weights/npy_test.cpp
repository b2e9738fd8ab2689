#include "frontend/weights/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/weights/file.h"
#include "ir/support/mapped_files.h"
#include "tests/unit/weights/files.h"

namespace tuff {
namespace {

using testing::HasSubstr;

std::string npy(std::string header, const std::string& data, int major = 1) {
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

class Npy : public testing::Test {
 protected:
  Result<Literal> read(const std::string& bytes, std::optional<DType> as = std::nullopt) {
    return read_npy(folder_.write("a.npy", bytes), as);
  }
  // The message of a file that must not read; it names the file.
  std::string error_of(const std::string& bytes, std::optional<DType> as = std::nullopt,
                       ErrorCode code = ErrorCode::kBadInput) {
    Result<Literal> result = read(bytes, as);
    if (result.ok()) return "reads as " + result->type().to_string();
    EXPECT_EQ(result.error().code, code) << result.error().to_string();
    EXPECT_EQ(result.error().where, folder_.path("a.npy"));
    return result.error().message;
  }
  test::TemporaryFolder folder_;
};

TEST_F(Npy, WhatIsWrittenReadsBackEqual) {
  for (int i = 0; i < kNumElementTypes; ++i) {
    auto dtype = static_cast<DType>(i);
    if (is_complex(dtype)) continue;
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}, Shape{1}}) {
      Literal literal(TensorType{dtype, shape});
      for (int64_t k = 0; k < literal.num_elements(); ++k) literal.set_int(k, k % 2);
      std::string path = folder_.path("b.npy");
      ASSERT_TRUE(write_npy(path, literal).ok());
      Result<Literal> back = read_npy(path, dtype);
      ASSERT_TRUE(back.ok()) << back.error().to_string();
      EXPECT_EQ(*back, literal) << literal.type().to_string();
    }
  }
}

// NumPy writes the types of ml_dtypes as V1 or f1, of which nobody knows what they are.
TEST_F(Npy, SmallTypesAreBytes) {
  for (const char* descr : {"|u1", "|i1", "<V1", "<f1"}) {
    std::string file =
        npy(std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (2,), }",
            "\x38\xc0");
    Result<Literal> literal = read(file, DType::kF8E4M3FN);
    ASSERT_TRUE(literal.ok()) << literal.error().to_string();
    EXPECT_EQ(literal->get_double(0), 1);
    EXPECT_EQ(literal->get_double(1), -2);
  }
}

TEST_F(Npy, ComplexArraysAreTheirParts) {
  for (DType part : {DType::kF32, DType::kF64}) {
    Literal parts = Literal::from_doubles(part, {3, 2}, {1, -2, 0.5, 4, 0, 8});
    Literal literal =
        parts.with_type(from_parts(parts.type(), part == DType::kF32 ? DType::kC64 : DType::kC128));
    std::string path = folder_.path("complex.npy");
    ASSERT_TRUE(write_npy(path, literal).ok());
    EXPECT_THAT(*read_file(path), HasSubstr(part == DType::kF32 ? "'<c8'" : "'<c16'"));
    Result<Literal> back = read_npy(path, literal.type().dtype);
    ASSERT_TRUE(back.ok()) << back.error().to_string();
    EXPECT_EQ(as_parts(*back), parts);
    EXPECT_EQ(read_npy(path, part).error().code, ErrorCode::kBadInput);
  }
}

// Of a file that is written anew, who has read the old one keeps that.
TEST_F(Npy, ArraysAreViewsOnTheFile) {
  const std::string path = folder_.path("d.npy");
  const Literal first = Literal::splat({DType::kF32, {3}}, 1),
                second = Literal::splat({DType::kF32, {1}}, 2);
  const int64_t mapped_before = mapped_file_bytes;
  ASSERT_TRUE(write_npy(path, first).ok());
  {
    Result<Literal> read = read_npy(path);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(mapped_file_bytes - mapped_before, 128 + 12);
    ASSERT_TRUE(write_npy(path, second).ok());
    EXPECT_EQ(*read, first);
    EXPECT_EQ(*read_npy(path), second);
  }
  EXPECT_EQ(mapped_file_bytes, mapped_before);
}

TEST_F(Npy, WrittenHeaderIsNumpysOwn) {
  ASSERT_TRUE(write_npy(folder_.path("c.npy"), Literal(TensorType{DType::kBF16, {3}})).ok());
  std::string bytes = *read_file(folder_.path("c.npy"));
  EXPECT_EQ(bytes.size(), 128u + 6u);
  EXPECT_THAT(bytes, HasSubstr("{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }"));
}

TEST_F(Npy, Format2AndOtherSpellings) {
  Result<Literal> a = read(npy("{\"shape\":(2,),'descr':'|i1','fortran_order':False}", "\1\2", 2));
  ASSERT_TRUE(a.ok()) << a.error().to_string();
  EXPECT_EQ(*a, Literal::from_ints(DType::kI8, {2}, {1, 2}));
}

TEST_F(Npy, FortranOrderIsTransposed) {
  Result<Literal> a =
      read(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\1\4\2\5\3\6"));
  ASSERT_TRUE(a.ok()) << a.error().to_string();
  EXPECT_EQ(*a, Literal::from_ints(DType::kU8, {2, 3}, {1, 2, 3, 4, 5, 6}));
}

TEST_F(Npy, Bf16IsUint16WithAs) {
  std::string bytes = npy("{'descr': '<u2', 'fortran_order': False, 'shape': (), }", "\x80\x3f");
  EXPECT_EQ(read(bytes)->type().dtype, DType::kU16);
  EXPECT_EQ(*read(bytes, DType::kBF16), Literal::scalar(DType::kBF16, 1.0));
  EXPECT_THAT(error_of(bytes, DType::kF16),
              HasSubstr("element type (ui16, <u2) where (f16) is needed"));
}

TEST_F(Npy, BooleansBecomeZeroOrOne) {
  Result<Literal> a = read(
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", std::string("\0\7", 2)));
  EXPECT_EQ(*a, Literal::from_ints(DType::kBool, {2}, {0, 1}));
}

TEST_F(Npy, EnvelopesThatAreWrong) {
  EXPECT_THAT(error_of(""), HasSubstr("not an .npy array"));
  EXPECT_THAT(error_of("PK\3\4 something else"), HasSubstr("not an .npy array"));
  EXPECT_THAT(error_of(npy("{}", "", 3)), HasSubstr("format (3.0)"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\1\0\xff\xff{", 11)), HasSubstr("truncated"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\2\0\1\0", 10)), HasSubstr("ends inside"));
}

TEST_F(Npy, HeadersThatAreWrong) {
  auto header = [](const std::string& shape) {
    return npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", "1234");
  };
  EXPECT_THAT(error_of(header("(1)")), HasSubstr("','"));
  EXPECT_THAT(error_of(header("[1]")), HasSubstr("not a tuple"));
  EXPECT_THAT(error_of(header("(-1,)")), HasSubstr("not a number"));
  EXPECT_THAT(error_of(header("(2,)")),
              HasSubstr("(4) bytes, but its shape and type (2xf32) need (8)"));
  EXPECT_THAT(error_of(header("(0,)")), HasSubstr("need (0)"));
  EXPECT_THAT(error_of(header("(99999999999999999999,)")), HasSubstr("above 64 bits"));
  EXPECT_THAT(error_of(header("(4294967296, 4294967296)")), HasSubstr("too many elements"));
  EXPECT_THAT(error_of(npy("{'descr': '<f4'}", "")), HasSubstr("lacks"));
  EXPECT_THAT(error_of(npy("{'descr': '<f4', 'descr': '<f4'}", "")), HasSubstr("twice"));
  EXPECT_THAT(error_of(npy("{'code': 'x'}", "")), HasSubstr("unknown key (code)"));
  EXPECT_THAT(error_of(npy("{'descr': '<f4", "")), HasSubstr("unclosed quote"));
}

TEST_F(Npy, ElementTypesThatAreRefused) {
  auto file = [](const std::string& descr) {
    return npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': (), }", "12345678");
  };
  EXPECT_THAT(error_of(file("'>f4'")), HasSubstr("big endian"));
  EXPECT_THAT(error_of(file("'|O'")), HasSubstr("pickle"));
  EXPECT_THAT(error_of(file("[('a', '<f4')]")), HasSubstr("structured"));
  EXPECT_THAT(error_of(file("'<c4'"), std::nullopt, ErrorCode::kUnsupported), HasSubstr("(<c4)"));
}

TEST_F(Npy, MissingFileAndFolder) {
  EXPECT_THAT(read_npy(folder_.path("none.npy")).error().to_string(), HasSubstr("No such file"));
  EXPECT_THAT(read_npy(folder_.path()).error().to_string(), HasSubstr("is a directory"));
  EXPECT_EQ(write_npy(folder_.path("no/dir.npy"), Literal::scalar(DType::kF32, 1)).error().code,
            ErrorCode::kRunFailed);
}

}  // namespace
}  // namespace tuff
