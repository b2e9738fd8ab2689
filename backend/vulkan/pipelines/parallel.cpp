#include "backend/vulkan/pipelines/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace tuff {

Status parallel_for(size_t count, const std::function<Status(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::optional<std::pair<size_t, Error>> first;
  std::atomic<bool> failed{false};
  auto run = [&] {
    for (size_t i; !failed && (i = next++) < count;) {
      Status status = work(i);
      if (status) continue;
      failed = true;
      std::lock_guard lock(mutex);
      if (!first || i < first->first) first.emplace(i, status.take_error());
    }
  };
  size_t threads = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> workers;
  for (size_t i = 1; i < threads; ++i) workers.emplace_back(run);
  run();
  workers.clear();  // joins
  if (first) return std::move(first->second);
  return {};
}

}  // namespace tuff
