// Attention on both devices, as a kernel and as a call, against the reference evaluator.
#include <gtest/gtest.h>

#include "backend/compile.h"
#include "backend/vulkan/vulkan.h"
#include "tests/kernels/caps_profile.h"
#include "tests/models/run_model.h"
#include "tests/unit/families/attention_cases.h"
#include "tests/unit/families/ways.h"

namespace tuff {
namespace {

using test::AttentionCase, test::check_numbers, test::graph_of;

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

class AttentionTest : public ::testing::TestWithParam<std::tuple<AttentionCase, const char*>> {};

TEST_P(AttentionTest, AgreesWithEvaluator) {
  auto [c, device_name] = GetParam();
  auto graph = graph_of(c);
  ASSERT_OK(graph);
  bool by_library = device_name == std::string("library");
  auto device = open_device(by_library ? "cpu" : device_name);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  LoadedModel model{*graph, {}, {}};
  auto executable =
      compile_model(model, **device,
                    by_library ? std::set<std::string>{} : std::set<std::string>{"library_calls"});
  ASSERT_OK(executable);
  // One column is no softmax. A row or three do not fill the lanes, but a GPU's: dot, softmax and
  // dot stay apart. A library's matmuls know f32 only.
  bool enough = c.rows >= 4 || (!by_library && is_gpu((*device)->caps()));
  bool wanted = enough && c.columns > 1 && (!by_library || c.dtype == "f32");
  const Program& program = executable->program();
  EXPECT_EQ(by_library ? program.steps.size() == 1 : program.kernels[0].family == "attention",
            wanted);
  EXPECT_TRUE(program.steps.size() > 1 || program.arena_bytes == 0);
  check_numbers(c, *graph, *executable, by_library ? test::Runs::kOther : test::Runs::kSameBits);
  EXPECT_EQ(validation_errors(), 0);
}

class AttentionOtherWaysTest
    : public ::testing::TestWithParam<std::tuple<AttentionCase, test::Way>> {};

TEST_P(AttentionOtherWaysTest, AgreesWithEvaluator) {
  auto [c, way] = GetParam();
  auto graph = graph_of(c);
  ASSERT_OK(graph);
  auto device = test::open_as(way);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  auto executable = compile_model({*graph, {}, {}}, **device, {});
  ASSERT_OK(executable);
  check_numbers(c, *graph, *executable);
  EXPECT_EQ(validation_errors(), 0);
}

using Mask = AttentionCase::Mask;
const AttentionCase kCases[] = {
    {"plain", 2, 3, 16, 32, 8, 8},
    {"one_row", 1, 2, 1, 7, 4, 4},
    {"one_column", 2, 1, 5, 1, 3, 5},
    {"primes", 1, 3, 13, 37, 7, 11, "f32", Mask::kNone, true},
    {"causal", 1, 2, 19, 19, 6, 10, "f32", Mask::kCausal},
    {"causal_513", 1, 1, 513, 513, 4, 2, "f32", Mask::kCausal, true},
    {"masked_rows", 3, 2, 11, 17, 5, 6, "f32", Mask::kInput},
    {"biased", 2, 3, 23, 48, 6, 8, "f32", Mask::kBias},
    {"wide", 1, 1, 9, 33, 64, 128},
    {"many_heads", 3, 8, 5, 7, 4, 6, "f32", Mask::kInput},
    {"rows_in_blocks", 1, 1, 275, 301, 8, 5, "f32", Mask::kCausal},
    {"rows_in_blocks_transposed", 2, 1, 130, 1030, 5, 3, "f32", Mask::kNone, true},
    {"result_of_one_column", 2, 2, 26, 9, 2, 1},
    {"f16", 1, 2, 10, 21, 8, 6, "f16", Mask::kCausal},
    {"bf16", 2, 2, 10, 21, 8, 6, "bf16", Mask::kInput, true},
    {"cross", 1, 2, 9, 70, 16, 12},
    {"steep", 1, 2, 17, 67, 8, 8, "f32", Mask::kCausal, false, 300},
};

INSTANTIATE_TEST_SUITE_P(All, AttentionTest,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values("cpu", "vulkan", "library")),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param);
                         });

