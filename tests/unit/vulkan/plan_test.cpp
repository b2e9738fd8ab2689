// The plan and the quirks, on devices that are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/vulkan/device_plan.h"
#include "backend/vulkan/schedule_as.h"
#include "tests/unit/vulkan/fake_snapshot.h"

namespace tuff {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StrEq;

DevicePlan plan(const DeviceSnapshot& snapshot) {
  Result<DevicePlan> plan = plan_device(snapshot);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return std::move(plan).value();
}

void expect_unusable(const DeviceSnapshot& snapshot, const std::string& reason) {
  Result<DevicePlan> plan = plan_device(snapshot);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kNoDevice);
  EXPECT_THAT(plan.error().message, HasSubstr("Fake 9000"));
  EXPECT_THAT(plan.error().message, HasSubstr(reason));
}

TEST(PlanDevice, LimitsBecomeCaps) {
  DeviceSnapshot s = fake_snapshot();
  s.features.shaderInt64 = VK_TRUE;
  s.storage_16bit = true;
  Caps caps = plan(s).caps;
  EXPECT_EQ(caps.name, "Fake 9000");
  EXPECT_EQ(caps.device_class, DeviceClass::kDiscreteGpu);
  EXPECT_FALSE(caps.library_calls);
  EXPECT_TRUE(caps.int64);
  EXPECT_FALSE(caps.float64);
  EXPECT_TRUE(caps.storage_16bit);
  EXPECT_FALSE(caps.storage_8bit);
  EXPECT_EQ(caps.subgroup_size, 32);
  EXPECT_EQ(caps.max_group_invocations, 1024);
  EXPECT_EQ(caps.max_shared_bytes, 32768);
  EXPECT_EQ(caps.max_group_count, 65535);
  EXPECT_EQ(caps.max_storage_buffers, 24) << "the least of three limits";
  EXPECT_EQ(caps.max_storage_buffer_range, 1 << 27);
  EXPECT_EQ(caps.max_allocation_bytes, int64_t{4} << 30);
  EXPECT_EQ(caps.min_storage_offset_alignment, 256);
  EXPECT_EQ(caps.max_push_constant_bytes, 128);
  EXPECT_FALSE(caps.buffer_device_address);
  EXPECT_EQ(caps.max_loop_iterations, Caps().max_loop_iterations);
}

TEST(PlanDevice, TensorsBeginAtCacheLines) {
  DeviceSnapshot s = fake_snapshot();
  s.properties.limits.minStorageBufferOffsetAlignment = 4;
  EXPECT_EQ(plan(s).caps.min_storage_offset_alignment, 256);
  s = fake_lavapipe("Mesa 25.0.7 (LLVM 15.0.6)");
  s.properties.limits.minStorageBufferOffsetAlignment = 16;
  EXPECT_EQ(plan(s).caps.min_storage_offset_alignment, 16) << "a software device has the host's";
}

TEST(PlanDevice, PortabilitySubset) {
  DeviceSnapshot s = fake_snapshot();
  EXPECT_THAT(plan(s).extensions, Not(Contains(StrEq("VK_KHR_portability_subset"))));
  s.extensions.insert("VK_KHR_portability_subset");
  EXPECT_THAT(plan(s).extensions, Contains(StrEq("VK_KHR_portability_subset")));
}

TEST(PlanDevice, UnlimitedStaysPositive) {
  DeviceSnapshot s = fake_snapshot();
  s.max_allocation_bytes = UINT64_MAX;
  EXPECT_EQ(plan(s).caps.max_allocation_bytes, int64_t{8} << 30) << "the heap is the limit";
  s.max_buffer_bytes = 1 << 20;
  EXPECT_EQ(plan(s).caps.max_allocation_bytes, 1 << 20);
}

