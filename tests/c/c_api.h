// What tests of the C interface share: a device, types in one expression, programs from text.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tuff.h>

#include <string>
#include <vector>

namespace tuff_test {

// Reads the shape where it lies.
inline tuff_tensor_type f32(const std::vector<int64_t>& shape) {
  return {sizeof(tuff_tensor_type), TUFF_F32, static_cast<uint32_t>(shape.size()), shape.data()};
}

// A context, and the CPU as its device, unless the test asks for another.
class CApi : public testing::Test {
 protected:
  void SetUp() override {
    tuff_context_options options = TUFF_INIT(tuff_context_options);
    options.log = [](void* self, int32_t, const char* text) {
      static_cast<CApi*>(self)->log_ += std::string(text) + "\n";
    };
    options.log_user = this;
    ASSERT_EQ(tuff_context_create(&options, &context_), TUFF_OK) << tuff_last_error();
    ASSERT_EQ(tuff_device_open(context_, "cpu", &device_), TUFF_OK) << tuff_last_error();
  }
  void TearDown() override {
    tuff_device_destroy(device_);
    tuff_context_destroy(context_);
  }

  tuff_buffer* buffer(const std::vector<float>& values, const std::vector<int64_t>& shape) {
    tuff_tensor_type type = f32(shape);
    tuff_buffer* made = nullptr;
    EXPECT_EQ(tuff_buffer_create(device_, &type, values.data(), &made), TUFF_OK)
        << tuff_last_error();
    return made;
  }
  tuff_program* compile(const std::string& text) {
    tuff_compile_options options = TUFF_INIT(tuff_compile_options);
    options.bytes = text.data(), options.num_bytes = text.size(), options.name = "test.mlir";
    tuff_program* made = nullptr;
    EXPECT_EQ(tuff_program_compile(device_, &options, &made), TUFF_OK)
        << tuff_last_error_location() << ": " << tuff_last_error();
    return made;
  }
  static std::vector<float> values(const tuff_buffer* buffer) {
    std::vector<float> read(tuff_buffer_size(buffer) / sizeof(float));
    EXPECT_EQ(tuff_buffer_read(buffer, read.data(), read.size() * sizeof(float)), TUFF_OK)
        << tuff_last_error();
    return read;
  }

  std::string log_;
  tuff_context* context_ = nullptr;
  tuff_device* device_ = nullptr;
};

// x + y of `size` floats.
inline std::string add_text(int64_t size) {
  std::string type = "tensor<" + std::to_string(size) + "xf32>";
  return "func.func @main(%x: " + type + ", %y: " + type + ") -> " + type +
         " {\n  %0 = stablehlo.add %x, %y : " + type + "\n  return %0 : " + type + "\n}\n";
}
// x - y * 0.5, where x may be updated in place.
inline std::string step_text(int64_t size) {
  std::string type = "tensor<" + std::to_string(size) + "xf32>";
  return "func.func @main(%x: " + type + " {tf.aliasing_output = 0 : i32}, %y: " + type + ") -> " +
         type + " {\n  %h = stablehlo.constant dense<5.0e-1> : " + type +
         "\n  %0 = stablehlo.multiply %y, %h : " + type +
         "\n  %1 = stablehlo.subtract %x, %0 : " + type + "\n  return %1 : " + type + "\n}\n";
}

}  // namespace tuff_test
