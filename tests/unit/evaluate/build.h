// Short spellings for single-node tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <utility>

#include "ir/evaluate/evaluate.h"

namespace tuff::test {

using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

inline Node node(Op op, std::vector<TensorType> types, Attrs attrs = {},
                 std::vector<GraphPtr> regions = {}) {
  Node result;
  result.op = op;
  result.types = std::move(types);
  result.attrs = std::move(attrs);
  result.regions = std::move(regions);
  return result;
}

inline Literal ints(DType dtype, Shape shape, const Ints& values) {
  return Literal::from_ints(dtype, std::move(shape), values);
}
inline Literal i32(Shape shape, const Ints& values) {
  return ints(DType::kI32, std::move(shape), values);
}
inline Literal i64(Shape shape, const Ints& values) {
  return ints(DType::kI64, std::move(shape), values);
}
inline Literal f32(Shape shape, const Doubles& values) {
  return Literal::from_doubles(DType::kF32, std::move(shape), values);
}

inline Ints to_ints(const Literal& literal) {
  Ints values;
  for (int64_t i = 0; i < literal.num_elements(); ++i) values.push_back(literal.get_int(i));
  return values;
}
inline Doubles to_doubles(const Literal& literal) {
  Doubles values;
  for (int64_t i = 0; i < literal.num_elements(); ++i) values.push_back(literal.get_double(i));
  return values;
}

// All results of a node that must evaluate.
inline std::vector<Literal> run_all(const Node& node, const std::vector<Literal>& operands) {
  auto results = evaluate_node(node, operands);
  EXPECT_TRUE(results.ok()) << results.error().to_string();
  if (!results.ok()) return {Literal(node.types[0])};
  for (size_t i = 0; i < results->size(); ++i) EXPECT_EQ((*results)[i].type(), node.types[i]);
  return *results;
}
inline Literal run(const Node& node, const std::vector<Literal>& operands) {
  return run_all(node, operands)[0];
}

// Same-typed elementwise op on ints or doubles.
inline Ints int_op(Op op, DType dtype, const std::vector<Ints>& operands) {
  std::vector<Literal> literals;
  Shape shape{static_cast<int64_t>(operands[0].size())};
  for (const Ints& values : operands) literals.push_back(ints(dtype, shape, values));
  return to_ints(run(node(op, {{dtype, shape}}), literals));
}
inline Doubles float_op(Op op, DType dtype, const std::vector<Doubles>& operands) {
  std::vector<Literal> literals;
  Shape shape{static_cast<int64_t>(operands[0].size())};
  for (const Doubles& values : operands)
    literals.push_back(Literal::from_doubles(dtype, shape, values));
  return to_doubles(run(node(op, {{dtype, shape}}), literals));
}

// A region of one binary op on its two scalar parameters.
inline GraphPtr binary_region(Op op, DType dtype) {
  Graph graph;
  Value a = graph.add_parameter({dtype, {}}), b = graph.add_parameter({dtype, {}});
  graph.set_outputs({add_op(graph, op, {a, b}, {dtype, {}})});
  return std::make_shared<Graph>(std::move(graph));
}
// Comparator of the first two of `count` scalar parameters.
inline GraphPtr compare_region(ComparisonDirection direction, std::vector<DType> dtypes,
                               CompareType type = CompareType::kFloat) {
  Graph graph;
  for (DType dtype : dtypes) graph.add_parameter({dtype, {}});
  graph.set_outputs(
      {add_op(graph, Op::kCompare, {{0, 0}, {1, 0}}, {DType::kBool, {}},
              CompareAttrs{.comparison_direction = direction, .compare_type = type})});
  return std::make_shared<Graph>(std::move(graph));
}

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline const double kNaN = std::nan("");

}  // namespace tuff::test
