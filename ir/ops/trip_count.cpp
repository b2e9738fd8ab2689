#include "ir/ops/trip_count.h"

#include <cstdlib>

#include "ir/rewrite.h"

namespace tuff {

namespace {

// Below this, sums of two values and a step do not overflow.
constexpr int64_t kMaxMagnitude = int64_t{1} << 61;

std::optional<int64_t> small_integer(const Literal* literal) {
  if (!literal || !is_integer(literal->type().dtype)) return std::nullopt;
  int64_t value = literal->get_int(0);
  if (value <= -kMaxMagnitude || value >= kMaxMagnitude) return std::nullopt;
  return value;
}

// A value of the condition or body that is the same in every round.
std::optional<int64_t> constant_in(const Graph& graph, const Node& loop, const Graph& region,
                                   Value v) {
  if (v.node >= region.num_parameters()) return small_integer(splat_value(region, v));
  const Graph& body = *loop.regions[1];
  bool invariant = body.outputs()[v.node] == Value{v.node, 0};
  return invariant ? small_integer(splat_value(graph, loop.operands[v.node])) : std::nullopt;
}

bool fits(int64_t value, DType dtype) {
  int64_t bits = 8 * dtype_size(dtype);
  if (bits == 64) return !is_unsigned_int(dtype) || value >= 0;
  if (is_unsigned_int(dtype)) return value >= 0 && value < int64_t{1} << bits;
  int64_t half = int64_t{1} << (bits - 1);
  return value >= -half && value < half;
}

// Rounds until `distance`, which shrinks by `step` > 0, is no longer > 0.
int64_t rounds(int64_t distance, int64_t step) {
  return distance <= 0 ? 0 : (distance - 1) / step + 1;
}

struct Counter {
  int64_t start = 0, step = 0, limit = 0;
  ComparisonDirection direction;  // start DIRECTION limit
};

std::optional<int64_t> count_rounds(const Counter& c) {
  bool up = c.direction == ComparisonDirection::kLt || c.direction == ComparisonDirection::kLe;
  bool down = c.direction == ComparisonDirection::kGt || c.direction == ComparisonDirection::kGe;
  if (!up && !down) {
    int64_t distance = c.limit - c.start;
    bool meets = c.direction == ComparisonDirection::kNe && c.step != 0 && distance % c.step == 0 &&
                 distance / c.step >= 0;
    return meets ? std::optional(distance / c.step) : std::nullopt;
  }
  int64_t distance =
      (up ? c.limit - c.start : c.start - c.limit) +
      (c.direction == ComparisonDirection::kLe || c.direction == ComparisonDirection::kGe ? 1 : 0);
  int64_t step = up ? c.step : -c.step;
  if (step <= 0) return distance <= 0 ? std::optional<int64_t>(0) : std::nullopt;
  return rounds(distance, step);
}

}  // namespace

std::optional<int64_t> round_step(const Graph& graph, const Node& loop, uint32_t i) {
  const Graph& body = *loop.regions[1];
  const Node& next = body.node(body.outputs()[i]);
  Value counter{i, 0};
  if (next.op == Op::kSubtract && next.operands[0] == counter) {
    std::optional<int64_t> step = constant_in(graph, loop, body, next.operands[1]);
    return step ? std::optional(-*step) : std::nullopt;
  }
  if (next.op != Op::kAdd) return std::nullopt;
  size_t other = next.operands[0] == counter ? 1 : 0;
  if (next.operands[1 - other] != counter) return std::nullopt;
  return constant_in(graph, loop, body, next.operands[other]);
}

std::optional<int64_t> known_trip_count(const Graph& graph, const Node& loop) {
  const Graph& condition = *loop.regions[0];
  const Node& compare = condition.node(condition.outputs()[0]);
  if (compare.op != Op::kCompare || condition.has_side_effects()) return std::nullopt;
  for (size_t side : {0, 1}) {
    Value counter = compare.operands[side];
    if (counter.node >= condition.num_parameters()) continue;
    DType dtype = condition.type(counter).dtype;
    if (!is_integer(dtype)) return std::nullopt;
    std::optional<int64_t> limit = constant_in(graph, loop, condition, compare.operands[1 - side]);
    std::optional<int64_t> start = small_integer(splat_value(graph, loop.operands[counter.node]));
    std::optional<int64_t> step = round_step(graph, loop, counter.node);
    if (!limit || !start || !step) continue;
    ComparisonDirection direction = compare.attrs.as<CompareAttrs>().comparison_direction;
    std::optional<int64_t> count =
        count_rounds({*start, *step, *limit, side == 0 ? direction : mirrored(direction)});
    // The last value the counter takes is the first that ends the loop.
    if (!count || (*step != 0 && *count > 2 * kMaxMagnitude / std::abs(*step))) return std::nullopt;
    return fits(*start + *count * *step, dtype) ? count : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tuff
