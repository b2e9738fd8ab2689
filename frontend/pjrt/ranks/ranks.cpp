#include "frontend/pjrt/ranks/ranks.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "frontend/pjrt/log.h"
#include "frontend/pjrt/ranks/address.h"
#include "frontend/pjrt/ranks/transport_library.h"

namespace tuff::pjrt {

namespace {

constexpr int kConnectMs = 60'000;
constexpr std::chrono::milliseconds kBeatInterval(250), kWatchInterval(1000);
// A rank that is silent for so long is lost; one that was asked for something and has left.
constexpr std::chrono::seconds kSilence(12), kPatience(2);
// Two ranks that wait so long for each other, each in another run, wait forever.
constexpr std::chrono::seconds kDisagreement(10);
// What a process has to end by itself once a run of it has failed of a lost rank, and once a rank
// is lost while it does something else: it may wait for that rank by other means, as for JAX's
// barriers.
constexpr std::chrono::seconds kGrace(10), kLongGrace(12);

// The engine's view of the store: keys under a prefix.
struct EngineStore {
  const KeyValues& values;
  std::string prefix;

  static int put(void* self, const char* key, const char* value, size_t size) {
    auto& store = *static_cast<EngineStore*>(self);
    return store.values.put(store.prefix + key, {value, size}).ok() ? 0 : 1;
  }
  static int get(void* self, const char* key, int timeout_ms, char** value, size_t* size) {
    auto& store = *static_cast<EngineStore*>(self);
    Result<std::string> found = store.values.get(store.prefix + key, timeout_ms);
    if (!found) return 1;
    *size = found->size();
    *value = static_cast<char*>(std::malloc(found->size() + 1));
    if (!*value) return 1;
    std::memcpy(*value, found->data(), found->size());
    return 0;
  }
};

// For programs that wait for the other ranks before they end, as JAX's do, or look at no error.
void end_process(std::chrono::seconds grace, int lost) {
  log_warning(fmt::format("This process is ended: it waits, {} s after rank ({}) was lost.",
                          grace.count(), lost));
  std::_Exit(1);
}
void end_after_grace(int lost) {
  std::this_thread::sleep_for(kGrace);
  end_process(kGrace, lost);
}

// What another rank wrote into a field.
template <size_t size>
std::string text_of(const char (&field)[size]) {
  return std::string(field, strnlen(field, size));
}

Result<RankInfo> own_info(const Result<std::vector<std::string>>& devices,
                          const Result<const TransportApi*>& api) {
  if (!devices) return devices.error();
  if (!api) return api.error();
  return RankInfo{host_name(), machine_id(), own_address(), (*api)->name, *devices};
}

}  // namespace

// What two ranks tell each other.
struct Ranks::Beat {
  enum State : int32_t { kWell = 0, kLeaving = 1, kFailed = 2, kAnswer = 3 };  // to leaving
  int32_t state = kWell;
  int32_t lost = -1;  // of kFailed: who, and why
  char reason[376] = {};
  uint64_t waits_in = 0;  // the run in which it has waited long for the one that it tells
  char program[64] = {};
};

Result<std::shared_ptr<Ranks>> Ranks::join(int rank, int size, const KeyValues& store,
                                           const Result<std::vector<std::string>>& devices) {
  static std::atomic<int> generation{0};  // a process may make clients one after another
  std::string prefix = fmt::format("{}/", generation++);
  Result<const TransportApi*> api = open_transport_library();
  TUFF_ASSIGN(std::vector<RankInfo> infos,
              meet_ranks(store, prefix, rank, size, own_info(devices, api)));
  TUFF_ASSIGN(std::string address, address_for_ranks(infos, rank));
  auto connect = [&](const char* name) -> Result<void*> {
    EngineStore keys{store, prefix + name};
    TransportStore engine_store{&keys, EngineStore::put, EngineStore::get};
    TransportError error{};
    if (void* made =
            (*api)->connect(rank, size, address.c_str(), &engine_store, kConnectMs, &error))
      return made;
    return Error{
        ErrorCode::kNoDevice,
        fmt::format("Rank ({}), on host ({}), has no connection with all the others by its "
                    "address ({}): {}. TUFF_HOST names another.",
                    rank, infos[static_cast<size_t>(rank)].host, address, error.message),
        ""};
  };
  TUFF_ASSIGN(void* data, connect("data/"));
  TUFF_ASSIGN(void* beats, connect("beats/"));
  return std::shared_ptr<Ranks>(new Ranks(rank, std::move(infos), **api, data, beats));
}

Ranks::Ranks(int rank, std::vector<RankInfo> infos, const TransportApi& api, void* data,
             void* beats)
    : rank_(rank),
      infos_(std::move(infos)),
      api_(api),
      data_(data),
      beats_(beats),
      peers_(infos_.size()) {
  sending_ = hearing_ = size() - 1;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    Peer& state = peers_[static_cast<size_t>(peer)];
    state.heard = Clock::now();
    state.sends = std::thread([this, peer] { send_beats(peer); });
    state.hears = std::thread([this, peer] { hear_beats(peer); });
  }
  watcher_ = std::thread([this] { watch(); });
}

