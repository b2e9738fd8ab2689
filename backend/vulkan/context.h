// Context: the VkDevice with its one compute queue, and what everything else on
// it needs. Outlives all objects made from it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "backend/vulkan/device_plan.h"

namespace tuff {

// A device and a queue of the application's own, which outlive the context.
struct AdoptedDevice {
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  std::function<void()> lock, unlock;  // around each use of the queue; may be empty
};

// A semaphore, and the value to wait for or to signal where it counts (a timeline).
struct SemaphoreValue {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  uint64_t value = 0;
};

class Context {
 public:
  static Result<std::unique_ptr<Context>> create(std::shared_ptr<Instance> instance,
                                                 VkPhysicalDevice physical, DeviceSnapshot snapshot,
                                                 DevicePlan plan, AdoptedDevice adopted = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  VkDevice device() const { return device_; }
  // While commands may still run of which nobody waits for the end, nothing may be destroyed
  // or freed either: what they work with stays.
  const DeviceTable& vk() const {
    return Instance::drivers_end() || pending_ ? gone_device_table() : table_;
  }
  // For tests, which put failing functions in.
  DeviceTable& table() { return table_; }
  const DeviceSnapshot& snapshot() const { return snapshot_; }
  const DevicePlan& plan() const { return plan_; }
  const Caps& caps() const { return plan_.caps; }
  // Takes the plan with less in its caps. Only before others use the context.
  void narrow(DevicePlan plan) { plan_ = std::move(plan); }
  // Only while nobody else uses the context.
  void tune(std::shared_ptr<const Tuning> tuning) { plan_.caps.tuning = std::move(tuning); }

  Result<VkCommandPool> create_command_pool();
  Result<VkCommandBuffer> allocate_command_buffer(VkCommandPool pool);
  Result<VkFence> create_fence();
  // Submits the commands, which run after all that were submitted before. The fence, which may be
  // null, is signalled when they are through. Thread-safe for distinct command buffers and fences.
  // Errors: kDeviceLost, then and ever after.
  Status submit(VkCommandBuffer commands, VkFence fence);
  Status wait(VkFence fence);
  // What is submitted later waits for the semaphores `wait`; `signal` are signalled once all that
  // was submitted earlier is through.
  Status submit_semaphores(std::span<const SemaphoreValue> wait,
                           std::span<const SemaphoreValue> signal);
  Status submit_and_wait(VkCommandBuffer commands, VkFence fence);
  // Returns when the queue is idle, or the device lost: after a failure, before what it uses goes.
  void wait_idle();

  // What the driver says is left of a heap for this process now; nothing where it does not tell.
  std::optional<uint64_t> free_bytes(uint32_t heap) const;

 private:
  Context() = default;
  Status create_device(VkPhysicalDevice physical);
  // With the queue to itself.
  template <typename Use>
  VkResult with_queue(Use&& use);
  VkResult wait_for(VkFence fence);
  Status lost(VkResult result, const char* phrase);

  std::shared_ptr<Instance> instance_;
  DeviceSnapshot snapshot_;
  DevicePlan plan_;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::optional<AdoptedDevice> adopted_;
  std::mutex queue_mutex_;
  std::atomic<bool> lost_{false};     // true iff the device was lost, or pending_
  std::atomic<bool> pending_{false};  // true iff a wait was given up while commands ran
  DeviceTable table_;
};

}  // namespace tuff
