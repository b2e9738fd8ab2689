// What the opaque pointers of the PJRT C API point at. Each begins with a zero word
// (callers of API 0.105 and later read a table of functions there; null means none).
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/compile.h"
#include "backend/device.h"
#include "frontend/pjrt/abi_types.h"

namespace tuff::pjrt {

inline constexpr const char* kPlatformName = "tuff";

struct ErrorHandle {
  const void* reserved = nullptr;
  ErrorStatus status = ErrorStatus::kUnknown;
  std::string message;
};

// Everything is complete when a function returns, so an event only says how it went.
struct EventHandle {
  const void* reserved = nullptr;
};

// A program on the device, shared by all executables of equal graphs.
struct Compiled {
  std::shared_ptr<const Program> program;
  std::unique_ptr<LoadedProgram> loaded;
  CompileReport report;
  uint64_t hash = 0;
};
using CompiledPtr = std::shared_ptr<const Compiled>;

// Compiled programs by graph: equal structure is equal work, wherever in the model's
// source it came from. Keeps the kLimit used last. Thread-safe.
class CompileCache {
 public:
  static constexpr size_t kLimit = 1024;
  CompiledPtr find(const Graph& graph, uint64_t hash);
  void insert(Graph graph, CompiledPtr compiled);

 private:
  struct Entry {
    Graph graph;
    CompiledPtr compiled;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;  // used last first
  std::unordered_multimap<uint64_t, std::list<Entry>::iterator> by_hash_;
};

struct MemoryCount {
  std::atomic<int64_t> in_use{0}, peak{0}, allocations{0};
};

// The device and what lives as long as anything on it: every handle that needs the
// device owns a share, so that handles may outlive their client.
struct Runtime {
  std::unique_ptr<Device> device;
  CompileCache cache;  // after the device: destroyed before it
  std::string description;
  std::shared_ptr<MemoryCount> count = std::make_shared<MemoryCount>();

  Result<BufferPtr> allocate(int64_t size_bytes);  // counted until the last share goes
};
using RuntimePtr = std::shared_ptr<Runtime>;

struct MemoryHandle {
  const void* reserved = nullptr;
  ClientHandle* client = nullptr;
};
struct DescriptionHandle {
  const void* reserved = nullptr;
  std::string kind, text;
};
struct DeviceHandle {
  const void* reserved = nullptr;
  ClientHandle* client = nullptr;
};
struct TopologyHandle {
  const void* reserved = nullptr;
  ClientHandle* client = nullptr;
};

// One device with one memory; the lists are what the API hands out.
struct ClientHandle {
  const void* reserved = nullptr;
  RuntimePtr runtime;
  DeviceHandle device;
  DescriptionHandle description;
  MemoryHandle memory;
  TopologyHandle topology;
  DeviceHandle* devices[1] = {};
  MemoryHandle* memories[1] = {};
  DescriptionHandle* descriptions[1] = {};
};

// What there is to know of an executable; never changes.
struct ExecutableInfo {
  CompiledPtr compiled;
  std::string name, fingerprint, source;  // source: what was compiled, for Serialize
  std::vector<uint32_t> donated;          // arguments that an execution uses up
  std::vector<ElementType> output_types;
  std::vector<int64_t> output_dims;
  std::vector<size_t> output_ranks;
  std::vector<const char*> output_kinds, parameter_kinds;
  std::vector<size_t> output_kind_sizes, parameter_kind_sizes;
};

struct ExecutableHandle {
  const void* reserved = nullptr;
  RuntimePtr runtime;  // before the info: destroyed after it
  std::shared_ptr<const ExecutableInfo> info;
};

struct LoadedHandle {
  const void* reserved = nullptr;
  ClientHandle* client = nullptr;
  RuntimePtr runtime;  // before the info: destroyed after it
  std::shared_ptr<const ExecutableInfo> info;
  std::atomic<bool> deleted{false};
};

struct BufferHandle {
  const void* reserved = nullptr;
  ClientHandle* client = nullptr;
  RuntimePtr runtime;
  TensorType type;

  // The device's memory, or null after release().
  BufferPtr memory() const;
  void release();
  bool deleted() const;
  void set(BufferPtr memory);

 private:
  mutable std::mutex mutex_;
  BufferPtr memory_;
  bool deleted_ = true;
};

// The API's element type of ours, and back. Errors: kUnsupported naming the type.
ElementType element_type(DType dtype);
Result<DType> dtype_of(ElementType type);

}  // namespace tuff::pjrt
