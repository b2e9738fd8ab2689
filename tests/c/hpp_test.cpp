// tuff.hpp: what it adds to the functions below it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <tuff.hpp>

#include "c_api.h"

namespace tuff_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

tuff::Device& cpu() {
  static tuff::Device device = tuff::Context().open("cpu");
  return device;
}

class Counting : public tuff::Allocator {
 public:
  void* allocate(size_t size, size_t alignment) override {
    ++made, bytes += static_cast<int64_t>(size);
    return aligned_alloc(alignment, size);
  }
  void free(void* memory, size_t size) override {
    bytes -= static_cast<int64_t>(size);
    ::free(memory);
  }
  int64_t made = 0, bytes = 0;
};

TEST(Hpp, AContextHasItsHooks) {
  auto allocator = std::make_shared<Counting>();
  std::string told;
  tuff::ContextOptions options;
  options.allocator = allocator;
  options.log = std::make_shared<tuff::Log>([&told](int32_t, const char* text) { told += text; });
  options.cache_directory = "";
  {
    tuff::Context context(options);
    EXPECT_EQ(context.cache().directory, "");
    context.clear_cache();
    tuff::Buffer buffer = context.open("cpu").buffer({4}, std::vector<float>{1, 2, 3, 4});
    EXPECT_GT(allocator->made, 0);
  }
  EXPECT_EQ(allocator->bytes, 0);
  EXPECT_THAT(told, HasSubstr("device cpu"));
}

TEST(Hpp, MemoryOfTheCallersIsGivenBack) {
  int released = 0;
  alignas(16) const float data[] = {1, 2};
  tuff::TensorType type{tuff::DType::kF32, {2}};
  {
    tuff::Buffer buffer = cpu().import_host(type, data, [&released] { ++released; });
    EXPECT_EQ(buffer.host_data(), data);
    tuff::Buffer shared = cpu().import_dlpack(buffer.export_dlpack());
    EXPECT_EQ(shared.read<float>(), buffer.read<float>());
    EXPECT_EQ(buffer.vulkan().buffer, 0u);
  }
  EXPECT_EQ(released, 1);
  EXPECT_THROW(cpu().import_host(type, nullptr, [&released] { ++released; }), tuff::Error);
  EXPECT_THROW(cpu().wrap(type, 1, 0, [&released] { ++released; }), tuff::Error);
  EXPECT_EQ(released, 1) << "a failure gives nothing back";
}

