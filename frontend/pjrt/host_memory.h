// Memory of the host that exchanges use again in each run: new pages cost more than what is copied
// into them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "ir/literal.h"

namespace tuff::pjrt {

// Thread-safe. Holds as much as was in use at once, until it goes; memory may outlive it.
class HostMemory : public std::enable_shared_from_this<HostMemory> {
 public:
  static std::shared_ptr<HostMemory> create() {
    return std::shared_ptr<HostMemory>(new HostMemory);
  }
  ~HostMemory();

  // A literal to be written whole. Errors: std::bad_alloc.
  Literal make(const TensorType& type);

 private:
  HostMemory() = default;
  void take_back(size_t size, std::byte* block);

  std::mutex mutex_;
  std::multimap<size_t, std::byte*> stock_;  // by size
};

}  // namespace tuff::pjrt
