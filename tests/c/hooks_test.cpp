// What an application may have a say in: memory, the cache, where results go, its own Vulkan.
#include <stdlib.h>

#include <atomic>
#include <filesystem>

#include "c_api.h"

namespace tuff_test {

namespace {

struct Counts {
  std::atomic<int64_t> made{0}, bytes{0};
  std::atomic<bool> exhausted{false};
};

void* count_allocate(void* user, size_t size, size_t alignment) {
  auto* counts = static_cast<Counts*>(user);
  if (counts->exhausted) return nullptr;
  ++counts->made, counts->bytes += static_cast<int64_t>(size);
  return aligned_alloc(alignment, size);
}
void count_free(void* user, void* memory, size_t size) {
  static_cast<Counts*>(user)->bytes -= static_cast<int64_t>(size);
  free(memory);
}

std::string temporary_folder() {
  char folder[] = "/tmp/tuff_hooks_XXXXXX";
  return mkdtemp(folder);
}

}  // namespace

TEST_F(CApi, TensorsLieInTheApplicationsMemory) {
  Counts counts;
  tuff_context_options options = TUFF_INIT(tuff_context_options);
  options.allocate = count_allocate, options.free = count_free, options.allocator_user = &counts;
  tuff_device* own = device_;  // the fixture's functions use this one
  tuff_context* context = nullptr;
  ASSERT_EQ(tuff_context_create(&options, &context), TUFF_OK);
  ASSERT_EQ(tuff_device_open(context, "cpu", &device_), TUFF_OK) << tuff_last_error();
  tuff_buffer* x = buffer(std::vector<float>(1000, 1), {1000});
  EXPECT_EQ(counts.made, 1);
  EXPECT_GE(counts.bytes, 4000);
  tuff_program* program = compile(add_text(1000));
  tuff_buffer *arguments[] = {x, x}, *result = nullptr;
  ASSERT_EQ(tuff_program_run(program, nullptr, arguments, 2, &result, 1), TUFF_OK);
  EXPECT_EQ(values(result), std::vector<float>(1000, 2));

  counts.exhausted = true;
  const std::vector<int64_t> four = {4};
  tuff_tensor_type type = f32(four);
  tuff_buffer* none = nullptr;
  EXPECT_EQ(tuff_buffer_create(device_, &type, nullptr, &none), TUFF_OUT_OF_MEMORY);
  counts.exhausted = false;
  tuff_buffer_destroy(x);
  tuff_buffer_destroy(result);
  tuff_program_destroy(program);
  tuff_device_destroy(device_);
  tuff_context_destroy(context);
  EXPECT_EQ(counts.bytes, 0);
  device_ = own;
}

TEST_F(CApi, HalfAnAllocatorIsNone) {
  tuff_context_options options = TUFF_INIT(tuff_context_options);
  options.allocate = count_allocate;
  tuff_context* context = nullptr;
  EXPECT_EQ(tuff_context_create(&options, &context), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), testing::HasSubstr("allocate and free"));
}

TEST_F(CApi, TheCacheIsWhereTheApplicationWantsIt) {
  std::string folder = temporary_folder();
  for (const std::string& directory : {folder, std::string()}) {
    tuff_context_options options = TUFF_INIT(tuff_context_options);
    options.cache_directory = directory.c_str(), options.cache_max_bytes = 1 << 20;
    tuff_context* context = nullptr;
    tuff_cache_info info = TUFF_INIT(tuff_cache_info);
    ASSERT_EQ(tuff_context_create(&options, &context), TUFF_OK);
    ASSERT_EQ(tuff_cache_get_info(context, &info), TUFF_OK) << tuff_last_error();
    EXPECT_EQ(info.directory, directory);
    EXPECT_EQ(info.max_bytes, directory.empty() ? 0 : 1 << 20);
    EXPECT_EQ(tuff_cache_clear(context), TUFF_OK);
    tuff_context_destroy(context);
  }
  std::filesystem::remove_all(folder);
}

