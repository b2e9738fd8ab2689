// Contexts, the list of devices, and the cache on disk.
#include <unistd.h>

#include "backend/cache.h"
#include "frontend/c/call.h"
#include "frontend/c/objects.h"
#include "frontend/session/device.h"

namespace tuff::c {

namespace {

constexpr std::pair<std::string_view, int32_t> kKinds[] = {{"discrete", TUFF_DEVICE_DISCRETE},
                                                           {"integrated", TUFF_DEVICE_INTEGRATED},
                                                           {"virtual", TUFF_DEVICE_VIRTUAL},
                                                           {"software", TUFF_DEVICE_SOFTWARE}};

Result<DeviceDescription> describe_cpu() {
  DeviceDescription device;
  device.id = "cpu";
  TUFF_ASSIGN(std::unique_ptr<Device> cpu, open_device({DeviceSpec::Kind::kCpu, 0, ""}));
  device.name = cpu->description();
  device.memory_bytes = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  device.limit(cpu->caps());
  device.max_buffer_bytes = device.memory_bytes;
  return device;
}

}  // namespace

Result<const std::vector<DeviceDescription>*> list_devices(ContextState& context) {
  {
    std::lock_guard lock(context.mutex);
    if (context.devices) return &*context.devices;
  }
  std::vector<DeviceDescription> devices;
  if (Result<std::vector<DeviceInfo>> vulkan = list_vulkan_devices(context.cache); vulkan.ok())
    for (const DeviceInfo& info : *vulkan) devices.push_back(DeviceDescription::of(info));
  else
    context.warn(vulkan.error().to_string());
  TUFF_ASSIGN(DeviceDescription cpu, describe_cpu());
  devices.push_back(std::move(cpu));
  std::lock_guard lock(context.mutex);
  if (!context.devices) context.devices = std::move(devices);
  return &*context.devices;
}

DeviceDescription DeviceDescription::of(const DeviceInfo& info) {
  DeviceDescription device;
  device.kind = TUFF_DEVICE_OTHER;
  for (const auto& [type, kind] : kKinds)
    if (info.type == type) device.kind = kind;
  device.id = fmt::format("vulkan:{}", info.index);
  device.name = info.name, device.driver = info.driver, device.api_version = info.api_version;
  device.why_not = info.why_not;
  device.vendor_id = info.vendor_id, device.device_id = info.device_id, device.uuid = info.uuid;
  device.pci_address = info.pci_address;
  device.memory_bytes = info.memory_bytes;
  device.memory_available_bytes = info.memory_available_bytes;
  if (info.why_not.empty()) device.limit(info.caps);
  return device;
}

void DeviceDescription::limit(const Caps& caps) {
  max_buffer_bytes = caps.max_allocation_bytes, max_shared_bytes = caps.max_shared_bytes;
  subgroup_size = caps.subgroup_size;
  has_i64 = caps.int64, has_f64 = caps.float64;
}

void DeviceDescription::fill(tuff_device_info* info) const {
  info->kind = kind;
  info->usable = why_not.empty();
  info->id = id.c_str(), info->name = name.c_str(), info->driver = driver.c_str();
  info->api_version = api_version.c_str(), info->why_not = why_not.c_str();
  info->vendor_id = vendor_id, info->device_id = device_id;
  std::copy(uuid.begin(), uuid.end(), info->uuid);
  info->memory_bytes = memory_bytes, info->memory_available_bytes = memory_available_bytes;
  info->max_buffer_bytes = max_buffer_bytes, info->max_shared_bytes = max_shared_bytes;
  info->subgroup_size = static_cast<int32_t>(subgroup_size);
  info->has_i64 = has_i64, info->has_f64 = has_f64;
  info->pci_address = pci_address.c_str();
}

SessionOptions session_options(const std::shared_ptr<ContextState>& context) {
  SessionOptions options;
  options.hooks.warn = [context](const std::string& sentence) { context->warn(sentence); };
  options.hooks.log = [context](const char*, const std::string& line) { context->tell(line); };
  options.cache = context->cache;
  options.allocator = context->allocator;
  return options;
}

namespace {

// The cache may outlive every handle of the context, but not the context, which devices keep.
CachePtr cache_of(const tuff_context_options& options, const ContextState* context) {
  std::string directory =
      options.cache_directory ? options.cache_directory : default_cache_directory();
  if (directory.empty()) return nullptr;
  int64_t limit =
      options.cache_max_bytes > 0 ? options.cache_max_bytes : DiskCache::kDefaultMaxBytes;
  return std::make_shared<DiskCache>(
      directory, limit, [context](const std::string& warning) { context->warn(warning); });
}

Result<HostAllocatorPtr> allocator_of(const tuff_context_options& options) {
  auto allocate = options.allocate;
  auto free = options.free;
  if ((allocate == nullptr) != (free == nullptr))
    return invalid("An allocator is both functions, allocate and free, or neither.");
  if (allocate == nullptr) return HostAllocatorPtr();
  void* user = options.allocator_user;
  HostAllocator allocator;
  allocator.allocate = [allocate, user](size_t size, size_t alignment) {
    return allocate(user, size, alignment);
  };
  allocator.free = [free, user](void* memory, size_t size) { free(user, memory, size); };
  return std::make_shared<const HostAllocator>(std::move(allocator));
}

Result<std::shared_ptr<ContextState>> create(const tuff_context_options* options) {
  tuff_context_options known{};
  if (options) {
    TUFF_ASSIGN(known, read_struct(options, "options"));
  }
  if (known.cache_max_bytes < 0)
    return invalid(fmt::format("The cache cannot have ({}) bytes.", known.cache_max_bytes));
  auto state = std::make_shared<ContextState>();
  state->log = known.log, state->log_user = known.log_user;
  state->cache = cache_of(known, state.get());
  TUFF_ASSIGN(state->allocator, allocator_of(known));
  return state;
}

Status cache_info(const ContextState& context, tuff_cache_info* info) {
  tuff_cache_info known{};
  known.directory = context.cache ? context.cache->directory().c_str() : "";
  if (context.cache) {
    TUFF_ASSIGN(CacheStat stat, context.cache->stat());
    known.num_entries = stat.entries, known.bytes = stat.bytes, known.max_bytes = stat.max_bytes;
  }
  return write_struct(info, known, "info");
}

}  // namespace

}  // namespace tuff::c

