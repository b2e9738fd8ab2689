// Failures of the driver, put in through the function table.
#include "tests/unit/vulkan/device_fixture.h"

namespace tuff {
namespace {

using ::testing::HasSubstr;

class FailureTest : public VulkanTest {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (device_ == nullptr) return;
    uint32_t kernel = builder_.kernel(affine_shader(), 2, 3);
    Range in = builder_.argument(4), out = builder_.output(4);
    builder_.step(kernel, {in, out}, {1, 1, 1}, 1);
    good_ = device_->context().table();
    buffer_ = empty(4);
  }
  DeviceTable& table() { return device_->context().table(); }
  Result<std::unique_ptr<VulkanProgram>> create() {
    return VulkanProgram::create(device_->services(), builder_.program(), builder_.shaders(), {});
  }
  Status run(VulkanProgram& program) {
    return program.run(std::span(&buffer_, 1), std::span(&buffer_, 1), nullptr);
  }
  void TearDown() override {
    buffer_.reset();
    VulkanTest::TearDown();
  }

  ProgramBuilder builder_;
  DeviceTable good_;
  BufferPtr buffer_;
};

TEST_F(FailureTest, DeviceLostStaysLost) {
  auto program = create();
  ASSERT_TRUE(program.ok());
  table().QueueSubmit = [](VkQueue, uint32_t, const VkSubmitInfo*, VkFence) {
    return VK_ERROR_DEVICE_LOST;
  };
  Status status = run(**program);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kDeviceLost);
  EXPECT_THAT(status.error().message, HasSubstr("VK_ERROR_DEVICE_LOST"));
  table() = good_;
  EXPECT_EQ(run(**program).error().code, ErrorCode::kDeviceLost) << "nothing on it can be trusted";
}

TEST_F(FailureTest, TimeOutIsALostDevice) {
  auto program = create();
  ASSERT_TRUE(program.ok());
  // The work does end; only the answer is wrong.
  static PFN_vkWaitForFences wait;
  wait = good_.WaitForFences;
  table().WaitForFences = [](VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all,
                             uint64_t timeout) {
    wait(device, count, fences, all, timeout);
    return VK_TIMEOUT;
  };
  Status status = run(**program);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kDeviceLost);
  EXPECT_THAT(status.error().message, HasSubstr("hangs"));
}

// The commands run on meanwhile, so the run is as good as any other.
TEST_F(FailureTest, AWaitThatFailsIsTriedAgain) {
  auto program = create();
  ASSERT_TRUE(program.ok());
  static PFN_vkWaitForFences wait;
  static int failures;
  wait = good_.WaitForFences;
  for (int times : {1, 3}) {
    failures = times;
    table().WaitForFences = [](VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all,
                               uint64_t timeout) {
      if (failures-- > 0) return VK_ERROR_OUT_OF_HOST_MEMORY;
      return wait(device, count, fences, all, timeout);
    };
    buffer_ = empty(4);
    Status status = run(**program);
    EXPECT_TRUE(status.ok()) << status.error().message;
    table() = good_;
    EXPECT_EQ(download<int>(*buffer_), (std::vector<int>{1}));
  }
}

// Nothing that the commands may still use is destroyed, and the program and the device end well.
TEST_F(FailureTest, WaitsThatAllFailLeaveTheDeviceAlone) {
  auto program = create();
  ASSERT_TRUE(program.ok());
  static int destroyed;
  destroyed = 0;
  table().WaitForFences = [](VkDevice, uint32_t, const VkFence*, VkBool32, uint64_t) {
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  };
  table().DestroyFence = [](VkDevice, VkFence, const VkAllocationCallbacks*) { ++destroyed; };
  table().FreeMemory = [](VkDevice, VkDeviceMemory, const VkAllocationCallbacks*) { ++destroyed; };
  Status status = run(**program);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kDeviceLost);
  EXPECT_THAT(status.error().message, HasSubstr("VK_ERROR_OUT_OF_HOST_MEMORY"));
  EXPECT_EQ(run(**program).error().code, ErrorCode::kDeviceLost);
  program->reset();
  buffer_.reset();
  device_.reset();
  EXPECT_EQ(destroyed, 0);
  open({});
  ASSERT_NE(device_, nullptr) << "a new device works";
  EXPECT_EQ(download<int>(*upload(std::vector<int>{3})), (std::vector<int>{3}));
}