TEST_F(CApi, OpeningADeviceIsLogged) {
  EXPECT_THAT(log_, testing::HasSubstr("device cpu"));
  tuff_program_destroy(compile(add_text(4)));
  EXPECT_THAT(log_, testing::HasSubstr("compile lower"));
}

TEST_F(CApi, ResultsGoToBuffersThatAreGiven) {
  tuff_program* program = compile(add_text(4));
  tuff_buffer* x = buffer({1, 2, 3, 4}, {4});
  tuff_buffer* y = buffer({0, 0, 0, 0}, {4});
  tuff_buffer *arguments[] = {x, x}, *result = x;
  tuff_run_options options = TUFF_INIT(tuff_run_options);
  options.outputs = &y;
  ASSERT_EQ(tuff_program_run(program, &options, arguments, 2, &result, 1), TUFF_OK)
      << tuff_last_error();
  EXPECT_EQ(result, nullptr);
  EXPECT_EQ(values(y), (std::vector<float>{2, 4, 6, 8}));

  // Later runs follow on it without waiting.
  tuff_buffer *again[] = {y, x}, *sum = nullptr;
  ASSERT_EQ(tuff_program_run_async(program, &options, arguments, 2, &result, 1, nullptr), TUFF_OK);
  ASSERT_EQ(tuff_program_run_async(program, nullptr, again, 2, &sum, 1, nullptr), TUFF_OK);
  EXPECT_EQ(values(sum), (std::vector<float>{3, 6, 9, 12}));

  options.outputs = &x;
  EXPECT_EQ(tuff_program_run(program, &options, arguments, 2, &result, 1), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), testing::HasSubstr("argument of the run"));
  tuff_buffer* other = buffer({1}, {1});
  options.outputs = &other;
  EXPECT_EQ(tuff_program_run(program, &options, arguments, 2, &result, 1), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), testing::HasSubstr("has type"));
  for (tuff_buffer* one : {x, y, sum, other}) tuff_buffer_destroy(one);
  tuff_program_destroy(program);
}

TEST_F(CApi, SemaphoresAreForVulkan) {
  tuff_program* program = compile(add_text(4));
  tuff_buffer* x = buffer({1, 2, 3, 4}, {4});
  tuff_buffer *arguments[] = {x, x}, *result = nullptr;
  tuff_vulkan_semaphore semaphore = {1, 0};
  tuff_run_options options = TUFF_INIT(tuff_run_options);
  options.wait = &semaphore, options.num_wait = 1;
  EXPECT_EQ(tuff_program_run(program, &options, arguments, 2, &result, 1), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), testing::HasSubstr("no Vulkan device"));
  const std::vector<int64_t> four = {4};
  tuff_tensor_type type = f32(four);
  tuff_vulkan_buffer vulkan = TUFF_INIT(tuff_vulkan_buffer);
  vulkan.buffer = 1;
  EXPECT_EQ(tuff_buffer_wrap_vulkan(device_, &type, &vulkan, nullptr, nullptr, &result),
            TUFF_INVALID_ARGUMENT);
  ASSERT_EQ(tuff_buffer_vulkan(x, &vulkan), TUFF_OK);
  EXPECT_EQ(vulkan.buffer, 0u);
  tuff_buffer_destroy(x);
  tuff_program_destroy(program);
}

TEST_F(CApi, AnAdoptedDeviceNeedsItsHandles) {
  tuff_vulkan_device given = TUFF_INIT(tuff_vulkan_device);
  tuff_device* adopted = nullptr;
  EXPECT_EQ(tuff_device_adopt_vulkan(context_, &given, &adopted), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), testing::HasSubstr("VkInstance"));
  given.lock_queue = [](void*) {};
  EXPECT_EQ(tuff_device_adopt_vulkan(context_, &given, &adopted), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), testing::HasSubstr("unlock_queue"));
}

}  // namespace tuff_test
