// Roles: which nodes do work, which are index arithmetic, which have no kernel.
#include <algorithm>
#include <set>

#include "ir/group/affine_access.h"
#include "ir/group/byte_access.h"
#include "ir/ops/contraction.h"
#include "ir/passes/group/group_table.h"
#include "ir/passes/group/grouping.h"
#include "ir/passes/place.h"

namespace tuff {

namespace {

constexpr int kMaxTransparentOps = 24;  // iota chains longer than this are computed once
constexpr int kMaxViews = 64;           // views of views beyond this are stored on the way

// Bodies that kernels can spell out: scalar elementwise work.
bool is_scalar_region(const Graph& region) {
  return std::all_of(region.nodes().begin(), region.nodes().end(), [](const Node& node) {
    return is_elementwise(node.op) || node.op == Op::kParameter ||
           (node.op == Op::kConstant && node.types[0].rank() == 0);
  });
}

bool has_kernel_family(const Graph& graph, const Node& node, const Caps& caps) {
  if (node.op == Op::kWhile) return is_kernel_loop(graph, node, caps);
  if (node.op == Op::kSort && node.types[0].rank() == 0) return false;  // no dimension
  bool has_body = node.op != Op::kReduce && is_anchor(node.op);
  for (size_t i = 0; has_body && i < node.regions.size(); ++i)
    if (!is_scalar_region(*node.regions[i])) return false;
  return is_elementwise(node.op) || is_view(node.op) || is_anchor(node.op) ||
         is_indexed_load(node.op);
}

class PartitionMaker {
 public:
  PartitionMaker(const Graph& graph, const Caps& caps) : graph_(graph), caps_(caps) {
    partition_.graph = &graph;
    partition_.roles.resize(graph.nodes().size());
    depth_.resize(graph.nodes().size());
    views_.resize(graph.nodes().size());
    in_loads_.resize(graph.nodes().size());
  }

  Partition make(LoadWork work) {
    assign_roles();
    if (work == LoadWork::kCopied) copy_into_loads();
    materialise_for_contractions();
    materialise_for_opaque_and_outputs();
    materialise_wide_loads();
    materialise_after_leaves();
    partition_.group_of.assign(graph_.nodes().size(), -1);
    partition_.readers.resize(graph_.nodes().size());
    partition_.sources.resize(graph_.nodes().size());
    partition_.returned.resize(graph_.nodes().size());
    for (Value v : graph_.outputs()) partition_.returned[v.node] = true;
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id)
      if (role(id) == Role::kWork || role(id) == Role::kOpaque) add_group(id);
    return std::move(partition_);
  }

 private:
  Role& role(uint32_t id) { return partition_.roles[id]; }

