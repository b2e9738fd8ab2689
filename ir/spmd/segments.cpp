#include "ir/spmd/segments.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/rewrite.h"

namespace tuff {

namespace {

// Up to this many elements a value that needs no tensor is computed again in each segment.
constexpr int64_t kFewElements = 16;
// Batches of the exchanges that wait for as many before them, and of arguments'.
constexpr size_t kMaxBatches = 8, kMaxEarlyBatches = 32;
// So many batches of arguments are under way or wait before the first one's readers begin, so that
// the next ones come meanwhile; more would lie there for long.
constexpr size_t kBatchesAhead = 2;

class Cutter {
 public:
  Cutter(const Graph& part, int64_t batch_bytes)
      : part_(part), batch_bytes_(batch_bytes), live_(live_nodes(part)) {}

  SegmentedProgram run() {
    find_stages();
    for (size_t stage = 0; stage < exchanges_.size(); ++stage) place_stage(stage);
    order_segments(delayed_batches());
    // What the last exchanges give may be read by nobody but the caller.
    if (segments_.empty() || !segments_.back().exchanges.empty()) segments_.emplace_back();
    for (uint32_t i = 0; i < part_.num_parameters(); ++i) slot_of({i, 0});
    result_.num_arguments = part_.num_parameters();
    result_.slots.push_back({DType::kU32, {}});
    for (Value v : part_.outputs()) need(v);
    // Later segments say what they need of earlier ones.
    for (size_t at = segments_.size(); at-- > 0;) collect(at);
    for (size_t at = 0; at < segments_.size(); ++at) build(at);
    for (Value v : part_.outputs()) result_.outputs.push_back(slot_of(v));
    for (auto [argument, output] : part_.donations) result_.donated.push_back(argument);
    return std::move(result_);
  }

 private:
  struct Content {
    std::set<Value> produced;  // by the segment, for others
    std::set<uint32_t> nodes;
    std::set<Value> taken;  // from slots
    std::vector<uint32_t> exchanges;
  };
  // The segment whose exchanges a node waits for, counted from 1, and the first batch of its stage
  // that waits for the node.
  using Key = std::pair<size_t, size_t>;
  // A stage's exchanges: of arguments in the order of their readers, of what its nodes make in
  // their order.
  struct Batches {
    std::vector<std::vector<uint32_t>> early, late;
    bool are_apart = false;  // nodes that no exchange needs may run meanwhile
  };

  // A node's stage is the number of exchanges before it, one after the other; an exchange's is that
  // of its operand.
  void find_stages() {
    size_t count = part_.nodes().size();
    exchanges_.resize(1);
    nodes_.resize(1);
    stage_.resize(count);
    segment_.resize(count);
    anywhere_.resize(count);
    for (uint32_t id = 0; id < count; ++id) {
      if (!live_[id]) continue;
      const Node& node = part_.node(id);
      bool small = node.op == Op::kConstant || node.op == Op::kIota ||
                   node.op == Op::kBroadcastInDim || is_partition_id(id) ||
                   (is_elementwise(node.op) && node.types[0].num_elements() <= kFewElements);
      for (Value v : node.operands) {
        stage_[id] = std::max(stage_[id], stage_[v.node] + (is_exchange(part_.node(v)) ? 1 : 0));
        small = small && anywhere_[v.node];
      }
      anywhere_[id] = small;
      exchanges_.resize(std::max(exchanges_.size(), stage_[id] + 1));
      nodes_.resize(exchanges_.size());
      if (is_exchange(node))
        exchanges_[stage_[id]].push_back(id);
      else if (id >= part_.num_parameters() && !anywhere_[id])
        nodes_[stage_[id]].push_back(id);
    }
  }

