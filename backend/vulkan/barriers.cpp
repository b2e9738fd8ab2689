#include "backend/vulkan/barriers.h"

#include <algorithm>

namespace tuff {

namespace {

enum Kind : uint8_t { kDispatch = 1, kCopy = 2 };  // bits of sets of kinds

// An access of an earlier command, and the kinds of later commands that need not wait for it.
struct Pending {
  Touch touch;
  Kind kind;
  uint8_t waited_for = 0;
};

Kind kind_of(const TouchingCommand& command) { return command.copy ? kCopy : kDispatch; }

bool conflict(const Touch& a, const Touch& b) {
  return (a.written || b.written) && a.buffer == b.buffer &&
         a.offset_bytes < b.offset_bytes + b.size_bytes &&
         b.offset_bytes < a.offset_bytes + a.size_bytes;
}

// Of one barrier: kinds of commands before and after it, and whether these see what those wrote.
struct Need {
  uint8_t before = 0, after = 0;
  bool memory = false;
};

BarrierMasks masks_of(const Need& need) {
  BarrierMasks masks;
  auto stages = [](uint8_t kinds) {
    VkPipelineStageFlags flags = 0;
    if ((kinds & kDispatch) != 0) flags |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    if ((kinds & kCopy) != 0) flags |= VK_PIPELINE_STAGE_TRANSFER_BIT;
    return flags;
  };
  masks.before = stages(need.before);
  masks.after = stages(need.after);
  if (!need.memory) return masks;
  if ((need.before & kDispatch) != 0) masks.written |= VK_ACCESS_SHADER_WRITE_BIT;
  if ((need.before & kCopy) != 0) masks.written |= VK_ACCESS_TRANSFER_WRITE_BIT;
  if ((need.after & kDispatch) != 0)
    masks.accessed |= VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  if ((need.after & kCopy) != 0)
    masks.accessed |= VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  return masks;
}

class BarrierPlanner {
 public:
  explicit BarrierPlanner(const std::vector<TouchingCommand>& commands) : commands_(commands) {
    for (const TouchingCommand& command : commands) kinds_ |= kind_of(command);
  }

  std::vector<BarrierMasks> plan() {
    std::vector<BarrierMasks> masks(commands_.size());
    for (size_t i = 0; i < commands_.size(); ++i) {
      if (commands_[i].barrier) masks[i] = masks_of(wait_before(i));
      for (const Touch& touch : commands_[i].touches)
        pending_.push_back({touch, kind_of(commands_[i])});
    }
    return masks;
  }

 private:
  // What command i, and those after it up to the next barrier, need; afterwards nothing is pending
  // for them.
  Need wait_before(size_t i) {
    Need need;
    for (size_t j = i; j < commands_.size() && (j == i || !commands_[j].barrier); ++j)
      for (const Touch& touch : commands_[j].touches) add(touch, kind_of(commands_[j]), need);
    for (Pending& p : pending_)
      if ((need.before & p.kind) != 0 && (need.memory || !p.touch.written))
        p.waited_for |= need.after;
    std::erase_if(pending_, [&](const Pending& p) { return p.waited_for == kinds_; });
    return need;
  }

  void add(const Touch& touch, Kind kind, Need& need) const {
    for (const Pending& p : pending_) {
      if ((p.waited_for & kind) != 0 || !conflict(p.touch, touch)) continue;
      need.before |= p.kind;
      need.after |= kind;
      need.memory |= p.touch.written;
    }
  }

  const std::vector<TouchingCommand>& commands_;
  uint8_t kinds_ = 0;  // that there are
  std::vector<Pending> pending_;
};

}  // namespace

std::vector<BarrierMasks> plan_barriers(const std::vector<TouchingCommand>& commands) {
  return BarrierPlanner(commands).plan();
}

}  // namespace tuff
