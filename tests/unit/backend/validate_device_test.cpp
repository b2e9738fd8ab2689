// The watching device over one that does wrong on purpose.
#include "backend/verify/validate_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace tuff {
namespace {

using ::testing::HasSubstr;

struct Bytes final : Buffer {
  std::vector<std::byte> bytes;
  int64_t size_bytes() const override { return static_cast<int64_t>(bytes.size()); }
};

struct Loaded final : LoadedProgram {
  LoadStats none;
  const LoadStats& stats() const override { return none; }
};

using Run = std::function<void(std::span<const BufferPtr>, std::span<const BufferPtr>)>;

class BytesDevice final : public Device {
 public:
  explicit BytesDevice(Run run) : run_(std::move(run)) {}
  const Caps& caps() const override { return caps_; }
  std::string description() const override { return "bytes"; }
  Result<BufferPtr> allocate(int64_t size_bytes) override {
    auto buffer = std::make_shared<Bytes>();
    buffer->bytes.resize(static_cast<size_t>(size_bytes));
    return BufferPtr(std::move(buffer));
  }
  Status write(Buffer& buffer, int64_t offset, std::span<const std::byte> data) override {
    std::memcpy(static_cast<Bytes&>(buffer).bytes.data() + offset, data.data(), data.size());
    return {};
  }
  Status read(const Buffer& buffer, int64_t offset, std::span<std::byte> data) override {
    std::memcpy(data.data(), static_cast<const Bytes&>(buffer).bytes.data() + offset, data.size());
    return {};
  }
  Result<std::unique_ptr<LoadedProgram>> load(std::shared_ptr<const Program>,
                                              const LoadOptions&) override {
    return std::unique_ptr<LoadedProgram>(std::make_unique<Loaded>());
  }
  Status run(LoadedProgram&, std::span<const BufferPtr> arguments,
             std::span<const BufferPtr> outputs, RunStats*) override {
    run_(arguments, outputs);
    return {};
  }

 private:
  Run run_;
  Caps caps_;
};

// Copies each of two arguments to the output of its number.
std::shared_ptr<Program> two_copies() {
  auto program = std::make_shared<Program>();
  program->arguments = program->outputs = {{DType::kF32, {4}}, {DType::kF32, {4}}};
  program->argument_names = program->output_names = {"x", "y"};
  for (uint32_t i = 0; i < 2; ++i) {
    Step copy;
    copy.kind = Step::Kind::kCopy;
    copy.bindings = {{Range::Space::kArgument, i, 0, 16}, {Range::Space::kOutput, i, 0, 16}};
    program->steps.push_back(copy);
  }
  return program;
}

struct Rig {
  std::unique_ptr<Device> device;
  std::unique_ptr<LoadedProgram> program;
  std::vector<BufferPtr> arguments, outputs;

  explicit Rig(Run run, const std::shared_ptr<Program>& loaded = two_copies())
      : device(validate_device(std::make_unique<BytesDevice>(std::move(run)))) {
    program = std::move(device->load(loaded, {})).value();
    for (int i = 0; i < 2; ++i) {
      arguments.push_back(*device->allocate(16));
      outputs.push_back(*device->allocate(16));
    }
  }
  std::string fault() {
    Status status = device->run(*program, arguments, outputs, nullptr);
    return status.ok() ? "" : status.error().to_string();
  }
};

void do_nothing(std::span<const BufferPtr>, std::span<const BufferPtr>) {}

TEST(ValidateDevice, FindsNoFaultWhereThereIsNone) { EXPECT_EQ(Rig(do_nothing).fault(), ""); }

TEST(ValidateDevice, RefusesAnInvalidProgram) {
  auto program = two_copies();
  program->steps[1].bindings[1].index = 7;
  auto device = validate_device(std::make_unique<BytesDevice>(do_nothing));
  auto loaded = device->load(program, {});
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().message, HasSubstr("output 7 does not exist"));
}

TEST(ValidateDevice, RefusesABufferOfAnotherSize) {
  Rig rig(do_nothing);
  rig.arguments[1] = *rig.device->allocate(32);
  EXPECT_THAT(rig.fault(), HasSubstr("argument 1 needs 16 bytes and is given 32"));
}

TEST(ValidateDevice, RefusesAMissingBuffer) {
  Rig rig(do_nothing);
  rig.outputs[0] = nullptr;
  EXPECT_THAT(rig.fault(), HasSubstr("output 0 needs 16 bytes and is given 0"));
}

TEST(ValidateDevice, RefusesOneBufferForTwoOutputs) {
  Rig rig(do_nothing);
  rig.outputs[1] = rig.outputs[0];
  EXPECT_THAT(rig.fault(), HasSubstr("outputs 0 and 1 are one buffer"));
}

TEST(ValidateDevice, RefusesAnArgumentAsOutputUnlessItIsDonated) {
  Rig rig(do_nothing);
  rig.outputs[1] = rig.arguments[1];
  EXPECT_THAT(rig.fault(), HasSubstr("argument 1 and output 1 are one buffer"));
  auto donating = two_copies();
  donating->donations = {{1, 1, true}};
  Rig given(do_nothing, donating);
  given.outputs[1] = given.arguments[1];
  EXPECT_EQ(given.fault(), "");
}

TEST(ValidateDevice, FindsAnArgumentThatTheDeviceChanges) {
  Rig rig([](std::span<const BufferPtr> arguments, std::span<const BufferPtr>) {
    static_cast<Bytes&>(*arguments[0]).bytes[3] = std::byte{1};
  });
  EXPECT_THAT(rig.fault(), HasSubstr("argument 0 (x) is not what it was before"));
}

TEST(ValidateDevice, WhatTheDeviceLeavesOutIsNoOldResult) {
  Rig rig(do_nothing);
  ASSERT_EQ(rig.fault(), "");
  EXPECT_EQ(static_cast<Bytes&>(*rig.outputs[0]).bytes[5], std::byte{0xff});
}

}  // namespace
}  // namespace tuff
