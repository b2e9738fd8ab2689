#include <cmath>

#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

// The one dense constant of a module that returns it.
std::shared_ptr<const DenseElements> read_dense(const std::string& value, const std::string& type) {
  auto module = read_text(function("() -> " + type, "%0 = stablehlo.constant " + value + " : " +
                                                        type + "\nreturn %0 : " + type),
                          "t.mlir");
  if (!module.ok()) {
    ADD_FAILURE() << module.error().to_string();
    return nullptr;
  }
  const Operation& op = module->functions[0].body.blocks[0].operations[0];
  return std::get<std::shared_ptr<const DenseElements>>(
      find_attribute(op.attributes, "value")->value);
}

std::vector<double> values(const std::string& value, const std::string& type) {
  auto dense = read_dense(value, type);
  std::vector<double> all;
  for (int64_t i = 0; dense && i < dense->values.num_elements(); ++i)
    all.push_back(dense->values.get_double(i));
  return all;
}

using V = std::vector<double>;

TEST(ReadConstants, ListsAndSigns) {
  EXPECT_EQ(values("dense<[[1.0, -2.5], [3.0e+2, 0.0]]>", "tensor<2x2xf32>"), (V{1, -2.5, 300, 0}));
  EXPECT_EQ(values("dense<[-128, 127, 0xFF]>", "tensor<3xi8>"), (V{-128, 127, -1}));
  EXPECT_EQ(values("dense<[true, false]>", "tensor<2xi1>"), (V{1, 0}));
  EXPECT_EQ(values("dense<18446744073709551615>", "tensor<ui64>"), (V{18446744073709551615.0}));
  EXPECT_EQ(values("dense<>", "tensor<0x3xf32>"), V{});
  EXPECT_EQ(values("dense<1.0>", "tensor<0xf32>"), V{});
}

TEST(ReadConstants, FloatsByTheirBits) {
  EXPECT_EQ(values("dense<0xFF800000>", "tensor<f32>"), (V{-INFINITY}));
  EXPECT_EQ(values("dense<0x7F80>", "tensor<bf16>"), (V{INFINITY}));
  EXPECT_TRUE(std::isnan(values("dense<0x7FF8000000000000>", "tensor<f64>")[0]));
}

TEST(ReadConstants, BytesInHexadecimal) {
  EXPECT_EQ(values("dense<\"0x0000803F000000C0\">", "tensor<2xf32>"), (V{1, -2}));
  EXPECT_EQ(values("dense<\"0x0100FF\">", "tensor<3xi1>"), (V{1, 0, 1}));
  // Bit-packed booleans, lowest first, as older writers have them.
  EXPECT_EQ(values("dense<\"0x0502\">", "tensor<10xi1>"), (V{1, 0, 1, 0, 0, 0, 0, 0, 0, 1}));
  auto splat = read_dense("dense<\"0x0000803F\">", "tensor<1000xf32>");
  EXPECT_TRUE(splat->splat);
  EXPECT_EQ(splat->values.num_elements(), 1);
}

// A splat must not allocate its type, however large that is.
TEST(ReadConstants, HugeSplatsStaySmall) {
  auto dense = read_dense("dense<0.0>", "tensor<1000000x1000000xf32>");
  ASSERT_TRUE(dense);
  EXPECT_TRUE(dense->splat);
  EXPECT_EQ(dense->values.num_elements(), 1);
  EXPECT_THAT(
      graph_text(function("() -> tensor<1000000x1000000xf32>",
                          "%0 = stablehlo.constant dense<2.0> : tensor<1000000x1000000xf32>\n"
                          "return %0 : tensor<1000000x1000000xf32>")),
      testing::HasSubstr("%0 = constant f32[] 2\n  %1 = broadcast_in_dim(%0)"));
}

// A complex number is two.
TEST(ReadConstants, ComplexNumbers) {
  EXPECT_EQ(values("dense<(1.0, -2.0)>", "tensor<complex<f32>>"), (V{1, -2}));
  EXPECT_EQ(values("dense<[(1.0, -2.0), (3.0, 0x40800000)]>", "tensor<2xcomplex<f32>>"),
            (V{1, -2, 3, 4}));
  EXPECT_EQ(values("dense<\"0x0000803F000000C00000004000000040\">", "tensor<2xcomplex<f32>>"),
            (V{1, -2, 2, 2}));
  auto splat = read_dense("dense<\"0x0000803F000000C0\">", "tensor<1000xcomplex<f32>>");
  EXPECT_TRUE(splat->splat);
  EXPECT_EQ(splat->values.type().shape, (Shape{2}));
  EXPECT_TRUE(read_dense("dense<(0.0, 1.0)>", "tensor<9x9xcomplex<f64>>")->splat);
}

TEST(ReadConstants, SmallTypes) {
  EXPECT_EQ(values("dense<[1, -2, -8, 7]>", "tensor<4xi4>"), (V{1, -2, -8, 7}));
  EXPECT_EQ(values("dense<\"0x0F07\">", "tensor<2xi4>"), (V{-1, 7}));
  EXPECT_EQ(values("dense<[0x38, 0xC0]>", "tensor<2xf8E4M3FN>"), (V{1, -2}));
  EXPECT_EQ(values("dense<[1.5, 448.0]>", "tensor<2xf8E4M3FN>"), (V{1.5, 448}));
  EXPECT_EQ(values("dense<\"0x7F80\">", "tensor<2xf8E8M0FNU>"), (V{1, 2}));
  EXPECT_FALSE(read_dense("dense<[1, 2]>", "tensor<2xi3>")->readable);
}

TEST(ReadConstants, ErrorsNameTheConstant) {
  auto message = [](const std::string& value, const std::string& type) {
    return error_of(function("()", "%0 = stablehlo.constant " + value + " : " + type + "\nreturn"))
        .message;
  };
  EXPECT_THAT(message("dense<[1.0, 2.0]>", "tensor<3xf32>"),
              testing::HasSubstr("do not have the shape"));
  EXPECT_THAT(message("dense<[[1.0], [2.0, 3.0]]>", "tensor<2x1xf32>"),
              testing::HasSubstr("differ in length"));
  EXPECT_THAT(message("dense<300>", "tensor<i8>"), testing::HasSubstr("does not fit"));
  EXPECT_THAT(message("dense<1>", "tensor<f32>"), testing::HasSubstr("needs a point"));
  EXPECT_THAT(message("dense<1.5>", "tensor<i32>"), testing::HasSubstr("fraction"));
  EXPECT_THAT(message("dense<\"0x0102\">", "tensor<3xf32>"), testing::HasSubstr("(2) bytes"));
  EXPECT_THAT(message("dense<\"0x01zz\">", "tensor<2xi8>"), testing::HasSubstr("hexadecimal"));
  EXPECT_THAT(message("dense<0.0>", "tensor<9223372036854775807x9xf32>"),
              testing::HasSubstr("64 bits"));
  EXPECT_THAT(message("dense_resource<w>", "tensor<2xf32>"), testing::HasSubstr("dense_resource"));
}

}  // namespace
}  // namespace tuff::stablehlo
