// Device: the narrow waist between a Program and the machine. Two
// implementations (vulkan/, cpu/) and one decorator (verify/validate_device.h).
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "backend/kernel_code.h"
#include "backend/profile.h"
#include "backend/program.h"
#include "ir/caps.h"

namespace tuff {

// Device memory. Owned by whoever holds the pointer; must not outlive its Device.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual int64_t size_bytes() const = 0;  // >= 0; zero-sized buffers hold no memory
};
using BufferPtr = std::shared_ptr<Buffer>;

// How one kernel was made ready. Times are of the thread that did it.
struct KernelLoad {
  // kMemory: this process had made it before; kDisk: its SPIR-V was in the disk cache, or came
  // with the program.
  // The CPU keeps neither: its kernels are always made.
  enum class Origin : uint8_t { kMade, kDisk, kMemory };
  Origin origin = Origin::kMade;
  double emit_ms = 0, glsl_ms = 0, pipeline_ms = 0;
};

// Counters and times of one load (compile) or run, for --json and reports. The times
// are wall time of the phases of the same names (profile.h).
struct LoadStats {
  int64_t kernels = 0;        // distinct kernels of the program
  int64_t glsl_compiled = 0;  // GLSL -> SPIR-V compilations (0 = all from the cache)
  int64_t memory_hits = 0, disk_hits = 0;
  double emit_ms = 0, glsl_ms = 0, pipeline_ms = 0, prepare_ms = 0;
  std::vector<KernelLoad> by_kernel;  // one per kernel of the program
};
// Copies of operands that a device keeps beside a program's buffers, by what they are.
struct PackedBytes {
  const char* kind = "";  // a literal
  int64_t bytes = 0;
};
// A few of them, in place: a run reports them and allocates nothing.
class PackedList {
 public:
  void push_back(PackedBytes entry) {
    TUFF_CHECK(size_ < entries_.size(), "more kinds of copies than are known");
    entries_[size_++] = entry;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const PackedBytes& operator[](size_t i) const { return entries_[i]; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.begin() + size_; }

 private:
  std::array<PackedBytes, 8> entries_;
  size_t size_ = 0;
};

struct RunStats {
  int64_t dispatches = 0;  // kernels and library calls
  int64_t submits = 0;
  int64_t readbacks = 0;     // device -> host reads inside the run: predicates, indices, and
                             // what hosted steps take
  int64_t cpu_ops = 0;       // of hosted steps
  int64_t copied_bytes = 0;  // to and from the host by hosted steps
  double wall_ms = 0;
  double record_ms = 0;  // part of wall_ms: commands and descriptors, 0 once they exist
  PackedList packed;     // what the device keeps after the run

  // Asked for by the caller, of a program loaded with time_steps: the run is timed. What is
  // filled in then makes up wall_ms, but for what the host does in between.
  bool time_steps = false;
  std::vector<StepTime> steps;  // in order
  double wait_ms = 0;      // from submissions until the host knows of their end, less their steps
  double readback_ms = 0;  // predicates and indices; those of hosted steps are part of these
  double clock_ms = 0;     // reading the device's timestamps
};

struct LoadOptions {
  // Called as kernels become ready, possibly from worker threads: (done, total).
  std::function<void(int64_t, int64_t)> progress;
  // True: runs can be timed (RunStats::time_steps). Other runs cost nothing more.
  bool time_steps = false;
  Timeline* timeline = nullptr;  // spans of the load are added to it
  // Of an Executable. True: outputs take the memory of the arguments that the program
  // donates, where they can. Such an argument is used up by a run and has to be set again.
  bool donate = false;
  // Null, or kernels that are taken from there and not compiled.
  KernelCodePtr code;
};

// A program made ready on one device: pipelines, arena, constants, recorded
// commands. Destroyed before its device.
class LoadedProgram {
 public:
  virtual ~LoadedProgram() = default;
  virtual const LoadStats& stats() const = 0;
};

// Thread safety: all functions may be called from any thread; runs of one
// LoadedProgram are serialised.
class Device {
 public:
  virtual ~Device() = default;
  virtual const Caps& caps() const = 0;
  // "vulkan:0 llvmpipe (LLVM 15.0.6, 256 bits), Mesa 22.3.6", for people.
  virtual std::string description() const = 0;

  // Errors: kOutOfMemory naming the size and the limit that stopped it.
  virtual Result<BufferPtr> allocate(int64_t size_bytes) = 0;
  // Copies between host and buffer; the range must lie inside (checked).
  virtual Status write(Buffer& buffer, int64_t offset_bytes, std::span<const std::byte> data) = 0;
  virtual Status read(const Buffer& buffer, int64_t offset_bytes, std::span<std::byte> data) = 0;

  // This memory as a buffer for arguments, which cannot be written; null where the device does not
  // read the host's memory. Nothing may change it while the buffer lives, which holds `owner`.
  virtual Result<BufferPtr> wrap(std::span<const std::byte>, std::shared_ptr<const void>) {
    return BufferPtr();
  }

  // What runs of such a program keep beside its buffers where there is room; loads nothing.
  virtual Result<PackedList> plan_packing(const Program&) { return PackedList(); }

  // The program's kernels for LoadOptions::code; compiles those that no cache has. None where
  // kernels are not compiled.
  virtual Result<KernelCode> kernel_code(const Program&) { return KernelCode(); }

  virtual Result<std::unique_ptr<LoadedProgram>> load(std::shared_ptr<const Program> program,
                                                      const LoadOptions& options) = 0;
  // Runs to completion. arguments and outputs: one buffer per entry of the
  // program's lists, of exactly its size (zero-sized entries may be null). Outputs are
  // apart from each other and from arguments, donations in place excepted; temporaries may
  // lie in them until they are written.
  virtual Status run(LoadedProgram& program, std::span<const BufferPtr> arguments,
                     std::span<const BufferPtr> outputs, RunStats* stats) = 0;
};

}  // namespace tuff
