// The threads of the CPU device. Kernels, library calls and oneDNN share them: oneDNN asks
// OpenMP for its threads, and openmp_calls.h has it ask here.
//
// Why not OpenMP's own: its threads wait by spinning for milliseconds. On a core that another
// program shares, they take the time their own work needs. Told to be passive, they sleep at
// once, and every step waits for the system to wake them. Ours spin for a moment and then
// sleep, on other processors than the caller. A part whose thread is late is done by the caller.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace tuff::cpu {

// How many threads parallel work gets, the calling one included: OMP_NUM_THREADS where it
// is set, else the processors this process may use; at most this thread's limit.
int max_threads();
// Products of fewer operations are done before a second thread is awake.
inline constexpr double kMinParallelFlops = 2e6;
// Limits max_threads() for the calling thread; 0: no limit. Returns the limit before.
int set_thread_limit(int threads);

// Calls part(data) `parts` times at once, each on a thread of its own; returns when all are
// done. Fewer times where the system refuses threads: a part asks current_parts(). Parts may
// wait for each other, and may throw unless they do; one of the exceptions reaches the caller.
// Inside parallel work it is one call.
void run_parts(int parts, void (*part)(void*), void* data);
// Which of the parts the calling thread does, of how many; 0 of 1 outside of parallel work.
int current_part();
int current_parts();
// Returns once all parts of the parallel work have called it.
void barrier();

// The same for body(part number).
template <typename Body>
void in_parallel(int parts, const Body& body) {
  auto part = [](void* data) { (*static_cast<const Body*>(data))(current_part()); };
  run_parts(parts, part, const_cast<Body*>(&body));
}

// Work that parts take from chunk by chunk, so that none waits for one that is held up.
class SharedRange {
 public:
  SharedRange(int64_t count, int64_t chunk) : count_(count), chunk_(chunk) {}
  // The next chunk, [first, last); false once all is taken.
  bool take(int64_t& first, int64_t& last) {
    first = next_.fetch_add(chunk_, std::memory_order_relaxed);
    last = first + chunk_ < count_ ? first + chunk_ : count_;
    return first < count_;
  }

 private:
  std::atomic<int64_t> next_{0};
  int64_t count_, chunk_;
};

// Work of which each part has a share of its own, neighbours one after the other, and takes from
// the others' ends once that is done.
class SplitRange {
 public:
  SplitRange(int64_t count, int parts);  // count < 2^32
  // The next one for this part, and the one that it probably gets after it, -1: none.
  bool take(int part, int64_t& item, int64_t& next);

 private:
  // What is left of a share, [first, last), in one word.
  struct alignas(64) Share {
    std::atomic<uint64_t> left{0};
  };
  static constexpr int kMaxShares = 64;
  std::array<Share, kMaxShares> shares_;
  int parts_;
};

}  // namespace tuff::cpu
