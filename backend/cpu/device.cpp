#include "backend/cpu/device.h"

#include <cstring>

#include "backend/cpu/loaded_program.h"
#include "backend/cpu/thread_pool.h"

namespace tuff {

namespace {

using cpu::CpuBuffer;
using cpu::CpuLoadedProgram;

Error out_of_range(const char* what, int64_t offset, size_t size, int64_t buffer_size) {
  return Error{ErrorCode::kRunFailed,
               std::string("A ") + what + " of (" + std::to_string(size) + ") bytes at (" +
                   std::to_string(offset) + ") leaves the buffer of (" +
                   std::to_string(buffer_size) + ") bytes.",
               ""};
}

bool inside(int64_t offset, size_t size, int64_t buffer_size) {
  return offset >= 0 && offset <= buffer_size &&
         size <= static_cast<uint64_t>(buffer_size - offset);
}

// Denormals stay as IEEE has them, so that results agree with the evaluator and do
// not depend on the thread that made them: FTZ and DAZ are per-thread state, and
// setting them would leak into the caller's own arithmetic. Only AMX has none: see bf16x6.h.
class CpuDevice : public Device {
 public:
  CpuDevice(const CpuDeviceOptions& options, cpu::IsaLevel level)
      : options_(options), level_(level), table_(cpu::lane_table(level_)) {
    caps_.name = "cpu";
    caps_.device_class = DeviceClass::kCpu;
#ifdef TUFF_HAS_ONEDNN
    caps_.library_calls = true;
#endif
  }

  const Caps& caps() const override { return caps_; }

  std::string description() const override {
    return "cpu " + cpu::processor_name() + " (" + std::to_string(cpu::max_threads()) +
           " threads, " + cpu::isa_level_name(level_) +
           (caps_.library_calls ? ", oneDNN)" : ", no oneDNN)");
  }

  Result<BufferPtr> allocate(int64_t size_bytes) override {
    cpu::AlignedBytes memory;
    if (size_bytes > 0) {
      memory = cpu::allocate_aligned(size_bytes);
      if (memory == nullptr)
        return Error{ErrorCode::kOutOfMemory,
                     "A buffer of (" + std::to_string(size_bytes) +
                         ") bytes does not fit in the machine's memory.",
                     ""};
    }
    return BufferPtr(std::make_shared<CpuBuffer>(std::move(memory), size_bytes));
  }

  Status write(Buffer& buffer, int64_t offset_bytes, std::span<const std::byte> data) override {
    auto& target = static_cast<CpuBuffer&>(buffer);
    if (!inside(offset_bytes, data.size(), target.size_bytes()))
      return out_of_range("write", offset_bytes, data.size(), target.size_bytes());
    if (data.empty()) return {};
    if (target.writable() == nullptr)
      return Error{ErrorCode::kRunFailed, "A wrapped buffer is read-only.", ""};
    std::memcpy(target.writable() + offset_bytes, data.data(), data.size());
    target.mark_written();
    return {};
  }

  Status read(const Buffer& buffer, int64_t offset_bytes, std::span<std::byte> data) override {
    auto& source = static_cast<const CpuBuffer&>(buffer);
    if (!inside(offset_bytes, data.size(), source.size_bytes()))
      return out_of_range("read", offset_bytes, data.size(), source.size_bytes());
    if (!data.empty()) std::memcpy(data.data(), source.data() + offset_bytes, data.size());
    return {};
  }

  Result<std::unique_ptr<LoadedProgram>> load(std::shared_ptr<const Program> program,
                                              const LoadOptions& options) override {
    TUFF_ASSIGN(auto loaded,
                CpuLoadedProgram::create(std::move(program), table_, options_.checked, options));
    return std::unique_ptr<LoadedProgram>(std::move(loaded));
  }

  Status run(LoadedProgram& program, std::span<const BufferPtr> arguments,
             std::span<const BufferPtr> outputs, RunStats* stats) override {
    return static_cast<CpuLoadedProgram&>(program).run(arguments, outputs, stats);
  }

 private:
  CpuDeviceOptions options_;
  cpu::IsaLevel level_;
  const cpu::LaneTable& table_;
  Caps caps_;
};

}  // namespace

Result<std::unique_ptr<Device>> create_cpu_device(const CpuDeviceOptions& options) {
  TUFF_ASSIGN(cpu::IsaLevel level, cpu::chosen_isa_level());
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(options, level));
}

Result<BufferPtr> wrap_host_memory(const std::byte* data, int64_t size_bytes,
                                   std::shared_ptr<const void> owner) {
  if (reinterpret_cast<uintptr_t>(data) % 8 == 0)
    return BufferPtr(std::make_shared<CpuBuffer>(data, size_bytes, std::move(owner)));
  cpu::AlignedBytes copy = cpu::allocate_aligned(size_bytes);
  if (copy == nullptr)
    return Error{ErrorCode::kOutOfMemory,
                 "A buffer of (" + std::to_string(size_bytes) +
                     ") bytes does not fit in the machine's memory.",
                 ""};
  std::memcpy(copy.get(), data, static_cast<size_t>(size_bytes));
  return BufferPtr(std::make_shared<CpuBuffer>(std::move(copy), size_bytes));
}

const std::byte* host_memory(const Buffer& buffer) {
  return static_cast<const CpuBuffer&>(buffer).data();
}

}  // namespace tuff
