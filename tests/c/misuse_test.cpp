// What an application may get wrong: each has a status and a message, and what it had still works.
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "c_api.h"

namespace tuff_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

#define EXPECT_REFUSED(call) EXPECT_EQ(call, TUFF_INVALID_ARGUMENT) << tuff_last_error()

TEST_F(CApi, EveryFunctionTakesNull) {
  size_t count = 0;
  tuff_device_info device = TUFF_INIT(tuff_device_info);
  tuff_tensor_type type = f32({});
  tuff_buffer *made = buffer({1}, {}), *none = nullptr;
  tuff_program* program = nullptr;
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  const void* data = nullptr;
  float value = 0;
  EXPECT_REFUSED(tuff_context_count_devices(nullptr, &count));
  EXPECT_REFUSED(tuff_context_count_devices(context_, nullptr));
  EXPECT_REFUSED(tuff_context_device_info(nullptr, 0, &device));
  EXPECT_REFUSED(tuff_context_device_info(context_, 0, nullptr));
  EXPECT_REFUSED(tuff_device_open(context_, "cpu", nullptr));
  EXPECT_REFUSED(tuff_device_get_info(nullptr, &device));
  EXPECT_REFUSED(tuff_device_get_info(device_, nullptr));
  EXPECT_REFUSED(tuff_device_adopt_vulkan(context_, nullptr, &device_));
  EXPECT_REFUSED(tuff_buffer_create(nullptr, &type, nullptr, &none));
  EXPECT_REFUSED(tuff_buffer_create(device_, nullptr, nullptr, &none));
  EXPECT_REFUSED(tuff_buffer_create(device_, &type, nullptr, nullptr));
  EXPECT_REFUSED(tuff_buffer_import_host(device_, &type, nullptr, nullptr, nullptr, &none));
  EXPECT_REFUSED(tuff_buffer_import_dlpack(device_, nullptr, &none));
  EXPECT_REFUSED(tuff_buffer_export_dlpack(made, nullptr));
  EXPECT_REFUSED(tuff_buffer_wrap_vulkan(device_, &type, nullptr, nullptr, nullptr, &none));
  EXPECT_REFUSED(tuff_buffer_vulkan(made, nullptr));
  EXPECT_REFUSED(tuff_buffer_type(made, nullptr));
  EXPECT_REFUSED(tuff_buffer_type(nullptr, &type));
  EXPECT_REFUSED(tuff_buffer_write(nullptr, &value, sizeof value));
  EXPECT_REFUSED(tuff_buffer_write(made, nullptr, sizeof value));
  EXPECT_REFUSED(tuff_buffer_read(nullptr, &value, sizeof value));
  EXPECT_REFUSED(tuff_buffer_read(made, nullptr, sizeof value));
  EXPECT_REFUSED(tuff_buffer_host_data(nullptr, &data));
  EXPECT_REFUSED(tuff_buffer_host_data(made, nullptr));
  EXPECT_REFUSED(tuff_program_compile(nullptr, &options, &program));
  EXPECT_REFUSED(tuff_program_compile(device_, nullptr, &program));
  EXPECT_REFUSED(tuff_program_compile(device_, &options, &program));
  EXPECT_REFUSED(tuff_program_get_info(nullptr, nullptr));
  EXPECT_REFUSED(tuff_program_save(nullptr, "x", nullptr));
  EXPECT_REFUSED(tuff_program_bind(nullptr, 0, made));
  EXPECT_REFUSED(tuff_program_run_async(nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr));
  EXPECT_REFUSED(tuff_event_on_done(nullptr, nullptr, nullptr));
  EXPECT_REFUSED(tuff_cache_get_info(nullptr, nullptr));
  EXPECT_REFUSED(tuff_cache_clear(nullptr));
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(program, nullptr);
  tuff_buffer_destroy(made);
}