using namespace tuff;     // NOLINT: the functions of tuff.h have no namespace
using namespace tuff::c;  // NOLINT

tuff_status tuff_context_create(const tuff_context_options* options, tuff_context** context) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(context, "context"));
    TUFF_ASSIGN(auto state, c::create(options));
    *context = new tuff_context{std::move(state)};
    return {};
  });
}

void tuff_context_destroy(tuff_context* context) { delete context; }

tuff_status tuff_context_count_devices(tuff_context* context, size_t* count) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(context, "context"));
    TUFF_RETURN_IF_ERROR(need(count, "count"));
    TUFF_ASSIGN(const auto* devices, list_devices(*context->state));
    *count = devices->size();
    return {};
  });
}

tuff_status tuff_context_device_info(tuff_context* context, size_t index, tuff_device_info* info) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(context, "context"));
    TUFF_ASSIGN(const auto* devices, list_devices(*context->state));
    if (index >= devices->size())
      return invalid(fmt::format("There is no device ({}) of ({}).", index, devices->size()));
    tuff_device_info known{};
    (*devices)[index].fill(&known);
    return write_struct(info, known, "info");
  });
}

tuff_status tuff_cache_get_info(tuff_context* context, tuff_cache_info* info) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(context, "context"));
    return cache_info(*context->state, info);
  });
}

tuff_status tuff_cache_clear(tuff_context* context) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(context, "context"));
    if (!context->state->cache) return {};
    TUFF_ASSIGN([[maybe_unused]] CacheStat removed, context->state->cache->clear());
    return {};
  });
}
