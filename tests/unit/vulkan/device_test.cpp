// Buffers and copies on whatever Vulkan device this machine has.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/unit/vulkan/device_fixture.h"

namespace tuff {
namespace {

using ::testing::HasSubstr;

TEST(EnumerateVulkanDevices, DescribesThem) {
  auto devices = enumerate_vulkan_devices();
  if (!devices) GTEST_SKIP() << devices.error().message;
  ASSERT_FALSE(devices->empty());
  for (const DeviceInfo& info : *devices) {
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.driver.empty());
    EXPECT_GT(info.memory_bytes, 0);
    if (info.why_not.empty()) {
      EXPECT_GT(info.caps.max_group_invocations, 1);
    }
  }
}

// In a new process, since the environment and the instance are the process's own.
TEST(EnumerateVulkanDevices, SaysThatNoDriverIsThere) {
  constexpr const char* kInside = "TUFF_TEST_NO_DRIVER";
  if (std::getenv(kInside)) {
    auto devices = enumerate_vulkan_devices();
    ASSERT_FALSE(devices.ok());
    EXPECT_EQ(devices.error().code, ErrorCode::kNoDevice);
    EXPECT_NE(devices.error().message.find("nstall"), std::string::npos);
    return;
  }
  pid_t child = ::fork();
  if (child == 0) {
    for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
      ::setenv(name, "/not/there.json", 1);
    ::setenv(kInside, "1", 1);
    ::execl("/proc/self/exe", "vulkan_device_test",
            "--gtest_filter=EnumerateVulkanDevices.SaysThatNoDriverIsThere", nullptr);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(CreateVulkanDevice, RefusesANumberThatIsNotThere) {
  auto devices = enumerate_vulkan_devices();
  if (!devices) GTEST_SKIP() << devices.error().message;
  for (int index : {-1, static_cast<int>(devices->size())}) {
    auto device = create_vulkan_device(index, {});
    ASSERT_FALSE(device.ok());
    EXPECT_EQ(device.error().code, ErrorCode::kNoDevice);
    EXPECT_THAT(device.error().message, HasSubstr("tuff devices"));
  }
}

// A driver may take itself down before the variable goes: SwiftShader crashed then.
TEST(CreateVulkanDeviceDeathTest, MayOutliveItsDriver) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto hold = [] {
    static std::unique_ptr<VulkanDevice> held;
    static BufferPtr buffer;
    auto device = VulkanDevice::create(0, {});
    if (!device) std::exit(device.error().code == ErrorCode::kNoDevice ? 0 : 1);
    held = std::move(device).value();
    auto allocated = held->allocate(kBytes);
    if (!allocated) std::exit(1);
    buffer = *allocated;
    std::exit(0);
  };
  EXPECT_EXIT(hold(), ::testing::ExitedWithCode(0), "");
}

class CopyTest : public VulkanTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override { open({.force_staging = GetParam()}); }
};

TEST_P(CopyTest, RoundTripsAnySize) {
  // The last is more than two staging buffers.
  for (size_t size : {1, 2, 3, 4, 5, 255, 4097, 40 << 20}) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 31 + size);
    EXPECT_EQ(download<uint8_t>(*upload(bytes)), bytes) << size;
  }
}

TEST_P(CopyTest, WritesAndReadsParts) {
  BufferPtr buffer = upload(std::vector<uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<uint8_t> part{50, 51, 52};
  ASSERT_TRUE(device_->write(*buffer, 3, std::as_bytes(std::span(part))).ok());
  std::vector<uint8_t> got(4);
  ASSERT_TRUE(device_->read(*buffer, 5, std::as_writable_bytes(std::span(got))).ok());
  EXPECT_EQ(got, (std::vector<uint8_t>{52, 6, 7, 8}));
  EXPECT_EQ(download<uint8_t>(*buffer), (std::vector<uint8_t>{0, 1, 2, 50, 51, 52, 6, 7, 8}));
}

TEST_P(CopyTest, StaysInside) {
  BufferPtr buffer = empty(8);
  std::vector<std::byte> bytes(8);
  for (int64_t offset : {int64_t{-1}, int64_t{1}, INT64_MAX}) {
    EXPECT_FALSE(device_->write(*buffer, offset, bytes).ok()) << offset;
    EXPECT_FALSE(device_->read(*buffer, offset, std::span(bytes)).ok()) << offset;
  }
  EXPECT_FALSE(device_->read(*buffer, 0, std::span(bytes = std::vector<std::byte>(9))).ok());
}

INSTANTIATE_TEST_SUITE_P(, CopyTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Staging" : "Direct"; });

TEST_F(VulkanTest, EmptyBuffersHoldNothing) {
  auto buffer = device_->allocate(0);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ((*buffer)->size_bytes(), 0);
  EXPECT_TRUE(device_->write(**buffer, 0, {}).ok());
  EXPECT_FALSE(device_->allocate(-1).ok());
}

TEST_F(VulkanTest, SmallBuffersShareAllocations) {
  std::vector<BufferPtr> buffers;
  for (int i = 0; i < 6000; ++i)  // more than maxMemoryAllocationCount of many drivers
    buffers.push_back(upload(std::vector<int>(static_cast<size_t>(1 + i % 100), i)));
  EXPECT_LT(device_->memory().num_blocks(), 4);
  for (int i = 0; i < 6000; i += 2) buffers[static_cast<size_t>(i)].reset();
  for (int i = 0; i < 6000; i += 2)
    buffers[static_cast<size_t>(i)] = upload(std::vector<int>(static_cast<size_t>(1 + i % 77), -i));
  for (int i = 0; i < 6000; ++i) {
    int expected = i % 2 == 0 ? -i : i;
    EXPECT_THAT(download<int>(*buffers[static_cast<size_t>(i)]), ::testing::Each(expected));
  }
  buffers.clear();
  EXPECT_LE(device_->memory().num_blocks(), 1);
}

TEST_F(VulkanTest, LargeBuffersGoBackAtOnce) {
  int64_t before = device_->memory().allocated_bytes();
  auto buffer = device_->allocate(100 << 20);
  ASSERT_TRUE(buffer.ok());
  EXPECT_GE(device_->memory().allocated_bytes(), before + (100 << 20));
  buffer->reset();
  EXPECT_EQ(device_->memory().allocated_bytes(), before);
}

TEST_F(VulkanTest, TooLargeABufferIsOutOfMemory) {
  for (int64_t bytes : {device_->caps().max_allocation_bytes + 1, int64_t{1} << 59}) {
    auto buffer = device_->allocate(bytes);
    ASSERT_FALSE(buffer.ok());
    EXPECT_EQ(buffer.error().code, ErrorCode::kOutOfMemory);
    EXPECT_THAT(buffer.error().message, HasSubstr("maxMemoryAllocationSize"));
    EXPECT_THAT(buffer.error().message, HasSubstr("In use are"));
  }
}

TEST_F(VulkanTest, ForeignBuffersAreRefused) {
  auto other = VulkanDevice::create(0, {});
  ASSERT_TRUE(other.ok());
  BufferPtr buffer = *(*other)->allocate(4);
  std::vector<std::byte> bytes(4);
  EXPECT_THAT(device_->write(*buffer, 0, bytes).error().message, HasSubstr("none of this device"));
}

}  // namespace
}  // namespace tuff
