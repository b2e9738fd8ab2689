// Every schedule that tuning may try, one decision and two away from the chosen one, against the
// reference evaluator: on the CPU as each class of device, and on the Vulkan device that is here.
#include <gtest/gtest.h>

#include "backend/compile.h"
#include "backend/vulkan/vulkan.h"
#include "ir/text/parse.h"
#include "shaders/schedule/contraction_schedule.h"
#include "tests/models/run_model.h"
#include "tests/unit/families/contractions.h"

namespace tuff {
namespace {

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

using test::convolution, test::dot, test::grouped_convolution, test::padded_dot,
    test::transposed_dot, test::two_way_dot;

struct Way {
  const char* name;
  const char* device;
  std::optional<DeviceClass> device_class;  // nothing: the device as it is
  // Of the schedules one decision away from the chosen one, and two, each so manieth is tried:
  // a driver takes its time to compile each.
  size_t near_every = 1, far_every = 5;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

// On the CPU: a device that says the same of itself as lavapipe, or as a GPU.
Caps caps_as(const Way& way, const Device& device) {
  Caps caps = device.caps();
  caps.library_calls = false;
  if (!way.device_class) return caps;
  caps.device_class = *way.device_class;
  caps.subgroup_size = caps.device_class == DeviceClass::kSoftwareRasteriser ? 8 : 32;
  caps.subgroup_shuffle = true;
  caps.max_group_invocations = 256;
  caps.max_shared_bytes = 32 << 10;
  return caps;
}

// The contraction of a graph that has one.
std::optional<ContractionProblem> problem_of(const std::string& text, const Caps& caps) {
  auto graph = parse_graph(text);
  if (!graph.ok()) return std::nullopt;
  auto program = compile(*graph, caps, {}, nullptr);
  if (!program.ok()) return std::nullopt;
  for (const Step& step : (*program)->steps)
    if (step.region)
      if (auto problem = contraction_problem(*step.region, caps)) return problem;
  return std::nullopt;
}

void expect_agreement_tuned(const std::string& text, Device& device, Caps caps,
                            const ContractionProblem& problem,
                            const ContractionSchedule& schedule) {
  SCOPED_TRACE(print_contraction_schedule(schedule));
  caps.tuning = std::make_shared<const Tuning>(
      Tuning{{print_contraction_problem(problem), print_contraction_schedule(schedule)}});
  ASSERT_EQ(choose_contraction_schedule(caps, problem), schedule);
  test::expect_agreement(text, device, caps);
}

class Sieve {  // lets each so manieth through, over all problems
 public:
  explicit Sieve(size_t every) : every_(every) {}
  bool passes() { return ++count_ % every_ == 0; }

 private:
  size_t every_, count_ = 0;
};

void expect_all_agree(const std::string& text, Device& device, const Caps& caps, Sieve& near,
                      Sieve& far) {
  SCOPED_TRACE(text);
  std::optional<ContractionProblem> problem = problem_of(text, caps);
  ASSERT_TRUE(problem);
  std::vector<ContractionSchedule> schedules =
      vary_contraction_schedule(caps, *problem, choose_contraction_schedule(caps, *problem));
  ASSERT_FALSE(schedules.empty());
  for (const ContractionSchedule& schedule : schedules) {
    if (near.passes()) expect_agreement_tuned(text, device, caps, *problem, schedule);
    for (const ContractionSchedule& other : vary_contraction_schedule(caps, *problem, schedule))
      if (far.passes()) expect_agreement_tuned(text, device, caps, *problem, other);
  }
}

Result<std::unique_ptr<Device>> open_way(const Way& way) { return open_device(way.device); }

class TunedContractions : public ::testing::TestWithParam<Way> {};

TEST_P(TunedContractions, AgreeWithEvaluator) {
  auto device = open_way(GetParam());
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  Caps caps = caps_as(GetParam(), **device);
  Sieve near(GetParam().near_every), far(GetParam().far_every);
  for (const std::string& text :
       {dot("f32", 3, 5, 70, 12), dot("f32", 1, 1, 2, 40), dot("f32", 1, 17, 33, 1027),
        dot("f32", 1, 9, 10, 0), dot("f16", 1, 19, 34, 10), dot("bf16", 2, 4, 65, 66),
        dot("i32", 2, 18, 20, 6), dot("i1", 1, 2, 3, 600), transposed_dot(21, 38, 14),
        two_way_dot("f32", 34, 36, 2, 24), two_way_dot("bf16", 5, 3, 40, 7), padded_dot(37, 41, 22),
        convolution(7, 3, 18, 3, 2), grouped_convolution(5, 2, 20, 24)})
    expect_all_agree(text, **device, caps, near, far);
}

INSTANTIATE_TEST_SUITE_P(Fakes, TunedContractions,
                         ::testing::Values(Way{"software", "cpu", DeviceClass::kSoftwareRasteriser},
                                           Way{"integrated", "cpu", DeviceClass::kIntegratedGpu},
                                           Way{"discrete", "cpu", DeviceClass::kDiscreteGpu}),
                         [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(OnDriver, TunedContractions,
                         ::testing::Values(Way{"some_vulkan", "vulkan", std::nullopt, 9, 150},
                                           Way{"all_vulkan", "vulkan", std::nullopt, 1, 20}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TunedContractionsOnVulkan, AgreeWithEvaluatorNearTheChosenOne) {
  Way way{"vulkan", "vulkan", std::nullopt};
  auto device = open_way(way);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  Caps caps = caps_as(way, **device);
  std::string text = transposed_dot(7, 9, 130);
  std::optional<ContractionProblem> problem = problem_of(text, caps);
  ASSERT_TRUE(problem);
  ContractionSchedule chosen = choose_contraction_schedule(caps, *problem);
  for (const ContractionSchedule& schedule : vary_contraction_schedule(caps, *problem, chosen))
    expect_agreement_tuned(text, **device, caps, *problem, schedule);
  EXPECT_EQ(validation_errors(), 0);
}

}  // namespace
}  // namespace tuff
