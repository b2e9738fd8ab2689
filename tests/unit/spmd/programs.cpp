#include "tests/unit/spmd/programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>

#include "frontend/stablehlo/read.h"
#include "frontend/weights/seeded.h"
#include "ir/evaluate/evaluate.h"
#include "ir/evaluate/tolerances.h"
#include "ir/spmd/collective.h"
#include "tests/unit/spmd/run_parts.h"

namespace tuff {

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

void expect_close(const Literal& found, const Literal& wanted) {
  ASSERT_EQ(found.type(), wanted.type());
  for (int64_t i = 0; i < wanted.num_elements(); ++i)
    ASSERT_NEAR(found.get_double(i), wanted.get_double(i),
                tolerance("parts") * (1 + std::abs(wanted.get_double(i))))
        << "element " << i;
}

}  // namespace

Result<WholeProgram> read_spread(std::string function, int64_t devices) {
  for (int rank = 1; rank <= 4; ++rank) {
    std::string rest;
    for (int d = 1; d < rank; ++d) rest += ", {}";
    function =
        replaced(function, fmt::format("{{X{}}}", rank),
                 fmt::format("{{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}{}]>}}", rest));
  }
  return read_whole_program(
      fmt::format("module @m attributes {{mhlo.num_partitions = {0} : i32}} {{\n"
                  "sdy.mesh @mesh = <[\"x\"={0}]>\n{1}\n}}",
                  devices, function),
      "test.mlir");
}

void run_and_compare(const Result<WholeProgram>& whole, SegmentedProgram* program) {
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  std::vector<Literal> arguments;
  for (uint32_t i = 0; i < whole->graph.num_parameters(); ++i)
    arguments.push_back(seeded_argument(fmt::format("a{}", i), whole->graph.node(i).types[0]));
  auto wanted = evaluate(whole->graph, arguments);
  ASSERT_TRUE(wanted.ok()) << wanted.error().to_string();
  auto run = run_parts(*whole, arguments);
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  ASSERT_EQ(run->outputs.size(), wanted->size());
  for (size_t i = 0; i < wanted->size(); ++i) expect_close(run->outputs[i], (*wanted)[i]);
  *program = std::move(run->program);
}

std::string exchanges_of(const SegmentedProgram& program) {
  std::vector<std::string> texts;
  for (const Segment& segment : program.segments)
    for (const Exchange& exchange : segment.exchanges)
      texts.push_back(
          fmt::format("{} {}", spmd_op_name(exchange.op), exchange.operand_type.to_string()));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace tuff
