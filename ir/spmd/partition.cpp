#include "ir/spmd/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ir/infer/infer.h"
#include "ir/ops/trip_count.h"
#include "ir/rewrite.h"
#include "ir/spmd/choose_axes.h"
#include "ir/spmd/collective.h"
#include "ir/spmd/indexed.h"
#include "ir/spmd/merge_reductions.h"
#include "ir/spmd/reshard.h"
#include "ir/spmd/rules.h"
#include "ir/spmd/scatter_reductions.h"
#include "ir/spmd/segments.h"
#include "ir/spmd/spread_regions.h"
#include "ir/spmd/unroll_exchanges.h"
#include "ir/support/deep_stack.h"

namespace tuff {

namespace {

// Where a value of the whole program is in the program of one device.
struct Placed {
  Value part;
  Sharding sharding;
  // A value between full_to_shard and shard_to_full: each device has its own.
  bool own = false;
};

int64_t sent_bytes_of(const Graph& part) {
  std::vector<bool> live = live_nodes(part);
  int64_t bytes = 0;
  for (uint32_t id = 0; id < part.nodes().size(); ++id) {
    const Node& node = part.node(id);
    if (live[id] && is_exchange(node)) bytes += sent_bytes(node, part.type(node.operands[0]));
  }
  return bytes;
}

// So deep values are made from parts of what they are made of.
constexpr int kMaxDepth = 128;

class Partitioner {
 public:
  // `depth`: of the region, in others.
  Partitioner(const WholeProgram& program, const Graph& whole, spmd::GiveUp give_up, int depth = 0)
      : program_(program),
        whole_(whole),
        mesh_(program.mesh),
        give_up_(give_up),
        depth_(depth),
        builder_(out_, mesh_) {}

  // Whether another way of giving up may lead to another program.
  bool contested() const { return contested_; }

  // Loops that had their values whole for want of exchanges in their rounds, which are known.
  const std::set<uint32_t>& whole_loops() const { return whole_loops_; }

  // Of a region that takes the device's number as its last parameter, too.
  Result<PartProgram> run(bool takes_partition_id = false) {
    placed_.resize(whole_.nodes().size());
    find_weights();
    std::vector<bool> live = live_nodes(whole_);
    for (uint32_t id = 0; id < whole_.nodes().size(); ++id) {
      if (takes_partition_id && id == whole_.num_parameters())
        builder_.set_partition_id(out_.add_parameter({DType::kU32, {}}, "partition_id"));
      if (live[id]) TUFF_RETURN_IF_ERROR(place(id));
    }
    return finish();
  }

 private:
  const TensorType& whole_type(Value v) const { return whole_.type(v); }
  const Placed& at(Value v) const { return placed_[v.node][v.result]; }

  Error error(const Node& node, const std::string& sentence) const {
    std::string where = node_name(node);
    if (!node.loc.empty()) where += " at " + node.loc;
    return {ErrorCode::kUnsupported, sentence, where};
  }
  template <typename T>
  Result<T> at_node(const Node& node, Result<T> result) const {
    if (result.ok() || !result.error().where.empty()) return result;
    return error(node, result.error().message);
  }

  // Regions have no weights: in them nobody exchanges anything.
  void find_weights() {
    std::vector<bool> is_constant;
    for (uint32_t id = 0; id < whole_.nodes().size(); ++id) {
      const Node& node = whole_.node(id);
      bool is_argument = id < whole_.num_parameters();
      int of_weights = 0, others = 0;
      for (Value v : node.operands)
        if (!is_constant[v.node]) ++(is_weight_[v.node] ? of_weights : others);
      bool passes = moves(node.op) || is_elementwise(node.op);
      is_constant.push_back(!is_argument && of_weights + others == 0);
      is_weight_.push_back((is_argument && depth_ == 0) ||
                           (passes && of_weights == 1 && others == 0));
    }
  }

  // Elements go elsewhere, and nothing is computed.
  static bool moves(Op op) {
    switch (op) {
      case Op::kBroadcastInDim:
      case Op::kTranspose:
      case Op::kReshape:
      case Op::kSlice:
      case Op::kReverse:
      case Op::kPad:
      case Op::kConcatenate:
      case Op::kDynamicSlice:
      case Op::kDynamicUpdateSlice: return true;
      default: return false;
    }
  }

