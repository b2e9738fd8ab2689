// Grids, push constants and the checks of a program; no device needed.
#include "backend/vulkan/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuff {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Caps caps() {
  Caps caps;
  caps.name = "Fake 9000";
  caps.max_storage_buffers = 2;
  caps.max_storage_buffer_range = 1000;
  caps.min_storage_offset_alignment = 64;
  caps.buffer_device_address = false;
  return caps;
}

TEST(FoldGrid, CoversWithFewSpares) {
  for (int64_t groups : {int64_t{1}, int64_t{2}, int64_t{65535}, int64_t{65536}, int64_t{65537},
                         int64_t{131071}, int64_t{1000003}, int64_t{4294836225}}) {
    auto grid = fold_grid(groups, caps());
    ASSERT_TRUE(grid.ok()) << groups;
    auto [x, y] = *grid;
    EXPECT_LE(x, 65535u);
    EXPECT_LE(y, 65535u);
    EXPECT_GE(int64_t{x} * y, groups);
    EXPECT_LT(int64_t{x} * y - groups, y);
  }
}

TEST(FoldGrid, NamesTheLimit) {
  auto grid = fold_grid(int64_t{65535} * 65535 + 1, caps());
  ASSERT_FALSE(grid.ok());
  EXPECT_EQ(grid.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(grid.error().message, HasSubstr("maxComputeWorkGroupCount = 65535"));
}

TEST(FoldGrid, CountsGroupsIn32Bits) {
  Caps wide = caps();
  wide.max_group_count = INT32_MAX;
  EXPECT_TRUE(fold_grid(int64_t{1} << 31, wide).ok());
  EXPECT_FALSE(fold_grid(int64_t{1} << 32, wide).ok());
}

TEST(PushConstants, AddressesGroupsParameters) {
  EXPECT_THAT(pack_push_constants({0x1122334455667788u}, 7, {-1, 5}),
              ElementsAre(0x55667788u, 0x11223344u, 7u, 0xffffffffu, 5u));
  EXPECT_THAT(pack_push_constants({}, 1, {}), ElementsAre(1u));
}

// One kernel of one buffer and one parameter, one step over an arena of 4096 bytes.
struct Case {
  Case() {
    kernel().buffers.resize(1);
    kernel().num_params = 1;
    step().bindings = {{Range::Space::kArena, 0, 64, 128}};
    step().params = {3};
    step().workgroups = 1;
    step().label = "map: add";
    program.arena_bytes = 4096;
  }
  Kernel& kernel() { return program.kernels[0]; }
  Step& step() { return program.steps[0]; }
  Range& range() { return step().bindings[0]; }
  void expect(ErrorCode code, const std::string& text) {
    Status status = check_program(program, shaders, caps());
    ASSERT_FALSE(status.ok()) << "expected: " << text;
    EXPECT_EQ(status.error().code, code);
    EXPECT_THAT(status.error().message, HasSubstr(text));
  }
  Program program{.kernels = std::vector<Kernel>(1), .steps = std::vector<Step>(1)};
  std::vector<GlslShader> shaders{{"", 1, 0, 8}};
};

TEST(CheckProgram, TakesAGoodOne) {
  Case c;
  EXPECT_TRUE(check_program(c.program, c.shaders, caps()).ok());
}

TEST(CheckProgram, RefusesLibraryCalls) {
  Case c;
  c.step().kind = Step::Kind::kCall;
  c.expect(ErrorCode::kUnsupported, "library call");
}

TEST(CheckProgram, NamesTheDevicesLimits) {
  Case range;
  range.range().size_bytes = 1001;
  range.expect(ErrorCode::kUnsupported, "maxStorageBufferRange (1000)");
  Case buffers;
  buffers.kernel().buffers.resize(3);
  buffers.step().bindings.resize(3, buffers.range());
  buffers.shaders[0].num_descriptors = 3;
  buffers.expect(ErrorCode::kUnsupported, "maxPerStageDescriptorStorageBuffers (2)");
  Case push;
  push.kernel().num_params = 33;
  push.step().params.resize(33);
  push.shaders[0].push_constant_bytes = 136;
  push.expect(ErrorCode::kUnsupported, "maxPushConstantsSize (128)");
  Case address;
  address.kernel().buffers[0].by_address = true;
  address.shaders[0] = {"", 0, 1, 16};
  address.expect(ErrorCode::kUnsupported, "bufferDeviceAddress");
}

// Of an arena in several allocations no temporary lies in two, and none is larger than one.
TEST(CheckProgram, TemporariesLieInOneAllocation) {
  Case c;
  Caps small = caps();
  small.max_allocation_bytes = 300;  // segments of 256 bytes
  c.range().offset_bytes = 128;
  EXPECT_TRUE(check_program(c.program, c.shaders, small).ok());
  c.range().offset_bytes = 192;
  Status status = check_program(c.program, c.shaders, small);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("in two allocations (128 bytes at 192)"));
  c.range() = {Range::Space::kArena, 0, 256, 320};
  status = check_program(c.program, c.shaders, small);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(status.error().message, HasSubstr("temporary of 320 bytes"));
  EXPECT_THAT(status.error().message, HasSubstr("maxMemoryAllocationSize"));
}

TEST(CheckProgram, RefusesWhatDoesNotMatch) {
  Case kernel;
  kernel.step().kernel = 1;
  kernel.expect(ErrorCode::kRunFailed, "names kernel 1");
  Case params;
  params.step().params.clear();
  params.expect(ErrorCode::kRunFailed, "0 parameters");
  Case bindings;
  bindings.step().bindings.clear();
  bindings.expect(ErrorCode::kRunFailed, "0 bindings");
  Case shaders;
  shaders.shaders.clear();
  shaders.expect(ErrorCode::kRunFailed, "0 shaders");
}

TEST(CheckProgram, RefusesRangesOutsideTheirMemory) {
  Case arena;
  arena.range().offset_bytes = 4032;
  arena.expect(ErrorCode::kRunFailed, "outside its memory");
  Case negative;
  negative.range().offset_bytes = -64;
  negative.expect(ErrorCode::kRunFailed, "outside its memory");
  Case empty;
  empty.range().size_bytes = 0;
  empty.expect(ErrorCode::kRunFailed, "outside its memory");
  Case argument;
  argument.range().space = Range::Space::kArgument;
  argument.expect(ErrorCode::kRunFailed, "outside its memory");
  Case constant;
  constant.program.constants.push_back(Literal::splat({DType::kF32, {4}}, 1));
  constant.range() = {Range::Space::kConstants, 0, 0, 17};
  constant.expect(ErrorCode::kRunFailed, "outside its memory");
  Case alignment;
  alignment.range().offset_bytes = 32;
  alignment.expect(ErrorCode::kRunFailed, "minStorageBufferOffsetAlignment (64)");
}

}  // namespace
}  // namespace tuff
