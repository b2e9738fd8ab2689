// Products by cooperative matrices: which problems have them, the kernels as golden files
// (TUFF_REWRITE_GOLDENS=1 writes them), and their numbers on a device that has matrices.
#include <gtest/gtest.h>

#include "backend/compile.h"
#include "backend/vulkan/pipelines/compiler.h"
#include "backend/vulkan/vulkan.h"
#include "ir/text/parse.h"
#include "shaders/schedule/contraction_schedule.h"
#include "tests/models/run_model.h"
#include "tests/unit/families/contractions.h"

namespace tuff {
namespace {

using test::convolution, test::dot, test::expect_agreement, test::expect_golden, test::kernels_text,
    test::mixed_dot, test::transposed_dot, test::two_way_dot;

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

Caps gpu_caps(MatrixShape shape, int64_t subgroup) {
  Caps caps;
  caps.name = "a GPU";
  caps.device_class = DeviceClass::kDiscreteGpu;
  caps.subgroup_size = subgroup;
  caps.subgroup_shuffle = true;
  caps.max_group_invocations = 1024;
  caps.max_shared_bytes = 48 << 10;
  caps.matrix_shapes = {shape};
  return caps;
}

const MatrixShape kF16{16, 16, 16}, kSmallF16{8, 8, 8}, kI8{16, 16, 32, DType::kI8, DType::kI32};

// Whether the program of the graph has kernels with matrices.
bool has_matrices(const std::string& text, const Caps& caps) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << text;
  auto program = compile(*graph, caps, {}, nullptr);
  EXPECT_TRUE(program.ok()) << text;
  for (const Kernel& kernel : (*program)->kernels)
    if (kernel.matrices) return true;
  return false;
}

// The contraction of a graph that has one.
std::optional<ContractionProblem> problem_of(const std::string& text, const Caps& caps) {
  auto program = compile(*parse_graph(text), caps, {}, nullptr);
  if (!program.ok()) return std::nullopt;
  for (const Step& step : (*program)->steps)
    if (step.region)
      if (auto problem = contraction_problem(*step.region, caps)) return problem;
  return std::nullopt;
}

TEST(MatmulMatrices, AreForTypesThatTheDeviceSumsInFull) {
  Caps caps = gpu_caps(kF16, 32);
  EXPECT_TRUE(has_matrices(mixed_dot("f16", "f32", 64, 64, 64), caps));
  EXPECT_TRUE(has_matrices(dot("f16", 2, 64, 64, 64), caps)) << "summed in f32, then rounded";
  EXPECT_FALSE(has_matrices(dot("f32", 2, 64, 64, 64), caps)) << "f32 means f32";
  EXPECT_FALSE(has_matrices(dot("bf16", 2, 64, 64, 64), caps));
  EXPECT_FALSE(has_matrices(mixed_dot("i8", "i32", 64, 64, 64), caps));
  EXPECT_TRUE(has_matrices(mixed_dot("i8", "i32", 64, 64, 64), gpu_caps(kI8, 32)));
  EXPECT_FALSE(has_matrices(mixed_dot("i8", "i8", 64, 64, 64), gpu_caps(kI8, 32)));
  caps.matrix_shapes.clear();
  EXPECT_FALSE(has_matrices(dot("f16", 2, 64, 64, 64), caps));
}

// The module, too, is one that a driver may see.
void expect_kernels(const std::string& name, const std::string& graph, const Caps& caps) {
  std::string text = kernels_text(graph, caps);
  expect_golden(name, text);
  size_t begin = text.find("#version"), end = text.find("---- ", begin);
  auto module = compile_glsl(text.substr(begin, end == std::string::npos ? end : end - begin));
  ASSERT_OK(module);
  Status valid = validate_spirv(*module);
  ASSERT_OK(valid);
}

TEST(MatmulMatricesGolden, Halves) {
  expect_kernels("matrices_f16", transposed_dot(32, 64, 64, "f16"), gpu_caps(kF16, 32));
}
TEST(MatmulMatricesGolden, SmallSubgroups) {
  expect_kernels("matrices_small", mixed_dot("f16", "f32", 33, 35, 37), gpu_caps(kSmallF16, 8));
}
TEST(MatmulMatricesGolden, Bytes) {
  expect_kernels("matrices_i8", mixed_dot("i8", "i32", 32, 32, 64), gpu_caps(kI8, 32));
}

// Tiles that are full, nearly so, and beyond the edge in each direction; operands along k and
// across it, in pairs and apart; batches, epilogues, split sums, an odd number of tiles.
const std::string kProblems[] = {mixed_dot("f16", "f32", 64, 64, 64),
                                 mixed_dot("f16", "f32", 33, 35, 37),
                                 mixed_dot("f16", "f32", 129, 66, 96),
                                 mixed_dot("f16", "f32", 67, 130, 1031),
                                 dot("f16", 3, 40, 48, 34),
                                 dot("f16", 2, 47, 61, 43),
                                 transposed_dot(70, 34, 66, "f16"),
                                 transposed_dot(37, 41, 33, "f16"),
                                 two_way_dot("f16", 34, 36, 2, 24),
                                 two_way_dot("f16", 33, 35, 5, 9),
                                 convolution(7, 6, 34, 3, 2, "f16"),
                                 convolution(9, 3, 40, 5, 1, "f16"),
                                 dot("f16", 64, 128, 128, 32),
                                 mixed_dot("f16", "f32", 32, 32, 4096)};
const std::string kByteProblems[] = {mixed_dot("i8", "i32", 64, 64, 64),
                                     mixed_dot("i8", "i32", 35, 67, 45),
                                     mixed_dot("i8", "i32", 130, 36, 200)};

class MatmulMatricesOnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = open_device("vulkan");
    if (!device.ok() && is_missing_device(device.error()))
      GTEST_SKIP() << device.error().to_string();
    ASSERT_OK(device);
    device_ = std::move(*device);
    caps_ = device_->caps();
    if (caps_.matrix_shapes.empty())
      GTEST_SKIP() << caps_.name << " has no cooperative matrices (Mesa's lavapipe has since 26.1)";
    caps_.device_class = DeviceClass::kDiscreteGpu;
  }
  void TearDown() override { EXPECT_EQ(validation_errors(), 0); }

  bool has(DType element) const {
    for (const MatrixShape& shape : caps_.matrix_shapes)
      if (shape.element == element) return true;
    return false;
  }
  void run(const std::string& text, const Caps& caps) {
    EXPECT_TRUE(has_matrices(text, caps)) << text;
    expect_agreement(text, *device_, caps);
  }

  std::unique_ptr<Device> device_;
  Caps caps_;
};