  Status place(uint32_t id) {
    const Node& node = whole_.node(id);
    if (id < whole_.num_parameters()) return place_parameter(id);
    std::optional<SpmdOp> op = spmd_op(node);
    if (op == SpmdOp::kShardingConstraint) return place_constraint(id);
    if (op == SpmdOp::kFullToShard) return enter_device(id);
    if (op == SpmdOp::kShardToFull) return leave_device(id);
    if (op == SpmdOp::kPartitionId) {
      placed_[id] = {{builder_.partition_id(node.loc), Sharding::whole(0), true}};
      return {};
    }
    for (const GraphPtr& region : node.regions)
      if (knows_devices(*region))
        return error(
            node,
            "A collective or device number in a branch, or in a loop of unknown or too many "
            "rounds, is not supported; move it out.");
    bool own = op.has_value();
    for (Value v : node.operands) own = own || at(v).own;
    if (own) return place_own(id);
    bool has_control = node.op == Op::kWhile || node.op == Op::kIf || node.op == Op::kCase;
    return has_control ? place_control(id) : place_by_rule(id);
  }

  Status place_parameter(uint32_t id) {
    const Node& node = whole_.node(id);
    Sharding sharding = program_.arguments[id].value_or(Sharding::whole(node.types[0].rank()));
    TUFF_ASSIGN(TensorType type, at_node(node, part_type(node.types[0], sharding, mesh_)));
    Value part = out_.add_parameter(std::move(type), whole_.parameter_name(id), node.loc);
    placed_[id] = {{part, std::move(sharding)}};
    return {};
  }

  Result<Sharding> sharding_attribute(const Node& node) const {
    return at_node(node, sharding_of_ints(node.attrs.as<CustomCallAttrs>().sharding,
                                          node.types[0].rank(), mesh_));
  }

  Status place_constraint(uint32_t id) {
    const Node& node = whole_.node(id);
    TUFF_ASSIGN(Sharding wanted, sharding_attribute(node));
    const Placed& operand = at(node.operands[0]);
    if (operand.own) {  // one device's program is not spread any further
      placed_[id] = {operand};
      return {};
    }
    keep_open(node.attrs.as<CustomCallAttrs>().open_dimensions, operand.sharding, &wanted);
    TUFF_ASSIGN(Value part, spread(node, node.operands[0], wanted));
    placed_[id] = {{part, std::move(wanted)}};
    return {};
  }

  // Open dimensions stay as they are where their axes are not wanted elsewhere.
  static void keep_open(const std::vector<int64_t>& open, const Sharding& now, Sharding* wanted) {
    std::set<int64_t> used;
    for (const std::vector<int64_t>& axes : wanted->axes) used.insert(axes.begin(), axes.end());
    for (int64_t dimension : open) {
      auto d = static_cast<size_t>(dimension);
      const std::vector<int64_t>& axes = now.axes[d];
      bool free =
          std::none_of(axes.begin(), axes.end(), [&](int64_t a) { return used.contains(a); });
      if (wanted->axes[d].empty() && free) wanted->axes[d] = axes;
    }
  }

  Status enter_device(uint32_t id) {
    const Node& node = whole_.node(id);
    TUFF_ASSIGN(Sharding wanted, sharding_attribute(node));
    TUFF_ASSIGN(Value part, spread(node, node.operands[0], wanted));
    TUFF_RETURN_IF_ERROR(check_type(node, out_.type(part), node.types[0]));
    placed_[id] = {{part, Sharding::whole(node.types[0].rank()), true}};
    return {};
  }

  Status leave_device(uint32_t id) {
    const Node& node = whole_.node(id);
    TUFF_ASSIGN(Sharding sharding, sharding_attribute(node));
    TUFF_ASSIGN(TensorType type, at_node(node, part_type(node.types[0], sharding, mesh_)));
    TUFF_ASSIGN(Value part, device_value(node, node.operands[0]));
    TUFF_RETURN_IF_ERROR(check_type(node, out_.type(part), type));
    placed_[id] = {{part, std::move(sharding)}};
    return {};
  }