Ranks::~Ranks() {
  leave();
  api_.close(data_);
  api_.close(beats_);
}

void Ranks::leave() {
  std::unique_lock lock(mutex_);
  if (leaving_) return;
  leaving_ = true;
  changed_.notify_all();
  // The others answer within an interval, unless they are stuck.
  changed_.wait_for(lock, kPatience, [&] { return sending_ == 0 && (hearing_ == 0 || lost_); });
  lock.unlock();
  api_.interrupt(data_);
  api_.interrupt(beats_);
  for (Peer& peer : peers_)
    for (std::thread* thread : {&peer.sends, &peer.hears})
      if (thread->joinable()) thread->join();
  watcher_.join();
}

bool Ranks::on_one_machine() const {
  return std::all_of(infos_.begin(), infos_.end(),
                     [&](const RankInfo& info) { return info.machine == infos_.front().machine; });
}

Status Ranks::transfer(const Run& run, std::span<const Parcel> sends,
                       std::span<const Parcel> receives) {
  if (sends.empty() && receives.empty()) return {};
  std::list<Wait>::iterator wait;
  {
    std::lock_guard lock(mutex_);
    wait = waits_.insert(waits_.end(), {Clock::now(), run, receives});
  }
  TransportError failure{};
  bool well = api_.transfer(data_, sends.data(), sends.size(), receives.data(), receives.size(),
                            &failure) == 0;
  if (!well && failure.rank >= 0) lose(failure.rank, "its connection is closed");
  std::lock_guard lock(mutex_);
  waits_.erase(wait);
  if (well) return {};
  if (!lost_) return Error{ErrorCode::kUsage, "This process has left the others.", ""};
  return lost_error();
}

void Ranks::fail(const Error& error) {
  lose(rank_, error.to_string());
  std::lock_guard lock(mutex_);
  if (lost_) (void)lost_error();
}

void Ranks::lose(int rank, const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (lost_ || leaving_) return;
    bool left = peers_[static_cast<size_t>(rank)].left;
    lost_ = Loss{rank, left ? "its program has ended" : reason, Clock::now()};
    // JAX's coordinator was there: JAX ends this process in a moment, with words that do not name
    // it.
    if (rank == 0 && rank_ != 0) log_warning(sentence_of_loss());
    changed_.notify_all();
  }
  api_.interrupt(data_);
}

// With the lock held.
std::string Ranks::sentence_of_loss() const {
  return fmt::format(
      "Rank ({}) of ({}), on host ({}), is lost: {}. No rank goes on without it; start them all "
      "again.",
      lost_->rank, size(), info(lost_->rank).host, lost_->reason);
}

// What a run fails of, which may be the last that the program hears. With the lock held.
Error Ranks::lost_error() {
  if (!failed_) std::thread(end_after_grace, lost_->rank).detach();
  failed_ = true;
  return {ErrorCode::kDeviceLost, sentence_of_loss(), ""};
}

// With the lock held.
Ranks::Beat Ranks::own_beat(int peer) const {
  Beat beat;
  for (const Wait& wait : waits_)
    for (const Parcel& parcel : wait.receives)
      if (parcel.rank == peer && Clock::now() - wait.since > kDisagreement) {
        beat.waits_in = wait.run.number;
        std::snprintf(beat.program, sizeof beat.program, "%s", wait.run.program.c_str());
      }
  if (lost_) {
    beat.state = Beat::kFailed;
    beat.lost = lost_->rank;
    std::snprintf(beat.reason, sizeof beat.reason, "%s", lost_->reason.c_str());
  } else if (leaving_) {
    beat.state = Beat::kLeaving;
  } else if (peers_[static_cast<size_t>(peer)].left) {
    beat.state = Beat::kAnswer;
  }
  return beat;
}

