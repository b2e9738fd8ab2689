#include "backend/vulkan/device.h"

#include <fmt/format.h>

#include "backend/vulkan/schedule_as.h"
#include "backend/vulkan/self_test/self_test_run.h"
#include "backend/vulkan/tuning.h"

namespace tuff {

namespace {

// "llvmpipe, Mesa 22.3.6 (LLVM 15.0.6)"
std::string driver_text(const DeviceSnapshot& s) {
  if (s.driver_name.empty()) return fmt::format("driver version {:#x}", s.properties.driverVersion);
  return s.driver_info.empty() ? s.driver_name : s.driver_name + ", " + s.driver_info;
}

std::string description_of(int index, const DeviceSnapshot& s) {
  return fmt::format("vulkan:{} {}, {}", index, s.properties.deviceName, driver_text(s));
}

std::string type_text(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "software";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
    default: return "other";
  }
}

// Tests the device and takes from it what it gets wrong.
Status test_device(VulkanDevice& device, const VulkanOptions& options) {
  Context& context = device.context();
  Stopwatch watch(options.timeline, "phase", "self-test");
  TUFF_ASSIGN(SelfTestVerdict verdict, run_self_test(device, context.caps()));
  watch.stop("small problems with known answers, once per driver");
  keep_verdict(options.cache.get(), context.snapshot(), verdict);
  DevicePlan plan = context.plan();
  size_t known = plan.quirks.size();
  TUFF_RETURN_IF_ERROR(apply_verdict(verdict, context.snapshot(), plan));
  for (size_t i = known; options.tell && i < plan.quirks.size(); ++i)
    options.tell(fmt::format("The self-test of the device ({}) found a fault. {}", plan.caps.name,
                             plan.quirks[i].sentence));
  context.narrow(std::move(plan));
  return {};
}

DeviceInfo device_info(int index, const DeviceSnapshot& s, DiskCache* cache) {
  DeviceInfo info;
  info.index = index;
  info.name = s.properties.deviceName;
  info.type = type_text(s.properties.deviceType);
  info.driver = driver_text(s);
  info.api_version = format_version(s.properties.apiVersion);
  info.vendor_id = s.properties.vendorID, info.device_id = s.properties.deviceID;
  info.uuid = s.device_uuid, info.pci_address = s.pci_address;
  for (uint32_t i = 0; i < s.memory.memoryHeapCount; ++i) {
    auto size = static_cast<int64_t>(s.memory.memoryHeaps[i].size);
    bool local = (s.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    if (!local || size <= info.memory_bytes) continue;
    info.memory_bytes = size;
    if (i < s.heap_budget.size())
      info.memory_available_bytes = std::max<int64_t>(
          0, static_cast<int64_t>(s.heap_budget[i]) - static_cast<int64_t>(s.heap_usage[i]));
  }
  Result<DevicePlan> plan = plan_device(s);
  if (!plan) {
    info.why_not = plan.error().message;
    return info;
  }
  if (std::optional<SelfTestVerdict> verdict = find_verdict(cache, s)) {
    info.self_tested = true;
    if (Status usable = apply_verdict(*verdict, s, *plan); !usable) {
      info.why_not = usable.error().message;
      return info;
    }
  }
  info.caps = plan->caps;
  info.caps.tuning = find_tuning(cache, s);
  if (Status asked = schedule_as_asked(info.caps); !asked) {
    info.why_not = asked.error().message;
    return info;
  }
  for (const Quirk& quirk : plan->quirks) info.quirks.push_back(quirk.name + ": " + quirk.sentence);
  return info;
}

}  // namespace

Result<std::vector<DeviceInfo>> enumerate_vulkan_devices(DiskCache* cache) {
  TUFF_ASSIGN(auto instance, Instance::acquire());
  TUFF_ASSIGN(auto devices, instance->physical_devices());
  std::vector<DeviceInfo> infos;
  for (VkPhysicalDevice device : devices) {
    Result<DeviceSnapshot> snapshot = snapshot_device(*instance, device);
    auto index = static_cast<int>(infos.size());
    infos.push_back(snapshot ? device_info(index, *snapshot, cache)
                             : DeviceInfo{.index = index, .why_not = snapshot.error().message});
  }
  return infos;
}

Result<DeviceInfo> vulkan_device_info(Device& device) {
  auto* own = dynamic_cast<VulkanDevice*>(&device);
  if (own == nullptr) return Error{ErrorCode::kUsage, "The device is no Vulkan device.", ""};
  DeviceInfo info = device_info(-1, own->context().snapshot(), nullptr);
  info.caps = own->caps();
  return info;
}

Result<std::string> describe_vulkan_device(int index) {
  TUFF_ASSIGN(auto instance, Instance::acquire());
  TUFF_ASSIGN(VkPhysicalDevice physical, instance->physical_device(index));
  TUFF_ASSIGN(DeviceSnapshot snapshot, snapshot_device(*instance, physical));
  return description_of(index, snapshot);
}

Result<std::unique_ptr<Device>> create_vulkan_device(int index, const VulkanOptions& options) {
  TUFF_ASSIGN(auto device, VulkanDevice::create(index, options));
  return std::unique_ptr<Device>(std::move(device));
}

Result<std::unique_ptr<VulkanDevice>> VulkanDevice::create(int index,
                                                           const VulkanOptions& options) {
  Found found;
  TUFF_ASSIGN(found.instance, Instance::acquire());
  TUFF_ASSIGN(found.physical, found.instance->physical_device(index));
  TUFF_ASSIGN(found.snapshot, snapshot_device(*found.instance, found.physical));
  found.description = description_of(index, found.snapshot);
  return open(std::move(found), options);
}

Result<std::unique_ptr<VulkanDevice>> VulkanDevice::open(Found found,
                                                         const VulkanOptions& options) {
  const DeviceSnapshot& snapshot = found.snapshot;
  TUFF_ASSIGN(DevicePlan plan, plan_device(snapshot));
  std::optional<SelfTestVerdict> verdict = find_verdict(options.cache.get(), snapshot);
  if (verdict) TUFF_RETURN_IF_ERROR(apply_verdict(*verdict, snapshot, plan));
  if (options.host) plan.caps.host = std::make_shared<const Caps>(options.host->caps());
  std::unique_ptr<VulkanDevice> device(new VulkanDevice);
  device->host_ = options.host;
  device->cache_ = options.cache;
  device->description_ = std::move(found.description);
  TUFF_ASSIGN(device->context_, Context::create(std::move(found.instance), found.physical, snapshot,
                                                plan, std::move(found.adopted)));
  device->memory_ = std::make_unique<MemoryPool>(*device->context_);
  device->transfer_ =
      std::make_unique<Transfer>(*device->context_, *device->memory_, options.force_staging);
  TUFF_ASSIGN(device->pipelines_, PipelineStore::create(*device->context_, options.cache));
  if (!verdict) TUFF_RETURN_IF_ERROR(test_device(*device, options));
  DevicePlan tuned = device->context_->plan();
  tuned.caps.tuning = find_tuning(options.cache.get(), snapshot);
  TUFF_RETURN_IF_ERROR(schedule_as_asked(tuned.caps));
  device->context_->narrow(std::move(tuned));
  return device;
}

bool take_tuning(Device& device, const Tuning& faster) {
  auto* own = dynamic_cast<VulkanDevice*>(&device);
  TUFF_CHECK(own != nullptr, "take_tuning is for Vulkan devices");
  return own->take_tuning(faster);
}

// The cache's file is read anew: other processes may have tuned meanwhile.
bool VulkanDevice::take_tuning(const Tuning& faster) {
  const DeviceSnapshot& snapshot = context_->snapshot();
  std::shared_ptr<const Tuning> known = find_tuning(cache_.get(), snapshot);
  if (!known) known = caps().tuning;
  Tuning all = faster;
  if (known) all.insert(known->begin(), known->end());
  if (cache_) keep_tuning(*cache_, snapshot, all);
  context_->tune(std::make_shared<const Tuning>(std::move(all)));
  return cache_ != nullptr;
}

Result<BufferPtr> VulkanDevice::allocate(int64_t size_bytes) {
  if (size_bytes < 0)
    return Error{ErrorCode::kRunFailed, fmt::format("A buffer cannot have {} bytes.", size_bytes),
                 ""};
  TUFF_ASSIGN(auto buffer,
              VulkanBuffer::create(*context_, *memory_, size_bytes, MemoryUse::kDevice));
  return BufferPtr(std::move(buffer));
}

Result<const VulkanBuffer*> VulkanDevice::own(const Buffer& buffer) const {
  auto* own = dynamic_cast<const VulkanBuffer*>(&buffer);
  if (own != nullptr && own->context() == context_.get()) return own;
  return Error{ErrorCode::kRunFailed,
               fmt::format("A buffer is none of this device ({}).", description_), ""};
}

Status VulkanDevice::write(Buffer& buffer, int64_t offset_bytes, std::span<const std::byte> data) {
  TUFF_ASSIGN(const VulkanBuffer* target, own(buffer));
  return transfer_->write(*target, offset_bytes, data);
}

Status VulkanDevice::read(const Buffer& buffer, int64_t offset_bytes, std::span<std::byte> data) {
  TUFF_ASSIGN(const VulkanBuffer* source, own(buffer));
  return transfer_->read(*source, offset_bytes, data);
}

Result<KernelCode> VulkanDevice::kernel_code(const Program& program) {
  std::vector<std::string> texts;
  for (const Kernel& kernel : program.kernels) {
    TUFF_ASSIGN(GlslShader shader, emit_glsl(kernel, caps()));
    texts.push_back(std::move(shader.text));
  }
  return pipelines_->code(texts);
}

Result<std::unique_ptr<LoadedProgram>> VulkanDevice::load(std::shared_ptr<const Program> program,
                                                          const LoadOptions& options) {
  TUFF_ASSIGN(auto loaded, VulkanProgram::create(services(), std::move(program), options));
  return std::unique_ptr<LoadedProgram>(std::move(loaded));
}

Status VulkanDevice::run(LoadedProgram& program, std::span<const BufferPtr> arguments,
                         std::span<const BufferPtr> outputs, RunStats* stats) {
  auto* loaded = dynamic_cast<VulkanProgram*>(&program);
  if (loaded == nullptr)
    return Error{ErrorCode::kRunFailed,
                 fmt::format("A program is not loaded on this device ({}).", description_), ""};
  return loaded->run(arguments, outputs, stats);
}

}  // namespace tuff
