// A library that uses OpenMP, with the calls that a compiler writes for it.
#include <vector>

extern "C" {
void GOMP_parallel(void (*part)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
void GOMP_critical_start();
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_in_parallel();
}

namespace {

// Each part adds up what all parts have written, again and again.
struct Sums {
  std::vector<int> numbers, totals;
  bool in_parallel = false;
};

void number_then_sum(void* data) {
  Sums& sums = *static_cast<Sums*>(data);
  auto part = static_cast<unsigned>(omp_get_thread_num());
  auto parts = static_cast<unsigned>(omp_get_num_threads());
  if (part == 0) sums.in_parallel = omp_in_parallel() != 0;
  for (int round = 1; round <= 20; ++round) {
    sums.numbers[part] = round;
    GOMP_barrier();
    for (unsigned p = 0; p < parts; ++p) sums.totals[part] += sums.numbers[p];
    GOMP_barrier();
  }
}

}  // namespace

extern "C" {

// How many threads a team of `threads` has; -1: they have not waited for each other.
int team(int threads) {
#ifdef CALLS_MORE
  GOMP_critical_start();
#endif
  auto places = static_cast<unsigned>(threads);
  Sums sums{std::vector<int>(places), std::vector<int>(places)};
  GOMP_parallel(number_then_sum, &sums, places, 0);
  int size = 0;
  for (int number : sums.numbers) size += number == 20;
  for (int i = 0; i < size; ++i)
    if (sums.totals[static_cast<unsigned>(i)] != size * 210) return -1;
  return sums.in_parallel == (size > 1) && omp_in_parallel() == 0 ? size : -1;
}

// In memory that is read-only once the library is loaded.
extern int (*const max_threads_pointer)();
int (*const max_threads_pointer)() = omp_get_max_threads;
}
