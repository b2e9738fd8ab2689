// Runtime: one device with its queue of work, the programs on it and its memory.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "backend/device.h"
#include "frontend/pjrt/program_cache.h"
#include "frontend/session/queue.h"
#include "frontend/session/storage.h"
#include "frontend/session/tensor_io.h"

namespace tuff::pjrt {

struct MemoryCount {
  std::atomic<int64_t> in_use{0}, peak{0}, allocations{0}, largest{0};
};

// Every handle that needs the device owns a share, so that handles may outlive their
// client.
struct Runtime {
  std::shared_ptr<Device> device;
  std::string description;
  // Shared by the logical devices on one of the machine's.
  std::shared_ptr<GraphCache<Compiled>> programs;
  GraphCache<Loaded> loaded;
  std::shared_ptr<MemoryCount> count = std::make_shared<MemoryCount>();
  // Exchanges that go on while the device computes. The thread starts with the first.
  Queue& exchange_queue();
  std::once_flag exchanges_asked;
  std::unique_ptr<Queue> exchanges;
  Queue queue;  // last: its tasks use what stands above

  // Memory that keeps its device alive, counted until the last share goes.
  Result<BufferPtr> allocate(int64_t size_bytes);
  // Such memory with a tensor in it.
  Result<BufferPtr> write(const Literal& value);
};
using RuntimePtr = std::shared_ptr<Runtime>;

}  // namespace tuff::pjrt
