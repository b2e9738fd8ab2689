#include "ir/passes/lower_small_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/rewrite.h"
#include "ir/small_float.h"
#include "ir/spmd/collective.h"

namespace tuff {

namespace {

bool any_small(const std::vector<TensorType>& types) {
  return std::any_of(types.begin(), types.end(),
                     [](const TensorType& type) { return is_small(type.dtype); });
}

// How an operation treats elements of small types. kCombines: a region computes with them.
enum class Role { kMoves, kComputes, kCombines, kContracts, kUnknown };

Role role_of(const Node& node) {
  if (std::optional<SpmdOp> exchange = spmd_op(node)) {
    bool adds = exchange == SpmdOp::kAllReduce || exchange == SpmdOp::kReduceScatter;
    return adds ? Role::kCombines : Role::kMoves;
  }
  switch (node.op) {
    case Op::kHostCall: {
      bool is_users = node.attrs.as<HostCallAttrs>().function == HostFunction::kCallback;
      return is_users ? Role::kMoves : Role::kUnknown;
    }
    // Where updates only take the places of elements, they move.
    case Op::kScatter: {
      const Graph& body = *node.regions[0];
      return body.nodes().size() == body.num_parameters() ? Role::kMoves : Role::kCombines;
    }
    case Op::kSelect:
    case Op::kWhile:
    case Op::kIf:
    case Op::kCase:
    case Op::kMap:
    case Op::kOptimizationBarrier: return Role::kMoves;
    case Op::kIota:
    case Op::kTopK: return Role::kComputes;
    case Op::kReduce:
    case Op::kReduceWindow:
    case Op::kSelectAndScatter:
    case Op::kSort: return Role::kCombines;
    case Op::kDotGeneral:
    case Op::kConvolution: return Role::kContracts;
    default: break;
  }
  OpCategory category = op_category(node.op);
  if (category == OpCategory::kView || category == OpCategory::kIndexing) return Role::kMoves;
  return category == OpCategory::kElementwise ? Role::kComputes : Role::kUnknown;
}

// What is computed in: f32 for floats; a byte holds all integers that there are.
DType computed(DType dtype) {
  return is_small_float(dtype) ? DType::kF32 : as_parts({dtype, {}}).dtype;
}

// The type of as many bits whose bytes the operation reads: where each bit counts, those above an
// integer's own must be zeros, or its sign.
DType read_as(Op op, DType dtype) {
  bool zeros = op == Op::kShiftRightLogical || op == Op::kCountLeadingZeros || op == Op::kPopcnt;
  if (!is_integer(dtype) || (!zeros && op != Op::kShiftRightArithmetic)) return dtype;
  if (dtype_bits(dtype) == 4) return zeros ? DType::kU4 : DType::kI4;
  return zeros ? DType::kU2 : DType::kI2;
}

Literal as_computed(const Literal& value) {
  DType dtype = value.type().dtype;
  if (!is_small(dtype)) return value;
  Literal result({computed(dtype), value.type().shape});
  for (int64_t i = 0; i < value.num_elements(); ++i) result.set_double(i, value.get_double(i));
  return result;
}

// Lives for one graph.
class Lowering {
 public:
  Lowering(const Graph& graph, const std::vector<bool>& clean)
      : from_(graph), clean_(clean), map_(graph) {}

  Result<Graph> run() {
    out_.name = from_.name;
    out_.donations = from_.donations;
    out_.reserve(from_.nodes().size());
    add_parameters();
    for (uint32_t id = from_.num_parameters(); id < from_.nodes().size(); ++id)
      TUFF_RETURN_IF_ERROR(add(id));
    out_.set_outputs(map_.of(from_.outputs()), from_.output_names());
    return std::move(out_);
  }

 private:
  void add_parameters() {
    for (uint32_t i = 0; i < from_.num_parameters(); ++i) {
      const Node& node = from_.node(i);
      map_.set(i, out_.add_parameter(as_parts_if_small(node.types[0]), from_.parameter_name(i),
                                     node.loc));
    }
    for (uint32_t i = 0; i < from_.num_parameters(); ++i) {
      DType dtype = from_.node(i).types[0].dtype;
      if (is_small(dtype) && !(i < clean_.size() && clean_[i]))
        map_.set(i, clean_small(out_, map_[{i, 0}], dtype, from_.node(i).loc));
    }
  }

  static TensorType as_parts_if_small(const TensorType& type) {
    return is_small(type.dtype) ? as_parts(type) : type;
  }

