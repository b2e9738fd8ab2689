// Gelus among the nodes of a region, however they are spelled.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ir/passes/composites.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

// A gelu is spelled in about ten operations.
constexpr size_t kMaxGeluNodes = 24;

double gelu_by_erf(double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }
double gelu_by_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

// Lives for one call of find_gelus.
class GeluFinder {
 public:
  explicit GeluFinder(const Graph& region) : region_(region) {}

  Gelu run() {
    Gelu found;
    for (uint32_t id = 0; id < region_.nodes().size(); ++id) {
      Op op = region_.node(id).op;
      if (op != Op::kErf && op != Op::kTanh) continue;
      if (users_.empty()) note_users();
      auto function = op == Op::kErf ? gelu_by_erf : gelu_by_tanh;
      if (auto gelu = find_around(id, function))
        (op == Op::kErf ? found.by_erf : found.by_tanh).push_back(*gelu);
    }
    return found;
  }

 private:
  void note_users() {
    users_ = region_.users();
    returned_.resize(users_.size());
    for (Value v : region_.outputs()) returned_[v.node] = true;
  }

  // An elementwise operation on values of the type of `like`.
  bool is_step(const Node& node, uint32_t like) const {
    return is_elementwise(node.op) && node.types.size() == 1 &&
           node.types[0] == region_.node(like).types[0];
  }

  // The gelu that computes this node on its way, of the nearest value that there is one of.
  std::optional<AppliedFunction> find_around(uint32_t node, double (*function)(double)) const {
    for (uint32_t input : values_before(node))
      if (auto result = find_result(input, function)) return AppliedFunction{input, *result};
    return std::nullopt;
  }

  // What the node is computed from, latest first, as far back as a gelu goes.
  std::vector<uint32_t> values_before(uint32_t node) const {
    std::set<uint32_t, std::greater<>> found;
    std::vector<uint32_t> pending{node};
    for (size_t next = 0; next < pending.size() && found.size() < kMaxGeluNodes; ++next) {
      if (!is_step(region_.node(pending[next]), node)) continue;
      for (Value v : region_.node(pending[next]).operands)
        if (!splat_value(region_, v) && region_.type(v) == region_.node(node).types[0] &&
            v.result == 0 && found.insert(v.node).second)
          pending.push_back(v.node);
    }
    return {found.begin(), found.end()};
  }

  // The first node through which all uses of the input go, of those that compute with it and
  // constants only, and whose value is the function's.
  std::optional<uint32_t> find_result(uint32_t input, double (*function)(double)) const {
    std::set<uint32_t> members{input};
    auto is_member = [&](Value v) { return members.count(v.node) > 0; };
    for (uint32_t id = input + 1; id < region_.nodes().size(); ++id) {
      const Node& node = region_.node(id);
      if (std::none_of(node.operands.begin(), node.operands.end(), is_member)) continue;
      if (!is_step(node, input) || members.size() > kMaxGeluNodes ||
          !std::all_of(node.operands.begin(), node.operands.end(),
                       [&](Value v) { return is_member(v) || splat_value(region_, v); }))
        return std::nullopt;
      members.insert(id);
      if (is_closed(members, id) && computes(input, id, function)) return id;
    }
    return std::nullopt;
  }

  // Nobody but members reads a member, the result apart.
  bool is_closed(const std::set<uint32_t>& members, uint32_t result) const {
    return std::all_of(members.begin(), members.end(), [&](uint32_t member) {
      if (member == result) return true;
      const auto& users = users_[member];
      return !returned_[member] && std::all_of(users.begin(), users.end(), [&](uint32_t user) {
        return members.count(user) > 0;
      });
    });
  }

  // The two forms of gelu are up to 5e-4 apart.
  bool computes(uint32_t input, uint32_t result, double (*function)(double)) const {
    for (double at = -6; at <= 6; at += 0.375) {
      std::map<uint32_t, double> values{{input, at}};
      std::optional<double> got = value_at({result, 0}, values);
      if (!got || !(std::abs(*got - function(at)) <= 1e-6 * std::max(1.0, std::abs(at))))
        return false;
    }
    return true;
  }

  std::optional<double> value_at(Value v, std::map<uint32_t, double>& values) const {
    if (auto it = values.find(v.node); it != values.end()) return it->second;
    if (const Literal* splat = splat_value(region_, v)) return splat->get_double(0);
    const Node& node = region_.node(v);
    double operands[2] = {};
    if (node.operands.empty() || node.operands.size() > 2) return std::nullopt;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      auto operand = value_at(node.operands[i], values);
      if (!operand) return std::nullopt;
      operands[i] = *operand;
    }
    auto [a, b] = operands;
    std::optional<double> result;
    switch (node.op) {
      case Op::kAdd: result = a + b; break;
      case Op::kSubtract: result = a - b; break;
      case Op::kMultiply: result = a * b; break;
      case Op::kDivide: result = a / b; break;
      case Op::kNegate: result = -a; break;
      case Op::kPower: result = std::pow(a, b); break;
      case Op::kTanh: result = std::tanh(a); break;
      case Op::kErf: result = std::erf(a); break;
      default: break;
    }
    if (result) values[v.node] = *result;
    return result;
  }

  const Graph& region_;
  std::vector<std::vector<uint32_t>> users_;
  std::vector<bool> returned_;
};

}  // namespace

Gelu find_gelus(const Graph& region) { return GeluFinder(region).run(); }

}  // namespace tuff