TEST(Hpp, RunsWriteWhereTheyAreTold) {
  tuff::Program program = cpu().compile_bytes(add_text(2));
  tuff::Buffer x = cpu().buffer({2}, std::vector<float>{1, 2}),
               y = cpu().buffer({2}, std::vector<float>{0, 0});
  tuff::RunOptions options;
  options.outputs = {y.get()};
  EXPECT_FALSE(program.run(options, {x.get(), x.get()})[0]);
  EXPECT_THAT(y.read<float>(), ElementsAre(2, 4));
  tuff::Event event;
  std::vector<tuff::Buffer> results = program.run_async({x.get(), y.get()}, {}, &event);
  std::atomic<tuff_status> ended{-1};
  event.on_done([&ended](tuff_status status) { ended = status; });
  event.wait();
  EXPECT_THAT(results[0].read<float>(), ElementsAre(3, 6));
  options.outputs = {y.get(), y.get()};
  EXPECT_THROW(program.run(options, {x.get(), x.get()}), tuff::Error);
  EXPECT_EQ(program.step(0).operations, "add");
  event = tuff::Event();
  for (int i = 0; i < 1000 && ended < 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(ended, TUFF_OK);
}

TEST(Hpp, WritesComeAfterTheRunsThatRead) {
  constexpr int64_t kSize = 400;
  tuff::Program program = cpu().compile_bytes(
      "func.func @main(%x: tensor<400x400xf32>) -> tensor<400x400xf32> {\n"
      "  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : "
      "(tensor<400x400xf32>, tensor<400x400xf32>) -> tensor<400x400xf32>\n"
      "  return %0 : tensor<400x400xf32>\n}\n");
  std::vector<float> ones(kSize * kSize, 1), zeros(kSize * kSize, 0), sizes(kSize * kSize, kSize);
  tuff::Buffer x = cpu().buffer({kSize, kSize}, ones);
  for (int i = 0; i < 10; ++i) {
    std::vector<tuff::Buffer> results = program.run_async({x.get()}, {}, nullptr);
    x.write(zeros);
    EXPECT_EQ(results[0].read<float>(), sizes);
    x.write(ones);
  }
}

TEST(Hpp, AProgramIsSavedAndCompiledAgain) {
  std::string path = testing::TempDir() + "tuff_hpp.tuff";
  tuff::Program program = cpu().compile_bytes(add_text(2));
  tuff::Buffer x = cpu().buffer({2}, std::vector<float>{1, 2});
  program.bind(0, x);
  program.save(path);
  EXPECT_THAT(cpu().compile(path)(x)[0].read<float>(), ElementsAre(2, 4));
  program.save(path, /*without_weights=*/true);
  EXPECT_FALSE(cpu().compile(path).argument(0).is_bound);
  std::filesystem::remove(path);
}

TEST(Hpp, ElementsAreReadAsWhatTheyAre) {
  tuff::Buffer floats = cpu().buffer({4}, std::vector<float>{1, 2, 3, 4});
  EXPECT_THROW(floats.read<double>(), tuff::Error)
      << "two doubles would have the bytes of four floats";
  EXPECT_THROW(floats.read<uint16_t>(), tuff::Error);
  EXPECT_THROW(floats.write(std::vector<double>{1, 2}), tuff::Error);
  EXPECT_EQ(floats.read<uint32_t>()[0], 0x3F800000u);
  EXPECT_EQ(floats.read<uint8_t>().size(), 16u);
  tuff::Buffer numbers = cpu().buffer({2}, std::vector<int32_t>{1, 2});
  EXPECT_THROW(numbers.read<float>(), tuff::Error);
  EXPECT_THAT(numbers.read<int32_t>(), ElementsAre(1, 2));
  tuff::Buffer halves = cpu().buffer({tuff::DType::kBF16, {2}}, nullptr);
  EXPECT_THAT(halves.read<uint16_t>(), ElementsAre(0, 0));
}

TEST(Hpp, WhatIsEmptyOrMovedAwayIsAnError) {
  tuff::Buffer buffer, full = cpu().buffer({1}, std::vector<float>{1});
  tuff::Program program;
  EXPECT_THROW(buffer.read<float>(), tuff::Error);
  EXPECT_THROW(tuff::Device().compile("model.mlir"), tuff::Error);
  EXPECT_THROW(program(full), tuff::Error);
  EXPECT_THROW(tuff::Event().wait(), tuff::Error);
  buffer = std::move(full);
  EXPECT_THROW(full.type(), tuff::Error);
  EXPECT_THAT(buffer.read<float>(), ElementsAre(1));
}

TEST(Hpp, ATimeThatIsOverIsNotForEver) {
  tuff::Program program = cpu().compile_bytes(add_text(2));
  tuff::Buffer x = cpu().buffer({2}, std::vector<float>{1, 2});
  tuff::Event event;
  std::vector<tuff::Buffer> sums = program.run_async({x.get(), x.get()}, {}, &event);
  event.wait_for(std::chrono::nanoseconds(-5));
  event.wait();
  EXPECT_TRUE(event.wait_for(std::chrono::nanoseconds(-5)));
}

TEST(Hpp, DevicesTellTheirLimits) {
  tuff::DeviceInfo info = cpu().info();
  EXPECT_GT(info.max_buffer_bytes, 0);
  EXPECT_TRUE(info.has_i64);
  tuff_vulkan_device none = TUFF_INIT(tuff_vulkan_device);
  EXPECT_THROW(tuff::Context().adopt(none), tuff::Error);
}

}  // namespace
}  // namespace tuff_test