TEST_F(MatmulMatricesOnDevice, AgreeWithEvaluator) {
  if (has(DType::kF16))
    for (const std::string& text : kProblems) run(text, caps_);
  if (has(DType::kI8))
    for (const std::string& text : kByteProblems) run(text, caps_);
}

// Each tile that the device takes, whichever one is chosen.
TEST_F(MatmulMatricesOnDevice, EveryTileAgreesWithEvaluator) {
  if (!has(DType::kF16)) GTEST_SKIP() << caps_.name << " has no matrices of f16";
  std::string text = mixed_dot("f16", "f32", 130, 134, 70);
  std::optional<ContractionProblem> problem = problem_of(text, caps_);
  ASSERT_TRUE(problem);
  int tiles = 0;
  for (const ContractionSchedule& schedule : vary_contraction_schedule(caps_, *problem, {})) {
    if (!schedule.matrices) continue;
    SCOPED_TRACE(print_contraction_schedule(schedule));
    Caps caps = caps_;
    caps.tuning = std::make_shared<const Tuning>(
        Tuning{{print_contraction_problem(*problem), print_contraction_schedule(schedule)}});
    ASSERT_EQ(choose_contraction_schedule(caps, *problem), schedule);
    run(text, caps);
    ++tiles;
  }
  EXPECT_GT(tiles, 0);
}

}  // namespace
}  // namespace tuff
