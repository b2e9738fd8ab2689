#include "backend/plan/carry_order.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace tuff {

namespace {

class CarryOrder {
 public:
  explicit CarryOrder(const LoweredBlock& body) : body_(body), graph_(*body.graph) {
    for (size_t i = 0; i < body.items.size(); ++i) item_of_[body.items[i].node] = i;
    before_.resize(body.items.size());
    for (size_t i = 0; i < body.items.size(); ++i)
      for (Value v : graph_.node(body.items[i].node).operands)
        if (auto producer = item_of_.find(v.node); producer != item_of_.end())
          before_[i].insert(producer->second);
  }

  std::vector<const LoweredBlock::Item*> run() {
    for (uint32_t carry = 0; carry < graph_.num_parameters(); ++carry) let_readers_go_first(carry);
    std::vector<const LoweredBlock::Item*> order;
    emitted_.resize(body_.items.size());
    for (size_t i = 0; i < body_.items.size(); ++i) emit(i, order);
    return order;
  }

 private:
  void let_readers_go_first(uint32_t carry) {
    auto writer = item_of_.find(graph_.outputs()[carry].node);
    if (writer == item_of_.end()) return;
    for (size_t reader = 0; reader < body_.items.size(); ++reader) {
      const std::vector<Value>& operands = graph_.node(body_.items[reader].node).operands;
      bool reads = std::find(operands.begin(), operands.end(), Value{carry, 0}) != operands.end();
      if (reads && reader != writer->second && !comes_before(writer->second, reader))
        before_[writer->second].insert(reader);
    }
  }

  // `first` must run before `item`.
  bool comes_before(size_t first, size_t item) const {
    std::vector<size_t> stack = {item};
    std::set<size_t> seen;
    while (!stack.empty()) {
      size_t at = stack.back();
      stack.pop_back();
      if (at == first) return true;
      if (!seen.insert(at).second) continue;
      stack.insert(stack.end(), before_[at].begin(), before_[at].end());
    }
    return false;
  }

  void emit(size_t item, std::vector<const LoweredBlock::Item*>& order) {
    if (emitted_[item]) return;
    emitted_[item] = true;
    for (size_t earlier : before_[item]) emit(earlier, order);
    order.push_back(&body_.items[item]);
  }

  const LoweredBlock& body_;
  const Graph& graph_;
  std::unordered_map<uint32_t, size_t> item_of_;  // by node
  std::vector<std::set<size_t>> before_;          // items that must run before each; acyclic
  std::vector<bool> emitted_;
};

}  // namespace

std::vector<const LoweredBlock::Item*> order_for_carries(const LoweredBlock& body) {
  return CarryOrder(body).run();
}

}  // namespace tuff