// Where each rank has one device, which runs one program after another; empty for none.
std::string Ranks::disagreement(int peer, const Beat& theirs) const {
  Beat own;
  {
    std::lock_guard lock(mutex_);
    own = own_beat(peer);
  }
  bool differ = own.waits_in != 0 && theirs.waits_in != 0 && own.waits_in != theirs.waits_in;
  if (!differ || info(rank_).devices.size() > 1 || info(peer).devices.size() > 1) return "";
  return fmt::format(
      "it waits for rank ({}) in the program {}, and that waits for it in {}; all ranks must run "
      "the same programs in the same order",
      rank_, text_of(theirs.program), own.program);
}

void Ranks::send_beats(int peer) {
  for (uint64_t round = 0;; ++round) {
    Beat own;
    bool last;
    {
      std::lock_guard lock(mutex_);
      own = own_beat(peer);
      last = leaving_ || own.state == Beat::kAnswer;
    }
    Parcel send{peer, round, &own, sizeof own};
    TransportError failure{};
    // Whoever hears the peer says why it has gone.
    bool well = api_.transfer(beats_, &send, 1, nullptr, 0, &failure) == 0;
    std::unique_lock lock(mutex_);
    if (!well || last) break;
    const Peer& state = peers_[static_cast<size_t>(peer)];
    changed_.wait_for(lock, kBeatInterval, [&] {
      return leaving_ || state.left || (lost_ && own.state != Beat::kFailed);
    });
  }
  end_of(&sending_);
}

// Waits for the next one all the time, and so sees the connection's end at once: where rank 0 is
// killed, JAX ends this process a moment later.
void Ranks::hear_beats(int peer) {
  for (uint64_t round = 0;; ++round) {
    Beat theirs;
    Parcel receive{peer, round, &theirs, sizeof theirs};
    TransportError failure{};
    bool well = api_.transfer(beats_, nullptr, 0, &receive, 1, &failure) == 0;
    if (!well) lose(peer, "its connection is closed");
    if (well && theirs.state == Beat::kFailed && theirs.lost >= 0 && theirs.lost < size())
      lose(theirs.lost, text_of(theirs.reason));
    std::string differ = well ? disagreement(peer, theirs) : "";
    if (!differ.empty()) lose(peer, differ);
    std::lock_guard lock(mutex_);
    Peer& state = peers_[static_cast<size_t>(peer)];
    state.heard = Clock::now();
    if (well && theirs.state == Beat::kLeaving) {
      state.left = true;
      changed_.notify_all();
    }
    if (!well || state.left || theirs.state == Beat::kAnswer) break;
  }
  end_of(&hearing_);
}

void Ranks::end_of(int* threads) {
  std::lock_guard lock(mutex_);
  --*threads;
  changed_.notify_all();
}

// With nothing held.
void Ranks::check_peers(Clock::time_point now) {
  std::optional<Loss> loss;
  {
    std::lock_guard lock(mutex_);
    int silent = 0, watched = 0;
    for (int peer = 0; peer < size(); ++peer) {
      const Peer& state = peers_[static_cast<size_t>(peer)];
      if (peer == rank_ || state.left) continue;
      ++watched;
      if (now - state.heard <= kSilence) continue;
      ++silent;
      if (!loss)
        loss = Loss{peer, fmt::format("nothing was heard of it for {} s", kSilence.count())};
    }
    if (silent > 1 && silent == watched)
      loss =
          Loss{rank_, fmt::format("it has heard nothing of the others for {} s and may be cut off",
                                  kSilence.count())};
    for (const Wait& wait : waits_)
      for (const Parcel& parcel : wait.receives)
        if (peers_[static_cast<size_t>(parcel.rank)].left && now - wait.since > kPatience && !loss)
          loss = Loss{parcel.rank, ""};
  }
  if (loss) lose(loss->rank, loss->reason);
}

void Ranks::watch() {
  Clock::time_point before = Clock::now();
  for (;;) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kWatchInterval, [&] { return leaving_; })) return;
    Clock::time_point now = Clock::now();
    // Whoever was stopped itself has heard of nobody.
    if (now - before > 3 * kWatchInterval)
      for (Peer& peer : peers_) peer.heard = now;
    before = now;
    if (lost_ && !failed_ && now - lost_->since > kLongGrace) {
      log_warning(sentence_of_loss());
      end_process(kLongGrace, lost_->rank);
    }
    lock.unlock();
    check_peers(now);
  }
}

}  // namespace tuff::pjrt
