#include "ir/spmd/partitioner.h"

#include <fmt/format.h>

#include "ir/infer/infer.h"
#include "ir/ops/trip_count.h"
#include "ir/rewrite.h"
#include "ir/spmd/indexed.h"
#include "ir/spmd/merge_reductions.h"
#include "ir/spmd/scatter_reductions.h"
#include "ir/spmd/unroll_exchanges.h"

namespace tuff::spmd {

int64_t sent_bytes_of(const Graph& part) {
  std::vector<bool> live = live_nodes(part);
  int64_t bytes = 0;
  for (uint32_t id = 0; id < part.nodes().size(); ++id) {
    const Node& node = part.node(id);
    if (live[id] && is_exchange(node)) bytes += sent_bytes(node, part.type(node.operands[0]));
  }
  return bytes;
}

namespace {

// A flag that is reduced over two devices counts as no byte.
bool has_exchanges(const Graph& part) {
  std::vector<bool> live = live_nodes(part);
  for (uint32_t id = 0; id < part.nodes().size(); ++id)
    if (live[id] && is_exchange(part.node(id))) return true;
  return false;
}

}  // namespace

Result<PartProgram> Partitioner::run(bool takes_partition_id) {
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

void Partitioner::find_weights() {
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

Status Partitioner::place(uint32_t id) {
  const Node& node = whole_.node(id);
  if (id < whole_.num_parameters()) return place_parameter(id);
  std::optional<SpmdOp> op = spmd_op(node);
  if (op == SpmdOp::kShardingConstraint) return place_constraint(id);
  if (op == SpmdOp::kFullToShard) return enter_device(id);
  if (op == SpmdOp::kShardToFull) return leave_device(id);
  if (op == SpmdOp::kShares) return place_shares(id);
  if (op == SpmdOp::kPartitionId) return place_partition_id(id);
  for (const GraphPtr& region : node.regions)
    if (knows_devices(*region))
      return error(node,
                   "A collective or device number in a branch, or in a loop of unknown or too many "
                   "rounds, is not supported; move it out.");
  std::vector<int64_t> manual = manual_of(node);
  if (op || !manual.empty()) return place_manual(id, manual);
  return is_control_flow(node.op) ? place_control(id) : place_by_rule(id);
}

Status Partitioner::place_parameter(uint32_t id) {
  const Node& node = whole_.node(id);
  Sharding sharding = program_.arguments[id].value_or(Sharding::whole(node.types[0].rank()));
  TUFF_ASSIGN(TensorType type, at_node(node, part_type(node.types[0], sharding, mesh_)));
  Value part = out_.add_parameter(std::move(type), whole_.parameter_name(id), node.loc);
  placed_[id] = {{part, std::move(sharding)}};
  return {};
}

Result<Sharding> Partitioner::sharding_attribute(const Node& node) const {
  return at_node(node, sharding_of_ints(node.attrs.as<CustomCallAttrs>().sharding,
                                        node.types[0].rank(), mesh_));
}

Status Partitioner::place_constraint(uint32_t id) {
  const Node& node = whole_.node(id);
  TUFF_ASSIGN(Sharding wanted, sharding_attribute(node));
  const Placed& operand = at(node.operands[0]);
  if (is_all(operand.manual)) {  // one device's program is not spread any further
    placed_[id] = {operand};
    return {};
  }
  keep_open(node.attrs.as<CustomCallAttrs>().open_dimensions, operand.sharding, &wanted);
  TUFF_ASSIGN(Value part, spread(node, node.operands[0], wanted));
  placed_[id] = {{part, std::move(wanted), operand.manual}};
  return {};
}

void Partitioner::keep_open(const std::vector<int64_t>& open, const Sharding& now,
                            Sharding* wanted) {
  std::set<int64_t> used;
  for (const std::vector<int64_t>& axes : wanted->axes) used.insert(axes.begin(), axes.end());
  for (int64_t dimension : open) {
    auto d = static_cast<size_t>(dimension);
    const std::vector<int64_t>& axes = now.axes[d];
    bool free = std::none_of(axes.begin(), axes.end(), [&](int64_t a) { return used.contains(a); });
    if (wanted->axes[d].empty() && free) wanted->axes[d] = axes;
  }
}

Partitioner::Share Partitioner::share_of(const Node& node) {
  Share share;
  share.rule = sharding_rule(whole_, node);
  std::vector<SpreadOperand> operands;
  for (Value v : node.operands) operands.push_back({&at(v).sharding, is_weight_[v.node]});
  share.axes = choose_axes(whole_, node, share.rule, operands, mesh_, give_up_, &contested_);
  return share;
}

Status Partitioner::place_by_rule(uint32_t id) {
  const Node& node = whole_.node(id);
  Share share = share_of(node);
  for (auto place_otherwise : {&Partitioner::place_indexed_gather, &Partitioner::place_windows,
                               &Partitioner::place_merged}) {
    TUFF_ASSIGN(bool placed, (this->*place_otherwise)(id, share));
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
  for (uint32_t r = 0; r < results.size(); ++r) {
    Value part = combined(node, share, {first.node, r});
    Sharding back = moved_back(node, share, r);
    if (back != results[r]) {  // for those who want it as it was computed
      spread_.emplace(std::pair(Value{id, r}, results[r].to_ints()), part);
      TUFF_ASSIGN(part, builder_.reshard(part, node.types[r], results[r], back, node.loc));
    }
    placed_[id].push_back({part, std::move(back)});
  }
  return {};
}

Sharding Partitioner::moved_back(const Node& node, const Share& share, uint32_t r) const {
  Sharding result = share.result(r);
  if (!share.rule.worth_moving || node.types[r].shape != whole_type(node.operands[0]).shape)
    return result;
  const Sharding& now = at(node.operands[0]).sharding;
  const Sharding moved = share.operand(0);
  for (size_t d = 0; d < now.axes.size(); ++d) {
    std::optional<size_t> other = moved_to(now, moved, d);
    if (other && result.axes[*other] == now.axes[d] && result.axes[d].empty())
      std::swap(result.axes[d], result.axes[*other]);
  }
  return result;
}

Value Partitioner::combined(const Node& node, const Share& share, Value part) {
  for (size_t f = 0; f < share.axes.size(); ++f)
    if (share.rule.combine[f] && !share.axes[f].empty())
      part = builder_.all_reduce(part, *share.rule.combine[f], share.axes[f], node.loc);
  return part;
}

Status Partitioner::place_control(uint32_t id) {
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
  auto spread_out = node.op == Op::kWhile ? spread_loop(node, std::move(operands), partition)
                                          : spread_branches(node, std::move(operands), partition);
  TUFF_ASSIGN(std::optional<SpreadRegions> regions, std::move(spread_out));
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
    TUFF_ASSIGN(part.types[r], at_node(node, part_type(node.types[r], regions->results[r], mesh_)));
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

Result<PartRegion> Partitioner::partition_region(
    const Graph& region, const std::vector<Sharding>& arguments,
    const std::vector<std::optional<Sharding>>& outputs, bool partition_id) const {
  WholeProgram program;
  program.mesh = mesh_;
  program.arguments = {arguments.begin(), arguments.end()};
  program.outputs = outputs;
  program.outputs.resize(region.outputs().size());
  Partitioner nested(program, region, give_up_, depth_ + 1);
  TUFF_ASSIGN(PartProgram part, nested.run(partition_id));
  PartRegion result{std::move(part.graph), std::move(part.outputs)};
  result.takes_partition_id = partition_id || knows_devices(result.graph);
  result.exchanges = has_exchanges(result.graph);
  return result;
}

Result<bool> Partitioner::place_indexed_gather(uint32_t id, const Share& share) {
  const Node& node = whole_.node(id);
  if (node.op != Op::kGather) return false;
  std::optional<size_t> indexed = indexed_dimension(whole_, node);
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
  indices = indices_in_part(builder_, out_, indices, whole_type(node.operands[0]).shape[*indexed],
                            true, over, node.loc);
  TUFF_ASSIGN(Value part, add_part(node, {operand, indices}, {share.result(0)}));
  part = own_elements(out_, node, part, indices, out_.type(operand).shape[*indexed]);
  Op sum = result.dtype == DType::kBool ? Op::kOr : Op::kAdd;
  placed_[id] = {{builder_.all_reduce(part, sum, over, node.loc), share.result(0)}};
  return true;
}

Result<Value> Partitioner::add_part(const Node& whole, std::vector<Value> operands,
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

Result<PartProgram> Partitioner::finish() {
  PartProgram result;
  std::vector<Value> outputs;
  for (size_t i = 0; i < whole_.outputs().size(); ++i) {
    Value v = whole_.outputs()[i];
    if (!at(v).manual.empty())
      return error(whole_.node(v), "A value of one device is used as if it were whole.");
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
  result.graph = merge_reductions(scatter_reductions(out_, builder_.added()));
  return result;
}

void Partitioner::record_donations() {
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

}  // namespace tuff::spmd