  Status check_type(const Node& node, const TensorType& found, const TensorType& wanted) const {
    if (found == wanted) return {};
    return error(node, fmt::format("A part has the type ({}), not ({}).", found.to_string(),
                                   wanted.to_string()));
  }

  // A value as each device sees it where the program is its own.
  Result<Value> device_value(const Node& node, Value v) {
    if (at(v).own || at(v).sharding.is_whole()) return at(v).part;
    return error(node, "A value that is spread over the devices is used as if each had its own.");
  }

  // The node as it is, on values that are the device's own.
  Status place_own(uint32_t id) {
    Node node = whole_.node(id);
    for (Value& v : node.operands) {
      TUFF_ASSIGN(v, device_value(whole_.node(id), v));
    }
    std::vector<TensorType> types = node.types;
    Value first = out_.add(std::move(node));
    for (uint32_t r = 0; r < types.size(); ++r)
      placed_[id].push_back({{first.node, r}, Sharding::whole(types[r].rank()), true});
    return {};
  }

  // How an operation is shared out.
  struct Share {
    ShardingRule rule;
    spmd::FactorAxes axes;

    Sharding operand(size_t i) const { return spmd::sharding_by(rule.operands[i], axes); }
    Sharding result(size_t r) const { return spmd::sharding_by(rule.results[r], axes); }
    bool uses_any(const std::vector<int64_t>& over) const {
      for (const std::vector<int64_t>& used : axes)
        for (int64_t axis : used)
          if (std::find(over.begin(), over.end(), axis) != over.end()) return true;
      return false;
    }
  };

  Share share_of(const Node& node) {
    Share share;
    share.rule = sharding_rule(whole_, node);
    std::vector<spmd::SpreadOperand> operands;
    for (Value v : node.operands) operands.push_back({&at(v).sharding, is_weight_[v.node]});
    share.axes =
        spmd::choose_axes(whole_, node, share.rule, operands, mesh_, give_up_, &contested_);
    return share;
  }

  Status place_by_rule(uint32_t id) {
    const Node& node = whole_.node(id);
    Share share = share_of(node);
    if (node.op == Op::kGather) {
      TUFF_ASSIGN(bool placed, place_indexed_gather(id, share));
      if (placed) return {};
    }
    std::vector<Value> operands;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      TUFF_ASSIGN(Value part, spread(node, node.operands[i], share.operand(i)));
      operands.push_back(part);
    }
    std::vector<Sharding> results;
    for (size_t r = 0; r < node.types.size(); ++r) results.push_back(share.result(r));
    TUFF_ASSIGN(Value first, add_part(node, std::move(operands), results));
    for (uint32_t r = 0; r < results.size(); ++r)
      placed_[id].push_back({combined(node, share, {first.node, r}), std::move(results[r])});
    return {};
  }

  // A result of which devices have shares.
  Value combined(const Node& node, const Share& share, Value part) {
    for (size_t f = 0; f < share.axes.size(); ++f)
      if (share.rule.combine[f] && !share.axes[f].empty())
        part = builder_.all_reduce(part, *share.rule.combine[f], share.axes[f], node.loc);
    return part;
  }

