#include "ir/spmd/segments.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/rewrite.h"

namespace tuff {

namespace {

// Up to this many elements a value that needs no tensor is computed again in each segment.
constexpr int64_t kFewElements = 16;

class Cutter {
 public:
  explicit Cutter(const Graph& part) : part_(part), live_(live_nodes(part)) {}

  SegmentedProgram run() {
    find_stages();
    for (uint32_t i = 0; i < part_.num_parameters(); ++i) slot_of({i, 0});
    result_.num_arguments = part_.num_parameters();
    result_.slots.push_back({DType::kU32, {}});
    for (Value v : part_.outputs()) need(v);
    // Later segments say what they need of earlier ones.
    for (size_t stage = num_stages_; stage-- > 0;) collect(stage);
    for (size_t stage = 0; stage < num_stages_; ++stage) build(stage);
    for (Value v : part_.outputs()) result_.outputs.push_back(slot_of(v));
    for (auto [argument, output] : part_.donations) result_.donated.push_back(argument);
    return std::move(result_);
  }

 private:
  struct Stage {
    std::set<Value> produced;  // by its segment, for others
    std::set<uint32_t> nodes;  // of its segment
    std::set<Value> taken;     // from slots
    std::vector<uint32_t> exchanges;
  };

  // A node's stage is the number of exchanges before it; a collective's is that of its
  // result.
  void find_stages() {
    size_t count = part_.nodes().size();
    stages_.resize(1);
    stage_.resize(count);
    anywhere_.resize(count);
    for (uint32_t id = 0; id < count; ++id) {
      if (!live_[id]) continue;
      const Node& node = part_.node(id);
      bool exchanges = is_exchange(node);
      bool small = node.op == Op::kConstant || node.op == Op::kIota ||
                   node.op == Op::kBroadcastInDim || is_partition_id(id) ||
                   (is_elementwise(node.op) && node.types[0].num_elements() <= kFewElements);
      for (Value v : node.operands) {
        stage_[id] = std::max(stage_[id], stage_[v.node] + (exchanges ? 1 : 0));
        small = small && anywhere_[v.node];
      }
      anywhere_[id] = small;
      num_stages_ = std::max(num_stages_, stage_[id] + 1);
      stages_.resize(num_stages_);
      if (exchanges) stages_[stage_[id] - 1].exchanges.push_back(id);
    }
  }

  bool is_partition_id(uint32_t id) const {
    return spmd_op(part_.node(id)) == SpmdOp::kPartitionId;
  }

  // The value will lie in a slot.
  void need(Value v) {
    bool made = v.node >= part_.num_parameters() && !spmd_op(part_.node(v));
    if (made) stages_[stage_[v.node]].produced.insert(v);
  }

  // The nodes of a stage's segment, from what others need of it backwards.
  void collect(size_t at) {
    Stage& stage = stages_[at];
    for (uint32_t id : stage.exchanges) need(part_.node(id).operands[0]);
    std::vector<Value> open(stage.produced.begin(), stage.produced.end());
    while (!open.empty()) {
      Value v = open.back();
      open.pop_back();
      bool from_slot = v.node < part_.num_parameters() || spmd_op(part_.node(v)) ||
                       (stage_[v.node] != at && !anywhere_[v.node]);
      if (from_slot) {
        stage.taken.insert(v);
        need(v);
        continue;
      }
      if (!stage.nodes.insert(v.node).second) continue;
      for (Value operand : part_.node(v).operands) open.push_back(operand);
    }
  }

  uint32_t slot_of(Value v) {
    if (is_partition_id(v.node)) return result_.num_arguments;
    auto [it, is_new] = slots_.try_emplace(v, static_cast<uint32_t>(result_.slots.size()));
    if (is_new) result_.slots.push_back(part_.type(v));
    return it->second;
  }

  void build(size_t at) {
    Stage& stage = stages_[at];
    Segment& segment = result_.segments.emplace_back();
    segment.graph.name = part_.name;
    std::map<Value, Value> map;
    for (Value v : stage.taken) {
      bool is_argument = v.node < part_.num_parameters();
      map[v] = segment.graph.add_parameter(
          part_.type(v), is_argument ? part_.parameter_name(v.node) : "", part_.node(v).loc);
      segment.arguments.push_back(slot_of(v));
    }
    for (uint32_t id : stage.nodes) {
      Node node = part_.node(id);
      for (Value& v : node.operands) v = map.at(v);
      auto num_results = static_cast<uint32_t>(node.types.size());
      uint32_t added = segment.graph.add(std::move(node)).node;
      for (uint32_t r = 0; r < num_results; ++r) map[{id, r}] = {added, r};
    }
    std::vector<Value> outputs;
    for (Value v : stage.produced) {
      outputs.push_back(map.at(v));
      segment.outputs.push_back(slot_of(v));
    }
    segment.graph.set_outputs(std::move(outputs));
    for (uint32_t id : stage.exchanges) {
      const Node& node = part_.node(id);
      Exchange exchange{*spmd_op(node), node, part_.type(node.operands[0]), 0, 0};
      exchange.operand = slot_of(exchange.node.operands[0]);
      exchange.result = slot_of({id, 0});
      exchange.node.operands.clear();
      segment.exchanges.push_back(std::move(exchange));
    }
  }

  const Graph& part_;
  std::vector<bool> live_;
  std::vector<size_t> stage_;
  std::vector<bool> anywhere_;  // cheap enough to be computed in every segment
  size_t num_stages_ = 1;
  std::vector<Stage> stages_;
  std::map<Value, uint32_t> slots_;
  SegmentedProgram result_;
};

}  // namespace

std::vector<size_t> SegmentedProgram::last_uses() const {
  std::vector<size_t> last(slots.size(), 0);
  for (size_t i = 0; i < segments.size(); ++i) {
    for (uint32_t slot : segments[i].arguments) last[slot] = i;
    for (uint32_t slot : segments[i].outputs) last[slot] = i;
    for (const Exchange& exchange : segments[i].exchanges)
      last[exchange.operand] = last[exchange.result] = i;
  }
  for (uint32_t slot : outputs) last[slot] = segments.size();
  return last;
}

int64_t SegmentedProgram::num_collectives() const {
  size_t count = 0;
  for (const Segment& segment : segments) count += segment.exchanges.size();
  return static_cast<int64_t>(count);
}

int64_t SegmentedProgram::exchanged_bytes() const {
  int64_t bytes = 0;
  for (const Segment& segment : segments)
    for (const Exchange& exchange : segment.exchanges)
      bytes += sent_bytes(exchange.node, exchange.operand_type);
  return bytes;
}

SegmentedProgram cut_into_segments(const Graph& part) { return Cutter(part).run(); }

}  // namespace tuff
