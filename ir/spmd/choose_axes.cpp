#include "ir/spmd/choose_axes.h"

#include <algorithm>
#include <numeric>

#include "ir/spmd/reshard.h"

namespace tuff::spmd {

namespace {

// With more ways to spread an operation those of the larger operands are taken.
constexpr size_t kMaxCandidates = 10;

struct Candidate {
  size_t factor;
  const std::vector<int64_t>* axes;
};

// The lesser is better; what comes first counts first.
struct Cost {
  int64_t whole_results = 0;  // the negative number of their parts
  double of_activations = 0, bytes = 0;
  auto operator<=>(const Cost&) const = default;
};

class Chooser {
 public:
  Chooser(const Graph& whole, const Node& node, const ShardingRule& rule,
          const std::vector<SpreadOperand>& operands, const Mesh& mesh, GiveUp give_up)
      : whole_(whole),
        node_(node),
        rule_(rule),
        operands_(operands),
        mesh_(mesh),
        give_up_(give_up) {}

  FactorAxes run(bool* contested) {
    find_candidates();
    FactorAxes chosen(rule_.combine.size());
    bool all = true;
    for (const Candidate& candidate : candidates_)
      if (fits(candidate, chosen))
        chosen[candidate.factor] = *candidate.axes;
      else
        all = false;
    if (all) return chosen;
    *contested = true;
    if (candidates_.size() > kMaxCandidates) return chosen;
    best_ = chosen, least_ = cost(chosen);
    try_from(0, FactorAxes(rule_.combine.size()));
    return std::move(best_);
  }

 private:
  const TensorType& type(size_t operand) const { return whole_.type(node_.operands[operand]); }
  const Sharding& sharding(size_t operand) const { return *operands_[operand].sharding; }

  // What is gathered where the operand is wanted whole: of a broadcast its own operand
  // (Partitioner::make_part).
  int64_t source_bytes(size_t operand) const {
    Value v = node_.operands[operand];
    while (whole_.node(v).op == Op::kBroadcastInDim) v = whole_.node(v).operands[0];
    return whole_.type(v).size_bytes();
  }

  // Of the largest operand first.
  void find_candidates() {
    std::vector<size_t> order(operands_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return source_bytes(a) > source_bytes(b); });
    for (size_t i : order)
      for (size_t d = 0; d < sharding(i).axes.size(); ++d) {
        int64_t factor = rule_.operands[i][d];
        const std::vector<int64_t>& axes = sharding(i).axes[d];
        if (axes.empty()) continue;
        if (factor == ShardingRule::kWhole) factor = other_factor(i, axes);
        if (factor != ShardingRule::kWhole) add_candidate(static_cast<size_t>(factor), axes);
      }
  }

