// Rows too long for one workgroup of a device whose loops are short: parts of them are reduced by
// many workgroups, and what cannot be is refused.
#include <gtest/gtest.h>

#include "backend/vulkan/vulkan.h"
#include "ir/evaluate/evaluate.h"
#include "ir/text/parse.h"
#include "tests/models/run_model.h"
#include "tests/unit/families/ways.h"

namespace tuff::test {
namespace {

// A lane runs 100 iterations, so a workgroup reduces at most 800 elements of a row.
const Way kShortLoops{"short_loops_and_few_lanes", [](Caps& caps) {
                        caps.max_loop_iterations = 100;
                        caps.max_group_invocations = 8;
                      }};

struct LongRows {
  const char* name;
  const char* graph;
};
void PrintTo(const LongRows& c, std::ostream* out) { *out << c.name; }

const LongRows kCases[] = {{"full_sum", R"(graph main(%x: f32[6007]) {
        %three = constant f32[] 3
        %s = reduce(%x, %three) {dimensions = [0]} : f32[] applies add
        return %s
      })"},
                           {"siblings_over_all_dimensions", R"(graph main(%x: i32[2,3,401]) {
        %zero = constant i32[] 0
        %low = constant i32[] -100
        %y = add(%x, %x) : i32[2,3,401]
        %s = reduce(%y, %zero) {dimensions = [0, 1, 2]} : i32[] applies add
        %m = reduce(%y, %low) {dimensions = [0, 1, 2]} : i32[] applies maximum
        %t = subtract(%m, %s) : i32[]
        return %t, %s
      })"},
                           {"rows_and_points", R"(graph main(%x: f32[3,1201]) {
        %low = constant f32[] -inf
        %zero = constant f32[] 0
        %m = reduce(%x, %low) {dimensions = [1]} : f32[3] applies maximum
        %b = broadcast_in_dim(%m) {broadcast_dimensions = [0]} : f32[3,1201]
        %d = subtract(%b, %x) : f32[3,1201]
        %s = reduce(%d, %zero) {dimensions = [1]} : f32[3] applies add
        %c = broadcast_in_dim(%s) {broadcast_dimensions = [0]} : f32[3,1201]
        %y = add(%d, %c) : f32[3,1201]
        return %y, %s
      })"},
                           {"points_of_the_only_row", R"(graph main(%x: f32[907]) {
        %zero = constant f32[] 0
        %s = reduce(%x, %zero) {dimensions = [0]} : f32[] applies add
        %c = broadcast_in_dim(%s) {broadcast_dimensions = []} : f32[907]
        %y = subtract(%x, %c) : f32[907]
        return %y
      })"},
                           {"more_rows_than_lanes", R"(graph main(%x: f32[2,1009,19]) {
        %zero = constant f32[] 0
        %s = reduce(%x, %zero) {dimensions = [1]} : f32[2,19] applies add
        return %s
      })"},
                           {"outer_rows", R"(graph main(%x: f32[5,3,1661]) {
        %one = constant f32[] 1
        %s = reduce(%x, %one) {dimensions = [2]} : f32[5,3] applies maximum
        return %s
      })"},
                           {"batch_of_one", R"(graph main(%x: f32[1,2003]) {
        %zero = constant f32[] 0
        %s = reduce(%x, %zero) {dimensions = [1]} : f32[1] applies add
        return %s
      })"}};

class LongRowsTest : public ::testing::TestWithParam<LongRows> {};

TEST_P(LongRowsTest, AgreeWithTheEvaluator) {
  auto graph = parse_graph(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  auto device = open_as(kShortLoops);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_TRUE(device.ok()) << device.error().to_string();
  auto executable = compile_model({*graph, {}, {}}, **device, {});
  ASSERT_TRUE(executable.ok()) << executable.error().to_string();
  EXPECT_GT(executable->program().kernels.size(), 1u) << "in parts";
  Literal x(graph->node(0).types[0]);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    int64_t value = i * i % 11 - 4;
    is_float(x.type().dtype) ? x.set_double(i, static_cast<double>(value)) : x.set_int(i, value);
  }
  auto expected = evaluate(*graph, {x}), got = (*executable)({x});
  ASSERT_TRUE(expected.ok()) << expected.error().to_string();
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  EXPECT_EQ(*got, *expected);
  EXPECT_EQ(validation_errors(), 0);
}

INSTANTIATE_TEST_SUITE_P(Cases, LongRowsTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tuff::test
