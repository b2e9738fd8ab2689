// Runtime: one device with its queue of work, the programs on it and its memory.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "backend/device.h"
#include "frontend/pjrt/completion.h"
#include "frontend/pjrt/program_cache.h"
#include "frontend/pjrt/queue.h"

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
  Queue queue;  // last: its tasks use what stands above

  // Memory that keeps its device alive, counted until the last share goes.
  Result<BufferPtr> allocate(int64_t size_bytes);
};
using RuntimePtr = std::shared_ptr<Runtime>;

// True iff the device's memory is the host's.
inline bool is_host(const Caps& caps) { return caps.device_class == DeviceClass::kCpu; }

// A tensor's memory, from the moment it is promised. `memory` is set before `ready`
// completes well, and stays; null where it does not.
struct Storage {
  BufferPtr memory;
  CompletionPtr ready;
  bool borrowed = false;  // the memory is the caller's and is never written to
};
using StoragePtr = std::shared_ptr<Storage>;

}  // namespace tuff::pjrt