  Status add(uint32_t id) {
    const Node& old = from_.node(id);
    bool small = any_small(old.types);
    for (Value v : old.operands) small = small || is_small(from_.type(v).dtype);
    Node node = old;
    node.operands = map_.of(old.operands);
    if (!small) {
      TUFF_RETURN_IF_ERROR(lower_regions(&node));
      map_.set(id, out_.add(std::move(node)));
      return {};
    }
    if (old.op == Op::kConstant) {
      map_.set(id, constant(old));
    } else if (old.op == Op::kConvert) {
      map_.set(id, converted(node.operands[0], from_.type(old.operands[0]).dtype,
                             old.types[0].dtype, old.loc));
    } else if (old.op == Op::kBitcastConvert) {
      map_.set(id, bitcast(old, std::move(node)));
    } else {
      return add_by_role(id, std::move(node));
    }
    return {};
  }

  Status add_by_role(uint32_t id, Node node) {
    switch (role_of(node)) {
      case Role::kMoves:
        TUFF_RETURN_IF_ERROR(lower_regions(&node));
        move(id, std::move(node));
        return {};
      case Role::kCombines:
        for (GraphPtr& region : node.regions) {
          TUFF_ASSIGN(Graph wide, computing_region(*region));
          region = std::make_shared<const Graph>(std::move(wide));
        }
        [[fallthrough]];
      case Role::kComputes: compute(id, std::move(node)); return {};
      case Role::kContracts: contract(id, std::move(node)); return {};
      case Role::kUnknown: break;
    }
    return refuse(from_, from_.node(id));
  }

  static Error refuse(const Graph& graph, const Node& node) {
    std::vector<TensorType> types = node.types;
    for (Value v : node.operands) types.push_back(graph.type(v));
    auto small = std::find_if(types.begin(), types.end(),
                              [](const TensorType& type) { return is_small(type.dtype); });
    return {
        ErrorCode::kUnsupported,
        fmt::format("The operation ({}) is not supported where elements have type ({}); convert "
                    "them before.",
                    node_name(node),
                    small == types.end() ? "of 8 bits or fewer" : dtype_name(small->dtype)),
        node.loc};
  }

  Status lower_regions(Node* node) const {
    for (GraphPtr& region : node->regions) {
      if (!has_small_types(*region)) continue;
      // What enters a region is clean.
      TUFF_ASSIGN(Graph lowered,
                  lower_small_types(*region, std::vector<bool>(region->num_parameters(), true)));
      region = std::make_shared<const Graph>(std::move(lowered));
    }
    return {};
  }

  Value constant(const Node& old) {
    const Literal& value = old.attrs.as<ConstantAttrs>().value;
    Literal bytes(as_parts(value.type()));
    bool is_int = is_integer(value.type().dtype);
    auto known = static_cast<uint8_t>((1 << dtype_bits(value.type().dtype)) - 1);
    for (int64_t i = 0; i < value.num_elements(); ++i)
      bytes.set_int(i, is_int ? value.get_int(i) : value.data<uint8_t>()[i] & known);
    return add_constant(out_, std::move(bytes), old.loc);
  }

  // The element types are the source's.
  Value converted(Value value, DType from, DType to, const std::string& loc) {
    if (from == to) return value;
    if (is_small_float(from)) {
      value = small_to_f32(out_, value, from, loc);
      from = DType::kF32;
    }
    if (is_small_float(to)) return float_to_small(out_, value, to, loc);
    if (!is_small(to)) return plain(value, to, loc);
    // The low bits of the number, which a float becomes first.
    if (is_float(from)) value = plain(value, DType::kI32, loc);
    return clean_small(out_, plain(value, as_parts({to, {}}).dtype, loc), to, loc);
  }

  Value plain(Value value, DType to, const std::string& loc) {
    const TensorType& type = out_.type(value);
    if (type.dtype == to) return value;
    return add_op(out_, Op::kConvert, {value}, {to, type.shape}, {}, loc);
  }

  Value bitcast(const Node& old, Node node) {
    DType to = old.types[0].dtype;
    node.types[0] = as_parts_if_small(node.types[0]);
    Value bytes =
        out_.type(node.operands[0]) == node.types[0] ? node.operands[0] : out_.add(std::move(node));
    // i4 and ui4 differ in the bits above.
    return is_small(to) ? clean_small(out_, bytes, to, old.loc) : bytes;
  }

