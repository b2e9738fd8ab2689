#include "backend/cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace tuff::cpu {

namespace {

// Longer than the gaps between the steps of a run, far shorter than a time slice of the
// system.
constexpr std::chrono::microseconds kSpin{100};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Waits until `value` is no longer `old`, and returns what it is then.
template <typename T>
T wait_while(const std::atomic<T>& value, T old) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0;; ++i) {
    T now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    if (i % 32 == 31 && std::chrono::steady_clock::now() - start > kSpin) break;
    pause();
  }
  for (;;) {
    value.wait(old, std::memory_order_acquire);
    T now = value.load(std::memory_order_acquire);
    if (now != old) return now;
  }
}

struct ThreadPlace {
  int part = 0, parts = 1;
};
thread_local ThreadPlace place;
thread_local int thread_limit = 0;

// Those the process may use, as it starts; none where the system does not tell.
const cpu_set_t& allowed_processors() {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
    return set;
  }();
  return allowed;
}

int default_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS"))
    if (int threads = std::atoi(text); threads > 0) return threads;
  if (int threads = CPU_COUNT(&allowed_processors()); threads > 0) return threads;
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// One piece of parallel work at a time; a second caller waits. Work has a number, and each
// of its parts a claim: who brings it from open to taken does the part. A thread that comes
// late finds claims of another number, or taken ones, and touches nothing else.
class Pool {
 public:
  static constexpr int kMaxParts = 256;

  void run(int parts, void (*part)(void*), void* data) {
    std::lock_guard lock(one_at_a_time_);
    while (num_workers_ < parts - 1 && start_worker()) {
    }
    parts = std::min(parts, num_workers_ + 1);
    keep_off_caller(parts);
    uint64_t work = work_.load(std::memory_order_relaxed) + 1;
    part_ = part;
    data_ = data;
    parts_.store(parts, std::memory_order_relaxed);
    unfinished_.store(parts, std::memory_order_relaxed);
    for (int p = 1; p < parts; ++p) claims_[p].state.store(open(work), std::memory_order_release);
    claims_[0].state.store(taken(work), std::memory_order_release);
    work_.store(work, std::memory_order_release);
    signal_.fetch_add(1, std::memory_order_release);
    signal_.notify_all();
    do_part(0, parts);
    do_open_parts(work, parts, 1);
    for (int left; (left = unfinished_.load(std::memory_order_acquire)) != 0;)
      wait_while(unfinished_, left);
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

  // Returns once all parts of the work have called it.
  void barrier(int parts) {
    uint32_t phase = phase_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parts) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.fetch_add(1, std::memory_order_release);
      phase_.notify_all();
    } else {
      wait_while(phase_, phase);
    }
  }

 private:
  static uint64_t open(uint64_t work) { return work * 2; }
  static uint64_t taken(uint64_t work) { return work * 2 + 1; }

  void do_part(int part, int parts) {
    place = {part, parts};
    try {
      part_(data_);
    } catch (...) {
      std::lock_guard lock(thrown_mutex_);
      thrown_ = std::current_exception();
    }
    place = {};
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_all();
  }

  // From part `own` on, which this thread has done before on the same data; then those of
  // threads that are late.
  void do_open_parts(uint64_t work, int parts, int own) {
    for (int i = 0; i < parts; ++i) {
      int part = (own + i) % parts;
      uint64_t expected = open(work);
      if (claims_[part].state.compare_exchange_strong(expected, taken(work),
                                                      std::memory_order_acq_rel))
        do_part(part, parts);
    }
  }

  // Keeps the workers of `parts` parts off the caller's processor. In virtual machines the system
  // often knows of no cache that processors share. It then wakes a thread where it went to sleep,
  // or beside its waker, though another processor idles: the two take turns for milliseconds.
  void keep_off_caller(int parts) {
    const cpu_set_t& allowed = allowed_processors();
    int processor = parts <= CPU_COUNT(&allowed) ? sched_getcpu() : kNone;
    for (int i = 0; i < parts - 1; ++i) {
      Worker& worker = workers_[i];
      if (worker.avoids == processor) continue;
      worker.avoids = processor;
      cpu_set_t others = allowed;
      if (processor != kNone) CPU_CLR(processor, &others);
      // A system that refuses leaves it where it is, which is no error.
      pthread_setaffinity_np(worker.thread, sizeof others, &others);
    }
  }

  // Never joined: the pool lives as long as the process. False where the system refuses a
  // thread, or memory for it.
  bool start_worker() {
    int number = num_workers_ + 1;
    if (number == kMaxParts) return false;
    sigset_t all, before;  // signals are the program's own threads' business
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread worker([this, number] { serve(number); });
      workers_[num_workers_++] = {worker.native_handle()};
      worker.detach();
    } catch (const std::exception&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return num_workers_ == number;
  }

  void serve(int number) {
    uint64_t done = 0;
    uint32_t signal = 0;
    for (;;) {
      signal = wait_while(signal_, signal);
      uint64_t work = work_.load(std::memory_order_acquire);
      int parts = parts_.load(std::memory_order_relaxed);
      if (work == done || number >= parts) continue;
      do_open_parts(work, parts, number);
      done = work;
    }
  }

  static constexpr int kNone = -1;
  struct Worker {
    pthread_t thread{};
    int avoids = kNone;  // a processor
  };
  struct alignas(64) Claim {
    std::atomic<uint64_t> state{0};
  };
  std::mutex one_at_a_time_;
  int num_workers_ = 0;
  Worker workers_[kMaxParts];
  std::mutex thrown_mutex_;
  std::exception_ptr thrown_;  // by a part of the present work
  // Of the present work. The claims publish the first two.
  void (*part_)(void*) = nullptr;
  void* data_ = nullptr;
  std::atomic<int> parts_{0};
  alignas(64) std::atomic<uint64_t> work_{0};
  std::atomic<uint32_t> signal_{0};
  alignas(64) std::atomic<int> unfinished_{0};
  alignas(64) std::atomic<int> arrived_{0};
  std::atomic<uint32_t> phase_{0};
  Claim claims_[kMaxParts];
};

