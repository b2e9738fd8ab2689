// What devices exchange that are in several processes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/exchange.h"
#include "frontend/pjrt/meeting.h"
#include "frontend/pjrt/ranks/ranks.h"

namespace tuff::pjrt {

// For one run. Each device of this process calls exchange() from a thread of its own, all in
// the same order; parts for other processes go from device to device.
class FarExchange {
 public:
  // `rank_of`: each device's process.
  FarExchange(std::shared_ptr<Ranks> ranks, std::vector<int> rank_of, Ranks::Run run)
      : ranks_(std::move(ranks)),
        rank_of_(std::move(rank_of)),
        run_(std::move(run)),
        given_(rank_of_.size()),
        shares_(rank_of_.size()) {}

  // As Meeting's, in the segment `at`; `here` is where the devices of this process meet.
  Result<std::vector<Literal>> exchange(std::span<const Exchange> exchanges, size_t at,
                                        size_t device, std::vector<Literal> operands,
                                        Meeting& here);

  Ranks& ranks() const { return *ranks_; }

 private:
  // An all_reduce has two rounds: all give parts, then those who combined them give shares.
  enum class Round : uint64_t { kParts, kShares };
  using Parts = std::vector<std::vector<Literal>>;  // by exchange, by giver

  Result<Parts> trade(std::span<const Exchange> exchanges, size_t at, Round round, size_t device);
  Literal part(const Exchange& exchange, size_t index, Round round, int64_t giver, int64_t taker);
  bool is_far(int64_t device) const {
    return rank_of_[static_cast<size_t>(device)] != ranks_->rank();
  }

  const std::shared_ptr<Ranks> ranks_;
  const std::vector<int> rank_of_;
  const Ranks::Run run_;
  // By device, by exchange; each written by its device alone, before it arrives.
  Parts given_, shares_;
};

}  // namespace tuff::pjrt