TEST_F(CApi, ProgramsRefuseWhatTheyHaveNot) {
  tuff_program* program = compile(add_text(2));
  tuff_buffer* x = buffer({1, 2}, {2});
  tuff_value_info value = TUFF_INIT(tuff_value_info);
  tuff_step_info step = TUFF_INIT(tuff_step_info);
  EXPECT_REFUSED(tuff_program_argument(program, 2, &value));
  EXPECT_REFUSED(tuff_program_argument(program, SIZE_MAX, &value));
  EXPECT_REFUSED(tuff_program_result(program, 1, &value));
  EXPECT_REFUSED(tuff_program_step(program, 1000, &step));
  EXPECT_REFUSED(tuff_program_bind(program, 2, x));
  EXPECT_REFUSED(tuff_program_save(program, nullptr, nullptr));
  tuff_buffer *arguments[] = {x, nullptr}, *result = nullptr;
  EXPECT_REFUSED(tuff_program_run(program, nullptr, arguments, 2, &result, 1));
  EXPECT_THAT(tuff_last_error(), HasSubstr("argument 1 (y) has no buffer"));
  EXPECT_REFUSED(tuff_program_run(program, nullptr, nullptr, 2, &result, 1));
  EXPECT_REFUSED(tuff_program_run(program, nullptr, arguments, 2, nullptr, 1));
  arguments[1] = x;
  size_t beyond = 7;
  tuff_run_options options = TUFF_INIT(tuff_run_options);
  options.num_donated = 1;
  EXPECT_REFUSED(tuff_program_run(program, &options, arguments, 2, &result, 1));
  options.donated = &beyond;
  EXPECT_REFUSED(tuff_program_run(program, &options, arguments, 2, &result, 1));
  tuff_run_options unset{};
  EXPECT_REFUSED(tuff_program_run(program, &unset, arguments, 2, &result, 1));
  EXPECT_EQ(result, nullptr);
  ASSERT_EQ(tuff_program_run(program, nullptr, arguments, 2, &result, 1), TUFF_OK);
  EXPECT_THAT(values(result), ElementsAre(2, 4));
  tuff_buffer_destroy(x), tuff_buffer_destroy(result), tuff_program_destroy(program);
}

TEST_F(CApi, ShapesThatNoTensorHas) {
  std::string text =
      "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
      "  %0 = stablehlo.negate %x : tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n";
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.bytes = text.data(), options.num_bytes = text.size();
  int64_t size = -3;
  tuff_argument_shape shape = {"x", 1, &size};
  options.num_shapes = 1;
  tuff_program* none = nullptr;
  EXPECT_REFUSED(tuff_program_compile(device_, &options, &none));
  options.shapes = &shape;
  EXPECT_REFUSED(tuff_program_compile(device_, &options, &none));
  shape.rank = 0x7FFFFFFF;
  EXPECT_REFUSED(tuff_program_compile(device_, &options, &none));
  shape.rank = 1, shape.shape = nullptr;
  EXPECT_REFUSED(tuff_program_compile(device_, &options, &none));
  shape.shape = &size, shape.name = nullptr;
  EXPECT_REFUSED(tuff_program_compile(device_, &options, &none));
  shape.name = "x",
  size = int64_t{1} << 55;  // larger than any machine, which compiling need not know
  if (tuff_program_compile(device_, &options, &none) == TUFF_OK) tuff_program_destroy(none);
}

// Whatever is left of a file is refused: it is never half a model.
TEST_F(CApi, FilesThatEndEarly) {
  std::string path = testing::TempDir() + "misuse_" + std::to_string(getpid()) + ".tuff";
  tuff_program* program = compile(add_text(5));
  ASSERT_EQ(tuff_program_save(program, path.c_str(), nullptr), TUFF_OK) << tuff_last_error();
  tuff_program_destroy(program);
  std::ifstream file(path, std::ios::binary);
  std::string saved((std::istreambuf_iterator<char>(file)), {});
  for (const std::string& whole : {saved, add_text(5)}) {
    // Without the text's last brace and line end there is no function either.
    for (size_t size = 0; size + 2 < whole.size(); size += 1 + whole.size() / 97) {
      std::ofstream(path, std::ios::binary | std::ios::trunc).write(whole.data(), size);
      tuff_compile_options options = TUFF_INIT(tuff_compile_options);
      options.path = path.c_str();
      tuff_program* none = nullptr;
      tuff_status status = tuff_program_compile(device_, &options, &none);
      EXPECT_TRUE(status == TUFF_BAD_INPUT || status == TUFF_UNSUPPORTED) << size << ": " << status;
      EXPECT_STRNE(tuff_last_error(), "");
      options.path = nullptr, options.bytes = whole.data(), options.num_bytes = size;
      EXPECT_EQ(tuff_program_compile(device_, &options, &none), status) << size;
      EXPECT_EQ(none, nullptr);
    }
  }
  std::filesystem::remove(path);
}

TEST_F(CApi, PathsThatAreNoModel) {
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  tuff_program* none = nullptr;
  std::string folder = testing::TempDir();
  for (const char* path : {"", "/no/such/file", folder.c_str(), "/dev/zero"}) {
    options.path = path;
    EXPECT_EQ(tuff_program_compile(device_, &options, &none), TUFF_BAD_INPUT) << path;
    EXPECT_STRNE(tuff_last_error(), "") << path;
  }
}

