// Programs: compiling, what is told of them, binding, cancelling.
#include <cstring>

#include "c_api.h"

namespace tuff_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(CApi, AProgramTellsWhatItTakesAndGives) {
  tuff_program* program = compile(add_text(3));
  tuff_program_info info = TUFF_INIT(tuff_program_info);
  ASSERT_EQ(tuff_program_get_info(program, &info), TUFF_OK);
  EXPECT_EQ(info.num_arguments, 2u);
  EXPECT_EQ(info.num_results, 1u);
  EXPECT_EQ(info.num_operations, 1u);
  EXPECT_EQ(info.argument_bytes, 24);
  ASSERT_EQ(info.num_steps, 1u);
  tuff_value_info value = TUFF_INIT(tuff_value_info);
  ASSERT_EQ(tuff_program_argument(program, 1, &value), TUFF_OK);
  EXPECT_STREQ(value.name, "y");
  EXPECT_EQ(value.dtype, TUFF_F32);
  ASSERT_EQ(value.rank, 1u);
  EXPECT_EQ(value.shape[0], 3);
  EXPECT_FALSE(value.is_bound);
  EXPECT_EQ(tuff_program_result(program, 1, &value), TUFF_INVALID_ARGUMENT);
  tuff_step_info step = TUFF_INIT(tuff_step_info);
  ASSERT_EQ(tuff_program_step(program, 0, &step), TUFF_OK);
  EXPECT_THAT(step.label, HasSubstr("test.mlir:2:8"));
  EXPECT_STREQ(step.operations, "add");
  EXPECT_EQ(step.read_bytes, 24);
  tuff_program_destroy(program);
}

TEST_F(CApi, ABadModelSaysWhere) {
  std::string text =
      "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %0 = stablehlo.frob %x : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n";
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.bytes = text.data(), options.num_bytes = text.size(), options.name = "frob.mlir";
  tuff_program* none = nullptr;
  tuff_status status = tuff_program_compile(device_, &options, &none);
  EXPECT_TRUE(status == TUFF_BAD_INPUT || status == TUFF_UNSUPPORTED);
  EXPECT_THAT(tuff_last_error_location(), HasSubstr("frob.mlir:2"));
  options.path = "/no/such/model.mlir";
  EXPECT_EQ(tuff_program_compile(device_, &options, &none), TUFF_INVALID_ARGUMENT)
      << "a path and bytes";
  options.bytes = nullptr;
  EXPECT_EQ(tuff_program_compile(device_, &options, &none), TUFF_BAD_INPUT);
  EXPECT_EQ(none, nullptr);
}

TEST_F(CApi, ABundleBringsItsWeights) {
  std::string path = std::string(TUFF_TEST_DATA) + "/models/mlp";
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.path = path.c_str();
  tuff_program* program = nullptr;
  ASSERT_EQ(tuff_program_compile(device_, &options, &program), TUFF_OK) << tuff_last_error();
  tuff_program_info info = TUFF_INIT(tuff_program_info);
  ASSERT_EQ(tuff_program_get_info(program, &info), TUFF_OK);
  size_t bound = 0;
  for (size_t i = 0; i < info.num_arguments; ++i) {
    tuff_value_info value = TUFF_INIT(tuff_value_info);
    ASSERT_EQ(tuff_program_argument(program, i, &value), TUFF_OK);
    bound += value.is_bound != 0;
  }
  EXPECT_GT(bound, 0u);
  EXPECT_LT(bound, info.num_arguments);
  tuff_program_destroy(program);
}