  // A loop or branches over parts, where devices need not meet in them; else over whole values.
  Status place_control(uint32_t id) {
    const Node& node = whole_.node(id);
    size_t first = node.op == Op::kWhile ? 0 : 1;  // behind the index
    std::vector<Sharding> operands;
    bool all_whole = true;
    for (size_t i = first; i < node.operands.size(); ++i) {
      operands.push_back(at(node.operands[i]).sharding);
      all_whole = all_whole && operands.back().is_whole();
    }
    // Each region is partitioned several times, and those in it as often again.
    constexpr int kMostDepth = 3;
    if (all_whole || depth_ >= kMostDepth) return place_by_rule(id);
    auto partition = [&](const Graph& region, const std::vector<Sharding>& arguments,
                         const std::vector<std::optional<Sharding>>& outputs, bool partition_id) {
      return partition_region(region, arguments, outputs, partition_id);
    };
    auto spread_out = node.op == Op::kWhile
                          ? spmd::spread_loop(node, std::move(operands), partition)
                          : spmd::spread_branches(node, std::move(operands), partition);
    TUFF_ASSIGN(std::optional<spmd::SpreadRegions> regions, std::move(spread_out));
    if (!regions) {
      if (node.op == Op::kWhile && known_trip_count(whole_, node)) whole_loops_.insert(id);
      return place_by_rule(id);
    }
    Node part = node;
    part.regions = regions->regions;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const Sharding wanted = i < first ? Sharding::whole(0) : regions->operands[i - first];
      TUFF_ASSIGN(part.operands[i], spread(node, node.operands[i], wanted));
    }
    for (size_t r = 0; r < node.types.size(); ++r) {
      TUFF_ASSIGN(part.types[r],
                  at_node(node, part_type(node.types[r], regions->results[r], mesh_)));
    }
    if (regions->takes_partition_id) {
      part.operands.push_back(builder_.partition_id(node.loc));
      if (node.op == Op::kWhile) part.types.push_back({DType::kU32, {}});
    }
    uint32_t added = out_.add(std::move(part)).node;
    for (uint32_t r = 0; r < node.types.size(); ++r)
      placed_[id].push_back({{added, r}, std::move(regions->results[r])});
    return {};
  }

  Result<spmd::PartRegion> partition_region(const Graph& region,
                                            const std::vector<Sharding>& arguments,
                                            const std::vector<std::optional<Sharding>>& outputs,
                                            bool partition_id) const {
    WholeProgram program;
    program.mesh = mesh_;
    program.arguments = {arguments.begin(), arguments.end()};
    program.outputs = outputs;
    program.outputs.resize(region.outputs().size());
    Partitioner nested(program, region, give_up_, depth_ + 1);
    TUFF_ASSIGN(PartProgram part, nested.run(partition_id));
    spmd::PartRegion result{std::move(part.graph), std::move(part.outputs)};
    result.takes_partition_id = partition_id || knows_devices(result.graph);
    result.exchanges = sent_bytes_of(result.graph) > 0;
    return result;
  }

  // From a dimension that is spread: each device takes what its part has. False where it is less to
  // gather that.
  Result<bool> place_indexed_gather(uint32_t id, const Share& share) {
    const Node& node = whole_.node(id);
    std::optional<size_t> indexed = spmd::indexed_dimension(whole_, node);
    if (!indexed) return false;
    std::vector<int64_t> over = at(node.operands[0]).sharding.axes[*indexed];
    if (over.empty() || share.uses_any(over)) return false;
    Sharding from = share.operand(0);
    TUFF_ASSIGN(TensorType result, at_node(node, part_type(node.types[0], share.result(0), mesh_)));
    TUFF_ASSIGN(TensorType gathered,
                at_node(node, part_type(whole_type(node.operands[0]), from, mesh_)));
    if (2 * result.size_bytes() >= gathered.size_bytes()) return false;
    from.axes[*indexed] = over;
    TUFF_ASSIGN(Value operand, spread(node, node.operands[0], from));
    TUFF_ASSIGN(Value indices, spread(node, node.operands[1], share.operand(1)));
    indices =
        spmd::indices_in_part(builder_, out_, indices, whole_type(node.operands[0]).shape[*indexed],
                              true, over, node.loc);
    TUFF_ASSIGN(Value part, add_part(node, {operand, indices}, {share.result(0)}));
    part = spmd::own_elements(out_, node, part, indices, out_.type(operand).shape[*indexed]);
    Op sum = result.dtype == DType::kBool ? Op::kOr : Op::kAdd;
    placed_[id] = {{builder_.all_reduce(part, sum, over, node.loc), share.result(0)}};
    return true;
  }