  void assign_roles() {
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.op == Op::kParameter || (node.op == Op::kConstant && !is_leaf(node)))
        role(id) = Role::kSource;
      else if (is_settled(node.op) || !(is_leaf(node) || has_kernel_family(graph_, node, caps_)))
        role(id) = Role::kOpaque;
      else
        role(id) = is_leaf(node) || is_shallow_view(id) || from_leaves(id) ? Role::kTransparent
                                                                           : Role::kWork;
    }
  }

  bool is_shallow_view(uint32_t id) {
    const Node& node = graph_.node(id);
    if (!is_free_view(graph_, node)) return false;
    int views = 1;
    for (Value v : node.operands)
      if (transparent(v.node)) views = std::max(views, views_[v.node] + 1);
    if (views > kMaxViews) return false;
    views_[id] = views;
    return true;
  }

  // Computed from iotas and small constants only: a causal mask, say. Series are work like any
  // other: see repeats_series.
  bool from_leaves(uint32_t id) {
    const Node& node = graph_.node(id);
    if (!is_elementwise(node.op) || node.operands.empty() || is_series(node.op)) return false;
    int depth = 1;
    for (Value operand : node.operands) {
      Value v = operand;
      while (transparent(v.node) && is_free_view(graph_, graph_.node(v)) &&
             graph_.node(v).operands.size() == 1)
        v = graph_.node(v).operands[0];
      const Node& source = graph_.node(v);
      if (!transparent(v.node) || !(is_leaf(source) || is_elementwise(source.op))) return false;
      depth += depth_[v.node];
    }
    depth_[id] = depth;
    return depth <= kMaxTransparentOps;
  }

  bool transparent(uint32_t id) const { return partition_.roles[id] == Role::kTransparent; }

  void copy_into_loads() {
    for (uint32_t id : find_load_work(graph_, caps_, partition_.roles)) {
      role(id) = Role::kTransparent;
      in_loads_[id] = true;
    }
  }

  // A contraction reads its operands through views, and what else its loads compute, only
  // where its load can say so: on a library, with plain strides; in a kernel, anything but
  // concatenate.
  void materialise_for_contractions() {
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id) {
      const Node& node = graph_.node(id);
      if (!is_contraction(node.op)) continue;
      for (size_t i = 0; i < node.operands.size(); ++i)
        if (!readable(node, i)) materialise(copied(node, i));
    }
  }

  // What is stored for an operand that cannot be read where it lies: bytes, of a product of them.
  Value copied(const Node& node, size_t i) {
    if (caps_.library_calls && is_byte_product(graph_, node)) {
      auto access =
          byte_access(graph_, node.operands[i], [&](uint32_t v) { return transparent(v); });
      if (access && access->bytes != node.operands[i] && transparent(access->bytes.node))
        return access->bytes;
    }
    return node.operands[i];
  }

  bool readable(const Node& node, size_t i) {
    Value operand = node.operands[i];
    if (!transparent(operand.node)) return true;
    Value base = operand;
    while (transparent(base.node) && !is_leaf(graph_.node(base))) {
      const Node& load = graph_.node(base);
      std::optional<size_t> read = load_operand(graph_, load);
      if (!read || (is_elementwise(load.op) && !in_loads_[base.node])) return false;
      base = load.operands[*read];
    }
    if (caps_.library_calls && is_byte_product(graph_, node)) {
      auto bytes = byte_access(graph_, operand, [&](uint32_t v) { return transparent(v); });
      if (!bytes || bytes->read.base != base) return false;
      // Weights are packed however they lie.
      if (node.op == Op::kConvolution) return i == 1 || dense(operand, bytes->read.strides);
      return mergeable(node, i, bytes->read.strides);
    }
    if (!caps_.library_calls || !has_library_types(graph_, node)) return true;
    auto access = stored_access(graph_, operand, [&](uint32_t v) { return transparent(v); });
    if (!access || access->read.base != base) return false;
    if (!library_reads(access->dtype, graph_.type(operand).dtype)) return false;
    const std::vector<int64_t>& strides = access->read.strides;
    return node.op == Op::kConvolution ? dense(operand, strides) : mergeable(node, i, strides);
  }

  // The strides of dimensions of size 1 mean nothing.
  bool dense(Value operand, const std::vector<int64_t>& strides) {
    const Shape& shape = graph_.type(operand).shape;
    const std::vector<int64_t> wanted = row_major_strides(shape);
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != 1 && strides[d] != wanted[d]) return false;
    return true;
  }

  // The contracted dimensions must be one strided loop; free and batch ones may be several.
  bool mergeable(const Node& node, size_t i, const std::vector<int64_t>& strides) {
    DotDims dims =
        dot_dims(node, graph_.type(node.operands[0]).rank(), graph_.type(node.operands[1]).rank());
    const auto& contract = i == 0 ? dims.lhs_contract : dims.rhs_contract;
    return merged_stride(contract, graph_.type(node.operands[i]).shape, strides).has_value();
  }

  void materialise(Value v) {
    if (transparent(v.node)) role(v.node) = Role::kWork;
  }

  // What is read as a whole is in memory; constants are from the start.
  void materialise_for_opaque_and_outputs() {
    auto whole = [&](Value v) {
      if (graph_.node(v).op == Op::kConstant)
        role(v.node) = Role::kSource;
      else
        materialise(v);
    };
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id)
      if (role(id) == Role::kOpaque || op_category(graph_.node(id).op) == OpCategory::kLibrary)
        for (Value operand : graph_.node(id).operands) whole(operand);
    for (Value v : graph_.outputs()) whole(v);
  }

  // Concatenates in a node's loads are views of many values. Where the kernel would bind too many
  // buffers, they are stored before.
  void materialise_wide_loads() {
    for (uint32_t id = static_cast<uint32_t>(graph_.nodes().size()); id-- > 0;) {
      if (role(id) != Role::kWork) continue;
      for (std::vector<uint32_t> wide = wide_loads(id); !wide.empty(); wide = wide_loads(id))
        for (uint32_t concatenate : wide) role(concatenate) = Role::kWork;
    }
  }

  // Concatenates in the loads of a node that would bind too many buffers; nothing otherwise.
  std::vector<uint32_t> wide_loads(uint32_t id) const {
    auto buffers = kernel_buffers(caps_) - static_cast<int64_t>(graph_.node(id).types.size());
    std::vector<uint32_t> found;
    std::set<uint32_t> seen;
    std::vector<Value> pending = graph_.node(id).operands;
    while (!pending.empty() && buffers >= 0) {
      Value v = pending.back();
      pending.pop_back();
      if (!seen.insert(v.node).second) continue;
      const Node& node = graph_.node(v);
      if (!transparent(v.node)) --buffers;
      if (!transparent(v.node)) continue;
      if (node.op == Op::kConcatenate) found.push_back(v.node);
      pending.insert(pending.end(), node.operands.begin(), node.operands.end());
    }
    return buffers < 0 ? found : std::vector<uint32_t>();
  }

  // What is computed from a leaf that has come to be in memory is work like any other.
  void materialise_after_leaves() {
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id)
      if (transparent(id) && is_elementwise(graph_.node(id).op) && !in_loads_[id] &&
          !from_leaves(id))
        role(id) = Role::kWork;
  }

  void add_group(uint32_t id) {
    auto g = static_cast<uint32_t>(partition_.groups.size());
    Group group;
    group.members = {id};
    group.kind = group_kind_of(graph_.node(id).op);
    group.plain = is_elementwise(graph_.node(id).op);
    partition_.sources[id] = sources_of(partition_, graph_.node(id).operands);
    for (uint32_t source : partition_.sources[id]) partition_.readers[source].push_back(id);
    partition_.group_of[id] = static_cast<int>(g);
    partition_.groups.push_back(std::move(group));
  }

  const Graph& graph_;
  const Caps& caps_;
  Partition partition_;
  std::vector<int> depth_;
  std::vector<int> views_;      // by node: views of views that it stands on, itself included
  std::vector<bool> in_loads_;  // by node: computed in loads of contractions
};

}  // namespace

std::vector<uint32_t> sources_of(const Partition& p, const std::vector<Value>& values) {
  std::vector<uint32_t> found;
  std::vector<Value> stack(values);
  std::set<uint32_t> seen;
  while (!stack.empty()) {
    Value v = stack.back();
    stack.pop_back();
    if (!seen.insert(v.node).second) continue;
    if (p.group_of[v.node] >= 0)
      found.push_back(v.node);
    else
      for (Value operand : p.graph->node(v).operands) stack.push_back(operand);
  }
  return found;
}

Partition make_partition(const Graph& graph, const Caps& caps, LoadWork work) {
  return PartitionMaker(graph, caps).make(work);
}

}  // namespace tuff
