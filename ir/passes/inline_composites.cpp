#include "ir/passes/inline_composites.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ir/ops/contraction.h"
#include "ir/passes/canonicalize/canonicalize.h"
#include "ir/passes/composites.h"
#include "ir/passes/decompose/decompose.h"
#include "ir/passes/fold_constants.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

// Elements that a region may compute to be evaluated at each of the sample arguments.
constexpr int64_t kMaxSampledWork = int64_t{1} << 22;
// Of the largest finite element. Sums in another order are nearer than that.
constexpr double kTolerance = 2e-5;

// Arguments that composites differ at. Rows of small numbers tell one epsilon from another, large
// ones a softmax that subtracts no maximum, and those of one value what happens at the borders.
struct Sample {
  enum class Kind : uint8_t { kRandom, kMixed, kEqual };
  Kind kind;
  double scale;  // or the one value
};
constexpr Sample kSampleArguments[] = {
    {Sample::Kind::kRandom, 1},       {Sample::Kind::kRandom, 1e-3},
    {Sample::Kind::kRandom, 1e-6},    {Sample::Kind::kRandom, 60},
    {Sample::Kind::kMixed, 1},        {Sample::Kind::kEqual, 0},
    {Sample::Kind::kEqual, INFINITY}, {Sample::Kind::kEqual, -INFINITY},
};

double element(const Sample& sample, int64_t i) {
  constexpr double kMixed[] = {0.5, INFINITY, -1, 0, -INFINITY, 2, NAN, -0.25, 3, 1};
  switch (sample.kind) {
    case Sample::Kind::kEqual: return sample.scale;
    case Sample::Kind::kMixed: return kMixed[static_cast<size_t>(i / 3 + i) % std::size(kMixed)];
    default: break;
  }
  uint64_t bits = (static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  bits ^= bits >> 29;
  return sample.scale * (static_cast<double>(bits % 4001) / 1000 - 1.5);
}

// What the composite's input is; other parameters are vectors.
uint32_t input_of(const std::monostate&) { return 0; }
uint32_t input_of(const Attention&) { return 0; }
uint32_t input_of(const Gelu& c) { return (c.by_erf.empty() ? c.by_tanh : c.by_erf)[0].input; }
template <typename Rows>
uint32_t input_of(const Rows& c) {
  return c.input;
}

bool takes_long(const Graph& region) {
  int64_t work = 0;
  for (const Node& node : region.nodes()) {
    if (is_control_flow(node.op) || is_contraction(node.op)) return true;
    if (is_settled(node.op) && takes_long(*node.regions[0])) return true;
    for (Value v : node.operands) work += region.type(v).num_elements();
    if (work > kMaxSampledWork) return true;
  }
  return false;
}

// Lives for one call of inline_composites.
class Opener {
 public:
  explicit Opener(const PassContext& context) : context_(context) {}

  Graph run(const Graph& graph) {
    return rewrite_graph(graph, [&](const RewriteSite& site) -> std::optional<std::vector<Value>> {
      if (!is_named_region(site.node)) return std::nullopt;
      return inline_region(site.out, run(choose(site.node)), site.node.operands);
    });
  }

 private:
  Graph choose(const Node& node) {
    const Graph& region = *node.regions[0];
    Composite composite = node.attrs.as<FusedAttrs>().composite;
    if (is_found(region)) return region;
    std::optional<Graph> spelled = spell_composite(region, composite, node.loc);
    return spelled && agree(node, *spelled) ? *std::move(spelled) : region;
  }

  // A group that is this region will be known for what it is.
  bool is_found(const Graph& region) const {
    Result<Graph> plain = decompose(run_inner(region), context_);
    for (auto pass : {fold_constants, canonicalize})
      if (plain.ok()) plain = pass(*plain, context_);
    if (!plain.ok()) return false;
    Gelu gelus = find_gelus(*plain);
    return find_row_composite(*plain).index() != 0 || !gelus.by_erf.empty() ||
           !gelus.by_tanh.empty();
  }
  Graph run_inner(const Graph& region) const { return Opener(context_).run(region); }

  // Models have many composites of few kinds.
  bool agree(const Node& node, const Graph& spelled) {
    auto same = [&](const auto& known) {
      return known.first.attrs == node.attrs && *known.first.regions[0] == *node.regions[0];
    };
    auto known = std::find_if(known_.begin(), known_.end(), same);
    if (known == known_.end()) known = known_.insert(known, {node, compare(node, spelled)});
    return known->second;
  }

  bool compare(const Node& node, const Graph& spelled) const {
    if (!context_.evaluate_node || takes_long(*node.regions[0])) return false;
    Node other = node;
    other.regions = {std::make_shared<const Graph>(spelled)};
    return std::all_of(std::begin(kSampleArguments), std::end(kSampleArguments),
                       [&](const Sample& sample) {
                         std::vector<Literal> arguments = sample_arguments(node, sample);
                         auto expected = context_.evaluate_node(node, arguments);
                         auto got = context_.evaluate_node(other, arguments);
                         return expected.ok() && got.ok() && same_values((*expected)[0], (*got)[0]);
                       });
  }

  static std::vector<Literal> sample_arguments(const Node& node, const Sample& sample) {
    uint32_t input = std::visit([](const auto& c) { return input_of(c); },
                                node.attrs.as<FusedAttrs>().composite);
    std::vector<Literal> arguments;
    for (uint32_t p = 0; p < node.operands.size(); ++p) {
      Literal& argument = arguments.emplace_back(node.regions[0]->node(p).types[0]);
      for (int64_t i = 0; i < argument.num_elements(); ++i)
        argument.set_double(i, element(p == input ? sample : kSampleArguments[0], i + 7 * p));
    }
    return arguments;
  }

  static bool same_values(const Literal& a, const Literal& b) {
    double largest = 0;
    for (int64_t i = 0; i < a.num_elements(); ++i)
      if (std::isfinite(a.get_double(i))) largest = std::max(largest, std::abs(a.get_double(i)));
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      double x = a.get_double(i), y = b.get_double(i);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (!(std::abs(x - y) <= kTolerance * largest)) return false;
    }
    return true;
  }

  const PassContext& context_;
  std::vector<std::pair<Node, bool>> known_;
};

}  // namespace

Result<Graph> inline_composites(const Graph& graph, const PassContext& context) {
  return Opener(context).run(graph);
}

}  // namespace tuff
