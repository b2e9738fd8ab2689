#include "ir/passes/tabulate_bytes.h"

#include <map>

#include "ir/group/byte_access.h"
#include "ir/passes/place.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

constexpr int64_t kBytes = 256;
constexpr int64_t kLeastElements = 4 * kBytes;
// In operations of the kind of an addition. A look-up of one element takes about 20.
constexpr int kLeastCost = 30;

int cost_of(const Node& node) {
  if (is_series(node.op)) return 20;
  switch (node.op) {
    case Op::kDivide:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kRemainder: return 10;
    default: return 1;
  }
}

// What a value is a function of.
struct Source {
  std::optional<Value> byte;    // none: of constants alone
  std::vector<uint32_t> views;  // that the byte is seen through, innermost first
  int cost = 0;                 // of computing it from there
  int cost_since_byte = 0;      // the same, from the last byte on the way
};

bool keeps_elements(Op op) { return op == Op::kReshape || op == Op::kTranspose; }

// The values that nodes have for each byte, in the order of numbers.
class Tabulator {
 public:
  Tabulator(const Graph& graph, const PassContext& context, Value byte)
      : graph_(graph), context_(context), type_{graph.type(byte).dtype, {kBytes}} {
    Literal bytes(type_);
    for (int64_t i = 0; i < kBytes; ++i) bytes.set_int(i, i - least_of(type_.dtype));
    values_[byte.node] = std::move(bytes);
  }

  static int64_t least_of(DType dtype) { return dtype == DType::kI8 ? kBytes / 2 : 0; }

  // Nodes on the way are visited in order, so that a long way is no deep recursion.
  std::optional<Literal> table(uint32_t id) {
    std::vector<uint32_t> pending{id};
    while (!pending.empty()) {
      const uint32_t at = pending.back();
      if (values_.count(at)) {
        pending.pop_back();
        continue;
      }
      const size_t before = pending.size();
      for (Value v : graph_.node(at).operands)
        if (!values_.count(v.node) && splat_value(graph_, v) == nullptr) pending.push_back(v.node);
      if (pending.size() > before) continue;
      std::optional<Literal> value = compute(graph_.node(at));
      if (!value) return std::nullopt;
      values_[at] = std::move(*value);
      pending.pop_back();
    }
    return values_[id];
  }

 private:
  std::optional<Literal> compute(const Node& node) {
    if (keeps_elements(node.op)) return values_.at(node.operands[0].node);
    std::vector<Literal> operands;
    for (Value v : node.operands) {
      const Literal* splat = splat_value(graph_, v);
      operands.push_back(splat == nullptr ? values_.at(v.node) : known(*splat, graph_.type(v)));
    }
    Node small = node;
    small.types[0].shape = {kBytes};
    Result<std::vector<Literal>> values = context_.evaluate_node(small, operands);
    if (!values.ok()) return std::nullopt;
    return std::move((*values)[0]);
  }

  static Literal known(const Literal& splat, const TensorType& type) {
    Literal scalar = scalar_of(splat);
    if (type.rank() == 0) return scalar;
    std::vector<std::byte> bytes;
    for (int64_t i = 0; i < kBytes; ++i)
      bytes.insert(bytes.end(), scalar.bytes(), scalar.bytes() + scalar.size_bytes());
    return Literal(TensorType{type.dtype, {kBytes}}, std::move(bytes));
  }

  const Graph& graph_;
  const PassContext& context_;
  TensorType type_;
  std::map<uint32_t, Literal> values_;  // by node
};

// What takes a node's place: the byte itself, or what a table has for it.
struct LookUp {
  Source source;
  std::optional<Literal> table;
};

// Of one graph: which values are functions of one byte, and which of them are replaced.
class ByteFunctions {
 public:
  ByteFunctions(const Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), sources_(graph.nodes().size()) {
    for (uint32_t id = 0; id < sources_.size(); ++id) sources_[id] = find_source(id);
    choose();
  }

  const LookUp* look_up(uint32_t id) const {
    auto it = chosen_.find(id);
    return it == chosen_.end() ? nullptr : &it->second;
  }
  bool looks_up_by(uint32_t id) const { return new_.count(id) != 0; }
  // The byte in the graph that is built.
  void set_new(uint32_t id, Value v) { new_[id] = v; }
  Value new_of(Value byte) const { return new_.at(byte.node); }

 private:
  bool is_byte_value(uint32_t id) const {
    const Node& node = graph_.node(id);
    return node.types.size() == 1 && is_byte(node.types[0].dtype);
  }

  std::optional<Source> find_source(uint32_t id) const {
    const Node& node = graph_.node(id);
    std::optional<Source> source;
    if (node.types.size() == 1) {
      if (splat_value(graph_, {id, 0}) != nullptr) return Source{};
      if (is_elementwise(node.op)) source = merged(node);
      if (keeps_elements(node.op)) source = viewed(id);
    }
    if (!is_byte_value(id)) return source;
    if (!source || !source->byte) return Source{Value{id, 0}, {}};
    source->cost_since_byte = 0;
    return source;
  }

  std::optional<Source> viewed(uint32_t id) const {
    constexpr size_t kMostViews = 16;
    std::optional<Source> source = sources_[graph_.node(id).operands[0].node];
    if (source && source->byte) source->views.push_back(id);
    return source && source->views.size() <= kMostViews ? source : std::nullopt;
  }