  // Segments for the stage: its nodes by what they wait for, then by what waits for them.
  void place_stage(size_t stage) {
    Batches batches = split_exchanges(stage);
    for (const std::vector<uint32_t>& batch : batches.early) add_exchanges(segments_.size(), batch);
    if (!batches.early.empty()) early_ = batches.early;
    std::map<uint32_t, Key> keys = find_keys(stage, batches);
    std::map<Key, size_t> places;
    for (const auto& [id, key] : keys) places[key] = 0;
    const size_t first = segments_.size();
    for (auto& [key, place] : places) {
      place = segments_.size();
      segments_.emplace_back();
    }
    for (const auto& [id, key] : keys) segment_[id] = places.at(key);
    for (const std::vector<uint32_t>& batch : batches.late) {
      size_t at = first;
      for (uint32_t id : batch) at = std::max(at, after_operand(id, first));
      add_exchanges(at, batch);
    }
  }

  // By node the first segment that reads it, or whose exchanges do.
  std::vector<size_t> first_readers() const {
    std::vector<size_t> first(part_.nodes().size(), segments_.size());
    for (uint32_t id = 0; id < first.size(); ++id) {
      if (!is_placed(id)) continue;
      for (Value v : part_.node(id).operands) first[v.node] = std::min(first[v.node], segment_[id]);
    }
    return first;
  }

  // By segment the batches of arguments' exchanges that begin after it: when the readers of one
  // some batches before do. What is gathered earlier lies there in vain.
  std::map<size_t, std::vector<size_t>> delayed_batches() const {
    const std::vector<size_t> first = first_readers();
    std::vector<size_t> needed;  // by batch
    for (const std::vector<uint32_t>& batch : early_) {
      size_t least = segments_.size();
      for (uint32_t id : batch) least = std::min(least, first[id]);
      needed.push_back(least);
    }
    // Batches are exchanged one after another, so each is needed when a later one is.
    for (size_t i = needed.size(); i-- > 1;) needed[i - 1] = std::min(needed[i - 1], needed[i]);
    std::map<size_t, std::vector<size_t>> delayed;
    for (size_t i = kBatchesAhead; i < early_.size(); ++i) {
      size_t at = std::max<size_t>(needed[i - kBatchesAhead], 1) - 1;
      if (at > segment_[early_[i].front()]) delayed[at].push_back(i);
    }
    return delayed;
  }

  // Gives delayed batches segments of their own, and leaves out segments that have nothing.
  void order_segments(const std::map<size_t, std::vector<size_t>>& delayed) {
    std::vector<bool> moved(part_.nodes().size()), used(segments_.size());
    for (const auto& [at, batches] : delayed)
      for (size_t batch : batches)
        for (uint32_t id : early_[batch]) moved[id] = true;
    for (uint32_t id = 0; id < moved.size(); ++id)
      if (is_placed(id) && !moved[id]) used[segment_[id]] = true;
    std::vector<Content> before = std::move(segments_);
    std::vector<size_t> place(before.size());
    segments_.clear();
    for (size_t at = 0; at < before.size(); ++at) {
      place[at] = segments_.size();
      std::erase_if(before[at].exchanges, [&](uint32_t id) { return moved[id]; });
      if (used[at]) segments_.push_back(std::move(before[at]));
      auto batches = delayed.find(at);
      if (batches == delayed.end()) continue;
      for (size_t batch : batches->second) add_exchanges(segments_.size(), early_[batch]);
    }
    for (uint32_t id = 0; id < moved.size(); ++id)
      if (is_placed(id) && !moved[id]) segment_[id] = place[segment_[id]];
  }

  // It is in a segment, or is one's exchange.
  bool is_placed(uint32_t id) const {
    return live_[id] && id >= part_.num_parameters() && !anywhere_[id];
  }

  // The segment after which the exchange may begin, of a stage that begins with `first`.
  size_t after_operand(uint32_t exchange, size_t first) const {
    uint32_t operand = part_.node(exchange).operands[0].node;
    if (!is_exchange(part_.node(operand))) return segment_[operand];
    return std::max(first + 1, segments_.size()) - 1;  // at the end, rather than wait before
  }

