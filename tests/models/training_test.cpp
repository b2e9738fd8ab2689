// Training steps on both devices: 20 in a row, each on the weights of the one
// before, with the losses that JAX gets (expected/losses.npy). The weights are donated, so
// they are updated where they lie.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "frontend/session/model.h"
#include "frontend/weights/npy.h"
#include "ir/evaluate/tolerances.h"
#include "tests/models/run_model.h"

namespace tuff {
namespace {

struct TrainingCase {
  const char* name;
  DType computes = DType::kF32;
};
// llama_train_tiny computes in bf16, where JAX rounds less often than its program says.
constexpr TrainingCase kModels[] = {{"mlp_train_tiny"},     {"mlp_adam_tiny"},
                                    {"rnn_train_tiny"},     {"vit_train_tiny"},
                                    {"resnet_train_tiny"},  {"gpt2_train_tiny"},
                                    {"gpt_neo_train_tiny"}, {"llama_train_tiny", DType::kBF16}};

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

// (result, argument): the result "params.NAME" is the next step's argument NAME.
Result<std::vector<std::pair<size_t, size_t>>> carried_values(const std::string& dir) {
  TUFF_ASSIGN(Model model, import_model(dir));
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t r = 0; r < model.results.size(); ++r)
    for (size_t a = 0; a < model.arguments.size(); ++a)
      if (model.results[r] == "params." + model.arguments[a].name) pairs.emplace_back(r, a);
  if (pairs.size() + 1 != model.results.size())
    return Error{ErrorCode::kBadInput, "A result is neither the loss nor a parameter.", dir};
  return pairs;
}

using Param = std::tuple<TrainingCase, const char*>;
class TrainingTest : public ::testing::TestWithParam<Param> {};

TEST_P(TrainingTest, LossesAreThoseOfJax) {
  auto [training, device_name] = GetParam();
  std::string dir = std::string(TUFF_TEST_DATA) + "/models/" + training.name;
  auto losses = read_npy(dir + "/expected/losses.npy", DType::kF32);
  ASSERT_OK(losses);
  auto model = load_model(training.name);
  ASSERT_OK(model);
  auto device = open_device(device_name);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  auto executable = compile_model(*model, **device, {});
  ASSERT_OK(executable);
  auto carried = carried_values(dir);
  ASSERT_OK(carried);
  ASSERT_EQ(losses->num_elements(), 20);
  for (int64_t step = 0; step < losses->num_elements(); ++step) {
    auto outputs = (*executable)(model->arguments);
    ASSERT_OK(outputs);
    double loss = (*outputs)[0].get_double(0), expected = losses->get_double(step);
    EXPECT_LE(std::fabs(loss - expected),
              tolerance("training", training.computes) * std::fabs(expected))
        << "step " << step << ": " << loss << " instead of " << expected;
    for (auto [result, argument] : *carried)
      model->arguments[argument] = std::move((*outputs)[result]);
  }
}

INSTANTIATE_TEST_SUITE_P(Toys, TrainingTest,
                         ::testing::Combine(::testing::ValuesIn(kModels),
                                            ::testing::Values("cpu", "vulkan")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::get<1>(info.param);
                         });

}  // namespace
}  // namespace tuff
