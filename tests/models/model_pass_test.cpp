// The small models with each optional pass disabled in turn: the same numbers.
#include <gtest/gtest.h>

#include "backend/vulkan/vulkan.h"
#include "ir/evaluate/tolerances.h"
#include "ir/pass.h"
#include "tests/models/run_model.h"

namespace tuff {
namespace {

std::vector<std::string> optional_steps() {
  std::vector<std::string> names = {"library_calls"};
  for (const Pass& pass : pass_table())
    if (pass.optional) names.push_back(pass.name);
  return names;
}

class DisabledPassTest
    : public ::testing::TestWithParam<std::tuple<const char*, const char*, std::string>> {};

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

TEST_P(DisabledPassTest, GivesTheSameNumbers) {
  auto [name, device_name, disabled] = GetParam();
  auto model = load_model(name);
  ASSERT_OK(model);
  auto device = open_device(device_name);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  auto executable = compile_model(*model, **device, {disabled});
  ASSERT_OK(executable);
  auto outputs = (*executable)(model->arguments);
  ASSERT_OK(outputs);
  for (size_t i = 0; i < model->expected.size(); ++i)
    EXPECT_LE(scale_error((*outputs)[i], model->expected[i]), tolerance("model")) << "output " << i;
  EXPECT_EQ(validation_errors(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Toys, DisabledPassTest,
    ::testing::Combine(::testing::Values("mlp", "ffn_tiny", "mha_tiny", "gpt2_tiny", "minilm_tiny"),
                       ::testing::Values("cpu", "vulkan"), ::testing::ValuesIn(optional_steps())),
    [](const auto& info) {
      return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param) + "_" +
             std::get<2>(info.param);
    });

}  // namespace
}  // namespace tuff