// Keys and values that the CPU packs in one block, and in two.
const AttentionCase kLongCases[] = {{"keys_in_one_block", 1, 2, 25, 1500, 16, 20},
                                    {"keys_in_two_blocks", 1, 1, 25, 1700, 8, 640}};
INSTANTIATE_TEST_SUITE_P(Long, AttentionTest,
                         ::testing::Combine(::testing::ValuesIn(kLongCases),
                                            ::testing::Values("library")),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param);
                         });

INSTANTIATE_TEST_SUITE_P(All, AttentionOtherWaysTest,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::ValuesIn(test::other_ways())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
                         });

// What GPUs get, by the interpreter of kernels: tiles of each size, edges that are no multiples.
const AttentionCase kTileCases[] = {
    {"tile_of_64_rows", 2, 65, 65, 66, 6, 6, "f32", Mask::kCausal},
    {"tile_of_32_rows", 1, 128, 31, 101, 17, 20},
    {"tile_of_16_rows", 1, 3, 50, 130, 32, 40, "f32", Mask::kInput},
    {"few_columns", 1, 2, 20, 30, 34, 31, "f32", Mask::kCausal},
    {"whole_tiles", 1, 2, 32, 128, 64, 64},
    {"deep_and_wide", 1, 1, 18, 70, 256, 128, "f32", Mask::kNone, true},
    {"odd", 2, 2, 17, 65, 33, 37, "f32", Mask::kInput, true},
    {"one_step", 1, 2, 19, 129, 1, 1},
    {"two_blocks_of_depth", 1, 2, 16, 64, 17, 128, "f16", Mask::kCausal},
    {"half", 1, 2, 40, 72, 64, 64, "f16", Mask::kInput, true},
    {"bfloat", 1, 2, 33, 96, 24, 48, "bf16"},
    {"few_rows", 1, 2, 5, 1024, 16, 16, "f32", Mask::kInput},
    {"one_row_of_many_columns", 1, 3, 1, 1000, 20, 33},
    {"blocks_to_spare", 2, 1, 3, 1085, 8, 6, "f32", Mask::kCausal},
    {"half_in_parts", 1, 1, 17, 600, 8, 16, "f16", Mask::kInput, true},
    {"few_rows_wide", 1, 2, 3, 700, 64, 128},
    {"wide_tiles", 1, 64, 33, 130, 20, 100, "f32", Mask::kInput},
    {"steep_tiles", 1, 2, 33, 140, 16, 16, "f32", Mask::kInput, false, 1000},
};

class AttentionTiles : public ::testing::TestWithParam<std::tuple<AttentionCase, const char*>> {};

TEST_P(AttentionTiles, AgreeWithEvaluator) {
  auto [c, profile] = GetParam();
  auto graph = graph_of(c);
  ASSERT_OK(graph);
  auto caps = test::read_caps_profile(profile);
  ASSERT_OK(caps);
  auto program = compile(*graph, *caps, {}, nullptr);
  ASSERT_OK(program);
  // Rows that are few leave parts to a map.
  EXPECT_LE((*program)->steps.size(), c.columns > 1 && c.rows > 3 ? 2U : 4U);
  auto device = open_device("cpu");
  ASSERT_OK(device);
  auto executable = Executable::create(**device, *program, {});
  ASSERT_OK(executable);
  check_numbers(c, *graph, *executable);
}

std::string tiles_test_name(
    const ::testing::TestParamInfo<std::tuple<AttentionCase, const char*>>& info) {
  return std::get<0>(info.param).name + "_" + std::get<1>(info.param);
}
INSTANTIATE_TEST_SUITE_P(All, AttentionTiles,
                         ::testing::Combine(::testing::ValuesIn(kTileCases),
                                            ::testing::Values("discrete32", "phone")),
                         tiles_test_name);
INSTANTIATE_TEST_SUITE_P(Small, AttentionTiles,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values("discrete32", "phone",
                                                              "little_shared")),
                         tiles_test_name);

}  // namespace
}  // namespace tuff
