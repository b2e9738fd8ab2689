// Meeting: where the devices that run one program wait for each other and exchange data,
// through the host's memory.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "frontend/pjrt/host_memory.h"
#include "ir/literal.h"
#include "ir/spmd/segments.h"

namespace tuff::pjrt {

// For one run. Every device calls the same functions in the same order, from a thread of
// its own; a device that fails says so instead, and everybody who waits or comes later
// has its error.
class Meeting {
 public:
  Meeting(size_t num_devices, std::shared_ptr<HostMemory> memory)
      : num_devices_(num_devices),
        memory_(std::move(memory)),
        operands_(num_devices),
        taken_(num_devices) {}

  // Returns when all devices are here.
  Status arrive();
  // The first failure counts.
  void fail(Error error);

  // Gives the operands of the exchanges, in the host's element types, and takes their
  // results. A reduction is shared out: each device of a group combines a range.
  Result<std::vector<Literal>> exchange(std::span<const Exchange> exchanges, size_t device,
                                        std::vector<Literal> operands);

 private:
  std::vector<const Literal*> operands_of(size_t exchange) const;
  void combine_range(const Exchange& exchange, size_t at, size_t device);

  const size_t num_devices_;
  const std::shared_ptr<HostMemory> memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t arrived_ = 0, round_ = 0;
  std::optional<Error> error_;
  // By device, by exchange; each written by its device alone, before it arrives.
  std::vector<std::vector<Literal>> operands_;
  // all_reduce's results, by the group's first device, by exchange.
  std::vector<std::vector<Literal>> taken_;
};

}  // namespace tuff::pjrt
