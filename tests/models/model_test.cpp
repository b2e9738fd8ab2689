// Every toy model on both devices: right numbers, the second run like the first,
// and a warm cache that compiles nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "backend/vulkan/vulkan.h"
#include "ir/evaluate/tolerances.h"
#include "tests/models/run_model.h"

namespace tuff {
namespace {

struct ModelCase {
  const char* name;
  DType computes = DType::kF32;
};

constexpr ModelCase kModels[] = {{"mlp"},
                                 {"ffn_tiny"},
                                 {"mha_tiny"},
                                 {"bert_tiny"},
                                 {"gpt2_tiny"},
                                 {"gpt_neo_tiny"},
                                 {"minilm_tiny"},
                                 {"vit_tiny"},
                                 {"llama_tiny", DType::kBF16},
                                 {"gpt2_decode_tiny"},
                                 {"resnet_tiny"},
                                 {"gpt2_train_tiny"},
                                 {"vit_train_tiny"},
                                 {"resnet_train_tiny"},
                                 {"rnn_tiny"},
                                 {"rnn_train_tiny"},
                                 {"loops_tiny"},
                                 {"mlp_train_tiny"},
                                 {"mlp_adam_tiny"}};

using Param = std::tuple<ModelCase, const char*>;

class ModelTest : public ::testing::TestWithParam<Param> {};

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

TEST_P(ModelTest, AgreesWithJax) {
  auto [model_case, device_name] = GetParam();
  auto model = load_model(model_case.name);
  ASSERT_OK(model);
  auto device = open_device(device_name);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  auto executable = compile_model(*model, **device, {});
  ASSERT_OK(executable);
  auto outputs = (*executable)(model->arguments);
  ASSERT_OK(outputs);
  ASSERT_FALSE(model->expected.empty());
  for (size_t i = 0; i < model->expected.size(); ++i)
    EXPECT_LE(scale_error((*outputs)[i], model->expected[i]),
              tolerance("model", model_case.computes))
        << "output " << i;

  auto again = (*executable)(model->arguments);
  ASSERT_OK(again);
  for (size_t i = 0; i < outputs->size(); ++i)
    EXPECT_TRUE((*again)[i] == (*outputs)[i]) << "output " << i;
  EXPECT_EQ(validation_errors(), 0);
}

INSTANTIATE_TEST_SUITE_P(Toys, ModelTest,
                         ::testing::Combine(::testing::ValuesIn(kModels),
                                            ::testing::Values("cpu", "vulkan")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::get<1>(info.param);
                         });

TEST(Cache, FreshDeviceWithWarmDiskCompilesNothing) {
  auto model = load_model("gpt2_tiny");
  ASSERT_OK(model);
  std::string dir =
      std::filesystem::temp_directory_path() / ("tuff_model_test_" + std::to_string(::getpid()));
  std::vector<Literal> first;
  for (int round = 0; round < 2; ++round) {
    auto device = open_device("vulkan", dir);
    if (!device.ok() && is_missing_device(device.error()))
      GTEST_SKIP() << device.error().to_string();
    ASSERT_OK(device);
    auto executable = compile_model(*model, **device, {});
    ASSERT_OK(executable);
    if (round == 0)
      EXPECT_GT(executable->load_stats().glsl_compiled, 0);
    else
      EXPECT_EQ(executable->load_stats().glsl_compiled, 0);
    auto outputs = (*executable)(model->arguments);
    ASSERT_OK(outputs);
    if (round == 0)
      first = std::move(*outputs);
    else
      for (size_t i = 0; i < first.size(); ++i)
        EXPECT_TRUE(first[i] == (*outputs)[i]) << "output " << i;
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace tuff
