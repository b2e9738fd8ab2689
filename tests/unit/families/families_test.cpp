#include <gtest/gtest.h>

#include "backend/compile.h"
#include "backend/vulkan/vulkan.h"
#include "ir/evaluate/evaluate.h"
#include "ir/text/parse.h"
#include "ir/verify.h"
#include "tests/models/run_model.h"
#include "tests/unit/families/cases.h"
#include "tests/unit/families/ways.h"

namespace tuff::test {

void PrintTo(const FamilyCase& c, std::ostream* out) { *out << c.name; }

namespace {

std::vector<FamilyCase> all_cases() {
  std::vector<FamilyCase> all;
  for (const auto& more : {update_cases(), window_cases(), scatter_cases(), sort_cases(),
                           library_cases(), control_cases(), rows_cases(), matmul_cases(),
                           load_cases(), byte_cases(), row_loop_cases(), near_row_loop_cases()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

Literal small_integers(const TensorType& type, uint32_t seed) {
  Literal value(type);
  uint32_t state = seed * 2654435761u + 1;
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    int64_t n = state >> 16;
    if (is_float(type.dtype))
      value.set_double(i, static_cast<double>(n % 9 - 4));
    else
      value.set_int(i, type.dtype == DType::kBool    ? n % 2
                       : is_unsigned_int(type.dtype) ? n % 10
                                                     : n % 13 - 3);
  }
  return value;
}

std::vector<Literal> arguments_of(const Graph& graph, uint32_t seed) {
  std::vector<Literal> arguments;
  for (uint32_t i = 0; i < graph.num_parameters(); ++i)
    arguments.push_back(small_integers(graph.node(i).types[0], seed * 17 + i));
  return arguments;
}

#define ASSERT_OK(result)                                     \
  do {                                                        \
    const auto& checked = (result);                           \
    ASSERT_TRUE(checked.ok()) << checked.error().to_string(); \
  } while (false)

class FamilyTest : public ::testing::TestWithParam<std::tuple<FamilyCase, const char*>> {};

TEST_P(FamilyTest, AgreesWithEvaluator) {
  auto [c, device_name] = GetParam();
  auto graph = parse_graph(c.graph);
  ASSERT_OK(graph);
  Status valid = verify(*graph);
  ASSERT_OK(valid);
  auto device = open_device(device_name);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  for (const std::set<std::string>& disabled :
       {std::set<std::string>{},
        {"unroll"},
        {"group", "canonicalize", "fold_constants", "unroll"}}) {
    LoadedModel model{*graph, {}, {}};
    auto executable = compile_model(model, **device, disabled);
    ASSERT_OK(executable);
    for (const Kernel& kernel : executable->program().kernels) {
      Status status = verify_kernel(kernel);
      ASSERT_OK(status);
    }
    for (uint32_t seed = 0; seed < 3; ++seed) {
      std::vector<Literal> arguments = arguments_of(*graph, seed);
      auto expected = evaluate(*graph, arguments);
      ASSERT_OK(expected);
      auto got = (*executable)(arguments);
      ASSERT_OK(got);
      for (size_t i = 0; i < expected->size(); ++i)
        EXPECT_EQ((*got)[i], (*expected)[i])
            << "output " << i << " seed " << seed << (disabled.empty() ? "" : " alone");
    }
  }
  EXPECT_EQ(validation_errors(), 0);
}

// Schedules for other devices. A loop that a device's limit leaves no way to run is refused.
class FamilyOtherWaysTest : public ::testing::TestWithParam<std::tuple<FamilyCase, Way>> {};

TEST_P(FamilyOtherWaysTest, AgreesWithEvaluator) {
  auto [c, way] = GetParam();
  auto graph = parse_graph(c.graph);
  ASSERT_OK(graph);
  auto device = open_as(way);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  auto executable = compile_model({*graph, {}, {}}, **device, {});
  if (!executable.ok() && executable.error().code == ErrorCode::kUnsupported)
    GTEST_SKIP() << executable.error().to_string();
  ASSERT_OK(executable);
  for (const Kernel& kernel : executable->program().kernels) {
    Status status = verify_kernel(kernel);
    ASSERT_OK(status);
  }
  std::vector<Literal> arguments = arguments_of(*graph, 1);
  auto expected = evaluate(*graph, arguments);
  ASSERT_OK(expected);
  auto got = (*executable)(arguments);
  ASSERT_OK(got);
  for (size_t i = 0; i < expected->size(); ++i) EXPECT_EQ((*got)[i], (*expected)[i]) << i;
  EXPECT_EQ(validation_errors(), 0);
}

// What is given to the host runs there, and is counted.
TEST(Hosted, RunsOnTheHostOfAVulkanDevice) {
  auto graph = parse_graph(R"(graph main(%x: f32[3,4], %p: i1[5], %e: f32[0]) {
    %n = negate(%x) : f32[3,4]
    %h:3 = hosted(%n, %p, %e) {why = "no kernel"} : f32[4,3], i1[5], f32[0] graph lib(%a: f32[3,4], %p: i1[5], %e: f32[0]) {
      %t = transpose(%a) {permutation = [1, 0]} : f32[4,3]
      %u = add(%t, %t) : f32[4,3]
      %q = not(%p) : i1[5]
      return %u, %q, %e
    }
    %m = abs(%h) : f32[4,3]
    return %m, %h#1, %h#2
  })");
  ASSERT_OK(graph);
  auto device = open_device("vulkan");
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  CompileReport report;
  auto program = compile(*graph, (*device)->caps(), {}, &report);
  ASSERT_OK(program);
  ASSERT_EQ(report.hosted.size(), 1u);
  EXPECT_EQ(report.hosted[0].why, "no kernel");
  EXPECT_EQ(report.hosted[0].ops, (std::vector<std::string>{"transpose", "add", "not"}));
  auto executable = Executable::create(**device, *program, {});
  ASSERT_OK(executable);
  std::vector<Literal> arguments = arguments_of(*graph, 1);
  auto expected = evaluate(*graph, arguments), got = (*executable)(arguments);
  ASSERT_OK(expected);
  ASSERT_OK(got);
  EXPECT_EQ(*got, *expected);
  RunStats stats;
  ASSERT_OK(executable->run(&stats));
  EXPECT_EQ(stats.readbacks, 2);
  EXPECT_EQ(stats.cpu_ops, 3);
  EXPECT_EQ(stats.copied_bytes, report.hosted[0].bytes);
  EXPECT_EQ(validation_errors(), 0);
}

TEST(Hosted, NeedsAHost) {
  auto graph = parse_graph(R"(graph main(%x: f32[4]) {
    %h = hosted(%x) {why = "no kernel"} : f32[4] graph lib(%a: f32[4]) {
      return %a
    }
    return %h
  })");
  ASSERT_OK(graph);
  auto program = compile(*graph, Caps{}, {}, nullptr);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::kUnsupported);
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyTest,
                         ::testing::Combine(::testing::ValuesIn(all_cases()),
                                            ::testing::Values("cpu", "vulkan")),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param);
                         });

INSTANTIATE_TEST_SUITE_P(All, FamilyOtherWaysTest,
                         ::testing::Combine(::testing::ValuesIn(all_cases()),
                                            ::testing::ValuesIn(other_ways())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace tuff::test