TEST_F(CApi, BoundArgumentsNeedNotBeGiven) {
  tuff_program* program = compile(add_text(2));
  tuff_buffer *one = buffer({1, 1}, {2}), *two = buffer({2, 2}, {2}), *wrong = buffer({1}, {1});
  EXPECT_EQ(tuff_program_bind(program, 0, wrong), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), HasSubstr("has type (2xf32), the buffer (1xf32)"));
  ASSERT_EQ(tuff_program_bind(program, 0, one), TUFF_OK);
  float data[] = {5, 5};
  EXPECT_EQ(tuff_buffer_write(one, data, sizeof data), TUFF_INVALID_ARGUMENT) << "it is bound";
  tuff_buffer *arguments[] = {nullptr, two}, *result = nullptr;
  ASSERT_EQ(tuff_program_run(program, nullptr, arguments, 2, &result, 1), TUFF_OK);
  EXPECT_THAT(values(result), ElementsAre(3, 3));
  tuff_buffer_destroy(result);
  ASSERT_EQ(tuff_program_bind(program, 0, nullptr), TUFF_OK);
  EXPECT_EQ(tuff_program_run(program, nullptr, arguments, 2, &result, 1), TUFF_INVALID_ARGUMENT);
  EXPECT_EQ(tuff_buffer_write(one, data, sizeof data), TUFF_OK);
  for (tuff_buffer* made : {one, two, wrong}) tuff_buffer_destroy(made);
  tuff_program_destroy(program);
}

TEST_F(CApi, SizesThatAModelLeavesOpenAreGiven) {
  std::string text =
      "func.func @main(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {\n"
      "  %0 = stablehlo.add %x, %x : tensor<?x2xf32>\n  return %0 : tensor<?x2xf32>\n}\n";
  int64_t sizes[] = {3, 2};
  tuff_argument_shape shape = {"x", 2, sizes};
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.bytes = text.data(), options.num_bytes = text.size();
  tuff_program* program = nullptr;
  EXPECT_NE(tuff_program_compile(device_, &options, &program), TUFF_OK);
  EXPECT_THAT(tuff_last_error(), HasSubstr("shape (x=2x64)"));  // and no option of the command
  options.shapes = &shape, options.num_shapes = 1;
  ASSERT_EQ(tuff_program_compile(device_, &options, &program), TUFF_OK) << tuff_last_error();
  tuff_value_info value = TUFF_INIT(tuff_value_info);
  ASSERT_EQ(tuff_program_result(program, 0, &value), TUFF_OK);
  EXPECT_EQ(value.shape[0], 3);
  tuff_program_destroy(program);
}

TEST_F(CApi, SizesThatAModelHasAreNotGiven) {
  std::string text = add_text(8);
  int64_t size = 8;
  tuff_argument_shape shape = {"x", 1, &size};
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.bytes = text.data(), options.num_bytes = text.size();
  options.shapes = &shape, options.num_shapes = 1;
  tuff_program* program = nullptr;
  EXPECT_EQ(tuff_program_compile(device_, &options, &program), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), HasSubstr("shapes are fixed"));
  EXPECT_STREQ(tuff_last_error_location(), "options.shapes (x)");
}

TEST_F(CApi, ProgressIsToldAndMayCancel) {
  std::string text = add_text(8), phases;
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.bytes = text.data(), options.num_bytes = text.size();
  options.progress_user = &phases;
  options.progress = [](void* user, const char* phase, int64_t, int64_t) -> int32_t {
    *static_cast<std::string*>(user) += std::string(phase) + " ";
    return 0;
  };
  tuff_program* program = nullptr;
  ASSERT_EQ(tuff_program_compile(device_, &options, &program), TUFF_OK);
  EXPECT_THAT(phases, HasSubstr("import compile"));
  tuff_program_destroy(program);
  program = nullptr;
  options.progress = [](void*, const char* phase, int64_t, int64_t) -> int32_t {
    return std::strcmp(phase, "compile") == 0;
  };
  EXPECT_EQ(tuff_program_compile(device_, &options, &program), TUFF_CANCELLED);
  EXPECT_EQ(program, nullptr);
}

TEST_F(CApi, RequireGpuRefusesTheCpu) {
  std::string text = add_text(8);
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.bytes = text.data(), options.num_bytes = text.size(), options.require_gpu = 1;
  tuff_program* none = nullptr;
  EXPECT_EQ(tuff_program_compile(device_, &options, &none), TUFF_FALLBACK_REFUSED);
}

}  // namespace
}  // namespace tuff_test
