// What the opaque pointers of the PJRT C API point at. Each begins with a zero word
// (callers of API 0.105 and later read a table of functions there; null means none).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frontend/pjrt/abi/abi_types.h"
#include "frontend/pjrt/compile_options.h"
#include "frontend/pjrt/ranks/ranks.h"
#include "frontend/pjrt/runtime.h"

namespace tuff::pjrt {

inline constexpr const char* kPlatformName = "tuff";

struct ErrorHandle {
  const void* reserved = nullptr;
  ErrorStatus status = ErrorStatus::kUnknown;
  std::string message;
};

struct EventHandle {
  const void* reserved = nullptr;
  CompletionPtr completion = completed();
};

struct MemoryHandle {
  const void* reserved = nullptr;
  DeviceHandle* device = nullptr;
  std::string text;
};
struct DescriptionHandle {
  const void* reserved = nullptr;
  int32_t id = 0;
  int32_t process = 0;
  int32_t place = 0;  // among the devices of its process
  std::string kind, text;
};
// One device with one memory, both numbered `description.id`.
struct DeviceHandle {
  const void* reserved = nullptr;
  ClientHandle* client = nullptr;
  RuntimePtr runtime;  // null: the device is another process's
  DescriptionHandle description;
  MemoryHandle memory;
  // The lists of one that the API hands out.
  DeviceHandle* devices[1] = {};
  MemoryHandle* memories[1] = {};
};
struct TopologyHandle {
  const void* reserved = nullptr;
  ClientHandle* client = nullptr;
};

// The lists are what the API hands out, by device id: devices of all processes, those of this
// one, and their memories.
struct ClientHandle {
  const void* reserved = nullptr;
  std::vector<std::unique_ptr<DeviceHandle>> owned;
  std::vector<DeviceHandle*> devices, own_devices;
  std::vector<MemoryHandle*> memories;
  std::vector<DescriptionHandle*> descriptions;
  TopologyHandle topology;
  bool zero_copy = false;  // the option: arrays of the host are never written to
  // Held while a run is queued on several devices: every queue has runs in one order, so
  // that devices do not wait for each other in different ones.
  std::mutex launching;
  std::shared_ptr<Ranks> ranks;  // null where this is the only process
  // With `launching` held: runs so far, by SpreadProgram::identity.
  std::map<uint64_t, uint64_t> launches;

  int process() const { return ranks ? ranks->rank() : 0; }
  // Errors: kUsage naming the ids there are.
  Result<DeviceHandle*> device(int64_t id) const;
};

struct SpreadProgram;

// What there is to know of an executable; never changes. Types and sizes are those of one
// device.
struct ExecutableInfo {
  // The program of one device: one, or the segments between exchanges of several devices,
  // null where one has nothing to compute.
  std::vector<std::shared_ptr<const Compiled>> compiled;
  std::shared_ptr<const SpreadProgram> spread;  // null: for one device
  std::vector<TensorType> arguments, outputs;
  DeviceAssignment assignment;  // ids set
  std::string name, fingerprint;
  std::string source;             // what was compiled, for Serialize
  std::vector<uint32_t> donated;  // arguments that an execution uses up
  std::vector<ElementType> output_types;
  std::vector<int64_t> output_dims;
  std::vector<size_t> output_ranks;
  std::vector<const char*> output_kinds, parameter_kinds;
  std::vector<size_t> output_kind_sizes, parameter_kind_sizes;
  std::vector<NamedValue> costs;  // of a run on one device; an open loop counts once
};

struct ExecutableHandle {
  const void* reserved = nullptr;
  std::shared_ptr<const ExecutableInfo> info;
};

// `ExecutableInfo::compiled` on a device.
struct DeviceProgram {
  std::vector<std::shared_ptr<const Loaded>> segments;
  BufferPtr partition_id;  // of a spread program: a scalar
};

struct LoadedHandle {
  const void* reserved = nullptr;
  std::shared_ptr<const ExecutableInfo> info;
  // This process's, and their places in the device assignment.
  std::vector<DeviceHandle*> devices;
  std::vector<size_t> places;
  std::vector<std::shared_ptr<const DeviceProgram>> programs;
  std::vector<LogicalDeviceIds> logical_ids;
  std::string assignment;  // serialized
  std::atomic<bool> deleted{false};
};

struct BufferHandle {
  const void* reserved = nullptr;
  DeviceHandle* device = nullptr;
  RuntimePtr runtime;
  TensorType type;

  BufferHandle(DeviceHandle* device, TensorType type, StoragePtr storage);
  // The promised memory, or null once deleted or donated.
  StoragePtr storage() const;
  StoragePtr release();

  // While somebody outside reads the memory at its address it stays, deleted or not.
  // Errors: kUsage where it is deleted.
  Status add_external_reference();
  void drop_external_reference();

 private:
  mutable std::mutex mutex_;
  StoragePtr storage_, external_;
  int64_t num_external_ = 0;
};

// The API's element type of ours, and back. Errors: kUnsupported naming the type.
ElementType element_type(DType dtype);
Result<DType> dtype_of(ElementType type);

Error deleted_error();
// A callback asks the device for what comes only after it.
Error waits_for_itself();

}  // namespace tuff::pjrt
