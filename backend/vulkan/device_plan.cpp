#include "backend/vulkan/device_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>

namespace tuff {

namespace {

// VK_KHR_portability_subset, whose name stands in a header of beta extensions.
constexpr const char* kPortabilitySubset = "VK_KHR_portability_subset";
// A multiple of the cache lines of all cards.
constexpr int64_t kCacheLineBytes = 256;

Error unusable(const DeviceSnapshot& s, const std::string& reason) {
  return {
      ErrorCode::kNoDevice,
      fmt::format("The Vulkan device ({}) cannot be used: {}.", s.properties.deviceName, reason),
      ""};
}

// A family for compute only runs beside graphics; else the first that can.
std::optional<uint32_t> choose_queue_family(const DeviceSnapshot& s) {
  std::optional<uint32_t> any;
  for (uint32_t i = 0; i < s.queue_families.size(); ++i) {
    const VkQueueFamilyProperties& family = s.queue_families[i];
    if (family.queueCount == 0 || (family.queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    if ((family.queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0) return i;
    if (!any) any = i;
  }
  return any;
}

DeviceClass device_class(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceClass::kSoftwareRasteriser;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceClass::kIntegratedGpu;
    default: return DeviceClass::kDiscreteGpu;
  }
}

// Limits are up to 2^64 - 1 ("no limit"); ours are signed.
int64_t to_signed(uint64_t limit) {
  return static_cast<int64_t>(std::min<uint64_t>(limit, uint64_t{1} << 60));
}

int64_t largest_heap_bytes(const DeviceSnapshot& s) {
  uint64_t largest = 0;
  for (uint32_t i = 0; i < s.memory.memoryHeapCount; ++i)
    if ((s.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      largest = std::max(largest, s.memory.memoryHeaps[i].size);
  return to_signed(largest);
}

// Kernels whose lanes work together in subgroups say what size these have.
bool sizes_subgroups(const DeviceSnapshot& s) {
  return s.subgroup_size_control && s.full_subgroups &&
         (s.required_subgroup_size_stages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
         s.min_subgroup_size <= s.subgroup_size && s.subgroup_size <= s.max_subgroup_size;
}

// Vulkan's shapes as ours, which sum in more precision than the elements have.
std::vector<MatrixShape> matrix_shapes(const DeviceSnapshot& s) {
  std::vector<MatrixShape> shapes;
  if (!s.cooperative_matrix || !sizes_subgroups(s)) return shapes;
  for (const CooperativeMatrixShape& shape : s.cooperative_matrix_shapes) {
    if (!shape.subgroup_scope || shape.saturating || shape.a_type != shape.b_type ||
        shape.c_type != shape.result_type)
      continue;
    MatrixShape ours{shape.m, shape.n, shape.k};
    auto is = [&](int32_t element, int32_t sum) {
      return shape.a_type == element && shape.result_type == sum;
    };
    if (s.float16 && is(VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR)) {
      shapes.push_back(ours);
    } else if (s.int8 && is(VK_COMPONENT_TYPE_SINT8_KHR, VK_COMPONENT_TYPE_SINT32_KHR)) {
      ours.element = DType::kI8;
      ours.sum = DType::kI32;
      shapes.push_back(ours);
    }
  }
  return shapes;
}

Caps caps_of(const DeviceSnapshot& s) {
  const VkPhysicalDeviceLimits& limits = s.properties.limits;
  Caps caps;
  caps.name = s.properties.deviceName;
  caps.device_class = device_class(s.properties.deviceType);
  caps.storage_8bit = s.storage_8bit;
  caps.storage_16bit = s.storage_16bit;
  caps.int64 = s.features.shaderInt64 == VK_TRUE;
  // Kernels take doubles apart as 64-bit integers.
  caps.float64 = caps.int64 && s.features.shaderFloat64 == VK_TRUE;
  // Software devices divide with the host's own IEEE instructions; the self-test looks into what
  // is claimed here of the others.
  caps.native_division = caps.device_class == DeviceClass::kSoftwareRasteriser;
  caps.fused_multiply_add = !caps.native_division;
  caps.native_f16_widen = true;
  caps.native_f16_narrow = s.float16;
  caps.subgroup_size = std::max<uint32_t>(1, s.subgroup_size);
  caps.subgroup_shuffle = (s.subgroup_operations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0 &&
                          (s.subgroup_stages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                          (s.min_subgroup_size == s.max_subgroup_size || sizes_subgroups(s));
  caps.asks_subgroup_size = s.min_subgroup_size != s.max_subgroup_size;
  caps.cores = s.cores;
  caps.max_group_invocations =
      std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
  caps.max_shared_bytes = limits.maxComputeSharedMemorySize;
  caps.max_group_count =
      std::min(limits.maxComputeWorkGroupCount[0], limits.maxComputeWorkGroupCount[1]);
  caps.max_storage_buffers =
      std::min({limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers,
                limits.maxPerStageResources});
  caps.max_storage_buffer_range = limits.maxStorageBufferRange;
  caps.max_allocation_bytes = std::min(to_signed(s.max_allocation_bytes), largest_heap_bytes(s));
  if (s.max_buffer_bytes != 0)
    caps.max_allocation_bytes = std::min(caps.max_allocation_bytes, to_signed(s.max_buffer_bytes));
  caps.min_storage_offset_alignment = to_signed(limits.minStorageBufferOffsetAlignment);
  // Drivers of cards ask for as little as 4 bytes; a tensor that begins inside of a cache line
  // costs one more line in each load of a row.
  if (caps.device_class != DeviceClass::kSoftwareRasteriser)
    caps.min_storage_offset_alignment =
        std::max(caps.min_storage_offset_alignment, kCacheLineBytes);
  caps.max_push_constant_bytes = limits.maxPushConstantsSize;
  caps.buffer_device_address = s.buffer_device_address;
  caps.matrix_shapes = matrix_shapes(s);
  return caps;
}

// RADV names its chips: "AMD Radeon RX 580 Series (RADV POLARIS10)".
bool is_radv_before_rdna2(const DeviceSnapshot& s) {
  constexpr const char* kBefore[] = {"TAHITI", "PITCAIRN", "VERDE",   "OLAND", "HAINAN",  "BONAIRE",
                                     "KAVERI", "KABINI",   "HAWAII",  "TONGA", "ICELAND", "CARRIZO",
                                     "FIJI",   "STONEY",   "POLARIS", "VEGA",  "RAVEN",   "RENOIR",
                                     "NAVI10", "NAVI12",   "NAVI14"};
  std::string_view name = s.properties.deviceName;
  size_t at = name.find("(RADV ");
  if (at == std::string_view::npos) return false;
  std::string_view chip = name.substr(at + 6);
  return std::any_of(std::begin(kBefore), std::end(kBefore),
                     [&](const char* before) { return chip.starts_with(before); });
}

void apply_quirks(const DeviceSnapshot& s, DevicePlan& plan) {
  Version version = driver_version(s);
  Caps& caps = plan.caps;
#define QUIRK(name, driver, first, fixed, when, sentence, link, effect)               \
  if (s.driver_id == (driver) && version >= (first) && version < (fixed) && (when)) { \
    effect;                                                                           \
    plan.quirks.push_back({name, sentence, link});                                    \
  }
#include "backend/vulkan/quirks.def"
#undef QUIRK
}

// Extensions only where the core version does not have the feature.
void choose_features(const DeviceSnapshot& s, DevicePlan& plan) {
  plan.features.shaderInt64 = s.features.shaderInt64;
  plan.features.shaderFloat64 = s.features.shaderFloat64;
  plan.features.shaderInt16 = s.features.shaderInt16;
  plan.storage_8bit = s.storage_8bit;
  plan.storage_16bit = s.storage_16bit;
  plan.float16 = s.float16;
  plan.int8 = s.int8;
  plan.buffer_device_address = s.buffer_device_address;
  plan.cooperative_matrix = !matrix_shapes(s).empty();
  plan.subgroup_sizes = sizes_subgroups(s);
  if (plan.cooperative_matrix) plan.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  if (plan.subgroup_sizes && s.api_version() < VK_API_VERSION_1_3)
    plan.extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  // A device that is Vulkan in part only has to be told that its user knows.
  if (s.has(kPortabilitySubset)) plan.extensions.push_back(kPortabilitySubset);
  if (s.api_version() >= VK_API_VERSION_1_2) return;
  if (plan.storage_8bit) plan.extensions.push_back(VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  if (plan.float16 || plan.int8)
    plan.extensions.push_back(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  if (plan.buffer_device_address)
    plan.extensions.push_back(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
}

// Types whose heap is the largest of the device's own: not the window of 256 MiB through which
// hosts reach a card that has no resizable BAR.
uint32_t types_of_largest_heap(const DeviceSnapshot& s) {
  uint32_t types = 0;
  for (uint32_t i = 0; i < s.memory.memoryTypeCount; ++i) {
    const VkMemoryHeap& heap = s.memory.memoryHeaps[s.memory.memoryTypes[i].heapIndex];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 &&
        to_signed(heap.size) == largest_heap_bytes(s))
      types |= uint32_t{1} << i;
  }
  return types;
}

// Where buffers live, and how the host gets there: best by memcpy, on software devices, integrated
// ones and cards with resizable BAR.
void choose_memory(const DeviceSnapshot& s, DevicePlan& plan) {
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  // Over a card's bus 64 bytes take a microsecond, out of an integrated one's memory a hundredth.
  constexpr int64_t kUncachedCard = 256, kUncachedIntegrated = int64_t{64} << 10;
  uint32_t types = types_of_largest_heap(s);
  int reached =
      choose_memory_type(s.memory, types, kLocal | kMapped, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  plan.host_writes = reached >= 0;
  if (!plan.host_writes) {
    plan.memory_type = choose_memory_type(s.memory, ~0u, kLocal, 0);
    return;
  }
  plan.memory_type = reached;
  bool cached =
      (s.memory.memoryTypes[reached].propertyFlags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
  bool card = plan.caps.device_class == DeviceClass::kDiscreteGpu;
  plan.host_read_bytes = cached ? INT64_MAX : card ? kUncachedCard : kUncachedIntegrated;
}

}  // namespace

Result<DevicePlan> plan_device(const DeviceSnapshot& s) {
  if (s.properties.apiVersion < VK_API_VERSION_1_1)
    return unusable(s, fmt::format("it offers Vulkan {}, and tuff needs 1.1 or newer; update the "
                                   "driver",
                                   format_version(s.properties.apiVersion)));
  std::optional<uint32_t> family = choose_queue_family(s);
  if (!family) return unusable(s, "it has no queue for compute");
  if (largest_heap_bytes(s) == 0 ||
      choose_memory_type(s.memory, ~0u, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0) < 0)
    return unusable(s, "it has no device-local memory");
  if (choose_memory_type(s.memory, ~0u, kMapped, 0) < 0)
    return unusable(s, "it has no memory the host can write");

  DevicePlan plan;
  plan.queue_family = *family;
  choose_features(s, plan);
  plan.caps = caps_of(s);
  apply_quirks(s, plan);
  choose_memory(s, plan);
  plan.timestamps = s.queue_families[*family].timestampValidBits != 0;
  return plan;
}

Version driver_version(const DeviceSnapshot& s) {
  const std::string& info = s.driver_info;
  if (size_t at = info.find("Mesa "); at != std::string::npos) {
    Version version;
    const char* text = info.data() + at + 5;
    const char* end = info.data() + info.size();
    for (uint32_t* part : {&version.major, &version.minor, &version.patch}) {
      auto [rest, error] = std::from_chars(text, end, *part);
      if (error != std::errc()) break;
      text = rest < end && *rest == '.' ? rest + 1 : end;
    }
    return version;
  }
  uint32_t packed = s.properties.driverVersion;
  if (s.driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY)  // 10.8.8.6 bits
    return {packed >> 22, (packed >> 14) & 0xff, (packed >> 6) & 0xff};
  return {VK_API_VERSION_MAJOR(packed), VK_API_VERSION_MINOR(packed), VK_API_VERSION_PATCH(packed)};
}

int choose_memory_type(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                       VkMemoryPropertyFlags required, VkMemoryPropertyFlags preferred) {
  // Types for protected content and AMD's uncached debugging types are never wanted.
  constexpr VkMemoryPropertyFlags kNever = VK_MEMORY_PROPERTY_PROTECTED_BIT |
                                           VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                                           VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;
  int best = -1, best_score = -1;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if ((allowed >> i & 1) == 0 || (flags & required) != required || (flags & kNever) != 0)
      continue;
    int score = std::popcount(flags & preferred);
    if (score > best_score) best = static_cast<int>(i), best_score = score;
  }
  return best;
}

}  // namespace tuff
