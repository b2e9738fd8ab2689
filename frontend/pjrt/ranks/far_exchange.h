// What devices exchange that are in several processes.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "backend/exchange.h"
#include "frontend/pjrt/meeting.h"
#include "frontend/pjrt/ranks/ranks.h"

namespace tuff::pjrt {

// For one run. Each device of this process calls exchange() from one thread at a time, all in
// the same order. Parts go from device to device, small ones of a round together; one that several
// devices of a process need alike goes to one of them, for all.
class FarExchange {
 public:
  // `rank_of`: each device's process.
  FarExchange(std::shared_ptr<Ranks> ranks, std::vector<int> rank_of, Ranks::Run run,
              std::shared_ptr<HostMemory> memory)
      : make_([memory = std::move(memory)](const TensorType& type) { return memory->make(type); }),
        ranks_(std::move(ranks)),
        rank_of_(std::move(rank_of)),
        run_(std::move(run)),
        given_(rank_of_.size()),
        shares_(rank_of_.size()),
        far_(rank_of_.size()) {}

  // As Meeting's, in the segment `at`; `here` is where the devices of this process meet.
  Result<std::vector<Literal>> exchange(std::span<const Exchange> exchanges, size_t at,
                                        size_t device, std::vector<Literal> operands,
                                        Meeting& here);

  Ranks& ranks() const { return *ranks_; }

 private:
  // An all_reduce has two rounds: all give parts, then those who combined them give shares.
  enum class Round : uint64_t { kParts, kShares };
  using Parts = std::vector<std::vector<Literal>>;  // by exchange, by giver
  struct Trade {
    std::span<const Exchange> exchanges;
    size_t at;
    Round round;
    int64_t device;
  };
  // Parts between two devices that lie one after the other in one parcel.
  struct Bundle {
    std::vector<size_t> exchanges;
    std::vector<TensorType> types;
    std::vector<Literal> parts;  // where they are sent
  };
  struct Parcels {
    std::vector<Parcel> sends, receives;
    std::vector<Literal> sent;                             // the memory of `sends`
    std::map<int64_t, Bundle> sent_small, received_small;  // by the other device
  };

  Result<Parts> trade(const Trade& trade, Meeting& here);
  void add_sends(const Trade& trade, size_t index, Parcels* parcels) const;
  void add_receives(const Trade& trade, size_t index, Parcels* parcels);
  void send_bundles(const Trade& trade, Parcels* parcels) const;
  void receive_bundles(const Trade& trade, Parcels* parcels);
  static void keep_for_good(Parcels parcels);
  Literal part(const Trade& trade, size_t index, int64_t giver, int64_t taker) const;
  // The device that receives a part for a taker of its process, or the taker itself.
  int64_t receiver(const Trade& trade, size_t index, int64_t giver, int64_t taker) const;
  uint64_t slot(const Trade& trade, size_t index, int64_t giver, int64_t taker, int64_t size) const;
  int rank_of(int64_t device) const { return rank_of_[static_cast<size_t>(device)]; }
  bool is_far(int64_t device) const { return rank_of(device) != ranks_->rank(); }

  const MakeLiteral make_;
  const std::shared_ptr<Ranks> ranks_;
  const std::vector<int> rank_of_;
  const Ranks::Run run_;
  // By device, by exchange; each written by its device alone, before it arrives.
  Parts given_, shares_;
  // By receiver, by exchange, by giver.
  std::vector<std::vector<std::map<int64_t, Literal>>> far_;
};

}  // namespace tuff::pjrt