  // Of operands that are functions of the same byte, or of constants.
  std::optional<Source> merged(const Node& node) const {
    constexpr int kMostCost = 1 << 20;
    Source source;
    for (Value operand : node.operands) {
      const std::optional<Source>& from = sources_[operand.node];
      if (!from) return std::nullopt;
      if (!from->byte) continue;
      const bool same =
          !source.byte || (*source.byte == *from->byte && source.views == from->views);
      if (!same || graph_.type(operand).shape != node.types[0].shape) return std::nullopt;
      source.byte = from->byte;
      source.views = from->views;
      source.cost += from->cost;
      source.cost_since_byte += from->cost_since_byte;
    }
    source.cost = std::min(source.cost + cost_of(node), kMostCost);
    source.cost_since_byte = std::min(source.cost_since_byte + cost_of(node), kMostCost);
    return source;
  }

  // A float that is cheaply made of a byte is so still: then it is the byte that is looked up.
  std::optional<LookUp> replacement(uint32_t id) {
    const std::optional<Source>& source = sources_[id];
    if (!source || !source->byte || source->cost == 0) return std::nullopt;
    const TensorType& type = graph_.node(id).types[0];
    const bool to_byte = is_byte_value(id);
    if (type.num_elements() < kLeastElements || (!to_byte && type.dtype != DType::kF32))
      return std::nullopt;
    const bool pays = (to_byte ? source->cost : source->cost_since_byte) >= kLeastCost;
    const TensorType& from = graph_.type(*source->byte);
    if (!pays && from.dtype != type.dtype) return std::nullopt;
    Tabulator& tabulator =
        tabulators_.try_emplace(source->byte->node, graph_, context_, *source->byte).first->second;
    std::optional<Literal> table = tabulator.table(id);
    if (!table) return std::nullopt;
    if (from.dtype == type.dtype && *table == *tabulator.table(source->byte->node))
      return LookUp{*source, std::nullopt};
    if (!pays) return std::nullopt;
    return LookUp{*source, std::move(table)};
  }

  // From the results back, values that must be there.
  void choose() {
    const size_t count = graph_.nodes().size();
    std::vector<bool> needed(count);
    for (Value v : graph_.outputs()) needed[v.node] = true;
    for (uint32_t id = static_cast<uint32_t>(count); id-- > 0;) {
      if (!needed[id] && is_pure(graph_.node(id).op)) continue;
      if (std::optional<LookUp> found = replacement(id)) {
        const Value byte = *found->source.byte;
        needed[byte.node] = true;
        new_[byte.node] = byte;  // right for a parameter
        chosen_.emplace(id, std::move(*found));
      } else {
        for (Value v : graph_.node(id).operands) needed[v.node] = true;
      }
    }
  }

  const Graph& graph_;
  const PassContext& context_;
  std::vector<std::optional<Source>> sources_;  // by node
  std::map<uint32_t, Tabulator> tabulators_;    // by the byte's node
  std::map<uint32_t, LookUp> chosen_;           // by node
  std::map<uint32_t, Value> new_;               // by node
};

// gather(table, convert(byte)); a table of bytes has 32 bits for each, which vectors can gather.
Value looked_up(const RewriteSite& site, Literal table, Value byte) {
  const TensorType from = site.out.type(byte), to = site.node.types[0];
  const bool wide = !is_byte(to.dtype);
  if (!wide) {
    Literal wider(TensorType{DType::kI32, {kBytes}});
    for (int64_t i = 0; i < kBytes; ++i) wider.set_int(i, table.get_int(i));
    table = std::move(wider);
  }
  const TensorType index_type{DType::kI32, from.shape};
  Value index = site.add(Op::kConvert, {byte}, index_type);
  if (int64_t least = Tabulator::least_of(from.dtype); least != 0)
    index =
        site.add(Op::kAdd, {index, site.splat(index_type, static_cast<double>(least))}, index_type);
  TensorType vector_type = index_type;
  vector_type.shape.push_back(1);
  index = site.add(Op::kReshape, {index}, vector_type);
  GatherAttrs attrs;
  attrs.collapsed_slice_dims = {0};
  attrs.start_index_map = {0};
  attrs.index_vector_dim = static_cast<int64_t>(from.shape.size());
  attrs.slice_sizes = {1};
  const DType dtype = table.type().dtype;
  Value v = site.add(Op::kGather, {site.constant(std::move(table)), index}, {dtype, from.shape},
                     std::move(attrs));
  return wide ? v : site.add(Op::kConvert, {v}, to);
}

Value replaced(const RewriteSite& site, const LookUp& look_up, Value byte) {
  for (uint32_t id : look_up.source.views) {
    const Node& view = site.old.node(id);
    byte = site.add(view.op, {byte}, {site.out.type(byte).dtype, view.types[0].shape}, view.attrs);
  }
  return look_up.table ? looked_up(site, *look_up.table, byte) : byte;
}

}  // namespace

Result<Graph> tabulate_bytes(const Graph& graph, const PassContext& context) {
  if (!context.caps->library_calls || !context.evaluate_node) return graph;
  std::map<const Graph*, ByteFunctions> functions;  // of the graph and of its regions
  return rewrite_graph(graph, [&](const RewriteSite& site) -> std::optional<std::vector<Value>> {
    ByteFunctions& known = functions.try_emplace(&site.old, site.old, context).first->second;
    if (const LookUp* look_up = known.look_up(site.old_id))
      return std::vector<Value>{replaced(site, *look_up, known.new_of(*look_up->source.byte))};
    if (!known.looks_up_by(site.old_id)) return std::nullopt;
    Value kept = site.out.add(site.node);
    known.set_new(site.old_id, kept);
    return std::vector<Value>{kept};
  });
}

}  // namespace tuff