  void move(uint32_t id, Node node) {
    const Node& old = from_.node(id);
    for (TensorType& type : node.types) type = as_parts_if_small(type);
    Value moved = out_.add(std::move(node));
    map_.set(id, moved);
    if (old.op != Op::kHostCall) return;
    // What the host gives may have any bits above an element's own.
    std::vector<Value> results;
    for (uint32_t r = 0; r < old.types.size(); ++r) {
      Value result{moved.node, r};
      DType dtype = old.types[r].dtype;
      results.push_back(is_small(dtype) ? clean_small(out_, result, dtype, old.loc) : result);
    }
    map_.set(id, results);
  }

  // Operands as they are computed with; results back.
  void compute(uint32_t id, Node node) {
    const Node& old = from_.node(id);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      DType dtype = from_.type(old.operands[i]).dtype;
      if (!is_small(dtype)) continue;
      DType read = read_as(old.op, dtype);
      node.operands[i] = converted(node.operands[i], dtype, read, old.loc);
      node.operands[i] = converted(node.operands[i], read, computed(read), old.loc);
    }
    for (TensorType& type : node.types)
      if (is_small(type.dtype)) type.dtype = computed(read_as(old.op, type.dtype));
    finish(id, out_.add(std::move(node)));
  }

  // Products of floats in one type, at least f32.
  void contract(uint32_t id, Node node) {
    const Node& old = from_.node(id);
    DType result = old.types[0].dtype;
    bool floats = false;
    for (Value v : old.operands) floats = floats || is_float(from_.type(v).dtype);
    DType wide = result == DType::kF64 ? DType::kF64 : DType::kF32;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      DType dtype = from_.type(old.operands[i]).dtype;
      node.operands[i] =
          converted(node.operands[i], dtype, floats ? wide : computed(dtype), old.loc);
    }
    if (floats)
      node.types[0].dtype = wide;
    else
      node.types[0].dtype = is_small(result) ? computed(result) : result;
    Value product = out_.add(std::move(node));
    DType have = out_.type(product).dtype;
    bool same = !is_small(result) && have == result;
    map_.set(id, same ? product : converted(product, have, result, old.loc));
  }

  // Leading zeros of an element, of those of its byte.
  Value without_padding(Value zeros, DType dtype, const std::string& loc) {
    const TensorType type = out_.type(zeros);
    Value padding =
        add_constant(out_, Literal::splat(type, static_cast<double>(8 - dtype_bits(dtype))), loc);
    return add_op(out_, Op::kSubtract, {zeros, padding}, type, {}, loc);
  }

  // The results of a node that computed, as the source has them.
  void finish(uint32_t id, Value node) {
    const Node& old = from_.node(id);
    std::vector<Value> results;
    for (uint32_t r = 0; r < old.types.size(); ++r) {
      Value result{node.node, r};
      DType have = out_.type(result).dtype, want = old.types[r].dtype;
      if (old.op == Op::kCountLeadingZeros && is_small(want))
        result = without_padding(result, want, old.loc);
      results.push_back(is_small(want) ? converted(result, have, want, old.loc) : result);
    }
    map_.set(id, results);
  }

  // The body of a reduction or scatter or the order of a sort, over what is computed with.
  static Result<Graph> computing_region(const Graph& region) {
    Graph wide;
    ValueMap map(region);
    for (uint32_t id = 0; id < region.nodes().size(); ++id) {
      Node node = region.node(id);
      bool reads_bits =
          read_as(node.op, DType::kI4) != DType::kI4 || read_as(node.op, DType::kU4) != DType::kU4;
      bool computes = is_elementwise(node.op) && !reads_bits && node.op != Op::kConvert;
      bool known = computes || node.op == Op::kSelect || node.op == Op::kConstant ||
                   id < region.num_parameters();
      if (!known) return refuse(region, node);
      for (Value& v : node.operands) v = map[v];
      for (TensorType& type : node.types)
        if (is_small(type.dtype)) type.dtype = computed(type.dtype);
      if (node.op == Op::kConstant)
        node.attrs = ConstantAttrs{as_computed(node.attrs.as<ConstantAttrs>().value)};
      if (id < region.num_parameters())
        map.set(id, wide.add_parameter(node.types[0], region.parameter_name(id), node.loc));
      else
        map.set(id, wide.add(std::move(node)));
    }
    wide.set_outputs(map.of(region.outputs()), region.output_names());
    return wide;
  }

  const Graph& from_;
  const std::vector<bool>& clean_;
  ValueMap map_;
  Graph out_;
};

}  // namespace

bool has_small_types(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return any_small(node.types) ||
           std::any_of(node.regions.begin(), node.regions.end(),
                       [](const GraphPtr& region) { return has_small_types(*region); });
  });
}

Result<Graph> lower_small_types(const Graph& graph, const std::vector<bool>& clean) {
  return Lowering(graph, clean).run();
}

}  // namespace tuff