TEST(PlanDevice, DeviceClasses) {
  DeviceSnapshot s = fake_snapshot();
  s.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
  EXPECT_EQ(plan(s).caps.device_class, DeviceClass::kSoftwareRasteriser);
  EXPECT_TRUE(plan(s).caps.native_division);
  s.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  EXPECT_EQ(plan(s).caps.device_class, DeviceClass::kIntegratedGpu);
  EXPECT_FALSE(plan(s).caps.native_division);
  s.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU;
  EXPECT_EQ(plan(s).caps.device_class, DeviceClass::kDiscreteGpu);
}

TEST(PlanDevice, PrefersAQueueForComputeOnly) {
  DeviceSnapshot s = fake_snapshot();
  EXPECT_EQ(plan(s).queue_family, 2u);
  s.queue_families.pop_back();
  EXPECT_EQ(plan(s).queue_family, 0u);
  s.queue_families[0].queueFlags = VK_QUEUE_GRAPHICS_BIT;
  expect_unusable(s, "no queue for compute");
}

TEST(PlanDevice, RefusesOldDrivers) {
  DeviceSnapshot s = fake_snapshot();
  s.properties.apiVersion = VK_MAKE_API_VERSION(0, 1, 0, 99);
  expect_unusable(s, "1.0.99");
}

TEST(PlanDevice, RefusesMemoryItCannotUse) {
  DeviceSnapshot s = fake_snapshot();
  s.memory.memoryTypeCount = 1;
  expect_unusable(s, "the host can write");
  s.memory.memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  expect_unusable(s, "no device-local memory");
}

TEST(PlanDevice, ExtensionsOnlyBeforeTheirCoreVersion) {
  DeviceSnapshot s = fake_snapshot();
  s.storage_8bit = s.buffer_device_address = s.int8 = true;
  EXPECT_THAT(plan(s).extensions, IsEmpty());
  s.properties.apiVersion = VK_MAKE_API_VERSION(0, 1, 1, 0);
  DevicePlan old = plan(s);
  std::vector<std::string> names(old.extensions.begin(), old.extensions.end());
  EXPECT_THAT(names, ElementsAre("VK_KHR_8bit_storage", "VK_KHR_shader_float16_int8",
                                 "VK_KHR_buffer_device_address"));
}

TEST(PlanDevice, EnablesWhatItHas) {
  DeviceSnapshot s = fake_snapshot();
  s.features.shaderFloat64 = s.features.robustBufferAccess = VK_TRUE;
  s.buffer_device_address = true;
  DevicePlan p = plan(s);
  EXPECT_EQ(p.features.shaderFloat64, VK_TRUE);
  EXPECT_EQ(p.features.shaderInt64, VK_FALSE);
  EXPECT_EQ(p.features.robustBufferAccess, VK_FALSE) << "has a price and no use";
  EXPECT_TRUE(p.buffer_device_address);
  EXPECT_TRUE(p.caps.buffer_device_address);
}

constexpr int32_t kHalf = VK_COMPONENT_TYPE_FLOAT16_KHR, kFloat = VK_COMPONENT_TYPE_FLOAT32_KHR,
                  kByte = VK_COMPONENT_TYPE_SINT8_KHR, kInt = VK_COMPONENT_TYPE_SINT32_KHR,
                  kUnsignedByte = 7, kUnsigned = 9;

DeviceSnapshot matrix_snapshot() {
  DeviceSnapshot s = fake_snapshot();
  s.float16 = s.int8 = s.subgroup_size_control = s.full_subgroups = s.cooperative_matrix = true;
  s.required_subgroup_size_stages = VK_SHADER_STAGE_COMPUTE_BIT;
  s.min_subgroup_size = s.max_subgroup_size = 32;
  s.cooperative_matrix_shapes = {
      {16, 16, 16, kHalf, kHalf, kHalf, kHalf, false, true},
      {16, 16, 16, kHalf, kHalf, kFloat, kFloat, false, true},
      {16, 8, 16, kHalf, kHalf, kFloat, kFloat, false, false},  // of a workgroup
      {16, 16, 32, kByte, kByte, kInt, kInt, true, true},       // saturating
      {16, 16, 32, kByte, kUnsignedByte, kInt, kInt, false, true},
      {16, 16, 32, kUnsignedByte, kUnsignedByte, kUnsigned, kUnsigned, false, true},
      {16, 16, 32, kByte, kByte, kInt, kInt, false, true}};
  return s;
}