  void add_exchanges(size_t at, const std::vector<uint32_t>& batch) {
    segments_.resize(std::max(segments_.size(), at + 1));
    std::vector<uint32_t>& exchanges = segments_[at].exchanges;
    exchanges.insert(exchanges.end(), batch.begin(), batch.end());
    for (uint32_t id : batch) segment_[id] = at;
  }

  Batches split_exchanges(size_t stage) const {
    const std::vector<uint32_t>& all = exchanges_[stage];
    if (all.empty()) return {};
    if (sent(all) < batch_bytes_) return {{}, {all}, false};
    // A node's id says when it stands in the program. Only the first stage exchanges arguments.
    std::vector<std::vector<uint32_t>> users;
    if (stage == 0) users = part_.users();
    std::vector<std::pair<uint32_t, uint32_t>> arguments, made;  // when, which
    for (uint32_t id : all) {
      uint32_t operand = part_.node(id).operands[0].node;
      if (operand < part_.num_parameters())
        arguments.emplace_back(users[id].empty() ? id : users[id].front(), id);
      else
        made.emplace_back(operand, id);
    }
    return {in_batches(std::move(arguments), kMaxEarlyBatches),
            in_batches(std::move(made), kMaxBatches), true};
  }

  std::vector<std::vector<uint32_t>> in_batches(
      std::vector<std::pair<uint32_t, uint32_t>> exchanges, size_t most_batches) const {
    std::sort(exchanges.begin(), exchanges.end());
    std::vector<uint32_t> ids;
    for (auto [when, id] : exchanges) ids.push_back(id);
    int64_t most = std::max(batch_bytes_, sent(ids) / static_cast<int64_t>(most_batches));
    std::vector<std::vector<uint32_t>> made;
    int64_t bytes = most;
    for (uint32_t id : ids) {
      if (bytes >= most) {
        made.emplace_back();
        bytes = 0;
      }
      made.back().push_back(id);
      bytes += sent({id});
    }
    return made;
  }

  int64_t sent(const std::vector<uint32_t>& exchanges) const {
    int64_t bytes = 0;
    for (uint32_t id : exchanges) {
      const Node& node = part_.node(id);
      bytes += sent_bytes(node, part_.type(node.operands[0]));
    }
    return bytes;
  }

  std::map<uint32_t, Key> find_keys(size_t stage, const Batches& batches) const {
    std::map<uint32_t, Key> keys;
    const size_t none = batches.are_apart ? batches.late.size() : 0;
    for (uint32_t id : nodes_[stage]) {
      size_t waits = 0;
      for (Value v : part_.node(id).operands) {
        if (is_exchange(part_.node(v)))
          waits = std::max(waits, segment_[v.node] + 1);
        else if (auto it = keys.find(v.node); it != keys.end())
          waits = std::max(waits, it->second.first);
      }
      keys[id] = {waits, none};
    }
    auto need_by = [&](Value v, size_t batch) {
      if (auto it = keys.find(v.node); it != keys.end())
        it->second.second = std::min(it->second.second, batch);
    };
    for (size_t i = 0; i < batches.late.size(); ++i)
      for (uint32_t id : batches.late[i]) need_by(part_.node(id).operands[0], i);
    for (auto it = keys.rbegin(); it != keys.rend(); ++it)
      for (Value v : part_.node(it->first).operands) need_by(v, it->second.second);
    return keys;
  }

  bool is_partition_id(uint32_t id) const {
    return spmd_op(part_.node(id)) == SpmdOp::kPartitionId;
  }

  // The value will lie in a slot.
  void need(Value v) {
    bool made = v.node >= part_.num_parameters() && !spmd_op(part_.node(v));
    if (made) segments_[segment_[v.node]].produced.insert(v);
  }

