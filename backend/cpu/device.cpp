#include "backend/cpu/device.h"

#include <cstdlib>
#include <cstring>

#include "backend/cpu/derived_operand.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/loaded_program.h"
#include "backend/cpu/machine_memory.h"
#include "backend/cpu/native/loop_code.h"
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
      : options_(options),
        level_(level),
        table_(cpu::lane_table(level_)),
        owner_(options.packed_memory_bytes) {
    caps_.name = "cpu";
    caps_.device_class = DeviceClass::kCpu;
#ifdef TUFF_HAS_ONEDNN
    caps_.library_calls = true;
#endif
    // Whatever the options say of when code is made, so that sums have the same bits.
    if (cpu::native::has_native_code() && level_ >= cpu::IsaLevel::kAvx2)
      caps_.native_lanes = vector_lanes();
  }

  const Caps& caps() const override { return caps_; }

  std::string description() const override {
    return "cpu " + cpu::processor_name() + " (" + std::to_string(cpu::max_threads()) +
           " threads, " + cpu::isa_level_name(level_) +
           (caps_.library_calls ? ", oneDNN" : ", no oneDNN") +
           (native_policy().allowed ? ", native code)" : ")");
  }

  Result<BufferPtr> allocate(int64_t size_bytes) override {
    cpu::TensorBytes memory;
    if (size_bytes > 0) {
      owner_.make_room(size_bytes);
      memory = cpu::allocate_tensor(size_bytes, options_.allocator);
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
    TUFF_ASSIGN(auto loaded, CpuLoadedProgram::create(std::move(program), table_, owner_, options_,
                                                      native_policy(), options));
    return std::unique_ptr<LoadedProgram>(std::move(loaded));
  }

  Result<BufferPtr> wrap(std::span<const std::byte> data,
                         std::shared_ptr<const void> owner) override {
    return wrap_host_memory(data.data(), static_cast<int64_t>(data.size()), std::move(owner));
  }

  Result<PackedList> plan_packing(const Program& program) override {
    cpu::DerivedOwner planned(0);
    TUFF_ASSIGN(cpu::LibraryCalls calls, cpu::choose_calls(program, table_, planned));
    return cpu::packed_list(planned.planned());
  }

  Status run(LoadedProgram& program, std::span<const BufferPtr> arguments,
             std::span<const BufferPtr> outputs, RunStats* stats) override {
    return static_cast<CpuLoadedProgram&>(program).run(arguments, outputs, stats);
  }

 private:
  // Native code needs AVX2, and takes the time of some rounds to make.
  cpu::native::NativePolicy native_policy() const {
    constexpr int64_t kWorthNative = 20;
    bool never = options_.checked || level_ < cpu::IsaLevel::kAvx2 ||
                 !cpu::native::has_native_code() ||
                 options_.interpreted_rounds == CpuDeviceOptions::kInterpreted;
    return {.allowed = !never,
            .at_once = options_.interpreted_rounds == 0,
            .interpreted_rounds = options_.interpreted_rounds.value_or(kWorthNative),
            .vector_lanes = vector_lanes()};
  }
  int vector_lanes() const { return level_ >= cpu::IsaLevel::kAvx512 ? 16 : 8; }

  CpuDeviceOptions options_;
  cpu::IsaLevel level_;
  const cpu::LaneTable& table_;
  cpu::DerivedOwner owner_;
  Caps caps_;
};

// What TUFF_CPU_CODE and TUFF_PACKED_MEMORY say, where the caller says nothing.
Status read_environment(CpuDeviceOptions& options) {
  const char* code = std::getenv("TUFF_CPU_CODE");
  if (code != nullptr && *code != 0 && !options.interpreted_rounds) {
    std::string_view how = code;
    if (how != "native" && how != "interpreted")
      return Error{ErrorCode::kUsage,
                   "TUFF_CPU_CODE is (" + std::string(how) +
                       "); it says how the CPU device runs kernels and loops of small ones and may "
                       "be native or interpreted.",
                   ""};
    options.interpreted_rounds = how == "native" ? 0 : CpuDeviceOptions::kInterpreted;
  }
  const char* value = std::getenv("TUFF_PACKED_MEMORY");
  if (options.packed_memory_bytes || value == nullptr || *value == 0) return {};
  TUFF_ASSIGN(options.packed_memory_bytes, cpu::parse_memory_size(value));
  return {};
}

}  // namespace

Result<std::unique_ptr<Device>> create_cpu_device(CpuDeviceOptions options) {
  TUFF_ASSIGN(cpu::IsaLevel level, cpu::chosen_isa_level());
  TUFF_RETURN_IF_ERROR(read_environment(options));
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(options, level));
}

Result<BufferPtr> wrap_host_memory(const std::byte* data, int64_t size_bytes,
                                   std::shared_ptr<const void> owner) {
  if (reinterpret_cast<uintptr_t>(data) % 8 == 0)
    return BufferPtr(std::make_shared<CpuBuffer>(data, size_bytes, std::move(owner)));
  cpu::TensorBytes copy = cpu::allocate_tensor(size_bytes, nullptr);
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