TEST(PlanDevice, MatricesSumInFull) {
  DevicePlan full = plan(matrix_snapshot());
  EXPECT_TRUE(full.cooperative_matrix);
  EXPECT_THAT(full.extensions, Contains(std::string("VK_KHR_cooperative_matrix")));
  EXPECT_THAT(
      full.caps.matrix_shapes,
      ElementsAre(MatrixShape{16, 16, 16}, MatrixShape{16, 16, 32, DType::kI8, DType::kI32}));
}

// Every one of the features is wanted; what the extension lists is not enough.
TEST(PlanDevice, MatricesWantFullSubgroupsAndTheFeature) {
  auto none = [](auto change) {
    DeviceSnapshot s = matrix_snapshot();
    change(s);
    DevicePlan without = plan(s);
    EXPECT_FALSE(without.cooperative_matrix);
    EXPECT_THAT(without.caps.matrix_shapes, IsEmpty());
    EXPECT_THAT(without.extensions, IsEmpty());
  };
  none([](DeviceSnapshot& s) { s.cooperative_matrix = false; });
  none([](DeviceSnapshot& s) { s.subgroup_size_control = false; });
  none([](DeviceSnapshot& s) { s.full_subgroups = false; });
  none([](DeviceSnapshot& s) { s.required_subgroup_size_stages = 0; });
  none([](DeviceSnapshot& s) { s.min_subgroup_size = s.max_subgroup_size = 64; });
  none([](DeviceSnapshot& s) { s.float16 = s.int8 = false; });
  none([](DeviceSnapshot& s) { s.cooperative_matrix_shapes.clear(); });
}

TEST(PlanDevice, WideLavapipesCrashOnMatrices) {
  auto shapes = [](const char* driver_info, uint32_t subgroup) {
    DeviceSnapshot s = fake_lavapipe(driver_info), able = matrix_snapshot();
    s.float16 = s.subgroup_size_control = s.full_subgroups = s.cooperative_matrix = true;
    s.required_subgroup_size_stages = able.required_subgroup_size_stages;
    s.cooperative_matrix_shapes = able.cooperative_matrix_shapes;
    s.subgroup_size = s.min_subgroup_size = s.max_subgroup_size = subgroup;
    return plan(s).caps.matrix_shapes.size();
  };
  EXPECT_EQ(shapes("Mesa 26.1.6 (LLVM 19.1.7)", 8), 1u);
  EXPECT_EQ(shapes("Mesa 26.1.6 (LLVM 19.1.7)", 16), 0u);
}

// Cards by the window of 256 MiB, with resizable BAR, integrated devices, software.
TEST(PlanDevice, TheHostReachesWhatIsLocalAndLarge) {
  DeviceSnapshot s = fake_snapshot();
  EXPECT_FALSE(plan(s).host_writes);
  EXPECT_EQ(plan(s).host_read_bytes, 0);
  EXPECT_EQ(plan(s).memory_type, 0);

  s.memory.memoryTypeCount = 4;
  s.memory.memoryTypes[3] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kMapped, 2};
  s.memory.memoryHeapCount = 3;
  s.memory.memoryHeaps[2] = {uint64_t{256} << 20, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  EXPECT_FALSE(plan(s).host_writes) << "the window is small";
  EXPECT_EQ(plan(s).memory_type, 0);

  s.memory.memoryTypes[3].heapIndex = 0;
  EXPECT_TRUE(plan(s).host_writes);
  EXPECT_EQ(plan(s).memory_type, 3);
  EXPECT_LT(plan(s).host_read_bytes, 4096) << "over the bus, uncached";

  s.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  EXPECT_TRUE(plan(s).host_writes);
  EXPECT_GE(plan(s).host_read_bytes, 4096);
  EXPECT_LT(plan(s).host_read_bytes, 1 << 20) << "uncached";

  s.memory.memoryTypes[3].propertyFlags |= VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  EXPECT_EQ(plan(s).host_read_bytes, INT64_MAX);
  EXPECT_EQ(plan(fake_lavapipe("Mesa 25.0.7")).host_read_bytes, INT64_MAX);
}

