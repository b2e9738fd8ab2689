// Which groups may merge, against reachability worked out anew each time.
#include "ir/passes/group/group_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace tuff {
namespace {

// Sums of two earlier values each, near ones or any.
Graph random_sums(std::mt19937& random, int nodes, int reach) {
  Graph graph;
  TensorType type{DType::kF32, {4}};
  std::vector<Value> values{graph.add_parameter(type)};
  for (int i = 0; i < nodes; ++i) {
    auto pick = [&] {
      int last = static_cast<int>(values.size()) - 1;
      return values[static_cast<size_t>(
          std::uniform_int_distribution(std::max(0, last - reach), last)(random))];
    };
    Value a = pick(), b = pick();
    values.push_back(add_op(graph, Op::kSubtract, {a, b}, type));
  }
  graph.set_outputs({values.back()});
  return graph;
}

// What the groups reach by readings of other groups.
std::set<uint32_t> reached(const Partition& p, const std::vector<uint32_t>& from) {
  std::set<uint32_t> seen;
  std::vector<uint32_t> pending = from;
  while (!pending.empty()) {
    uint32_t group = pending.back();
    pending.pop_back();
    for (uint32_t member : p.groups[group].members)
      for (uint32_t reader : p.readers[member]) {
        auto next = static_cast<uint32_t>(p.group_of[reader]);
        bool own = std::find(from.begin(), from.end(), next) != from.end();
        if (!own && seen.insert(next).second) pending.push_back(next);
      }
  }
  return seen;
}

// A third group runs both before and after them.
bool closes_cycle(const Partition& p, const std::vector<uint32_t>& groups) {
  for (uint32_t between : reached(p, groups))
    for (uint32_t member : p.groups[between].members)
      for (uint32_t reader : p.readers[member])
        if (std::find(groups.begin(), groups.end(), static_cast<uint32_t>(p.group_of[reader])) !=
            groups.end())
          return true;
  return false;
}

void move_members(Partition& p, uint32_t from, uint32_t into) {
  for (uint32_t id : p.groups[from].members) p.group_of[id] = static_cast<int>(into);
  auto& members = p.groups[into].members;
  members.insert(members.end(), p.groups[from].members.begin(), p.groups[from].members.end());
  p.groups[from].members.clear();
}

TEST(GroupOrder, SaysWhatReachabilitySays) {
  std::mt19937 random(7);
  int allowed = 0, refused = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Graph graph = random_sums(random, 40, trial % 2 == 0 ? 5 : 40);
    Partition p = make_partition(graph, Caps{}, LoadWork::kApart);
    GroupOrder order(p);
    for (int merge = 0; merge < 60; ++merge) {
      std::vector<uint32_t> groups;
      size_t wanted = merge % 3 == 0 ? 3 : 2;
      for (int tries = 0; tries < 100 && groups.size() < wanted; ++tries) {
        uint32_t g = static_cast<uint32_t>(random() % p.groups.size());
        if (!p.groups[g].members.empty() &&
            std::find(groups.begin(), groups.end(), g) == groups.end())
          groups.push_back(g);
      }
      if (groups.size() < wanted) break;
      auto place = order.find_merge(groups);
      ASSERT_EQ(place.has_value(), !closes_cycle(p, groups)) << "trial " << trial;
      ++(place ? allowed : refused);
      if (!place) continue;
      uint32_t into = groups[random() % groups.size()];
      for (uint32_t g : groups)
        if (g != into) move_members(p, g, into);
      order.apply(*place, groups, into);
    }
  }
  EXPECT_GT(allowed, 200);
  EXPECT_GT(refused, 200);
}

// Each merge moves another part of the sequence into the same place.
TEST(GroupOrder, PlacesNeverRunOut) {
  Graph graph;
  TensorType type{DType::kF32, {4}};
  Value x = graph.add_parameter(type);
  std::vector<Value> sums, products;
  for (int i = 0; i < 400; ++i) {
    Value c = add_constant(graph, Literal::scalar(DType::kF32, i));
    Value wide = add_op(graph, Op::kBroadcastInDim, {c}, type, BroadcastInDimAttrs{});
    products.push_back(add_op(graph, Op::kMultiply, {x, wide}, type));
  }
  Value sum = products[0];
  for (size_t i = products.size(); i-- > 1;)
    sum = add_op(graph, Op::kAdd, {sum, products[i]}, type), sums.push_back(sum);
  graph.set_outputs({sum});
  Partition p = make_partition(graph, Caps{}, LoadWork::kApart);
  GroupOrder order(p);
  auto group = [&](Value v) { return static_cast<uint32_t>(p.group_of[v.node]); };
  for (Value next : sums) {
    std::vector<uint32_t> both{group(products[0]), group(next)};
    auto place = order.find_merge(both);
    ASSERT_TRUE(place.has_value());
    move_members(p, both[1], both[0]);
    order.apply(*place, both, both[0]);
  }
}

}  // namespace
}  // namespace tuff