TEST_F(FailureTest, AllocationFailureIsOutOfMemory) {
  table().AllocateMemory = [](VkDevice, const VkMemoryAllocateInfo*, const VkAllocationCallbacks*,
                              VkDeviceMemory*) { return VK_ERROR_OUT_OF_DEVICE_MEMORY; };
  auto buffer = device_->allocate(100 << 20);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code, ErrorCode::kOutOfMemory);
  EXPECT_THAT(buffer.error().message, HasSubstr("104857600 bytes"));
  EXPECT_THAT(buffer.error().message, HasSubstr("VK_ERROR_OUT_OF_DEVICE_MEMORY"));
  table() = good_;
  EXPECT_TRUE(device_->allocate(100 << 20).ok()) << "it goes on";
}

// What the host has no addresses for goes through staging buffers, which are small.
TEST_F(FailureTest, MemoryThatCannotBeMappedIsStaged) {
  static PFN_vkMapMemory map;
  map = good_.MapMemory;
  table().MapMemory = [](VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                         VkDeviceSize size, VkMemoryMapFlags flags, void** data) {
    static int calls = 0;
    return ++calls == 1 ? VK_ERROR_MEMORY_MAP_FAILED
                        : map(device, memory, offset, size, flags, data);
  };
  std::vector<uint8_t> bytes(40 << 20);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i % 253);
  BufferPtr buffer = upload(bytes);
  EXPECT_EQ(static_cast<VulkanBuffer&>(*buffer).mapped(), nullptr);
  EXPECT_EQ(download<uint8_t>(*buffer), bytes);
}

// What a buffer's memory is not mapped for, staging is; it takes none of that memory.
TEST_F(FailureTest, MemoryThatDoesNotMapIsStaged) {
  table().MapMemory = [](VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags,
                         void**) { return VK_ERROR_MEMORY_MAP_FAILED; };
  std::vector<BufferPtr> buffers;  // as many as fill the blocks that are mapped
  for (int i = 0; i < 8; ++i) {
    auto buffer = device_->allocate(12 << 20);
    ASSERT_TRUE(buffer.ok()) << buffer.error().message;
    buffers.push_back(*buffer);
  }
  table() = good_;
  for (const BufferPtr& buffer : buffers) {
    std::vector<int> values(100, 7);
    ASSERT_TRUE(device_->write(*buffer, 0, std::as_bytes(std::span(values))).ok());
    std::vector<int> read(100);
    ASSERT_TRUE(device_->read(*buffer, 0, std::as_writable_bytes(std::span(read))).ok());
    EXPECT_EQ(read, values);
  }
}

TEST_F(FailureTest, PipelineFailureLeaksNothing) {
  table().CreateComputePipelines =
      [](VkDevice, VkPipelineCache, uint32_t, const VkComputePipelineCreateInfo*,
         const VkAllocationCallbacks*, VkPipeline*) { return VK_ERROR_OUT_OF_HOST_MEMORY; };
  auto program = create();
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::kOutOfMemory);
  EXPECT_THAT(program.error().message, HasSubstr("create a compute pipeline"));
  table() = good_;
  EXPECT_TRUE(create().ok());
}

TEST_F(FailureTest, DescriptorFailureLeaksNothing) {
  table().AllocateDescriptorSets = [](VkDevice, const VkDescriptorSetAllocateInfo*,
                                      VkDescriptorSet*) { return VK_ERROR_OUT_OF_POOL_MEMORY; };
  EXPECT_EQ(create().error().code, ErrorCode::kOutOfMemory);
  table() = good_;
}

TEST_F(FailureTest, RecordingFailureIsNotRemembered) {
  auto program = create();
  ASSERT_TRUE(program.ok());
  static PFN_vkEndCommandBuffer end;
  end = good_.EndCommandBuffer;
  table().EndCommandBuffer = [](VkCommandBuffer commands) {
    end(commands);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  };
  EXPECT_EQ(run(**program).error().code, ErrorCode::kOutOfMemory);
  table() = good_;
  EXPECT_TRUE(run(**program).ok());
  EXPECT_EQ(download<int>(*buffer_), (std::vector<int>{1}));
}

TEST_F(FailureTest, WrongShaderIsAnError) {
  ProgramBuilder builder;
  builder.kernel("#version 450\nvoid main() { wrong }\n", 0, 0);
  auto program =
      VulkanProgram::create(device_->services(), builder.program(), builder.shaders(), {});
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(program.error().message, HasSubstr("bug in tuff"));
}

}  // namespace
}  // namespace tuff
