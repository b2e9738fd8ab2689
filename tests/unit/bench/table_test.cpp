#include "frontend/bench/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuff::bench {
namespace {

using testing::HasSubstr;

TEST(ShortMs, ThreeDigitsAndOneUnit) {
  EXPECT_EQ(short_ms(0.01234), "0.012 ms");
  EXPECT_EQ(short_ms(1.2345), "1.23 ms");
  EXPECT_EQ(short_ms(84.34), "84.3 ms");
  EXPECT_EQ(short_ms(526.4), "526 ms");
  EXPECT_EQ(short_ms(999.6), "1.00 s");
  EXPECT_EQ(short_ms(36512), "36.5 s");
}

// What an interrupted run leaves must print too: most keys may be absent.
TEST(ResultsTable, PrintsWhatThereIs) {
  Json results = Json::parse(
      R"({"format": "tuff-bench-1", "environment": {}, "interrupted": true, "workloads": [
    {"name": "w", "systems": [
      {"system": "a"},
      {"system": "b", "error": {"kind": "hang", "stage": "steady", "message": "no answer"}},
      {"system": "c", "runs": [{"mode": "cold", "first_ms": 12, "phases": {"passes": 2}}], "steady": {"median": 3}}]},
    {"name": "broken", "error": "cannot be read", "systems": []}]})");
  for (TableStyle style : {TableStyle::kText, TableStyle::kMarkdown}) {
    std::string text = results_table(results, style);
    EXPECT_THAT(text, HasSubstr("interrupted"));
    EXPECT_THAT(text, HasSubstr("b: hang (steady): no answer"));
    EXPECT_THAT(text, HasSubstr("12.0 ms"));
    EXPECT_THAT(text, HasSubstr("c cold: passes 2.00 ms"));
    EXPECT_THAT(text, HasSubstr("cannot be read"));
  }
}

TEST(ResultsTable, BeginsWithAllWorkloadsAtAGlance) {
  Json results = Json::parse(R"({"environment": {}, "workloads": []})");
  for (const char* name : {"one", "two"})
    results["workloads"].push_back(Json::parse(R"({"systems": [
      {"system": "a", "runs": [{"mode": "cold", "first_ms": 100, "second_ms": 3}], "steady": {"median": 2}},
      {"system": "b", "error": {"kind": "missing"}}]})")),
        results["workloads"].back()["name"] = name;
  std::string text = results_table(results, TableStyle::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| first / second / steady |"));
  EXPECT_THAT(text,
              HasSubstr("| two                     | 100 ms / 3.00 ms / 2.00 ms | missing |"));
}

}  // namespace
}  // namespace tuff::bench
