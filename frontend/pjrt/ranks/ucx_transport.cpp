// A library of its own: messages between ranks by UCX, which looks for the fastest way itself:
// shared memory between processes of one machine, InfiniBand or TCP between machines.
#include <poll.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/pjrt/ranks/process_watch.h"
#include "frontend/pjrt/ranks/transport.h"
#include "ir/support/hash.h"

namespace tuff::pjrt {

namespace {

using Clock = std::chrono::steady_clock;

// What a failed transfer waits for its requests to be taken back.
constexpr std::chrono::milliseconds kTakeBack(100);
// Of the first bytes that ranks send each other.
constexpr uint64_t kGreeting = ~uint64_t{0};

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK)
    throw std::runtime_error(std::string(what) + ": " + ucs_status_string(status));
}

// Messages are matched by their tags alone, whoever sends them.
ucp_tag_t tag_of(uint64_t slot, int sender) {
  return hash_mix(slot, static_cast<uint64_t>(sender));
}

// The requests of one transfer that are under way. Whoever holds the transport's lock may look.
struct Operation {
  struct Request {
    Operation* operation = nullptr;
    int rank = 0;
    void* handle = nullptr;  // null once it is done
  };
  std::vector<Request> requests;
  size_t pending = 0;
  int failed_rank = -1;
  ucs_status_t status = UCS_OK;
  std::unique_ptr<Operation> before;  // in the list of those that are abandoned

  void fail(int rank, ucs_status_t why) {
    if (status == UCS_OK) status = why, failed_rank = rank;
  }
  static void done(void* handle, ucs_status_t status, void* user) {
    auto& request = *static_cast<Request*>(user);
    request.handle = nullptr;
    --request.operation->pending;
    if (status != UCS_OK) request.operation->fail(request.rank, status);
    ucp_request_free(handle);
  }
};

class Transport {
 public:
  Transport(int rank, int size) : rank_(rank), peers_(static_cast<size_t>(size)) {
    watched_.reserve(peers_.size() + 1);
    watched_peers_.reserve(peers_.size());
    ucp_config_t* config = nullptr;
    check(ucp_config_read(nullptr, nullptr, &config), "UCX reads its settings");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    params.estimated_num_eps = peers_.size();
    ucs_status_t status = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    check(status, "UCX starts");
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    check(ucp_worker_create(context_, &worker, &worker_), "UCX makes a worker");
    check(ucp_worker_get_efd(worker_, &events_), "UCX wakes who waits");
  }
  ~Transport() {
    if (worker_) ucp_worker_destroy(worker_);
    if (context_) ucp_cleanup(context_);
    for (Peer& peer : peers_)
      if (peer.process >= 0) ::close(peer.process);
  }
  Transport(const Transport&) = delete;

