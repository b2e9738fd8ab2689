// What a contraction's schedule may be: the rules, what varies, and measured schedules, which
// are taken only where they are legal.
#include "shaders/schedule/contraction_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tuff {
namespace {

Caps caps_of(DeviceClass device_class) {
  Caps caps;
  caps.device_class = device_class;
  caps.subgroup_size = device_class == DeviceClass::kSoftwareRasteriser ? 8 : 32;
  caps.subgroup_shuffle = true;
  caps.max_group_invocations = 256;
  caps.max_shared_bytes = 32 << 10;
  return caps;
}

ContractionProblem matmul(int64_t m, int64_t n, std::vector<int64_t> k) {
  ContractionProblem problem;
  problem.sizes = {1, m, n, std::move(k)};
  problem.a_along_k = true;
  return problem;
}

std::vector<ContractionProblem> problems() {
  std::vector<ContractionProblem> all{matmul(128, 768, {3072}), matmul(1, 1, {1}),
                                      matmul(17, 31, {33000}),  matmul(5, 3, {}),
                                      matmul(2, 70, {3, 5, 7}), matmul(300, 2, {40000, 3}),
                                      matmul(4, 9, {0})};
  size_t floats = all.size();
  for (size_t i = 0; i < floats; ++i)
    for (DType sum : {DType::kBool, DType::kI64}) {
      all.push_back(all[i]);
      all.back().sum = sum;
    }
  return all;
}

constexpr DeviceClass kClasses[] = {DeviceClass::kCpu, DeviceClass::kSoftwareRasteriser,
                                    DeviceClass::kIntegratedGpu, DeviceClass::kDiscreteGpu};

TEST(Variations, AreLegalDistinctAndNotTheirOrigin) {
  for (DeviceClass device_class : kClasses) {
    Caps caps = caps_of(device_class);
    for (const ContractionProblem& problem : problems()) {
      ContractionSchedule from = choose_contraction_schedule(caps, problem);
      std::vector<ContractionSchedule> varied = vary_contraction_schedule(caps, problem, from);
      for (size_t i = 0; i < varied.size(); ++i) {
        SCOPED_TRACE(print_contraction_problem(problem) + ": " +
                     print_contraction_schedule(varied[i]));
        EXPECT_TRUE(is_legal(varied[i], problem, caps));
        EXPECT_NE(varied[i], from);
        for (size_t j = 0; j < i; ++j) EXPECT_NE(varied[i], varied[j]);
        EXPECT_EQ(parse_contraction_schedule(print_contraction_schedule(varied[i])), varied[i]);
      }
    }
  }
}

TEST(Variations, LeadFromRegistersToTilesAndBack) {
  Caps caps = caps_of(DeviceClass::kSoftwareRasteriser);
  ContractionProblem problem = matmul(128, 768, {3072});
  ContractionSchedule chosen = choose_contraction_schedule(caps, problem);
  ASSERT_FALSE(chosen.tiles);
  std::vector<ContractionSchedule> varied = vary_contraction_schedule(caps, problem, chosen);
  auto tiled = std::find_if(varied.begin(), varied.end(), [](const auto& s) { return s.tiles; });
  ASSERT_NE(tiled, varied.end());
  std::vector<ContractionSchedule> back = vary_contraction_schedule(caps, problem, *tiled);
  EXPECT_NE(std::find(back.begin(), back.end(), chosen), back.end());
}

ContractionProblem half_matmul(int64_t m, int64_t n, int64_t k) {
  ContractionProblem problem = matmul(m, n, {k});
  problem.a = problem.b = DType::kF16;
  return problem;
}

// A device that multiplies matrices of f16.
Caps caps_with_matrices() {
  Caps caps = caps_of(DeviceClass::kDiscreteGpu);
  caps.matrix_shapes = {{16, 16, 16}, {16, 8, 16}};
  return caps;
}

TEST(Matrices, AreChosenVariedAndLeftAgain) {
  Caps caps = caps_with_matrices();
  ContractionProblem problem = half_matmul(512, 768, 3072);
  ContractionSchedule chosen = choose_contraction_schedule(caps, problem);
  ASSERT_TRUE(chosen.matrices);
  EXPECT_FALSE(chosen.tiles);
  EXPECT_TRUE(is_legal(chosen, problem, caps));
  EXPECT_EQ(parse_contraction_schedule(print_contraction_schedule(chosen)), chosen);
  std::vector<ContractionSchedule> varied = vary_contraction_schedule(caps, problem, chosen);
  auto any = [&](auto is) { return std::any_of(varied.begin(), varied.end(), is); };
  EXPECT_TRUE(any([](const auto& s) { return s.matrices && s.matrices->n == 8; }));
  EXPECT_TRUE(any([](const auto& s) { return s.tiles.has_value(); }));
  EXPECT_TRUE(any([](const auto& s) { return !s.tiles && !s.matrices; }));
}

TEST(Matrices, AreLegalOnlyWhereTheDeviceHasThem) {
  Caps caps = caps_with_matrices();
  ContractionProblem problem = half_matmul(512, 768, 3072);
  ContractionSchedule chosen = choose_contraction_schedule(caps, problem);
  ContractionProblem other = problem;
  other.b = DType::kBF16;
  EXPECT_FALSE(is_legal(chosen, other, caps));
  other.a = other.b = DType::kF32;
  EXPECT_FALSE(is_legal(chosen, other, caps));
  EXPECT_FALSE(is_legal(chosen, half_matmul(31, 768, 3072), caps));
  ContractionSchedule changed = chosen;
  changed.matrices->depth += 16;
  EXPECT_FALSE(is_legal(changed, problem, caps));
  Caps without = caps;
  without.matrix_shapes.clear();
  EXPECT_FALSE(is_legal(chosen, problem, without));
  without = caps;
  without.device_class = DeviceClass::kSoftwareRasteriser;
  EXPECT_FALSE(is_legal(chosen, problem, without));
  without = caps;
  without.subgroup_size = 64;
  EXPECT_FALSE(is_legal(chosen, problem, without));
}

TEST(Rules, AreLegalWhateverTheyChoose) {
  for (DeviceClass device_class : kClasses)
    for (const ContractionProblem& problem : problems()) {
      Caps caps = caps_of(device_class);
      if (device_class == DeviceClass::kCpu) caps.max_group_invocations = 1024;
      ContractionSchedule chosen = choose_contraction_schedule(caps, problem);
      EXPECT_TRUE(is_legal(chosen, problem, caps))
          << print_contraction_problem(problem) << ": " << print_contraction_schedule(chosen);
    }
}

// One decision made wrong at a time.
TEST(Legality, RefusesWhatTheDeviceOrTheProblemDoesNotTake) {
  Caps caps = caps_of(DeviceClass::kSoftwareRasteriser);
  ContractionProblem problem = matmul(128, 768, {3072});
  ASSERT_TRUE(is_legal(choose_contraction_schedule(caps, problem), problem, caps));
  for (const char* text :
       {"registers lanes=512 tile_m=4 tile_n=4 k_unroll=4 k_split=1",
        "registers lanes=12 tile_m=4 tile_n=4 k_unroll=4 k_split=1",
        "registers lanes=0 tile_m=4 tile_n=4 k_unroll=4 k_split=1",
        "registers lanes=8 tile_m=0 tile_n=4 k_unroll=4 k_split=1",
        "registers lanes=8 tile_m=64 tile_n=64 k_unroll=1 k_split=1",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=-4 k_split=1",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=1024 k_split=1",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=4 k_split=2",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=4 k_split=8 share_rows",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=4 k_split=1 split parts=1 dim=0 length=3072",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=4 k_split=1 split parts=2 dim=1 length=1536",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=4 k_split=1 split parts=2 dim=0 length=1024",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=4 k_split=1 split parts=2 dim=0 length=1538",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=4 k_split=1 split parts=768 dim=0 length=4",
        "tiles rows=128 columns=64 k=8 lane_rows=8 lane_columns=4 run=3",
        "tiles rows=64 columns=64 k=16 lane_rows=4 lane_columns=4 run=2"}) {
    auto schedule = parse_contraction_schedule(text);
    ASSERT_TRUE(schedule) << text;
    EXPECT_FALSE(is_legal(*schedule, problem, caps)) << text;
  }
}

TEST(Legality, CountsSharedMemory) {
  Caps caps = caps_of(DeviceClass::kSoftwareRasteriser);
  ContractionProblem problem = matmul(128, 768, {3072});
  auto schedule = parse_contraction_schedule(
      "registers lanes=256 tile_m=64 tile_n=1 k_unroll=16 k_split=16 share_rows");
  ASSERT_TRUE(schedule);
  caps.max_shared_bytes = 4 * 256 * 4;
  EXPECT_TRUE(is_legal(*schedule, problem, caps));
  problem.sum = DType::kF64;
  EXPECT_FALSE(is_legal(*schedule, problem, caps));
}

TEST(Legality, CountsLoopsAndWideWords) {
  Caps caps = caps_of(DeviceClass::kSoftwareRasteriser);
  ContractionProblem problem = matmul(16, 16, {60000});
  auto schedule = parse_contraction_schedule(
      "registers lanes=8 tile_m=4 tile_n=2 k_unroll=1 k_split=1 wide_loads");
  ASSERT_TRUE(schedule);
  EXPECT_TRUE(is_legal(*schedule, problem, caps));
  caps.max_loop_iterations = 59999;
  EXPECT_FALSE(is_legal(*schedule, problem, caps));
  caps.max_loop_iterations = 60000;
  caps.int64 = false;
  EXPECT_FALSE(is_legal(*schedule, problem, caps));
  // Sums of parts in a buffer that the device does not bind.
  problem = matmul(512, 512, {60000});
  schedule = parse_contraction_schedule(
      "registers lanes=8 tile_m=4 tile_n=2 k_unroll=1 k_split=1 split parts=8 dim=0 length=7500");
  ASSERT_TRUE(schedule);
  EXPECT_TRUE(is_legal(*schedule, problem, caps));
  caps.max_storage_buffer_range = 4 << 20;
  EXPECT_FALSE(is_legal(*schedule, problem, caps));
}

TEST(Text, IsReadOnlyAsItIsPrinted) {
  for (const char* text :
       {"", "registers", "registers lanes=8", "tiles", "nonsense",
        "registers tile_m=4 lanes=8 tile_n=4 k_unroll=4 k_split=1",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=4 k_split=1 wide",
        "registers lanes=8 tile_m=4x tile_n=4 k_unroll=4 k_split=1",
        "registers lanes=8 tile_m=99999999999999999999 tile_n=4 k_unroll=4 k_split=1",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=4 k_split=1 split",
        "registers lanes=8 tile_m=4 tile_n=4 k_unroll=4 k_split=1\n"})
    EXPECT_FALSE(parse_contraction_schedule(text)) << text;
  EXPECT_EQ(print_contraction_problem(matmul(2, 70, {3, 5, 7})),
            "f32 f32 f32 1x2x70x3x5x7 a_along_k");
}

TEST(Tuning, GoesBeforeTheRuleWhereItIsLegal) {
  Caps caps = caps_of(DeviceClass::kSoftwareRasteriser);
  ContractionProblem problem = matmul(128, 768, {3072});
  ContractionSchedule by_rule = choose_contraction_schedule(caps, problem);
  ContractionSchedule other = vary_contraction_schedule(caps, problem, by_rule).at(0);
  auto choose = [&](const std::string& key, const std::string& text) {
    caps.tuning = std::make_shared<const Tuning>(Tuning{{key, text}});
    return choose_contraction_schedule(caps, problem);
  };
  std::string key = print_contraction_problem(problem);
  EXPECT_EQ(choose(key, print_contraction_schedule(other)), other);
  EXPECT_TRUE(tuned_contraction_schedule(caps, problem));
  EXPECT_EQ(choose(key + " windows", print_contraction_schedule(other)), by_rule);
  EXPECT_EQ(choose(key, "registers lanes=4096 tile_m=4 tile_n=4 k_unroll=4 k_split=1"), by_rule);
  EXPECT_EQ(choose(key, "no schedule at all"), by_rule);
  EXPECT_FALSE(tuned_contraction_schedule(caps, problem));
}

}  // namespace
}  // namespace tuff
