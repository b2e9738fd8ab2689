// Scalar regions: bodies of reduce, scatter, sort and their kin, called once per
// element. Compiled once into a list of elementwise steps over 8-byte cells; a
// region that does more than scalar arithmetic is walked as a graph instead.
#pragma once

#include <cstring>
#include <optional>
#include <vector>

#include "ir/evaluate/elementwise.h"
#include "ir/graph.h"

namespace tuff::eval {

// One scalar of any element type, in the low bytes.
struct alignas(8) Cell {
  std::byte bytes[8] = {};
};

inline Cell load_cell(const std::byte* from, int64_t element_bytes) {
  Cell cell;
  std::memcpy(cell.bytes, from, static_cast<size_t>(element_bytes));
  return cell;
}

inline void store_cell(const Cell& cell, std::byte* to, int64_t element_bytes) {
  std::memcpy(to, cell.bytes, static_cast<size_t>(element_bytes));
}

class ScalarRegion {
 public:
  // Steps point into the cells, so the object moves but is not copied.
  ScalarRegion(ScalarRegion&&) = default;
  ScalarRegion& operator=(ScalarRegion&&) = default;

  // All parameters and results of the region have rank 0.
  static Result<ScalarRegion> compile(const Graph& region);

  // Reads num_parameters cells, writes one cell per output. `results` may alias
  // `arguments`. Errors only come from regions walked as graphs.
  Status run(const Cell* arguments, Cell* results);

 private:
  struct Step {
    ElementwiseFunction function;
    ElementwiseCall call;
  };

  ScalarRegion() = default;
  Status add_step(const Node& node, uint32_t id);
  Status run_graph(const Cell* arguments, Cell* results);

  const Graph* region_ = nullptr;  // outlives the compiled form
  bool walked_ = false;
  std::vector<Cell> cells_;  // one per node; never resized after compile
  std::vector<Step> steps_;
  uint32_t num_parameters_ = 0;
  std::vector<uint32_t> outputs_;
};

// The op of a region that is one binary op on its two parameters in either
// order, commutative only: add, multiply, maximum, minimum, and, or.
std::optional<Op> single_op(const Graph& region);

// Element type of a region's parameter.
inline DType parameter_dtype(const Graph& region, uint32_t index) {
  return region.node(index).types[0].dtype;
}

// Wide<T> combine for the single ops, so that float sums and products accumulate
// in double and round once. Calls f with the functor; f must return a value.
template <typename F>
decltype(auto) with_combiner(Op op, F&& f) {
  switch (op) {
    case Op::kAdd: return f(Add{});
    case Op::kMultiply: return f(Multiply{});
    case Op::kMaximum: return f(Maximum{});
    default: return f(Minimum{});
  }
}

}  // namespace tuff::eval
