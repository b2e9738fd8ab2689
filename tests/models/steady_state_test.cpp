// Once a model has run, a run takes no memory from the heap, submits once, and reads
// nothing back but outputs. Allocations are counted by the operator new of this binary;
// what shared libraries (oneDNN, the Vulkan driver) take for themselves is their own.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/models/run_model.h"

namespace {
std::atomic<int64_t> allocations{0};
std::atomic<bool> counting{false};

bool is_in_this_binary(const void* caller) {
  Dl_info at{}, own{};
  return dladdr(caller, &at) != 0 && dladdr(&allocations, &own) != 0 &&
         at.dli_fbase == own.dli_fbase;
}

void* allocate(std::size_t size, std::size_t alignment, const void* caller) {
  if (counting && is_in_this_binary(caller)) ++allocations;
  std::size_t whole = (size + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, whole == 0 ? alignment : whole)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t size) {
  return allocate(size, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace tuff {
namespace {

using Param = std::tuple<const char*, const char*>;

class SteadyState : public ::testing::TestWithParam<Param> {};

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

TEST_P(SteadyState, TakesNothing) {
  auto [name, device_name] = GetParam();
  auto model = load_model(name);
  ASSERT_OK(model);
  auto device = open_device(device_name);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  auto program = compile(model->graph, (*device)->caps(), {}, nullptr);
  ASSERT_OK(program);
  auto executable = Executable::create(**device, *program, {});
  ASSERT_OK(executable);
  for (uint32_t i = 0; i < model->arguments.size(); ++i)
    ASSERT_TRUE(executable->set_argument(i, model->arguments[i]).ok());
  for (int warm_up = 0; warm_up < 2; ++warm_up) ASSERT_TRUE(executable->run(nullptr).ok());
  RunStats stats;
  allocations = 0;
  counting = true;
  Status status = executable->run(&stats);
  counting = false;
  ASSERT_OK(status);
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(stats.submits, 1);
  EXPECT_EQ(stats.readbacks, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Toys, SteadyState,
    ::testing::Combine(::testing::Values("ffn_tiny", "mha_tiny", "bert_tiny", "gpt2_tiny",
                                         "gpt2_decode_tiny", "llama_tiny", "resnet_tiny",
                                         "vit_tiny", "gpt2_train_tiny", "vit_train_tiny",
                                         "resnet_train_tiny", "mlp_adam_tiny", "rnn_train_tiny"),
                       ::testing::Values("cpu", "vulkan")),
    [](const ::testing::TestParamInfo<Param>& info) {
      return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
    });

}  // namespace
}  // namespace tuff
