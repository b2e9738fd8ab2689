#include "tests/unit/families/agrees.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/evaluate/evaluate.h"
#include "ir/evaluate/tolerances.h"

namespace tuff::test {

void expect_agrees(Executable& executable, const Graph& graph, double mean,
                   const std::string& what) {
  std::vector<Literal> arguments;
  for (uint32_t p = 0; p < graph.num_parameters(); ++p) {
    Literal& value = arguments.emplace_back(graph.node(p).types[0]);
    for (int64_t i = 0; i < value.num_elements(); ++i)
      value.set_double(i, std::sin(static_cast<double>(i * (p + 3))) * 2.5 + mean);
  }
  auto expected = evaluate(graph, arguments);
  ASSERT_TRUE(expected.ok()) << what << ": " << expected.error().to_string();
  auto got = executable(arguments);
  ASSERT_TRUE(got.ok()) << what << ": " << got.error().to_string();
  EXPECT_LE(scale_error((*got)[0], (*expected)[0]), tolerance("layer_norm")) << what;
}

}  // namespace tuff::test