  // Into a dimension that is spread: each device puts what belongs into its part; what is outside
  // of it is left out. Nothing where the scatter's own way is in the way.
  Result<std::optional<Value>> scatter_into(const Node& node, const Sharding& wanted) {
    std::optional<size_t> indexed = spmd::indexed_dimension(whole_, node);
    if (!indexed || wanted.axes[*indexed].empty()) return std::optional<Value>();
    const std::vector<int64_t>& over = wanted.axes[*indexed];
    Share share = share_of(node);
    Sharding result = share.result(0), onto = share.operand(0);
    result.axes[*indexed] = onto.axes[*indexed] = over;
    if (share.uses_any(over) || result != wanted) return std::optional<Value>();
    std::vector<Value> operands;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      TUFF_ASSIGN(Value part, spread(node, node.operands[i], i == 0 ? onto : share.operand(i)));
      operands.push_back(part);
    }
    int64_t extent = node.types[0].shape[*indexed];
    operands[1] = spmd::indices_in_part(builder_, out_, operands[1], extent, false, over, node.loc);
    TUFF_ASSIGN(Value part, add_part(node, std::move(operands), {wanted}));
    return std::optional(combined(node, share, part));
  }

  // The node on parts of its operands, with results spread so.
  Result<Value> add_part(const Node& whole, std::vector<Value> operands,
                         const std::vector<Sharding>& results) {
    Node node = whole;
    node.operands = std::move(operands);
    for (size_t r = 0; r < results.size(); ++r) {
      TUFF_ASSIGN(node.types[r], at_node(whole, part_type(whole.types[r], results[r], mesh_)));
    }
    std::vector<TensorType> whole_operands, part_operands;
    for (Value v : whole.operands) whole_operands.push_back(whole_type(v));
    for (Value v : node.operands) part_operands.push_back(out_.type(v));
    localize_sizes(whole, whole_operands, part_operands, &node);
    TUFF_ASSIGN(std::vector<TensorType> types, at_node(whole, infer_types(node, part_operands)));
    if (types != node.types)
      return error(whole, "The parts of the operation's operands do not give parts of its result.");
    return out_.add(std::move(node));
  }

  // The value spread as wanted; made once for each.
  Result<Value> spread(const Node& user, Value v, const Sharding& wanted) {
    const Placed& placed = at(v);
    if (placed.own) return error(user, "A value of one device is used as if it were whole.");
    if (placed.sharding == wanted) return placed.part;
    return at_node(user, spread(v, wanted, 0));
  }

  Result<Value> spread(Value v, const Sharding& wanted, int depth) {
    if (at(v).sharding == wanted) return at(v).part;
    auto key = std::pair(v, wanted.to_ints());
    auto known = spread_.find(key);
    if (known != spread_.end()) return known->second;
    TUFF_ASSIGN(Value part, make_part(v, wanted, depth));
    spread_.emplace(std::move(key), part);
    return part;
  }

  // What every device can make its part of without having the whole: constants, counts,
  // what moves elements, scatters and elementwise operations on these.
  Result<Value> make_part(Value v, const Sharding& wanted, int depth) {
    const Node& node = whole_.node(v);
    const Placed& placed = at(v);
    bool made = refines(wanted, placed.sharding) && depth < kMaxDepth;
    if (made && node.op == Op::kIota) {
      TUFF_ASSIGN(TensorType part, part_type(node.types[0], wanted, mesh_));
      int64_t dimension = node.attrs.as<IotaAttrs>().iota_dimension;
      return builder_.iota(part, dimension, wanted.axes[static_cast<size_t>(dimension)], node.loc);
    }
    const Literal* constant = node.op == Op::kConstant ? constant_value(whole_, v) : nullptr;
    if (made && constant && constant->is_splat()) {
      TUFF_ASSIGN(TensorType part, part_type(node.types[0], wanted, mesh_));
      Value scalar = add_constant(out_, scalar_of(*constant), node.loc);
      return add_op(out_, Op::kBroadcastInDim, {scalar}, part, BroadcastInDimAttrs{}, node.loc);
    }
    if (made && is_made_from_parts(node, wanted)) return make_from_parts(node, wanted, depth);
    if (made && node.op == Op::kScatter) {
      TUFF_ASSIGN(std::optional<Value> part, scatter_into(node, wanted));
      if (part) return *part;
    }
    if (depth < kMaxDepth && has_cheaper_source(node, wanted))
      return make_from_parts(node, wanted, depth);
    return builder_.reshard(placed.part, node.types[v.result], placed.sharding, wanted, node.loc);
  }

  // Each device has what it is to have, and more.
  static bool refines(const Sharding& wanted, const Sharding& now) {
    for (size_t d = 0; d < now.axes.size(); ++d)
      if (!std::equal(now.axes[d].begin(), now.axes[d].end(), wanted.axes[d].begin(),
                      wanted.axes[d].begin() + static_cast<int64_t>(std::min(
                                                   now.axes[d].size(), wanted.axes[d].size()))))
        return false;
    return true;
  }

  // A broadcast's operand is smaller; a view's may be there already, spread as it is needed.
  bool has_cheaper_source(const Node& node, const Sharding& wanted) const {
    if (node.op == Op::kBroadcastInDim) return true;
    if (!is_made_from_parts(node, wanted)) return false;
    Sharding source = operand_shardings(node, wanted)[0];
    return spread_.contains({node.operands[0], source.to_ints()});
  }

  bool is_made_from_parts(const Node& node, const Sharding& wanted) const {
    if (is_elementwise(node.op) || node.op == Op::kBroadcastInDim) return true;
    if (!moves(node.op)) return false;
    ShardingRule rule = sharding_rule(whole_, node);
    for (size_t r = 0; r < wanted.axes.size(); ++r) {
      if (wanted.axes[r].empty()) continue;
      int64_t factor = rule.results[0][r], parts = mesh_.num_parts(wanted.axes[r]);
      if (factor == ShardingRule::kWhole) return false;
      for (size_t i = 0; i < rule.operands.size(); ++i)
        for (size_t d = 0; d < rule.operands[i].size(); ++d)
          if (rule.operands[i][d] == factor && whole_type(node.operands[i]).shape[d] % parts != 0)
            return false;
    }
    return true;
  }

  // How the operands must be spread for the result to be spread as wanted.
  std::vector<Sharding> operand_shardings(const Node& node, const Sharding& wanted) const {
    ShardingRule rule = sharding_rule(whole_, node);
    spmd::FactorAxes axes(rule.combine.size());
    for (size_t d = 0; d < wanted.axes.size(); ++d)
      if (rule.results[0][d] != ShardingRule::kWhole)
        axes[static_cast<size_t>(rule.results[0][d])] = wanted.axes[d];
    std::vector<Sharding> shardings;
    for (const std::vector<int64_t>& factors : rule.operands)
      shardings.push_back(spmd::sharding_by(factors, axes));
    return shardings;
  }

  Result<Value> make_from_parts(const Node& node, const Sharding& wanted, int depth) {
    std::vector<Sharding> shardings = operand_shardings(node, wanted);
    std::vector<Value> operands;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      TUFF_ASSIGN(Value part, spread(node.operands[i], shardings[i], depth + 1));
      operands.push_back(part);
    }
    return add_part(node, std::move(operands), {wanted});
  }

  Result<PartProgram> finish() {
    PartProgram result;
    std::vector<Value> outputs;
    for (size_t i = 0; i < whole_.outputs().size(); ++i) {
      Value v = whole_.outputs()[i];
      Sharding wanted = program_.outputs[i].value_or(at(v).sharding);
      TUFF_ASSIGN(Value part, spread(whole_.node(v), v, wanted));
      outputs.push_back(part);
      result.outputs.push_back(std::move(wanted));
    }
    for (uint32_t i = 0; i < whole_.num_parameters(); ++i)
      result.arguments.push_back(placed_[i][0].sharding);
    out_.name = whole_.name;
    out_.set_outputs(std::move(outputs), whole_.output_names());
    record_donations();
    result.graph = spmd::merge_reductions(spmd::scatter_reductions(out_, builder_.added()));
    return result;
  }

  // Pairs named by the caller where the parts still have one type; for the other arguments
  // given up the first output of their type that nobody has.
  void record_donations() {
    std::vector<bool> taken(out_.outputs().size());
    auto give = [&](uint32_t argument, size_t output) {
      if (taken[output] || out_.type(out_.outputs()[output]) != out_.node(argument).types[0])
        return false;
      taken[output] = true;
      out_.donations.emplace_back(argument, static_cast<uint32_t>(output));
      return true;
    };
    for (auto [argument, output] : whole_.donations) give(argument, output);
    for (uint32_t argument : program_.donors)
      for (size_t output = 0; output < taken.size() && !give(argument, output);) ++output;
  }

  const WholeProgram& program_;
  const Graph& whole_;
  const Mesh& mesh_;
  const spmd::GiveUp give_up_;
  const int depth_;
  bool contested_ = false;
  std::vector<bool> is_weight_;  // by node: an argument, or made of one alone
  Graph out_;
  spmd::PartBuilder builder_;
  std::vector<std::vector<Placed>> placed_;  // by node and result of the whole program
  std::map<std::pair<Value, std::vector<int64_t>>, Value> spread_;
  std::set<uint32_t> whole_loops_;
};

