// The runner: order, names, timing, dumps, and catching a pass that breaks a graph.
#include "ir/pass.h"

#include <gmock/gmock.h>

#include "ir/text/parse.h"

namespace tuff {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

Graph example() {
  return *parse_graph(
      "graph main(%x: f32[4]) { %one = constant f32[4] 1 %y = multiply(%x, %one) : f32[4] %z = "
      "abs(%y) : f32[4] "
      "return %z }");
}

std::vector<std::string> steps_run(const PassRunOptions& base) {
  std::vector<std::string> names;
  PassRunOptions options = base;
  options.on_step = [&](const char* name, const Graph&, const Graph&, bool) {
    names.push_back(name);
  };
  EXPECT_TRUE(run_passes(example(), {}, options).ok());
  return names;
}

TEST(Passes, TheOrderNamesPassesOfTheTable) {
  for (const PassStep& step : pass_order()) {
    EXPECT_NE(find_pass(step.pass), nullptr) << step.pass;
    EXPECT_NE(std::string(step.why_here), "") << step.pass;
  }
  for (const Pass& pass : pass_table()) EXPECT_EQ(find_pass(pass.name), &pass);
  EXPECT_EQ(find_pass("frobnicate"), nullptr);
}

TEST(Passes, RunInOrderAndTellWhatChanged) {
  EXPECT_EQ(steps_run({}).size(), pass_order().size());
  std::set<std::string> changed;
  PassRunOptions options;
  options.on_step = [&](const char* name, const Graph& before, const Graph& after, bool c) {
    EXPECT_EQ(c, !(before == after));
    if (c) changed.insert(name);
  };
  EXPECT_TRUE(run_passes(example(), {}, options).ok());
  EXPECT_THAT(changed, Contains("canonicalize"));
  EXPECT_THAT(changed, Not(Contains("eliminate_dead")));
}

TEST(Passes, ADisabledPassDoesNotRun) {
  EXPECT_THAT(steps_run({}), Contains("canonicalize"));
  EXPECT_THAT(steps_run({.disabled = {"canonicalize"}}), Not(Contains("canonicalize")));
}

TEST(Passes, UnknownNamesListTheValidOnes) {
  Result<Graph> g = run_passes(example(), {}, {.disabled = {"frobnicate"}});
  ASSERT_FALSE(g.ok());
  EXPECT_EQ(g.error().code, ErrorCode::kUsage);
  EXPECT_THAT(g.error().to_string(),
              HasSubstr("--disable: 'frobnicate' is no pass; the names are "));
  EXPECT_THAT(g.error().to_string(), HasSubstr("canonicalize"));
  EXPECT_TRUE(
      run_passes(example(), {}, {.disabled = {"library_calls"}, .other_names = {"library_calls"}})
          .ok());
}

TEST(Passes, RequiredPassesCannotBeDisabled) {
  Result<Graph> g = run_passes(example(), {}, {.disabled = {"decompose"}});
  ASSERT_FALSE(g.ok());
  EXPECT_THAT(g.error().to_string(), HasSubstr("'decompose' cannot be disabled"));
}

TEST(Passes, TimesEveryStep) {
  std::vector<double> seconds;
  PassRunOptions options;
  options.on_time = [&](const char*, double s) { seconds.push_back(s); };
  EXPECT_TRUE(run_passes(example(), {}, options).ok());
  EXPECT_EQ(seconds.size(), pass_order().size());
  EXPECT_THAT(seconds, Each(::testing::Ge(0.0)));
}

Graph broken() {
  return *parse_graph("graph main(%x: f32[4]) { %y = abs(%x) : f32[5] return %y }");
}

TEST(Passes, AnInvalidInputIsFound) {
  Result<Graph> g = run_passes(broken(), {}, {.verify_each = true});
  ASSERT_FALSE(g.ok());
  EXPECT_EQ(g.error().code, ErrorCode::kBadInput);
}

TEST(Passes, APassThatBreaksTheGraphIsNamed) {
  Pass breaks{"breaks", [](const Graph&, const PassContext&) -> Result<Graph> { return broken(); },
              true, ""};
  Result<Graph> g = run_pass(breaks, example(), {}, {.verify_each = true});
  ASSERT_FALSE(g.ok());
  EXPECT_EQ(g.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(g.error().to_string(),
              HasSubstr("Pass breaks made an invalid graph, a bug in tuff: The result types"));
}

TEST(Passes, NamesAndDonationsStay) {
  Graph g = *parse_graph(
      "graph f(%x: f32[4] \"w\") { %z = constant f32[4] 1 %y = multiply(%x, %z) : f32[4] "
      "donate %x -> 0 return %y \"loss\" }");
  Result<Graph> out = run_passes(g, {}, {.disabled = {"group"}});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->name, "f");
  EXPECT_EQ(out->parameter_name(0), "w");
  EXPECT_EQ(out->output_names(), std::vector<std::string>{"loss"});
  EXPECT_EQ(out->donations, g.donations);
}

}  // namespace
}  // namespace tuff
