#include "backend/vulkan/pipelines/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>

#include "backend/vulkan/error.h"
#include "backend/vulkan/pipelines/parallel.h"

namespace tuff {
namespace {

using ::testing::HasSubstr;

constexpr const char* kShader =
    "#version 450\n"
    "layout(local_size_x = 64) in;\n"
    "layout(set = 0, binding = 0, std430) buffer B { float d[]; } b0;\n"
    "void main() { b0.d[gl_GlobalInvocationID.x] = 1.0; }\n";

TEST(Compiler, MakesValidSpirv) {
  auto spirv = compile_glsl(kShader);
  ASSERT_TRUE(spirv.ok()) << spirv.error().message;
  EXPECT_EQ((*spirv)[0], 0x07230203u);
  EXPECT_EQ((*spirv)[1], 0x00010300u) << "SPIR-V 1.3 runs on Vulkan 1.1";
  EXPECT_TRUE(validate_spirv(*spirv).ok());
}

TEST(Compiler, GivesTheReason) {
  auto spirv = compile_glsl("#version 450\nvoid main() { int x = nonsense; }\n");
  ASSERT_FALSE(spirv.ok());
  EXPECT_THAT(spirv.error().message, HasSubstr("nonsense"));
}

TEST(Compiler, ValidationFindsDamage) {
  std::vector<uint32_t> spirv = *compile_glsl(kShader);
  EXPECT_FALSE(validate_spirv({}).ok());
  EXPECT_FALSE(validate_spirv(std::span(spirv).first(spirv.size() / 2)).ok());
  spirv[3] = 1;  // the bound of the ids
  EXPECT_FALSE(validate_spirv(spirv).ok());
}

TEST(Compiler, KeyHoldsTextAndVersions) {
  EXPECT_NE(spirv_cache_key("a"), spirv_cache_key("b"));
  EXPECT_THAT(spirv_cache_key("a"), HasSubstr("SPIRV-Tools"));
  EXPECT_THAT(spirv_cache_key("a"), HasSubstr("shaderc"));
  EXPECT_THAT(spirv_cache_key("a"), HasSubstr("vulkan1.1"));
}

TEST(ParallelFor, RunsAllAndGivesTheFirstError) {
  std::atomic<int> sum{0};
  EXPECT_TRUE(parallel_for(100, [&](size_t i) -> Status { return sum += int(i), Status(); }).ok());
  EXPECT_EQ(sum, 4950);
  EXPECT_TRUE(parallel_for(0, [](size_t) -> Status { return {}; }).ok());
  Status status = parallel_for(50, [](size_t i) -> Status {
    if (i == 7) return Error{ErrorCode::kRunFailed, "seven", ""};
    return {};
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "seven");
}

TEST(ParallelFor, ExceptionsAreErrors) {
  for (size_t thrower : {0, 7, 49}) {
    Status status = parallel_for(50, [&](size_t i) -> Status {
      if (i == thrower) throw std::bad_alloc();
      return {};
    });
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemory);
  }
  Status status = parallel_for(9, [](size_t) -> Status { throw std::runtime_error("reason"); });
  EXPECT_EQ(status.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(status.error().message, HasSubstr("reason"));
}

TEST(VkError, CodesSayWhoCanMendIt) {
  EXPECT_EQ(vk_error(VK_ERROR_OUT_OF_DEVICE_MEMORY, "x").code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(vk_error(VK_ERROR_DEVICE_LOST, "x").code, ErrorCode::kDeviceLost);
  EXPECT_EQ(vk_error(VK_ERROR_INCOMPATIBLE_DRIVER, "x").code, ErrorCode::kNoDevice);
  EXPECT_EQ(vk_error(VK_ERROR_UNKNOWN, "open a door").message,
            "Vulkan fails to open a door (VK_ERROR_UNKNOWN).");
  EXPECT_EQ(vk_result_name(static_cast<VkResult>(-12345)), "VkResult -12345");
}

TEST(Loader, SaysWhatIsMissing) {
  auto loader = load_vulkan_library("libvulkan-that-is-not-there.so");
  ASSERT_FALSE(loader.ok());
  EXPECT_EQ(loader.error().code, ErrorCode::kNoDevice);
  EXPECT_THAT(loader.error().message, HasSubstr("libvulkan-that-is-not-there.so"));
  EXPECT_THAT(loader.error().message, HasSubstr("the device cpu"));
}

}  // namespace
}  // namespace tuff