// Roughly what a device computes in a run: products, and what everything writes.
double work_seconds(const Graph& part) {
  constexpr double kFlopsPerSecond = 1e11, kBytesPerSecond = 1e10;
  double seconds = 0;
  std::vector<bool> live = live_nodes(part);
  for (uint32_t id = part.num_parameters(); id < part.nodes().size(); ++id) {
    if (!live[id]) continue;
    const Node& node = part.node(id);
    if (node.op == Op::kWhile) {
      auto rounds = static_cast<double>(known_trip_count(part, node).value_or(1));
      seconds += rounds * work_seconds(*node.regions[1]);
      continue;
    }
    for (const TensorType& type : node.types)
      seconds += static_cast<double>(type.size_bytes()) / kBytesPerSecond;
    if (node.op != Op::kDotGeneral && node.op != Op::kConvolution) continue;
    // Each element of the operands meets as many as there are of the result for each other one.
    double elements = static_cast<double>(node.types[0].num_elements());
    for (Value v : node.operands) elements *= static_cast<double>(part.type(v).num_elements());
    seconds += 2 * std::sqrt(elements) / kFlopsPerSecond;
  }
  return seconds;
}

// With what devices exchange, at the rate of a common link, and how often they meet.
double run_seconds(const PartProgram& program) {
  constexpr double kBytesPerSecond = 1e9, kMeeting = 1e-4;
  auto meetings = static_cast<double>(cut_into_segments(program.graph).segments.size());
  return work_seconds(program.graph) + meetings * kMeeting +
         static_cast<double>(sent_bytes_of(program.graph)) / kBytesPerSecond;
}

