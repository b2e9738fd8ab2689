#include "ir/passes/order.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/rewrite.h"

namespace tuff {

namespace {

using Sequence = std::vector<uint32_t>;  // node ids

// What an order is judged by: sizes, users, and who must wait for whom.
class MemoryModel {
 public:
  explicit MemoryModel(const Graph& graph) : graph_(graph), waits_(graph.nodes().size()) {
    for (const Node& node : graph.nodes()) {
      first_value_.push_back(bytes_.size());
      for (const TensorType& type : node.types)
        bytes_.push_back(occupies(node) ? type.size_bytes() : 0);
    }
    for (Value v : graph.outputs()) bytes_[number(v)] = 0;
    users_.resize(bytes_.size());
    for (uint32_t id = 0; id < graph.nodes().size(); ++id)
      for (Value v : distinct_operands(id)) {
        users_[number(v)].push_back(id);
        add_wait(v.node, id);
      }
    for (auto [parameter, output] : graph.donations) {
      donated_.push_back({graph.type(graph.outputs()[output]).size_bytes(),
                          graph.outputs()[output].node, users_[number({parameter, 0})]});
      let_readers_go_first(donated_.back());
    }
  }

  size_t number(Value v) const { return first_value_[v.node] + v.result; }
  int64_t bytes(size_t value) const { return bytes_[value]; }
  const Sequence& users(size_t value) const { return users_[value]; }
  // Nodes that must not run before `id`, and how many `id` waits for.
  const Sequence& waiting_for(uint32_t id) const { return waits_[id].later; }
  size_t num_waits(uint32_t id) const { return waits_[id].count; }

  std::vector<Value> distinct_operands(uint32_t id) const {
    std::vector<Value> operands = graph_.node(id).operands;
    std::sort(operands.begin(), operands.end());
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    return operands;
  }
  int64_t result_bytes(uint32_t id) const {
    int64_t sum = 0;
    for (uint32_t r = 0; r < graph_.node(id).types.size(); ++r) sum += bytes_[number({id, r})];
    return sum;
  }

  std::vector<int64_t> use_counts() const {
    std::vector<int64_t> counts;
    for (const Sequence& users : users_) counts.push_back(static_cast<int64_t>(users.size()));
    return counts;
  }

  // Of the temporaries, and of outputs that cannot take their donated parameter's place.
  int64_t peak(const Sequence& sequence) const {
    std::vector<int64_t> uses = use_counts();
    int64_t alive = refused_donations(sequence), peak = alive;
    for (uint32_t id : sequence) {
      alive += result_bytes(id);
      peak = std::max(peak, alive);
      for (Value v : distinct_operands(id))
        if (--uses[number(v)] == 0) alive -= bytes_[number(v)];
      for (uint32_t r = 0; r < graph_.node(id).types.size(); ++r)
        if (users_[number({id, r})].empty()) alive -= bytes_[number({id, r})];
    }
    return peak;
  }

 private:
  struct Waits {
    Sequence later;
    size_t count = 0;
  };

  static bool occupies(const Node& node) {
    return node.op != Op::kParameter && node.op != Op::kConstant;
  }
  void add_wait(uint32_t before, uint32_t after) {
    waits_[before].later.push_back(after);
    ++waits_[after].count;
  }

  // A parameter whose place an output may take.
  struct Donated {
    int64_t size_bytes;
    uint32_t writer;   // of the output
    Sequence readers;  // of the parameter
  };

  // The output is written after the parameter's other readers, unless one of them
  // needs what its writer makes.
  void let_readers_go_first(const Donated& donated) {
    for (uint32_t reader : donated.readers)
      if (reader != donated.writer && !reaches(donated.writer, reader))
        add_wait(reader, donated.writer);
  }
  int64_t refused_donations(const Sequence& sequence) const {
    std::vector<size_t> position(sequence.size());
    for (size_t i = 0; i < sequence.size(); ++i) position[sequence[i]] = i;
    int64_t refused = 0;
    for (const Donated& d : donated_)
      if (std::any_of(d.readers.begin(), d.readers.end(),
                      [&](uint32_t r) { return position[r] > position[d.writer]; }))
        refused += d.size_bytes;
    return refused;
  }
  bool reaches(uint32_t from, uint32_t to) const {
    std::vector<bool> seen(waits_.size());
    Sequence stack = {from};
    while (!stack.empty()) {
      uint32_t id = stack.back();
      stack.pop_back();
      if (id == to) return true;
      if (seen[id]) continue;
      seen[id] = true;
      stack.insert(stack.end(), waits_[id].later.begin(), waits_[id].later.end());
    }
    return false;
  }

