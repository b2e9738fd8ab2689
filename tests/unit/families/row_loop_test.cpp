// That loops over rows become one kernel, on whatever class of device (families_test.cpp runs
// them), and which loops do not.
#include <gtest/gtest.h>

#include "backend/compile.h"
#include "ir/text/parse.h"
#include "tests/kernels/caps_profile.h"
#include "tests/unit/families/cases.h"

namespace tuff::test {

void PrintTo(const FamilyCase& c, std::ostream* out) { *out << c.name; }

namespace {

// Families of the kernels that the graph becomes on the device.
std::vector<std::string> families_on(const std::string& profile, const std::string& graph) {
  auto caps = read_caps_profile(profile);
  EXPECT_TRUE(caps.ok()) << caps.error().to_string();
  auto parsed = parse_graph(graph);
  EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
  CompileOptions options;
  options.disabled = {"unroll"};
  auto program = compile(*parsed, *caps, options, nullptr);
  EXPECT_TRUE(program.ok()) << program.error().to_string();
  std::vector<std::string> families;
  for (const Kernel& kernel : (*program)->kernels) families.push_back(kernel.family);
  return families;
}

class RowLoop : public ::testing::TestWithParam<std::tuple<FamilyCase, std::string>> {};

TEST_P(RowLoop, IsOneKernel) {
  auto [c, profile] = GetParam();
  EXPECT_EQ(families_on(profile, c.graph), std::vector<std::string>{"loop"});
}

INSTANTIATE_TEST_SUITE_P(
    All, RowLoop,
    ::testing::Combine(::testing::ValuesIn(row_loop_cases()),
                       ::testing::Values("software", "discrete32", "discrete64", "phone")),
    [](const auto& info) { return std::get<0>(info.param).name + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace tuff::test