struct Attempt {
  PartProgram program;
  std::set<uint32_t> whole_loops;
};

// The better of two ways to give up, where they may differ: what is cheap for one operation may be
// dear for those after it.
Result<Attempt> attempt(const WholeProgram& program, const Graph& whole) {
  Partitioner first(program, whole, spmd::GiveUp::kWeights);
  TUFF_ASSIGN(PartProgram result, first.run());
  if (!first.contested()) return Attempt{std::move(result), first.whole_loops()};
  Partitioner second(program, whole, spmd::GiveUp::kFewestBytes);
  Result<PartProgram> other = second.run();
  if (other && sent_bytes_of(other->graph) < sent_bytes_of(result.graph))
    return Attempt{std::move(*other), second.whole_loops()};
  return Attempt{std::move(result), first.whole_loops()};
}

// Loops in whose rounds devices would have to meet are written out where that is cheaper than to
// have their values whole.
Result<PartProgram> best_partition(const WholeProgram& program) {
  const Graph whole = unroll_exchanges(program.graph);
  TUFF_ASSIGN(Attempt best, attempt(program, whole));
  if (best.whole_loops.empty()) return std::move(best.program);
  std::optional<Graph> unrolled = unroll_loops(whole, best.whole_loops);
  if (!unrolled) return std::move(best.program);
  Result<Attempt> other = attempt(program, *unrolled);
  if (other && run_seconds(other->program) < run_seconds(best.program))
    return std::move(other->program);
  return std::move(best.program);
}

}  // namespace

Result<PartProgram> partition(const WholeProgram& program) {
  return on_deep_stack([&] { return best_partition(program); });
}

}  // namespace tuff
