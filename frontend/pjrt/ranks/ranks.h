// Ranks: the processes of one program, as one of them is connected with the others.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "frontend/pjrt/ranks/meet.h"
#include "frontend/pjrt/ranks/transport.h"

namespace tuff::pjrt {

// Each two ranks tell each other several times a second that they are there. Who is gone,
// or silent for long, is lost; all hear of the first that is, and none goes on without it: a
// process of which a run has failed so has ten seconds to end by itself, one that runs nothing
// twelve.
class Ranks {
 public:
  // A run of a program on several ranks: the number is the same on all of them, and no other's.
  struct Run {
    uint64_t number = 0;
    std::string program;
  };

  // Meets the other ranks and connects with them; `devices`: the descriptions of this one's, or
  // why it has none. Errors: those of meet_ranks and open_transport_library; kNoDevice where
  // ranks do not reach each other.
  static Result<std::shared_ptr<Ranks>> join(int rank, int size, const KeyValues& store,
                                             const Result<std::vector<std::string>>& devices);
  // Leaves.
  ~Ranks();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(infos_.size()); }
  const RankInfo& info(int rank) const { return infos_[static_cast<size_t>(rank)]; }
  // All ranks are on this one's machine.
  bool on_one_machine() const;

  // Sends and receives for a run; returns when all is there. Thread-safe. Errors: kDeviceLost
  // naming the rank that is lost.
  Status transfer(const Run& run, std::span<const Parcel> sends, std::span<const Parcel> receives);

  // This rank's part of a run has failed: the others' fails, too.
  void fail(const Error& error);

  // Nothing more is to be transferred. Others that still want something of this rank end with
  // an error. More than once does nothing.
  void leave();

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    bool left = false;
    Clock::time_point heard;
    std::thread sends, hears;
  };
  struct Loss {
    int rank = 0;
    std::string reason;
    Clock::time_point since{};
  };
  struct Wait {
    Clock::time_point since;
    const Run& run;
    std::span<const Parcel> receives;
  };
  struct Beat;

  Ranks(int rank, std::vector<RankInfo> infos, const TransportApi& api, void* data, void* beats);
  void send_beats(int peer);
  void hear_beats(int peer);
  void end_of(int* threads);
  Beat own_beat(int peer) const;
  std::string disagreement(int peer, const Beat& theirs) const;
  void watch();
  void check_peers(Clock::time_point now);
  void lose(int rank, const std::string& reason);
  std::string sentence_of_loss() const;
  Error lost_error();

  const int rank_;
  const std::vector<RankInfo> infos_;
  const TransportApi& api_;
  void* const data_;   // connections for data, and
  void* const beats_;  // for beats, which do not queue behind it

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Peer> peers_;  // by rank
  std::list<Wait> waits_;    // transfers under way
  std::optional<Loss> lost_;
  bool failed_ = false;  // a run has failed of it
  bool leaving_ = false;
  int sending_ = 0, hearing_ = 0;  // threads of beats
  std::thread watcher_;
};

}  // namespace tuff::pjrt