TEST(PlanDevice, TimestampsAreOfTheQueue) {
  DeviceSnapshot s = fake_snapshot();
  EXPECT_TRUE(plan(s).timestamps);
  s.queue_families[2].timestampValidBits = 0;
  EXPECT_FALSE(plan(s).timestamps);
}

TEST(MemoryType, MostPreferredThenFirst) {
  VkPhysicalDeviceMemoryProperties memory = fake_snapshot().memory;
  constexpr auto kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  constexpr auto kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  EXPECT_EQ(choose_memory_type(memory, ~0u, kVisible, 0), 1);
  EXPECT_EQ(choose_memory_type(memory, ~0u, kVisible, kCached), 2);
  EXPECT_EQ(choose_memory_type(memory, 0b011, kVisible, kCached), 1);
  EXPECT_EQ(choose_memory_type(memory, 0b001, kVisible, kCached), -1);
  memory.memoryTypes[1].propertyFlags |= VK_MEMORY_PROPERTY_PROTECTED_BIT;
  EXPECT_EQ(choose_memory_type(memory, ~0u, kVisible, 0), 2);
}

TEST(DriverVersion, OfMesaStandsInTheText) {
  EXPECT_EQ(driver_version(fake_lavapipe("Mesa 22.3.6 (LLVM 15.0.6)")), (Version{22, 3, 6}));
  EXPECT_EQ(driver_version(fake_lavapipe("Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)")),
            (Version{25, 0, 7}));
  EXPECT_EQ(driver_version(fake_lavapipe("Mesa 26.1.0-devel (git-abc)")), (Version{26, 1, 0}));
  EXPECT_EQ(driver_version(fake_lavapipe("Mesa 24.")), (Version{24, 0, 0}));
}

TEST(DriverVersion, OfOthersIsPacked) {
  DeviceSnapshot s = fake_snapshot();
  EXPECT_EQ(driver_version(s), (Version{1, 2, 3}));
  s.driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
  s.properties.driverVersion = 570u << 22 | 124u << 14 | 6u << 6;
  EXPECT_EQ(driver_version(s), (Version{570, 124, 6}));
}

int64_t loop_limit(const DeviceSnapshot& s) { return plan(s).caps.max_loop_iterations; }

TEST(Quirks, LavapipeStopsLoops) {
  EXPECT_EQ(loop_limit(fake_lavapipe("Mesa 22.3.6 (LLVM 15.0.6)")), 65535);
  EXPECT_EQ(loop_limit(fake_lavapipe("Mesa 24.3.4 (LLVM 15.0.6)")), 65535);
  EXPECT_EQ(loop_limit(fake_lavapipe("Mesa 25.0.7 (LLVM 15.0.6)")), Caps().max_loop_iterations);
  DeviceSnapshot radv = fake_lavapipe("Mesa 22.3.6");
  radv.driver_id = VK_DRIVER_ID_MESA_RADV;
  EXPECT_EQ(loop_limit(radv), Caps().max_loop_iterations) << "another driver of the same Mesa";
}

