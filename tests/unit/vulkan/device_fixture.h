// A real device for a test, or a visible skip.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backend/vulkan/device.h"

namespace tuff {

class VulkanTest : public ::testing::Test {
 protected:
  void SetUp() override { open({}); }
  // The validation layers, where they are on (TUFF_VALIDATION), have no complaint.
  void TearDown() override {
    device_.reset();
    EXPECT_EQ(validation_errors(), 0);
  }

  void open(const VulkanOptions& options) {
    auto device = VulkanDevice::create(0, options);
    if (!device) GTEST_SKIP() << "no Vulkan device: " << device.error().message;
    device_ = std::move(device).value();
  }

  template <typename T>
  std::shared_ptr<Buffer> upload(const std::vector<T>& values) {
    auto buffer = device_->allocate(static_cast<int64_t>(values.size() * sizeof(T)));
    EXPECT_TRUE(buffer.ok()) << buffer.error().message;
    EXPECT_TRUE(device_->write(**buffer, 0, std::as_bytes(std::span(values))).ok());
    return *buffer;
  }
  template <typename T>
  std::vector<T> download(const Buffer& buffer) {
    std::vector<T> values(static_cast<size_t>(buffer.size_bytes()) / sizeof(T));
    EXPECT_TRUE(device_->read(buffer, 0, std::as_writable_bytes(std::span(values))).ok());
    return values;
  }
  BufferPtr empty(int64_t bytes) {
    return upload(std::vector<uint8_t>(static_cast<size_t>(bytes)));
  }

  std::unique_ptr<VulkanProgram> load(std::shared_ptr<const Program> program,
                                      const std::vector<GlslShader>& shaders,
                                      const LoadOptions& options = {}) {
    auto loaded = VulkanProgram::create(device_->services(), std::move(program), shaders, options);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return loaded ? std::move(loaded).value() : nullptr;
  }

  std::unique_ptr<VulkanDevice> device_;
};

// A program put together from hand-written shaders.
class ProgramBuilder {
 public:
  // A kernel of `descriptors` bound buffers after `addresses` by address.
  uint32_t kernel(const std::string& text, uint32_t descriptors, uint32_t params,
                  uint32_t addresses = 0) {
    Kernel kernel;
    kernel.num_params = params;
    kernel.buffers.resize(addresses + descriptors);
    for (BufferDecl& buffer : kernel.buffers) buffer.access = Access::kReadWrite;
    for (uint32_t i = 0; i < addresses; ++i) kernel.buffers[i].by_address = true;
    program_->kernels.push_back(kernel);
    shaders_.push_back({text, descriptors, addresses, 8 * addresses + 4 + 4 * params});
    return static_cast<uint32_t>(shaders_.size()) - 1;
  }
  void step(uint32_t kernel, std::vector<Range> bindings, std::vector<int32_t> params,
            int64_t workgroups, bool barrier = false) {
    Step step;
    step.kernel = kernel;
    step.bindings = std::move(bindings);
    step.params = std::move(params);
    step.workgroups = workgroups;
    step.barrier = barrier;
    step.label = "test";
    program_->steps.push_back(std::move(step));
  }
  void copy(const Range& from, const Range& to) {
    Step step;
    step.kind = Step::Kind::kCopy;
    step.bindings = {from, to};
    step.barrier = true;
    program_->steps.push_back(std::move(step));
  }
  // A while of empty blocks.
  void loop(const Range& predicate) {
    Step step;
    step.kind = Step::Kind::kWhile;
    step.bindings = {predicate};
    step.blocks.resize(2);
    program_->steps.push_back(std::move(step));
  }
  Range argument(int64_t bytes) {
    program_->arguments.push_back({DType::kU8, {bytes}});
    return {Range::Space::kArgument, uint32_t(program_->arguments.size() - 1), 0, bytes};
  }
  Range output(int64_t bytes) {
    program_->outputs.push_back({DType::kU8, {bytes}});
    return {Range::Space::kOutput, uint32_t(program_->outputs.size() - 1), 0, bytes};
  }
  Range arena(int64_t bytes) {
    Range range{Range::Space::kArena, 0, program_->arena_bytes, bytes};
    program_->arena_bytes += (bytes + 255) / 256 * 256;
    return range;
  }
  Range constant(const Literal& literal) {
    program_->constants.push_back(literal);
    return {Range::Space::kConstants, uint32_t(program_->constants.size() - 1), 0,
            literal.size_bytes()};
  }
  std::shared_ptr<const Program> program() const { return program_; }
  const std::vector<GlslShader>& shaders() const { return shaders_; }

 private:
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::vector<GlslShader> shaders_;
};

inline const char* const kHead =
    "#version 450\n"
    "layout(local_size_x = 64) in;\n";
inline const char* const kIndex =
    "  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;\n"
    "  if (group >= pc.groups) return;\n"
    "  uint i = group * 64 + gl_LocalInvocationID.x;\n";

// out[i] = in[i] * scale + offset, for i < n.
inline std::string affine_shader() {
  return std::string(kHead) +
         "layout(set = 0, binding = 0, std430) readonly buffer A { int d[]; } a;\n"
         "layout(set = 0, binding = 1, std430) writeonly buffer B { int d[]; } b;\n"
         "layout(push_constant) uniform P { uint groups; int n; int scale; int offset; } pc;\n"
         "void main() {\n" +
         kIndex + "  if (int(i) < pc.n) b.d[i] = a.d[i] * pc.scale + pc.offset;\n}\n";
}

inline constexpr int kN = 1000;
inline constexpr int64_t kBytes = 4 * kN;
inline constexpr int64_t kGroups = (kN + 63) / 64;

// output[i] = argument[i] * 2 + 10, in one step over kN elements.
inline ProgramBuilder one_step() {
  ProgramBuilder builder;
  uint32_t kernel = builder.kernel(affine_shader(), 2, 3);
  Range in = builder.argument(kBytes), out = builder.output(kBytes);
  builder.step(kernel, {in, out}, {kN, 2, 10}, kGroups);
  return builder;
}

}  // namespace tuff
