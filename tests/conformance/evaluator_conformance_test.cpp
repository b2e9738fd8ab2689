// The evaluator against the held-in suite. TUFF_CONFORMANCE names the folder that
// holds stablehlo/manifest.json and fuzz/manifest.json; TUFF_CONFORMANCE_CASES and
// TUFF_CONFORMANCE_FUZZ_CASES the folders of the unpacked cases, if those are not
// beside the manifests. TUFF_CONFORMANCE_FORM=bytecode reads the artifacts.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "frontend/conformance/run_manifest.h"
#include "ir/evaluate/evaluate.h"

namespace tuff::conformance {
namespace {

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Runs a group, prints what does not pass and the counts by outcome.
std::map<Outcome, int> run_group(const Manifest& manifest, const std::string& group, Form form,
                                 const Runner& runner = evaluate, bool print = true) {
  std::map<Outcome, int> counts;
  for (const Case& test : manifest.cases) {
    if (test.group != group) continue;
    if (form == Form::kBytecode && test.bytecode.empty()) continue;
    CaseResult result = run_case(manifest, test, runner, form);
    ++counts[result.outcome];
    if (print && !passes(result.outcome))
      std::printf("%-12s %s: %s\n", outcome_name(result.outcome), result.name.c_str(),
                  result.detail.c_str());
  }
  std::printf("%s:", group.c_str());
  for (auto [outcome, count] : counts) std::printf(" %s %d", outcome_name(outcome), count);
  std::printf("\n");
  return counts;
}

// A suite of the data with its cases unpacked, or the reason to skip.
Result<Manifest> open_suite(const std::string& suite, const std::string& cases) {
  std::string folder = env("TUFF_CONFORMANCE");
  if (folder.empty()) return Error{ErrorCode::kUsage, "TUFF_CONFORMANCE is not set.", ""};
  std::string cases_folder = cases.empty() ? folder + "/" + suite : cases;
  TUFF_ASSIGN(Manifest manifest, load_manifest(folder + "/" + suite, cases_folder));
  if (manifest.cases.empty() ||
      !std::filesystem::exists(cases_folder + "/" + manifest.cases[0].file))
    return Error{ErrorCode::kUsage, "The suite's cases.zip is not unpacked.", cases_folder};
  return manifest;
}

Form form() { return env("TUFF_CONFORMANCE_FORM") == "bytecode" ? Form::kBytecode : Form::kText; }

void expect_all_pass(std::map<Outcome, int> counts) {
  EXPECT_GT(counts[Outcome::kStrict], 0);
  for (auto [outcome, count] : counts) {
    if (!passes(outcome)) {
      EXPECT_EQ(count, 0) << outcome_name(outcome);
    }
  }
}

class EvaluatorConformance : public testing::TestWithParam<const char*> {};

TEST_P(EvaluatorConformance, EveryCasePasses) {
  auto manifest = open_suite("stablehlo", env("TUFF_CONFORMANCE_CASES"));
  if (!manifest.ok()) GTEST_SKIP() << manifest.error().to_string();
  expect_all_pass(run_group(*manifest, GetParam(), form()));
}

INSTANTIATE_TEST_SUITE_P(Groups, EvaluatorConformance, testing::Values("core", "chlo"),
                         [](const auto& group) { return std::string(group.param); });

TEST(EvaluatorSuites, FuzzedPrograms) {
  auto manifest = open_suite("fuzz", env("TUFF_CONFORMANCE_FUZZ_CASES"));
  if (!manifest.ok()) GTEST_SKIP() << manifest.error().to_string();
  expect_all_pass(run_group(*manifest, "core", form()));
}

// The suite can fail: zeros of the right types are right almost nowhere.
TEST(EvaluatorSuites, ZerosFail) {
  auto manifest = open_suite("stablehlo", env("TUFF_CONFORMANCE_CASES"));
  if (!manifest.ok()) GTEST_SKIP() << manifest.error().to_string();
  auto zeros = [](const Graph& graph, const std::vector<Literal>&) -> Result<std::vector<Literal>> {
    std::vector<Literal> outputs;
    for (Value v : graph.outputs()) outputs.emplace_back(graph.type(v));
    return outputs;
  };
  auto counts = run_group(*manifest, "core", form(), zeros, /*print=*/false);
  EXPECT_GT(counts[Outcome::kMismatch], 1200);
}

}  // namespace
}  // namespace tuff::conformance