  void connect(const TransportStore& store, int timeout_ms) {
    publish(store);
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank_) connect_to(peer, store, timeout_ms);
    greet(std::chrono::milliseconds(timeout_ms));
  }

  // Errors: throws, with the rank that it is about in `rank`.
  void transfer(const Parcel* sends, size_t num_sends, const Parcel* receives, size_t num_receives,
                std::optional<Clock::time_point> deadline, int* rank) {
    auto operation = std::make_unique<Operation>();
    operation->requests.resize(num_sends + num_receives);
    std::unique_lock lock(mutex_);
    if (!interrupted_) {
      for (size_t i = 0; i < num_receives; ++i)
        receive(receives[i], *operation, &operation->requests[i]);
      for (size_t i = 0; i < num_sends; ++i)
        send(sends[i], *operation, &operation->requests[num_receives + i]);
      if (polling_) ucp_worker_signal(worker_);
      progress_until(lock, deadline, [&] {
        fail_of_ended(operation.get());
        return operation->pending == 0 || interrupted_ || operation->status != UCS_OK;
      });
    }
    if (operation->pending == 0 && !interrupted_ && operation->status == UCS_OK) return;
    *rank = operation->failed_rank;
    ucs_status_t status = operation->status != UCS_OK ? operation->status
                          : interrupted_              ? UCS_ERR_CANCELED
                                                      : UCS_ERR_TIMED_OUT;
    if (*rank < 0) *rank = interrupted_ ? -1 : waited_for(*operation);
    take_back(lock, std::move(operation));
    check(status, "UCX");
  }

  void interrupt() {
    std::lock_guard lock(mutex_);
    interrupted_ = true;
    changed_.notify_all();
    ucp_worker_signal(worker_);
  }

 private:
  struct Peer {
    ucp_ep_h endpoint = nullptr;
    int process = -1;  // readable when it has ended; -1 where that is not known
    // Seen, and all that it had sent is here.
    bool ending = false, ended = false;
  };

  int size() const { return static_cast<int>(peers_.size()); }
  Peer& peer(int rank) { return peers_[static_cast<size_t>(rank)]; }

  static void put(const TransportStore& store, const std::string& key, const void* value,
                  size_t length) {
    if (store.put(store.user, key.c_str(), static_cast<const char*>(value), length) != 0)
      throw std::runtime_error("the store of keys does not take " + key);
  }
  static std::string get(const TransportStore& store, const std::string& key, int timeout_ms) {
    char* value = nullptr;
    size_t length = 0;
    if (store.get(store.user, key.c_str(), timeout_ms, &value, &length) != 0)
      throw std::runtime_error("the store of keys has no " + key);
    std::string text(value, length);
    std::free(value);
    return text;
  }

  void publish(const TransportStore& store) {
    ucp_address_t* address = nullptr;
    size_t length = 0;
    check(ucp_worker_get_address(worker_, &address, &length), "UCX has an address");
    std::string bytes(reinterpret_cast<const char*>(address), length);
    ucp_worker_release_address(worker_, address);
    std::string process = own_process(), key = std::to_string(rank_);
    put(store, "process/" + key, process.data(), process.size());
    put(store, "address/" + key, bytes.data(), bytes.size());
  }

  void connect_to(int rank, const TransportStore& store, int timeout_ms) {
    std::string key = std::to_string(rank);
    std::string process = get(store, "process/" + key, timeout_ms);
    std::string address = get(store, "address/" + key, timeout_ms);
    peer(rank).process = watch_process(process, &peer(rank).ending);
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    check(ucp_ep_create(worker_, &params, &peer(rank).endpoint), "UCX connects");
  }

  // Endpoints connect with what is sent first.
  void greet(std::chrono::milliseconds timeout) {
    std::vector<char> said(peers_.size()), heard(peers_.size());
    std::vector<Parcel> sends, receives;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank_) continue;
      auto at = static_cast<size_t>(peer);
      sends.push_back({peer, kGreeting, &said[at], 1});
      receives.push_back({peer, kGreeting, &heard[at], 1});
    }
    int rank = -1;
    try {
      transfer(sends.data(), sends.size(), receives.data(), receives.size(), Clock::now() + timeout,
               &rank);
    } catch (const std::exception& exception) {
      throw std::runtime_error("rank (" + std::to_string(rank) +
                               ") does not answer: " + exception.what());
    }
  }

  ucp_request_param_t params_of(Operation::Request* request) const {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.user_data = request;
    return params;
  }

  static void note_started(ucs_status_ptr_t handle, Operation& operation,
                           Operation::Request* request) {
    if (UCS_PTR_IS_ERR(handle)) return operation.fail(request->rank, UCS_PTR_STATUS(handle));
    request->handle = handle;
    if (handle) ++operation.pending;
  }

  void send(const Parcel& parcel, Operation& operation, Operation::Request* request) {
    *request = {&operation, parcel.rank, nullptr};
    ucp_request_param_t params = params_of(request);
    params.cb.send = [](void* handle, ucs_status_t status, void* user) {
      Operation::done(handle, status, user);
    };
    note_started(ucp_tag_send_nbx(peer(parcel.rank).endpoint, parcel.data, parcel.size,
                                  tag_of(parcel.slot, rank_), &params),
                 operation, request);
  }

  void receive(const Parcel& parcel, Operation& operation, Operation::Request* request) {
    *request = {&operation, parcel.rank, nullptr};
    ucp_request_param_t params = params_of(request);
    params.cb.recv = [](void* handle, ucs_status_t status, const ucp_tag_recv_info_t*, void* user) {
      Operation::done(handle, status, user);
    };
    note_started(ucp_tag_recv_nbx(worker_, parcel.data, parcel.size,
                                  tag_of(parcel.slot, parcel.rank), ~ucp_tag_t{0}, &params),
                 operation, request);
  }

  // One of the threads that wait works for all, and sleeps where there is nothing to do.
  template <typename Done>
  void progress_until(std::unique_lock<std::mutex>& lock, std::optional<Clock::time_point> deadline,
                      Done done) {
    while (!done() && (!deadline || Clock::now() < *deadline)) {
      if (polling_) {
        if (deadline)
          changed_.wait_until(lock, *deadline);
        else
          changed_.wait(lock);
      } else if (ucp_worker_progress(worker_) != 0) {
        changed_.notify_all();
      } else if (note_ended()) {
        changed_.notify_all();
      } else if (ucp_worker_arm(worker_) == UCS_OK) {
        sleep(lock, deadline);
      }
    }
    changed_.notify_all();
  }

  // There is nothing more of those that are ending.
  bool note_ended() {
    bool any = false;
    for (Peer& peer : peers_) {
      any = any || (peer.ending && !peer.ended);
      peer.ended = peer.ending;
    }
    any_ended_ = any_ended_ || any;
    return any;
  }

  void fail_of_ended(Operation* operation) {
    if (!any_ended_) return;
    for (const Operation::Request& request : operation->requests)
      if (request.handle && peer(request.rank).ended)
        operation->fail(request.rank, UCS_ERR_CONNECTION_RESET);
  }

  // Until the worker has something to do, or a process ends.
  void sleep(std::unique_lock<std::mutex>& lock, std::optional<Clock::time_point> deadline) {
    using std::chrono::milliseconds;
    int64_t timeout = -1;
    if (deadline)
      timeout =
          std::max<int64_t>(0, std::chrono::ceil<milliseconds>(*deadline - Clock::now()).count());
    watched_.assign(1, {events_, POLLIN, 0});
    watched_peers_.clear();
    for (Peer& peer : peers_) {
      if (peer.process < 0 || peer.ending) continue;
      watched_.push_back({peer.process, POLLIN, 0});
      watched_peers_.push_back(&peer);
    }
    polling_ = true;
    lock.unlock();
    poll(watched_.data(), watched_.size(), static_cast<int>(timeout));
    lock.lock();
    polling_ = false;
    for (size_t i = 0; i < watched_peers_.size(); ++i)
      watched_peers_[i]->ending = watched_peers_[i]->ending || watched_[i + 1].revents != 0;
  }

  // Of a transfer whose time is over.
  static int waited_for(const Operation& operation) {
    for (const Operation::Request& request : operation.requests)
      if (request.handle) return request.rank;
    return -1;
  }

  // UCX may hold on to what was sent to a rank that is lost: that is left to it.
  void take_back(std::unique_lock<std::mutex>& lock, std::unique_ptr<Operation> operation) {
    for (Operation::Request& request : operation->requests)
      if (request.handle) ucp_request_cancel(worker_, request.handle);
    progress_until(lock, Clock::now() + kTakeBack, [&] { return operation->pending == 0; });
    if (operation->pending == 0) return;
    operation->before = std::move(abandoned_);
    abandoned_ = std::move(operation);
  }

  const int rank_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int events_ = -1;  // readable when an armed worker has something to do

  std::mutex mutex_;  // of all below, and of the worker
  std::condition_variable changed_;
  std::vector<Peer> peers_;  // by rank
  bool any_ended_ = false;
  bool polling_ = false;  // a thread sleeps until the worker has something to do
  bool interrupted_ = false;
  std::unique_ptr<Operation> abandoned_;
  // Of the thread that sleeps, which takes no memory while UCX knows its requests.
  std::vector<pollfd> watched_;
  std::vector<Peer*> watched_peers_;
};

void* connect(int rank, int size, const char*, const TransportStore* store, int timeout_ms,
              TransportError* error) {
  try {
    auto transport = std::make_unique<Transport>(rank, size);
    transport->connect(*store, timeout_ms);
    return transport.release();
  } catch (const std::exception& exception) {
    fill(error, -1, exception.what());
    return nullptr;
  }
}

int transfer(void* transport, const Parcel* sends, size_t num_sends, const Parcel* receives,
             size_t num_receives, TransportError* error) {
  int rank = -1;
  try {
    static_cast<Transport*>(transport)->transfer(sends, num_sends, receives, num_receives,
                                                 std::nullopt, &rank);
    return 0;
  } catch (const std::exception& exception) {
    fill(error, rank, exception.what());
    return 1;
  }
}

void interrupt(void* transport) { static_cast<Transport*>(transport)->interrupt(); }

void close(void* transport) { delete static_cast<Transport*>(transport); }

}  // namespace

}  // namespace tuff::pjrt

extern "C" __attribute__((visibility("default"))) const tuff::pjrt::TransportApi* tuff_transport() {
  using namespace tuff::pjrt;
  static const TransportApi api{kTransportVersion, "ucx", connect, transfer, interrupt, close};
  return &api;
}