  // The nodes of a segment, from what others need of it backwards.
  void collect(size_t at) {
    Content& content = segments_[at];
    for (uint32_t id : content.exchanges) need(part_.node(id).operands[0]);
    std::vector<Value> open(content.produced.begin(), content.produced.end());
    while (!open.empty()) {
      Value v = open.back();
      open.pop_back();
      bool from_slot = v.node < part_.num_parameters() || spmd_op(part_.node(v)) ||
                       (segment_[v.node] != at && !anywhere_[v.node]);
      if (from_slot) {
        content.taken.insert(v);
        need(v);
        continue;
      }
      if (!content.nodes.insert(v.node).second) continue;
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
    Content& content = segments_[at];
    Segment& segment = result_.segments.emplace_back();
    segment.graph.name = part_.name;
    std::map<Value, Value> map;
    for (Value v : content.taken) {
      bool is_argument = v.node < part_.num_parameters();
      map[v] = segment.graph.add_parameter(
          part_.type(v), is_argument ? part_.parameter_name(v.node) : "", part_.node(v).loc);
      segment.arguments.push_back(slot_of(v));
    }
    for (uint32_t id : content.nodes) {
      Node node = part_.node(id);
      for (Value& v : node.operands) v = map.at(v);
      auto num_results = static_cast<uint32_t>(node.types.size());
      uint32_t added = segment.graph.add(std::move(node)).node;
      for (uint32_t r = 0; r < num_results; ++r) map[{id, r}] = {added, r};
    }
    std::vector<Value> outputs;
    for (Value v : content.produced) {
      outputs.push_back(map.at(v));
      segment.outputs.push_back(slot_of(v));
    }
    segment.graph.set_outputs(std::move(outputs));
    for (uint32_t id : content.exchanges) {
      const Node& node = part_.node(id);
      Exchange exchange{*spmd_op(node), node, part_.type(node.operands[0]), 0, 0};
      exchange.operand = slot_of(exchange.node.operands[0]);
      exchange.result = slot_of({id, 0});
      exchange.node.operands.clear();
      segment.exchanges.push_back(std::move(exchange));
    }
  }

  const Graph& part_;
  const int64_t batch_bytes_;
  std::vector<bool> live_;
  std::vector<size_t> stage_, segment_;  // by node; an exchange's segment is the one before it
  std::vector<bool> anywhere_;           // cheap enough to be computed in every segment
  std::vector<std::vector<uint32_t>> exchanges_, nodes_;  // by stage
  std::vector<std::vector<uint32_t>> early_;              // batches of arguments' exchanges
  std::vector<Content> segments_;
  std::map<Value, uint32_t> slots_;
  SegmentedProgram result_;
};

}  // namespace

int64_t Segment::sent_bytes() const {
  int64_t bytes = 0;
  for (const Exchange& exchange : exchanges)
    bytes += tuff::sent_bytes(exchange.node, exchange.operand_type);
  return bytes;
}

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

std::vector<std::optional<size_t>> SegmentedProgram::exchanged_by() const {
  std::vector<std::optional<size_t>> made(slots.size());
  for (size_t i = 0; i < segments.size(); ++i)
    for (const Exchange& exchange : segments[i].exchanges) made[exchange.result] = i;
  return made;
}

int64_t SegmentedProgram::num_collectives() const {
  size_t count = 0;
  for (const Segment& segment : segments) count += segment.exchanges.size();
  return static_cast<int64_t>(count);
}

int64_t SegmentedProgram::exchanged_bytes() const {
  int64_t bytes = 0;
  for (const Segment& segment : segments) bytes += segment.sent_bytes();
  return bytes;
}

int64_t batch_bytes_of(const Caps& caps, bool on_one_host) {
  return on_one_host && caps.device_class == DeviceClass::kCpu ? kOneBatch : kBatchBytes;
}

SegmentedProgram cut_into_segments(const Graph& part, int64_t batch_bytes) {
  return Cutter(part, batch_bytes).run();
}

}  // namespace tuff