Pool& pool() {
  static Pool& pool = *new Pool;
  return pool;
}

}  // namespace

int max_threads() {
  static const int threads = std::min(default_threads(), Pool::kMaxParts);
  return thread_limit > 0 ? std::min(thread_limit, threads) : threads;
}

int set_thread_limit(int threads) { return std::exchange(thread_limit, threads); }

int current_part() { return place.part; }

int current_parts() { return place.parts; }

void barrier() {
  if (place.parts > 1) pool().barrier(place.parts);
}

void run_parts(int parts, void (*part)(void*), void* data) {
  if (parts > 1 && place.parts == 1)
    return pool().run(std::min(parts, Pool::kMaxParts), part, data);
  if (parts < 1) return;
  ThreadPlace before = std::exchange(place, ThreadPlace{});
  part(data);
  place = before;
}

SplitRange::SplitRange(int64_t count, int parts) : parts_(std::min(parts, kMaxShares)) {
  for (int64_t p = 0; p < parts_; ++p) {
    auto first = static_cast<uint64_t>(count * p / parts_);
    auto last = static_cast<uint64_t>(count * (p + 1) / parts_);
    shares_[static_cast<size_t>(p)].left.store(first << 32 | last, std::memory_order_relaxed);
  }
}

bool SplitRange::take(int part, int64_t& item, int64_t& next) {
  for (int i = 0; i < parts_; ++i) {
    bool own = i == 0 && part < parts_;
    std::atomic<uint64_t>& left = shares_[static_cast<size_t>((part + i) % parts_)].left;
    uint64_t seen = left.load(std::memory_order_relaxed);
    for (;;) {
      uint64_t first = seen >> 32, last = seen & 0xffffffff;
      if (first == last) break;
      uint64_t rest = own ? (first + 1) << 32 | last : first << 32 | (last - 1);
      if (!left.compare_exchange_weak(seen, rest, std::memory_order_relaxed)) continue;
      item = static_cast<int64_t>(own ? first : last - 1);
      bool more = first + 1 < last;
      next = !more ? -1 : own ? item + 1 : item - 1;
      return true;
    }
  }
  return false;
}

}  // namespace tuff::cpu
