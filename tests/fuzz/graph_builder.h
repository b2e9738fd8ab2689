// The graph being made and the choices that all steps of the generator share.
#pragma once

#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "tests/fuzz/precision.h"

namespace tuff::fuzz {

using Ints = std::vector<int64_t>;

class GraphBuilder {
 public:
  static constexpr int64_t kMaxElements = 6000;

  explicit GraphBuilder(uint32_t seed);

  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint32_t>(n)); }
  bool chance(int64_t one_in) { return pick(one_in) == 0; }
  template <typename T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(pick(static_cast<int64_t>(list.size())))];
  }
  std::mt19937& random() { return random_; }

  const Graph& graph() const { return graph_; }
  const TensorType& type(Value v) const { return graph_.type(v); }
  const Shape& shape(Value v) const { return graph_.type(v).shape; }
  bool exact(Value v) const { return precisions_[v.node].exact(); }
  bool integral(Value v) const { return precisions_[v.node].integral; }

  // A value of any type (exact ones only, unless it is merely moved), new ones first.
  Value any(bool moved = false);
  // An exact value whose type satisfies `wanted`; nothing where there is none.
  template <typename Wanted>
  std::optional<Value> find(Wanted wanted);
  // A scalar of the type: a parameter or a small constant.
  Value scalar(DType dtype);
  // A whole-number copy that sums of thousands keep exact.
  std::optional<Value> summable(Value v);
  // A copy whose NaNs are one: total order tells them apart by their sign, which devices choose.
  std::optional<Value> with_one_nan(Value v);

  // Adds a node whose types are inferred (from `guess` where nothing implies them);
  // nothing where that is ill-typed or large.
  std::optional<Value> add(Op op, std::vector<Value> operands, Attrs attrs, TensorType guess,
                           std::vector<GraphPtr> regions = {}, size_t results = 1);
  Value parameter(TensorType type, const std::string& name);
  Value constant(Literal literal);
  Graph finish();

  // A region of one operation over two scalars.
  static GraphPtr binary_region(Op op, DType dtype);
  static GraphPtr compare_region(ComparisonDirection direction, DType dtype, size_t operands);

 private:
  void donate();

  std::mt19937 random_;
  Graph graph_;
  std::vector<Value> values_;
  std::vector<Precision> precisions_;
};

template <typename Wanted>
std::optional<Value> GraphBuilder::find(Wanted wanted) {
  std::vector<Value> found;
  for (Value v : values_)
    if (exact(v) && wanted(v)) found.push_back(v);
  if (found.empty()) return std::nullopt;
  return one_of(found);
}

// One node of the operation, if there are values for it (graph_steps_*.cpp).
void step_elementwise(GraphBuilder& b, Op op);
void step_movement(GraphBuilder& b, Op op);
void step_indexing(GraphBuilder& b, Op op);
void step_reduction(GraphBuilder& b, Op op);
void step_contraction(GraphBuilder& b, Op op);
void step_library(GraphBuilder& b, Op op);
void step_control(GraphBuilder& b, Op op);

}  // namespace tuff::fuzz
