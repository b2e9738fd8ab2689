// Versions, errors, contexts, devices, the cache.
#include "c_api.h"

namespace tuff_test {
namespace {

using testing::HasSubstr;

TEST_F(CApi, VersionIsTheHeaders) {
  EXPECT_EQ(tuff_version(),
            uint32_t{TUFF_VERSION_MAJOR * 10000 + TUFF_VERSION_MINOR * 100 + TUFF_VERSION_PATCH});
  EXPECT_STREQ(tuff_version_string(), "0.1.0");
}

// What an application was compiled with stays: a struct may grow at its end only, and then by a
// line here.
TEST_F(CApi, SizesOfStructs) {
  EXPECT_EQ(sizeof(tuff_tensor_type), 24u);
  EXPECT_EQ(sizeof(tuff_context_options), 64u);
  EXPECT_EQ(sizeof(tuff_device_info), 136u);
  EXPECT_EQ(sizeof(tuff_vulkan_device), 88u);
  EXPECT_EQ(sizeof(tuff_vulkan_buffer), 24u);
  EXPECT_EQ(sizeof(tuff_vulkan_semaphore), 16u);
  EXPECT_EQ(sizeof(tuff_argument_shape), 24u);
  EXPECT_EQ(sizeof(tuff_argument_value), 32u);
  EXPECT_EQ(sizeof(tuff_compile_options), 104u);
  EXPECT_EQ(sizeof(tuff_program_info), 96u);
  EXPECT_EQ(sizeof(tuff_value_info), 48u);
  EXPECT_EQ(sizeof(tuff_step_info), 72u);
  EXPECT_EQ(sizeof(tuff_run_options), 64u);
  EXPECT_EQ(sizeof(tuff_cache_info), 40u);
  EXPECT_EQ(sizeof(tuff_save_options), 16u);
}

TEST_F(CApi, EveryStatusHasAName) {
  for (tuff_status status : {TUFF_OK, TUFF_RUN_FAILED, TUFF_INVALID_ARGUMENT, TUFF_NO_DEVICE,
                             TUFF_FALLBACK_REFUSED, TUFF_TIMEOUT, TUFF_OUT_OF_MEMORY,
                             TUFF_DEVICE_LOST, TUFF_BAD_INPUT, TUFF_UNSUPPORTED, TUFF_CANCELLED})
    EXPECT_STRNE(tuff_status_name(status), "unknown status") << status;
  EXPECT_STREQ(tuff_status_name(99), "unknown status");
}

TEST_F(CApi, DtypesAreStableHLOs) {
  EXPECT_STREQ(tuff_dtype_name(TUFF_BF16), "bf16");
  EXPECT_STREQ(tuff_dtype_name(TUFF_U8), "ui8");
  EXPECT_EQ(tuff_dtype_size(TUFF_F64), 8u);
  EXPECT_STREQ(tuff_dtype_name(TUFF_C64), "complex<f32>");
  EXPECT_EQ(tuff_dtype_size(TUFF_C128), 16u);
  EXPECT_STREQ(tuff_dtype_name(TUFF_F8E4M3FN), "f8E4M3FN");
  EXPECT_STREQ(tuff_dtype_name(TUFF_U2), "ui2");
  EXPECT_EQ(tuff_dtype_size(TUFF_I4), 1u);
  EXPECT_EQ(tuff_dtype_size(TUFF_U2 + 1), 0u);
  EXPECT_EQ(tuff_dtype_name(-1), nullptr);
}

TEST_F(CApi, NullIsAnErrorThatNamesTheArgument) {
  EXPECT_EQ(tuff_context_create(nullptr, nullptr), TUFF_INVALID_ARGUMENT);
  EXPECT_STREQ(tuff_last_error(), "The argument (context) is NULL.");
  EXPECT_EQ(tuff_device_open(nullptr, "cpu", &device_), TUFF_INVALID_ARGUMENT);
  EXPECT_EQ(tuff_program_run(nullptr, nullptr, nullptr, 0, nullptr, 0), TUFF_INVALID_ARGUMENT);
  EXPECT_EQ(tuff_event_wait(nullptr, 0), TUFF_INVALID_ARGUMENT);
  EXPECT_EQ(tuff_buffer_size(nullptr), 0u);
  tuff_buffer_destroy(nullptr), tuff_program_destroy(nullptr), tuff_event_destroy(nullptr);
  tuff_device_destroy(nullptr), tuff_context_destroy(nullptr);
}

TEST_F(CApi, DevicesAreListedWithTheCpuLast) {
  size_t count = 0;
  ASSERT_EQ(tuff_context_count_devices(context_, &count), TUFF_OK);
  ASSERT_GE(count, 1u);
  tuff_device_info info = TUFF_INIT(tuff_device_info);
  ASSERT_EQ(tuff_context_device_info(context_, count - 1, &info), TUFF_OK);
  EXPECT_STREQ(info.id, "cpu");
  EXPECT_EQ(info.kind, TUFF_DEVICE_CPU);
  EXPECT_TRUE(info.usable);
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_EQ(tuff_context_device_info(context_, count, &info), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), HasSubstr("There is no device"));
}

TEST_F(CApi, AnOlderCallersStructIsFilledAsFarAsItGoes) {
  struct {
    size_t struct_size = offsetof(tuff_device_info, id);
    int32_t kind = -1, usable = -1;
    const char* beyond = "untouched";
  } older;
  ASSERT_EQ(tuff_device_get_info(device_, reinterpret_cast<tuff_device_info*>(&older)), TUFF_OK);
  EXPECT_EQ(older.kind, TUFF_DEVICE_CPU);
  EXPECT_STREQ(older.beyond, "untouched");
  tuff_device_info unset{};
  EXPECT_EQ(tuff_device_get_info(device_, &unset), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), HasSubstr("TUFF_INIT"));
}

TEST_F(CApi, UnknownDevicesAreRefused) {
  tuff_device* none = nullptr;
  EXPECT_EQ(tuff_device_open(context_, "tpu", &none), TUFF_INVALID_ARGUMENT);
  EXPECT_STREQ(tuff_last_error(),
               "The device (tpu) is not known; use auto, vulkan, vulkan:N or cpu.");
  EXPECT_STREQ(tuff_last_error_location(), "") << "of the command line, say";
  EXPECT_EQ(tuff_device_open(context_, "reference", &none), TUFF_INVALID_ARGUMENT);
  EXPECT_EQ(tuff_device_open(context_, "vulkan:99", &none), TUFF_NO_DEVICE);
  EXPECT_EQ(none, nullptr);
}

TEST_F(CApi, ErrorsAreAThreadsOwn) {
  EXPECT_EQ(tuff_device_open(context_, "tpu", nullptr), TUFF_INVALID_ARGUMENT);
  tuff_cache_info cache = TUFF_INIT(tuff_cache_info);
  EXPECT_EQ(tuff_cache_get_info(context_, &cache), TUFF_OK);
  EXPECT_STREQ(tuff_last_error(), "The argument (device) is NULL.")
      << "kept until the next failure";
}

TEST_F(CApi, ManyContextsAtOnce) {
  for (int i = 0; i < 1000; ++i) {
    tuff_context* context = nullptr;
    ASSERT_EQ(tuff_context_create(nullptr, &context), TUFF_OK);
    tuff_context_destroy(context);
  }
}

}  // namespace
}  // namespace tuff_test
