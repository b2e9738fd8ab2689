// What goes into the loads of contractions.
#include <algorithm>
#include <iterator>

#include "ir/group/byte_access.h"
#include "ir/ops/contraction.h"
#include "ir/passes/composites.h"
#include "ir/passes/group/group_table.h"
#include "ir/passes/group/grouping.h"

namespace tuff {

namespace {

// A value is small beside another one of at least so many times its elements.
constexpr int64_t kSmallBeside = 8;

bool is_small_beside(const Graph& graph, Value v, const TensorType& type) {
  while (is_view(graph.node(v).op) && graph.node(v).op != Op::kConcatenate)
    v = graph.node(v).operands[0];
  return is_leaf(graph.node(v)) ||
         graph.type(v).num_elements() * kSmallBeside <= type.num_elements();
}

// Lives for one call of find_load_work.
class LoadFinder {
 public:
  LoadFinder(const Graph& graph, const Caps& caps, const std::vector<Role>& roles)
      : graph_(graph),
        caps_(caps),
        roles_(roles),
        users_(graph.users()),
        returned_(graph.nodes().size()),
        of_attention_(graph.nodes().size()) {
    for (Value v : graph.outputs()) returned_[v.node] = true;
  }

  // Readers are decided before what they read.
  std::vector<uint32_t> run() {
    if (caps_.library_calls) note_attention();
    std::vector<uint32_t> found;
    for (uint32_t id = static_cast<uint32_t>(graph_.nodes().size()); id-- > 0;) {
      if (roles_[id] != Role::kWork || !is_elementwise(graph_.node(id).op)) continue;
      if (!load_operand(graph_, graph_.node(id)) || !reads_less(id) || !suits_readers(id)) continue;
      roles_[id] = Role::kTransparent;
      found.push_back(id);
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  // A library's attention takes operands as they are.
  void note_attention() {
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id) {
      if (graph_.node(id).op != Op::kDotGeneral) continue;
      if (std::optional<Attention> found = find_attention(graph_, id))
        of_attention_[id] = of_attention_[found->scores] = true;
    }
  }

  Value base_of(uint32_t id) const {
    Value v{id, 0};
    for (auto i = load_operand(graph_, graph_.node(v)); i; i = load_operand(graph_, graph_.node(v)))
      v = graph_.node(v).operands[*i];
    return v;
  }
  bool is_source(Value v) const { return roles_[v.node] == Role::kSource; }

  // A cast of what was there from the start may read as much as it makes. What is computed by
  // other work could be stored converted at no cost, and other operations take longer: for these
  // the loads must read less.
  bool reads_less(uint32_t id) const {
    Value base = base_of(id);
    int64_t stored = dtype_size(graph_.type(base).dtype);
    int64_t computed = dtype_size(graph_.node(id).types[0].dtype);
    if (roles_[base.node] == Role::kTransparent) return false;
    bool is_cast = graph_.node(id).op == Op::kConvert && is_source(base);
    return is_cast ? stored <= computed : stored < computed;
  }

  // All readers can compute the value where they load it, and one of them is a contraction.
  bool suits_readers(uint32_t id) const {
    bool loaded = false;
    std::vector<uint32_t> pending{id};
    while (!pending.empty()) {
      uint32_t at = pending.back();
      pending.pop_back();
      if (returned_[at]) return false;
      for (uint32_t user : users_[at]) {
        const Node& node = graph_.node(user);
        if (is_contraction(node.op) ? takes(user, id) : passes_on(user, at))
          loaded = loaded || !is_view(node.op);
        else if (!may_repeat(user, id))
          return false;
        if (is_view(node.op)) pending.push_back(user);
      }
    }
    return loaded;
  }

  // A view, or what loads compute, of this operand and not of one beside it.
  bool passes_on(uint32_t id, uint32_t operand) const {
    const Node& node = graph_.node(id);
    std::optional<size_t> read = load_operand(graph_, node);
    if (roles_[id] != Role::kTransparent || !read) return false;
    for (size_t i = 0; i < node.operands.size(); ++i)
      if ((node.operands[i].node == operand) != (i == *read)) return false;
    return true;
  }

  // Elementwise work and reduces are as well off with what was there from the start, and with
  // bytes.
  bool may_repeat(uint32_t reader, uint32_t id) const {
    const Op op = graph_.node(reader).op;
    const Value base = base_of(id);
    const DType stored = graph_.type(base).dtype;
    const bool is_cast = graph_.node(id).op == Op::kConvert && is_source(base);
    return roles_[reader] == Role::kWork && (is_elementwise(op) || op == Op::kReduce) &&
           (is_cast || is_byte(stored));
  }

  // A kernel's loads compute anything that is in the table. A library reads plain arrays that
  // it widens itself.
  bool takes(uint32_t contraction, uint32_t id) const {
    const Node& node = graph_.node(contraction);
    if (caps_.library_calls && is_byte_product(graph_, node)) return true;
    if (!caps_.library_calls || !has_library_types(graph_, node)) return true;
    if (node.op != Op::kDotGeneral || of_attention_[contraction]) return false;
    const Node& cast = graph_.node(id);
    return cast.op == Op::kConvert && is_source(base_of(id)) &&
           library_reads(graph_.type(cast.operands[0]).dtype, cast.types[0].dtype);
  }

  const Graph& graph_;
  const Caps& caps_;
  std::vector<Role> roles_;
  const std::vector<std::vector<uint32_t>> users_;
  std::vector<bool> returned_, of_attention_;
};

}  // namespace

std::optional<size_t> load_operand(const Graph& graph, const Node& node) {
  if (is_free_view(graph, node) && node.op != Op::kConcatenate) return 0;
  const auto* rule = std::find_if(std::begin(kLoadRules), std::end(kLoadRules),
                                  [&](const LoadRule& r) { return r.op == node.op; });
  if (rule == std::end(kLoadRules)) return std::nullopt;
  // Who wants bytes has them stored.
  const bool makes_bytes = node.op == Op::kConvert && dtype_size(node.types[0].dtype) == 1;
  if (makes_bytes && dtype_size(graph.type(node.operands[0]).dtype) > 1) return std::nullopt;
  if (rule->beside == LoadRule::Beside::kNothing) return 0;
  if (is_small_beside(graph, node.operands[1], node.types[0])) return 0;
  if (rule->beside == LoadRule::Beside::kSmall &&
      is_small_beside(graph, node.operands[0], node.types[0]))
    return 1;
  return std::nullopt;
}

std::vector<uint32_t> find_load_work(const Graph& graph, const Caps& caps,
                                     const std::vector<Role>& roles) {
  return LoadFinder(graph, caps, roles).run();
}

}  // namespace tuff