  const Graph& graph_;
  std::vector<size_t> first_value_;
  std::vector<int64_t> bytes_;  // by value; 0 where it takes no temporary memory
  std::vector<Sequence> users_;
  std::vector<Waits> waits_;
  std::vector<Donated> donated_;
};

// Each node that holds more than it frees moves to just before its first user.
Sequence sink(const MemoryModel& model, const Sequence& sequence) {
  std::vector<size_t> position(sequence.size());
  for (size_t i = 0; i < sequence.size(); ++i) position[sequence[i]] = i;
  std::vector<size_t> place = position;
  for (size_t i = sequence.size(); i-- > 0;) {
    uint32_t id = sequence[i];
    if (model.waiting_for(id).empty()) continue;
    int64_t freed = 0;
    for (Value v : model.distinct_operands(id)) {
      const Sequence& users = model.users(model.number(v));
      bool last = std::all_of(users.begin(), users.end(),
                              [&](uint32_t user) { return position[user] <= i; });
      if (last) freed += model.bytes(model.number(v));
    }
    if (model.result_bytes(id) <= freed) continue;
    size_t first = sequence.size();
    for (uint32_t later : model.waiting_for(id)) first = std::min(first, place[later]);
    place[id] = first;
  }
  // Nodes of one place keep their order: operands stand before users.
  Sequence sunk = sequence;
  std::stable_sort(sunk.begin(), sunk.end(),
                   [&](uint32_t a, uint32_t b) { return place[a] < place[b]; });
  return sunk;
}

// The sequence, with nodes that let go of memory run as soon as they can.
class Hoister {
 public:
  Hoister(const MemoryModel& model, const Sequence& sequence)
      : model_(model), sequence_(sequence), uses_(model.use_counts()), rank_(sequence.size()) {
    for (size_t i = 0; i < sequence.size(); ++i) rank_[sequence[i]] = i;
    for (uint32_t id = 0; id < sequence.size(); ++id) waits_.push_back(model.num_waits(id));
  }

  Sequence run() {
    for (uint32_t id : sequence_)
      if (waits_[id] == 0) admit(id);
    Sequence hoisted;
    while (!ready_.empty()) {
      size_t next = eager_.empty() ? *ready_.begin() : *eager_.begin();
      ready_.erase(next);
      eager_.erase(next);
      uint32_t id = sequence_[next];
      hoisted.push_back(id);
      release(id);
    }
    return hoisted;
  }

 private:
  void admit(uint32_t id) {
    ready_.insert(rank_[id]);
    judge(id);
  }

  void judge(uint32_t id) {
    int64_t held = model_.result_bytes(id), freed = 0;
    for (Value v : model_.distinct_operands(id))
      if (uses_[model_.number(v)] == 1) freed += model_.bytes(model_.number(v));
    if (held == 0 || held < freed) eager_.insert(rank_[id]);
  }

  void release(uint32_t id) {
    for (Value v : model_.distinct_operands(id)) {
      size_t value = model_.number(v);
      if (--uses_[value] != 1) continue;
      // One user is left, and running it frees the value: it may have become eager.
      for (uint32_t user : model_.users(value))
        if (ready_.count(rank_[user])) judge(user);
    }
    for (uint32_t later : model_.waiting_for(id))
      if (--waits_[later] == 0) admit(later);
  }

  const MemoryModel& model_;
  const Sequence& sequence_;
  std::vector<int64_t> uses_;       // by value: users still to run
  std::vector<size_t> waits_;       // by node: nodes still to run before it
  std::vector<size_t> rank_;        // by node: its place in sequence_
  std::set<size_t> ready_, eager_;  // ranks
};

Sequence identity(const Graph& graph) {
  Sequence sequence(graph.nodes().size());
  std::iota(sequence.begin(), sequence.end(), 0u);
  return sequence;
}

// The best order found; moves are tried on it again until they gain nothing, so that
// ordering an ordered graph changes nothing.
Sequence best_sequence(const Graph& graph) {
  MemoryModel model(graph);
  Sequence best = identity(graph);
  int64_t least = model.peak(best);
  for (bool better = true; better;) {
    better = false;
    Sequence sunk = sink(model, best);
    for (const Sequence& tried : {Hoister(model, best).run(), Hoister(model, sunk).run()}) {
      int64_t peak = model.peak(tried);
      if (peak >= least) continue;
      least = peak;
      best = tried;
      better = true;
    }
  }
  return best;
}

Graph ordered(const Graph& graph) {
  Sequence sequence = best_sequence(graph);
  Graph out = graph.parameters_only();
  ValueMap map(graph);
  for (uint32_t id : sequence) {
    if (id < graph.num_parameters()) continue;
    const Node& old = graph.node(id);
    if (old.op != Op::kWhile && old.op != Op::kIf && old.op != Op::kCase) {
      map.set(id, copy_node(graph, id, map, out));
      continue;
    }
    Node node = old;
    node.operands = map.of(old.operands);
    for (GraphPtr& region : node.regions) region = std::make_shared<const Graph>(ordered(*region));
    map.set(id, out.add(std::move(node)));
  }
  out.set_outputs(map.of(graph.outputs()), graph.output_names());
  return out;
}

}  // namespace

Result<Graph> order(const Graph& graph, const PassContext&) { return ordered(graph); }

}  // namespace tuff
