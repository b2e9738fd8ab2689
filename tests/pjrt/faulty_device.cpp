// The plugin's open_device, for tests: the first device fails when TUFF_TEST_FAULT says.
//   run:N:lost          the N-th run, and all that is asked of the device afterwards
//   allocate:N:memory   the N-th allocation
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "frontend/pjrt/open_device.h"

namespace tuff::pjrt {

namespace {

struct Fault {
  int64_t run = 0, allocation = 0;  // counted from 1; 0: never
};

Fault fault_of_environment() {
  Fault fault;
  const char* text = std::getenv("TUFF_TEST_FAULT");
  if (!text) return fault;
  long number = 0;
  if (std::sscanf(text, "run:%ld:lost", &number) == 1) fault.run = number;
  if (std::sscanf(text, "allocate:%ld:memory", &number) == 1) fault.allocation = number;
  return fault;
}

Error lost() { return {ErrorCode::kDeviceLost, "The device is lost (injected).", "vkQueueSubmit"}; }

class FaultyDevice : public Device {
 public:
  FaultyDevice(std::unique_ptr<Device> device, Fault fault)
      : device_(std::move(device)), fault_(fault) {}

  const Caps& caps() const override { return device_->caps(); }
  std::string description() const override { return device_->description(); }

  Result<BufferPtr> allocate(int64_t size_bytes) override {
    if (lost_) return lost();
    if (++allocations_ == fault_.allocation)
      return Error{
          ErrorCode::kOutOfMemory,
          "A buffer of (" + std::to_string(size_bytes) + ") bytes does not fit (injected).", ""};
    return device_->allocate(size_bytes);
  }
  Status write(Buffer& buffer, int64_t offset_bytes, std::span<const std::byte> data) override {
    if (lost_) return lost();
    return device_->write(buffer, offset_bytes, data);
  }
  Status read(const Buffer& buffer, int64_t offset_bytes, std::span<std::byte> data) override {
    if (lost_) return lost();
    return device_->read(buffer, offset_bytes, data);
  }
  Result<std::unique_ptr<LoadedProgram>> load(std::shared_ptr<const Program> program,
                                              const LoadOptions& options) override {
    if (lost_) return lost();
    return device_->load(std::move(program), options);
  }
  Status run(LoadedProgram& program, std::span<const BufferPtr> arguments,
             std::span<const BufferPtr> outputs, RunStats* stats) override {
    if (++runs_ == fault_.run) lost_ = true;
    if (lost_) return lost();
    return device_->run(program, arguments, outputs, stats);
  }

 private:
  std::unique_ptr<Device> device_;
  Fault fault_;
  std::atomic<bool> lost_{false};
  std::atomic<int64_t> runs_{0}, allocations_{0};
};

}  // namespace

Result<std::unique_ptr<Device>> open_device(const DeviceChoice& choice) {
  static std::atomic<int> opened{0};
  TUFF_ASSIGN(std::unique_ptr<Device> device, tuff::open_device(choice));
  if (opened++ > 0) return device;
  return std::unique_ptr<Device>(
      std::make_unique<FaultyDevice>(std::move(device), fault_of_environment()));
}

}  // namespace tuff::pjrt