TEST(Quirks, SayWhatTheyAre) {
  std::vector<Quirk> quirks = plan(fake_lavapipe("Mesa 22.3.6 (LLVM 15.0.6)")).quirks;
  ASSERT_EQ(quirks.size(), 1u);
  EXPECT_EQ(quirks[0].name, "lavapipe_loop_limit");
  EXPECT_THAT(quirks[0].sentence, HasSubstr("65,535"));
  EXPECT_THAT(quirks[0].link, HasSubstr("https://"));
  EXPECT_THAT(plan(fake_snapshot()).quirks, IsEmpty());
}

TEST(Quirks, LavapipeOnArm64MakesF16OfIntegers) {
  DeviceSnapshot s = fake_lavapipe("Mesa 25.0.7");
  s.float16 = true;
  bool native = plan(s).caps.native_f16_widen;
  s.host_is_arm64 = true;
  EXPECT_FALSE(plan(s).caps.native_f16_widen);
  EXPECT_FALSE(plan(s).caps.native_f16_narrow);
  EXPECT_TRUE(native) << "elsewhere";
}

TEST(Quirks, IntelGoesWithoutMatrices) {
  DeviceSnapshot s = matrix_snapshot();
  s.driver_info = "Mesa 25.0.7";
  s.driver_id = VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA;
  EXPECT_THAT(plan(s).caps.matrix_shapes, IsEmpty());
  EXPECT_EQ(plan(s).caps.lane_registers, 128);
  s.driver_id = VK_DRIVER_ID_MESA_RADV;
  EXPECT_THAT(plan(s).caps.matrix_shapes, Not(IsEmpty()));
}

TEST(Quirks, RadvBeforeRdna2RoundsTwice) {
  auto fused = [](const char* name, VkDriverId driver = VK_DRIVER_ID_MESA_RADV) {
    DeviceSnapshot s = fake_snapshot();
    s.driver_id = driver;
    s.driver_info = "Mesa 25.0.7";
    std::strcpy(s.properties.deviceName, name);
    return plan(s).caps.fused_multiply_add;
  };
  EXPECT_FALSE(fused("AMD Radeon RX 580 Series (RADV POLARIS10)"));
  EXPECT_FALSE(fused("AMD Radeon Vega 8 Graphics (RADV RAVEN)"));
  EXPECT_FALSE(fused("AMD Radeon RX 5700 XT (RADV NAVI10)"));
  EXPECT_TRUE(fused("AMD Radeon RX 6800 (RADV NAVI21)"));
  EXPECT_TRUE(fused("AMD Radeon 780M (RADV PHOENIX)"));
  EXPECT_TRUE(fused("AMD Radeon RX 580 Series", VK_DRIVER_ID_AMD_PROPRIETARY));
}

TEST(ScheduleAs, AnotherClassAndItsSubgroups) {
  Caps caps;
  caps.device_class = DeviceClass::kSoftwareRasteriser;
  caps.native_division = caps.subgroup_shuffle = true;
  caps.subgroup_size = 8;
  ASSERT_TRUE(schedule_as("integrated:8", caps).ok());
  EXPECT_EQ(caps.device_class, DeviceClass::kIntegratedGpu);
  EXPECT_FALSE(caps.native_division);
  EXPECT_TRUE(caps.subgroup_shuffle);  // its subgroups have that size
  ASSERT_TRUE(schedule_as("discrete:32", caps).ok());
  EXPECT_EQ(caps.device_class, DeviceClass::kDiscreteGpu);
  EXPECT_EQ(caps.subgroup_size, 32);
  EXPECT_FALSE(caps.subgroup_shuffle);
}

TEST(ScheduleAs, OtherValuesAreRefused) {
  for (const char* value : {"navi31", "discrete", "discrete:", "discrete:31", "discrete:256",
                            "software:8", "discrete:32x"}) {
    Caps caps;
    Status status = schedule_as(value, caps);
    ASSERT_FALSE(status.ok()) << value;
    EXPECT_EQ(status.error().code, ErrorCode::kUsage);
    EXPECT_THAT(status.error().message, HasSubstr(value));
  }
}

}  // namespace
}  // namespace tuff
