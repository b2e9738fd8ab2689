// Golden files: kernel text in, GLSL out. TUFF_REWRITE_GOLDENS=1 writes what the
// printer prints now. The prelude has its own tests and is left out.
#include "shaders/emit/emit_glsl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "shaders/kernel/kernel_text.h"
#include "shaders/storage.h"
#include "validate_glsl.h"

namespace tuff {
namespace {

using testing::HasSubstr;

constexpr const char* kSeparator = "---- glsl ----\n";

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TUFF_TEST_DATA "/kernels/emit"))
    if (entry.path().extension() == ".golden") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

// A golden file: comment lines, canonical kernel text, and the GLSL.
struct Golden {
  std::string path, comments, kernel, glsl;
  Caps caps;
};

Golden read_golden(const std::string& name) {
  Golden golden;
  golden.path = TUFF_TEST_DATA "/kernels/emit/" + name + ".golden";
  std::ifstream file(golden.path);
  std::stringstream stream;
  stream << file.rdbuf();
  std::string text = stream.str();
  size_t split = text.find(kSeparator);
  if (split != std::string::npos) golden.glsl = text.substr(split + std::strlen(kSeparator));
  text = text.substr(0, split);
  size_t kernel = text.find("kernel ");
  golden.comments = text.substr(0, kernel);
  golden.kernel = text.substr(kernel);
  bool poor = golden.comments.find("a poor device") != std::string::npos;
  if (poor) golden.caps.storage_8bit = golden.caps.storage_16bit = false;
  if (poor) golden.caps.int64 = golden.caps.float64 = false;
  return golden;
}

class Goldens : public testing::TestWithParam<std::string> {};

TEST_P(Goldens, TextIsCanonicalAndValid) {
  Golden golden = read_golden(GetParam());
  Result<Kernel> kernel = parse_kernel(golden.kernel, golden.path);
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  EXPECT_EQ(print_kernel(*kernel), golden.kernel);
  Status status = verify_kernel(*kernel);
  EXPECT_TRUE(status.ok()) << status.error().to_string();
}

TEST_P(Goldens, Glsl) {
  Golden golden = read_golden(GetParam());
  Result<GlslShader> shader = emit_glsl(*parse_kernel(golden.kernel, golden.path), golden.caps);
  ASSERT_TRUE(shader.ok()) << shader.error().to_string();
  std::string text = without_prelude(shader->text);
  if (std::getenv("TUFF_REWRITE_GOLDENS") != nullptr)
    std::ofstream(golden.path) << golden.comments << golden.kernel << kSeparator << text;
  else
    EXPECT_EQ(text, golden.glsl);
  if (!can_validate_glsl()) GTEST_SKIP() << "glslangValidator or spirv-val was not found";
  EXPECT_EQ(validate_glsl(*shader, GetParam()), "");
}

INSTANTIATE_TEST_SUITE_P(EmitGlsl, Goldens, testing::ValuesIn(golden_names()),
                         [](const auto& info) { return info.param; });

GlslShader shader_of(const std::string& name) {
  Golden golden = read_golden(name);
  return std::move(emit_glsl(*parse_kernel(golden.kernel, golden.path), golden.caps)).value();
}

TEST(EmitGlsl, CountsBindingsAndPushConstants) {
  GlslShader bound = shader_of("map_guard");
  EXPECT_EQ(bound.num_descriptors, 3u);
  EXPECT_EQ(bound.num_addresses, 0u);
  EXPECT_EQ(bound.push_constant_bytes, 4u + 2 * 4);
  GlslShader addressed = shader_of("by_address");
  EXPECT_EQ(addressed.num_descriptors, 1u);
  EXPECT_EQ(addressed.num_addresses, 2u);
  EXPECT_EQ(addressed.push_constant_bytes, 2u * 8 + 4 + 4);
}

TEST(EmitGlsl, RefusesWhatTheDeviceLacks) {
  Golden golden = read_golden("copy_all_types");
  Kernel kernel = *parse_kernel(golden.kernel, golden.path);
  Caps poor;
  poor.float64 = false;
  EXPECT_THAT(emit_glsl(kernel, poor).error().message, HasSubstr("f64"));
  kernel.num_params = 32;
  EXPECT_THAT(emit_glsl(kernel, {}).error().message, HasSubstr("maxPushConstantsSize"));
}

TEST(EmitGlsl, NamesTheOpThatHasNoDoubleForm) {
  Result<Kernel> kernel = parse_kernel(
      "kernel map lanes 1 params 0 { buffer b0: f64 readwrite grid { lane %0 < 1 {"
      " %1 = f64 load b0[0] %2 = f64 tanh %1 store b0[0] = %2 } } }",
      "test");
  Result<GlslShader> shader = emit_glsl(*kernel, {});
  ASSERT_FALSE(shader.ok());
  EXPECT_EQ(shader.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(shader.error().message, HasSubstr("tanh"));
}

TEST(Storage, NarrowTypesAreWidenedWhereTheyCannotBeStored) {
  Caps rich, poor;
  poor.storage_8bit = poor.storage_16bit = false;
  EXPECT_EQ(storage_dtype(DType::kBool, rich), DType::kBool);
  EXPECT_EQ(storage_dtype(DType::kBool, poor), DType::kU32);
  EXPECT_EQ(storage_dtype(DType::kI8, poor), DType::kI32);
  EXPECT_EQ(storage_dtype(DType::kBF16, poor), DType::kF32);
  EXPECT_EQ(storage_size(DType::kF16, rich), 2);
  EXPECT_EQ(storage_size(DType::kF16, poor), 4);
  EXPECT_EQ(storage_size(DType::kF64, poor), 8);
}

TEST(Storage, SharedMemoryCountsScratch) {
  Golden golden = read_golden("argmax");
  EXPECT_EQ(shared_size_bytes(*parse_kernel(golden.kernel, "test")), 8 * 4 + 8 * 4);
  golden = read_golden("matmul_shared");
  EXPECT_EQ(shared_size_bytes(*parse_kernel(golden.kernel, "test")), 2 * 16 * 4);
}

}  // namespace
}  // namespace tuff