  void add_candidate(size_t factor, const std::vector<int64_t>& axes) {
    bool known = std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& c) {
      return c.factor == factor && *c.axes == axes;
    });
    if (!known && divides(mesh_.num_parts(axes), static_cast<int64_t>(factor)))
      candidates_.push_back({factor, &axes});
  }

  // That of the largest dimension to which axes can move.
  int64_t other_factor(size_t operand, const std::vector<int64_t>& axes) const {
    int64_t best = ShardingRule::kWhole, most = 0;
    const Shape& shape = type(operand).shape;
    for (size_t d = 0; d < shape.size() && rule_.worth_moving; ++d) {
      int64_t factor = rule_.operands[operand][d];
      if (factor == ShardingRule::kWhole || !sharding(operand).axes[d].empty() ||
          shape[d] <= most || !divides(mesh_.num_parts(axes), factor))
        continue;
      best = factor, most = shape[d];
    }
    return best;
  }

  bool divides(int64_t parts, int64_t factor) const {
    auto fits = [&](const std::vector<int64_t>& factors, const Shape& shape) {
      for (size_t d = 0; d < shape.size(); ++d)
        if (factors[d] == factor && shape[d] % parts != 0) return false;
      return true;
    };
    for (size_t i = 0; i < rule_.operands.size(); ++i)
      if (!fits(rule_.operands[i], type(i).shape)) return false;
    for (size_t i = 0; i < rule_.results.size(); ++i)
      if (!fits(rule_.results[i], node_.types[i].shape)) return false;
    return true;
  }

  static bool fits(const Candidate& candidate, const FactorAxes& chosen) {
    if (!chosen[candidate.factor].empty()) return false;
    for (const std::vector<int64_t>& taken : chosen)
      for (int64_t axis : taken)
        if (std::find(candidate.axes->begin(), candidate.axes->end(), axis) !=
            candidate.axes->end())
          return false;
    return true;
  }

  // All ways to take candidates from the `at`-th on until no more fit.
  void try_from(size_t at, const FactorAxes& chosen) {
    if (at == candidates_.size()) {
      for (const Candidate& candidate : candidates_)
        if (fits(candidate, chosen)) return;
      Cost its = cost(chosen);
      if (its < least_) best_ = chosen, least_ = its;
      return;
    }
    if (fits(candidates_[at], chosen)) {
      FactorAxes more = chosen;
      more[candidates_[at].factor] = *candidates_[at].axes;
      try_from(at + 1, more);
    }
    try_from(at + 1, chosen);
  }

  int64_t num_parts(const Sharding& sharding) const {
    int64_t parts = 1;
    for (const std::vector<int64_t>& axes : sharding.axes) parts *= mesh_.num_parts(axes);
    return parts;
  }

  // Of an operand that is to be spread as wanted, in parts of a device's now: what is spread
  // otherwise is exchanged for it, or gathered whole, then cut.
  double received_parts(const Sharding& now, const Sharding& wanted) const {
    double parts = 1, received = 0;
    for (size_t d = 0; d < now.axes.size(); ++d) {
      const std::vector<int64_t>& axes = now.axes[d];
      if (axes.empty() || axes == wanted.axes[d]) continue;
      auto count = static_cast<double>(mesh_.num_parts(axes));
      if (moved_to(now, wanted, d))
        received += (count - 1) / count;
      else
        parts *= count;
    }
    return received + parts - 1;
  }

  // What a device receives: what it lacks of its operands, and the others' shares of results that
  // are to be combined.
  Cost cost(const FactorAxes& axes) const {
    Cost cost;
    for (const std::vector<int64_t>& factors : rule_.results)
      cost.whole_results -= num_parts(sharding_by(factors, axes));
    double bytes = 0;
    for (size_t i = 0; i < operands_.size(); ++i) {
      double lacking = static_cast<double>(source_bytes(i)) /
                       static_cast<double>(num_parts(sharding(i))) *
                       received_parts(sharding(i), sharding_by(rule_.operands[i], axes));
      bytes += lacking;
      if (give_up_ == GiveUp::kWeights && !operands_[i].is_weight) cost.of_activations += lacking;
    }
    for (size_t f = 0; f < axes.size(); ++f) {
      if (!rule_.combine[f] || axes[f].empty()) continue;
      auto parts = static_cast<double>(mesh_.num_parts(axes[f]));
      for (size_t r = 0; r < node_.types.size(); ++r)
        bytes += 2 * (parts - 1) / parts * static_cast<double>(node_.types[r].size_bytes()) /
                 static_cast<double>(num_parts(sharding_by(rule_.results[r], axes)));
    }
    cost.bytes = bytes;
    return cost;
  }

  const Graph& whole_;
  const Node& node_;
  const ShardingRule& rule_;
  const std::vector<SpreadOperand>& operands_;
  const Mesh& mesh_;
  const GiveUp give_up_;
  std::vector<Candidate> candidates_;
  FactorAxes best_;
  Cost least_;
};

}  // namespace

Sharding sharding_by(const std::vector<int64_t>& factors, const FactorAxes& axes) {
  Sharding sharding = Sharding::whole(static_cast<int64_t>(factors.size()));
  for (size_t d = 0; d < factors.size(); ++d)
    if (factors[d] != ShardingRule::kWhole)
      sharding.axes[d] = axes[static_cast<size_t>(factors[d])];
  return sharding;
}

FactorAxes choose_axes(const Graph& whole, const Node& node, const ShardingRule& rule,
                       const std::vector<SpreadOperand>& operands, const Mesh& mesh, GiveUp give_up,
                       bool* contested) {
  return Chooser(whole, node, rule, operands, mesh, give_up).run(contested);
}

}  // namespace tuff::spmd
