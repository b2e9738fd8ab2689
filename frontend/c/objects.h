// What the opaque pointers of tuff.h point at: a share of the state behind each, so that handles
// may be destroyed in any order.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frontend/c/include/tuff.h"
#include "frontend/session/queue.h"
#include "frontend/session/reader.h"
#include "frontend/session/session.h"
#include "frontend/session/storage.h"

namespace tuff::c {

// A device as tuff_device_info tells it; owns the strings.
struct DeviceDescription {
  int32_t kind = TUFF_DEVICE_CPU;
  std::string id, name, driver, api_version, why_not, pci_address;
  uint32_t vendor_id = 0, device_id = 0;
  std::array<uint8_t, 16> uuid{};
  int64_t memory_bytes = -1, memory_available_bytes = -1;
  int64_t max_buffer_bytes = 0, max_shared_bytes = 0, subgroup_size = 0;
  bool has_i64 = false, has_f64 = false;

  // Of a Vulkan device, in the order of which it is the index.
  static DeviceDescription of(const DeviceInfo& info);
  void limit(const Caps& caps);
  void fill(tuff_device_info* info) const;
};

struct ContextState {
  tuff_log_callback log = nullptr;
  void* log_user = nullptr;
  CachePtr cache;  // null: none
  HostAllocatorPtr allocator;

  std::mutex mutex;
  std::optional<std::vector<DeviceDescription>> devices;  // listed once, then never changed

  void warn(const std::string& sentence) const {
    if (log) log(log_user, TUFF_LOG_WARNING, sentence.c_str());
  }
  void tell(const std::string& line) const {
    if (log) log(log_user, TUFF_LOG_INFO, line.c_str());
  }
};

// What sessions on devices of the context are opened with.
SessionOptions session_options(const std::shared_ptr<ContextState>& context);

// Looks for them once; they live as long as the context. No Vulkan at all is no error: there is the
// CPU. Without the mutex: what is told may call back into the context.
Result<const std::vector<DeviceDescription>*> list_devices(ContextState& context);

struct DeviceState {
  std::shared_ptr<ContextState> context;
  Session session;
  DeviceDescription description;
  Queue queue;  // last: its tasks use what stands above

  DeviceState(std::shared_ptr<ContextState> of, Session opened)
      : context(std::move(of)), session(std::move(opened)) {}
  Device& device() const { return session.device(); }
};

struct BufferState {
  std::shared_ptr<DeviceState> device;  // before the storage: destroyed after it
  TensorType type;
  std::atomic<int> bindings{0};  // of programs

  BufferState(std::shared_ptr<DeviceState> on, TensorType of, StoragePtr storage)
      : device(std::move(on)), type(std::move(of)), storage_(std::move(storage)) {}

  // Errors: kUsage where the buffer was donated.
  Result<StoragePtr> storage() const;
  // The memory, once it holds what was promised. Errors besides: those of the run.
  Result<BufferPtr> ready_memory() const;
  // The latest run that was asked to read it: runs of a device end in their order.
  void read_by(CompletionPtr run);
  void wait_for_readers() const;
  // Takes it away from the buffer.
  void release() { replace(nullptr); }
  // From now on the buffer is what a run promises.
  void replace(StoragePtr storage);

 private:
  mutable std::mutex mutex_;
  StoragePtr storage_;  // null once donated
  CompletionPtr reader_ = completed();
};

struct NamedType {
  std::string name;
  TensorType type;
};

// A unit of work of a program, which holds the step.
struct WorkStep {
  const Step* step = nullptr;
  std::string operations;
};

struct ProgramState {
  std::shared_ptr<DeviceState> device;  // before what is loaded: destroyed after it
  std::shared_ptr<const Program> program;
  std::unique_ptr<LoadedProgram> loaded;
  CompileReport report;
  Model model;  // without values: those are in `bound`
  std::vector<NamedType> arguments, results;
  std::vector<WorkStep> steps;                      // control and copies left out
  std::vector<std::shared_ptr<BufferState>> bound;  // by argument; null: none

  ~ProgramState();
  void bind(size_t argument, std::shared_ptr<BufferState> buffer);
};

// Errors: kUsage where the buffer cannot be that argument.
Status check_argument(const ProgramState& program, size_t argument, const BufferState& buffer);

}  // namespace tuff::c

struct tuff_context {
  std::shared_ptr<tuff::c::ContextState> state;
};
struct tuff_device {
  std::shared_ptr<tuff::c::DeviceState> state;
};
struct tuff_buffer {
  std::shared_ptr<tuff::c::BufferState> state;
};
struct tuff_program {
  std::shared_ptr<tuff::c::ProgramState> state;
};
struct tuff_event {
  tuff::CompletionPtr completion;
};