TEST_F(CApi, EverythingMayGoWhileARunIsUnderWay) {
  for (int i = 0; i < 200; ++i) {
    tuff_context* context = nullptr;
    tuff_device* device = nullptr;
    ASSERT_EQ(tuff_context_create(nullptr, &context), TUFF_OK);
    ASSERT_EQ(tuff_device_open(context, "cpu", &device), TUFF_OK);
    std::swap(device, device_);
    tuff_program* program = compile(add_text(64));
    tuff_buffer *x = buffer(std::vector<float>(64, 2), {64}), *arguments[] = {x, x};
    tuff_buffer* results[2] = {};
    std::swap(device, device_);
    ASSERT_EQ(tuff_program_run_async(program, nullptr, arguments, 2, &results[0], 1, nullptr),
              TUFF_OK);
    ASSERT_EQ(tuff_program_run_async(program, nullptr, arguments, 2, &results[1], 1, nullptr),
              TUFF_OK);
    tuff_device_destroy(device), tuff_context_destroy(context), tuff_buffer_destroy(x);
    tuff_program_destroy(program), tuff_buffer_destroy(results[0]);
    if (i % 2 == 0) {
      EXPECT_EQ(values(results[1]).at(63), 4);
    }
    tuff_buffer_destroy(results[1]);
  }
}

TEST_F(CApi, TwoThreadsOnEachObject) {
  tuff_program* program = compile(add_text(64));
  tuff_buffer *x = buffer(std::vector<float>(64, 3), {64}), *arguments[] = {x, x};
  std::atomic<int> wrong{0};
  for (int i = 0; i < 100; ++i) {
    tuff_buffer* result = nullptr;
    tuff_event* event = nullptr;
    ASSERT_EQ(tuff_program_run_async(program, nullptr, arguments, 2, &result, 1, &event), TUFF_OK);
    auto look = [&] {
      tuff_program_info info = TUFF_INIT(tuff_program_info);
      tuff_device_info device = TUFF_INIT(tuff_device_info);
      const void* data = nullptr;
      std::vector<float> read(64);
      bool ok = tuff_event_wait(event, UINT64_MAX) == TUFF_OK &&
                tuff_program_get_info(program, &info) == TUFF_OK &&
                tuff_context_device_info(context_, 0, &device) == TUFF_OK &&
                tuff_buffer_host_data(result, &data) == TUFF_OK &&
                tuff_buffer_read(result, read.data(), 256) == TUFF_OK && read[63] == 6;
      if (!ok) ++wrong;
    };
    std::thread other(look);
    look();
    other.join();
    tuff_event_destroy(event), tuff_buffer_destroy(result);
  }
  EXPECT_EQ(wrong, 0);
  tuff_buffer_destroy(x), tuff_program_destroy(program);
}

// The last handles go on tuff's own thread.
TEST_F(CApi, ACallbackMayDestroyEverything) {
  struct All {
    tuff_buffer* result = nullptr;
    tuff_program* program = nullptr;
    tuff_event* event = nullptr;
    std::atomic<bool> gone{false};
  } all;
  all.program = compile(add_text(2));
  tuff_buffer *x = buffer({1, 2}, {2}), *arguments[] = {x, x};
  ASSERT_EQ(tuff_program_run_async(all.program, nullptr, arguments, 2, &all.result, 1, &all.event),
            TUFF_OK);
  tuff_buffer_destroy(x);
  tuff_device_destroy(device_), device_ = nullptr;
  tuff_context_destroy(context_), context_ = nullptr;
  auto destroy = [](void* user, tuff_status status) {
    All& all = *static_cast<All*>(user);
    EXPECT_EQ(status, TUFF_OK);
    tuff_buffer_destroy(all.result), tuff_program_destroy(all.program);
    all.gone = true;
  };
  ASSERT_EQ(tuff_event_on_done(all.event, destroy, &all), TUFF_OK);
  while (!all.gone) std::this_thread::yield();
  tuff_event_destroy(all.event);
}

TEST_F(CApi, ALogMayAskTheContext) {
  struct Asks {
    tuff_context* context = nullptr;
    size_t told = 0, devices = 0;
  } asks;
  tuff_context_options options = TUFF_INIT(tuff_context_options);
  options.log_user = &asks;
  options.log = [](void* user, int32_t, const char*) {
    Asks& asks = *static_cast<Asks*>(user);
    ++asks.told;
    EXPECT_EQ(tuff_context_count_devices(asks.context, &asks.devices), TUFF_OK);
  };
  tuff_device* device = nullptr;
  ASSERT_EQ(tuff_context_create(&options, &asks.context), TUFF_OK);
  ASSERT_EQ(tuff_device_open(asks.context, "cpu", &device), TUFF_OK);
  EXPECT_GE(asks.told, 1u);
  EXPECT_GE(asks.devices, 1u);
  tuff_device_destroy(device), tuff_context_destroy(asks.context);
}

}  // namespace
}  // namespace tuff_test
