#include "ir/passes/group/group_order.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace tuff {

// Follows readings from the merged groups in one direction, those nearest to the far end first.
class GroupOrder::Search {
 public:
  enum class State { kGoesOn, kDone, kCycle };

  Search(GroupOrder& order, std::span<const uint32_t> groups, bool forward, int64_t end)
      : order_(order), groups_(groups), forward_(forward), end_(end), stamp_(++order.searches_) {
    for (uint32_t group : groups) push(group);
  }

  // Follows one reading.
  State step() {
    while (!next_edge()) {
      if (pending_.empty()) return State::kDone;
      at_ = pending_.top().second;
      pending_.pop();
      member_ = edge_ = 0;
    }
    return visit(static_cast<uint32_t>(order_.p_.group_of[node_]));
  }

  const std::vector<uint32_t>& seen() const { return seen_; }

 private:
  // The next node that reads the group's members, or that they read; false after the last.
  bool next_edge() {
    if (at_ == kNone) return false;
    const std::vector<uint32_t>& members = order_.p_.groups[at_].members;
    for (; member_ < members.size(); ++member_, edge_ = 0) {
      const auto& nodes = (forward_ ? order_.p_.readers : order_.p_.sources)[members[member_]];
      if (edge_ == nodes.size()) continue;
      node_ = nodes[edge_++];
      return true;
    }
    return false;
  }

  State visit(uint32_t group) {
    if (group == at_) return State::kGoesOn;
    if (is_merged(group)) return is_merged(at_) ? State::kGoesOn : State::kCycle;
    // What lies beyond the far end leads to none of them.
    int64_t number = order_.number_[group];
    if (forward_ ? number > end_ : number < end_) return State::kGoesOn;
    if (std::exchange(order_.seen_[group], stamp_) == stamp_) return State::kGoesOn;
    seen_.push_back(group);
    push(group);
    return State::kGoesOn;
  }

  bool is_merged(uint32_t group) const {
    return std::find(groups_.begin(), groups_.end(), group) != groups_.end();
  }
  void push(uint32_t group) {
    int64_t number = order_.number_[group];
    pending_.emplace(forward_ ? number : -number, group);
  }

  static constexpr uint32_t kNone = UINT32_MAX;
  GroupOrder& order_;
  std::span<const uint32_t> groups_;
  const bool forward_;
  const int64_t end_;
  const uint64_t stamp_;
  std::priority_queue<std::pair<int64_t, uint32_t>> pending_;
  std::vector<uint32_t> seen_;
  uint32_t at_ = kNone, node_ = 0;  // whose readings are followed; the last one's other end
  size_t member_ = 0, edge_ = 0;
};

GroupOrder::GroupOrder(const Partition& partition)
    : p_(partition), head_(static_cast<uint32_t>(partition.groups.size())) {
  next_.resize(head_ + 1, head_);
  previous_.resize(head_ + 1, head_);
  number_.resize(head_ + 1, 0);
  seen_.resize(head_, 0);
  for (uint32_t group = 0; group < head_; ++group) link_after(previous_[head_], group);
  renumber();
}

std::optional<GroupOrder::Merge> GroupOrder::find_merge(std::span<const uint32_t> groups) {
  auto by_number = [this](uint32_t a, uint32_t b) { return number_[a] < number_[b]; };
  uint32_t first = *std::min_element(groups.begin(), groups.end(), by_number);
  uint32_t last = *std::max_element(groups.begin(), groups.end(), by_number);
  Merge merge;
  auto done = [&](const Search& search, uint32_t at, bool after) {
    merge = {at, search.seen(), after};
    std::sort(merge.moved.begin(), merge.moved.end(), by_number);
    return merge;
  };
  // To know one of the two is enough.
  Search backward(*this, groups, false, number_[first]);
  for (int64_t step = 0; step < kMaxSteps; ++step) {
    Search::State state = backward.step();
    if (state == Search::State::kCycle) return std::nullopt;
    if (state == Search::State::kDone) return done(backward, first, false);
  }
  Search forward(*this, groups, true, number_[last]);
  for (int64_t step = 0; step < kMaxSteps; ++step) {
    Search::State state = forward.step();
    if (state == Search::State::kCycle) return std::nullopt;
    if (state == Search::State::kDone) return done(forward, last, true);
  }
  return std::nullopt;
}

void GroupOrder::apply(const Merge& merge, std::span<const uint32_t> groups, uint32_t into) {
  for (uint32_t group : merge.moved) unlink(group);
  for (uint32_t group : groups)
    if (group != merge.at) unlink(group);
  uint32_t before = previous_[merge.at];
  unlink(merge.at);
  std::vector<uint32_t> sequence = merge.moved;
  sequence.insert(merge.after ? sequence.begin() : sequence.end(), into);
  insert_after(before, sequence);
}

void GroupOrder::unlink(uint32_t group) {
  next_[previous_[group]] = next_[group];
  previous_[next_[group]] = previous_[group];
}

void GroupOrder::link_after(uint32_t before, uint32_t group) {
  next_[group] = next_[before];
  previous_[group] = before;
  previous_[next_[before]] = group;
  next_[before] = group;
}

void GroupOrder::insert_after(uint32_t before, std::span<const uint32_t> groups) {
  int64_t low = before == head_ ? 0 : number_[before];
  int64_t high = next_[before] == head_ ? INT64_MAX / 2 : number_[next_[before]];
  int64_t step = std::min(kSpacing, (high - low) / (static_cast<int64_t>(groups.size()) + 1));
  uint32_t last = before;
  for (uint32_t group : groups) {
    link_after(last, group);
    number_[group] = (low += step);
    last = group;
  }
  if (step == 0) renumber();
}

void GroupOrder::renumber() {
  int64_t number = 0;
  for (uint32_t group = next_[head_]; group != head_; group = next_[group])
    number_[group] = (number += kSpacing);
}

}  // namespace tuff
