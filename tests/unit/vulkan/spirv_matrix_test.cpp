// Component types of cooperative matrices in compiled modules.
#include "backend/vulkan/pipelines/spirv_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/vulkan/pipelines/compiler.h"
#include "shaders/emit/emit_glsl_matrix.h"

namespace tuff {
namespace {

using Words = std::vector<uint32_t>;
using ::testing::HasSubstr;

constexpr uint32_t kMatrix = 4456, kVoid = 19, kInt = 21, kFloat = 22;

Words instruction(uint32_t opcode, const Words& operands) {
  Words words{static_cast<uint32_t>(operands.size() + 1) << 16 | opcode};
  words.insert(words.end(), operands.begin(), operands.end());
  return words;
}

// Ids 1 to 9 are taken.
Words module(const std::vector<Words>& instructions) {
  Words words{0x07230203, 0x00010300, 0, 10, 0};
  for (const Words& w : instructions) words.insert(words.end(), w.begin(), w.end());
  return words;
}

Words matrix_type(uint32_t id, uint32_t component) {
  return instruction(kMatrix, {id, component, 2, 3, 3, 4});
}

TEST(SpirvMatrix, NumbersBecomeTypesAheadOfAllOthers) {
  Words capability = instruction(17, {1}), nothing = instruction(kVoid, {1}),
        single = instruction(kFloat, {7, 32}), array = instruction(28, {8, 7, 2});
  Words words = module({capability, nothing, single, array, matrix_type(5, 16), matrix_type(6, 32),
                        matrix_type(9, 16)});
  ASSERT_TRUE(set_matrix_components(words).ok());
  Words expected = module({capability, instruction(kFloat, {10, 16}), single, nothing, array,
                           matrix_type(5, 10), matrix_type(6, 7), matrix_type(9, 10)});
  expected[3] = 11;
  EXPECT_EQ(words, expected);
}

TEST(SpirvMatrix, IntegersAreSigned) {
  Words nothing = instruction(kVoid, {1}), unsigned_int = instruction(kInt, {7, 32, 0}),
        signed_int = instruction(kInt, {8, 32, 1});
  Words words = module({nothing, unsigned_int, signed_int, matrix_type(5, kGlslSignedComponent + 8),
                        matrix_type(6, kGlslSignedComponent + 32)});
  ASSERT_TRUE(set_matrix_components(words).ok());
  Words expected = module({instruction(kInt, {10, 8, 1}), signed_int, nothing, unsigned_int,
                           matrix_type(5, 10), matrix_type(6, 8)});
  expected[3] = 11;
  EXPECT_EQ(words, expected);
}

TEST(SpirvMatrix, OtherModulesStayAsTheyAre) {
  Words words = module({instruction(kVoid, {1}), instruction(kFloat, {2, 32})}), before = words;
  EXPECT_FALSE(has_matrices(words));
  EXPECT_TRUE(set_matrix_components(words).ok());
  EXPECT_EQ(words, before);
}

TEST(SpirvMatrix, RefusesWhatItDoesNotKnow) {
  auto refusal = [](Words words) {
    Status status = set_matrix_components(words);
    EXPECT_FALSE(status.ok());
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_THAT(refusal({}), HasSubstr("no module"));
  EXPECT_THAT(refusal({1, 2, 3, 4, 5, 6}), HasSubstr("no module"));
  EXPECT_THAT(refusal(module({matrix_type(5, 64)})), HasSubstr("component 64"));
  EXPECT_THAT(refusal(module({matrix_type(5, kGlslSignedComponent + 16)})), HasSubstr("272"));
  EXPECT_THAT(refusal(module({instruction(kMatrix, {5, 16})})), HasSubstr("another form"));
  Words cut = module({matrix_type(5, 16), matrix_type(6, 16)});
  cut.pop_back();
  EXPECT_THAT(refusal(cut), HasSubstr("other lengths"));
  Words none = module({matrix_type(5, 16), {0}});
  EXPECT_THAT(refusal(none), HasSubstr("other lengths"));
}

// The text that kernels have, by the compiler that is here: newer validators check all of it.
TEST(SpirvMatrix, CompiledKernelsAreValid) {
  for (auto [element, sum] :
       {std::pair(DType::kF16, DType::kF32), std::pair(DType::kI8, DType::kI32)}) {
    SubgroupMatrices matrices;
    matrices.shape.element = element;
    matrices.shape.sum = sum;
    bool floats = is_float(element);
    std::string type = floats ? "float" : "int";
    auto words = compile_glsl(
        "#version 450\n#extension GL_EXT_spirv_intrinsics : require\n"
        "layout(local_size_x = 32) in;\n"
        "shared uint s0[256];\nshared " +
        type + " s1[256];\n" + glsl_matrix_declarations(matrices) +
        "void main() {\n  MatrixSums sums = all_sums(" + (floats ? "0.0" : "0") +
        ");\n"
        "  MatrixA a = load_a(s0[0], 0, 8);\n  MatrixB b = load_b(s0[0], 1, 8);\n"
        "  sums = multiply_add(a, b, sums" +
        (floats ? "" : ", 15") +
        ");\n"
        "  store_sums(s1[0], sums, 0, 16);\n}\n");
    ASSERT_TRUE(words.ok()) << words.error().message;
    EXPECT_TRUE(has_matrices(*words));
    Status valid = validate_spirv(*words);
    EXPECT_TRUE(valid.ok()) << valid.error().message;
  }
}

}  // namespace
}  // namespace tuff
