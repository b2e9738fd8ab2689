// Training steps on both devices: 20 in a row, each on the weights of the one
// before, with the losses that JAX gets (expected/losses.npy).
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "frontend/weights/bundle.h"
#include "frontend/weights/npy.h"
#include "tests/models/run_model.h"

namespace tuff {
namespace {

constexpr const char* kModels[] = {"mlp_train_tiny", "mlp_adam_tiny",     "rnn_train_tiny",
                                   "vit_train_tiny", "resnet_train_tiny", "gpt2_train_tiny"};
constexpr double kTolerance = 1e-3;  // relative

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

// (result, argument): the result "params.NAME" is the next step's argument NAME.
Result<std::vector<std::pair<size_t, size_t>>> carried_values(const std::string& dir) {
  TUFF_ASSIGN(Model model, read_model(dir));
  std::vector<std::pair<size_t, size_t>> pairs;
  const Signature& signature = *model.signature;
  for (size_t r = 0; r < signature.results.size(); ++r)
    for (size_t a = 0; a < signature.arguments.size(); ++a)
      if (signature.results[r].name == "params." + signature.arguments[a].name)
        pairs.emplace_back(r, a);
  if (pairs.size() + 1 != signature.results.size())
    return Error{ErrorCode::kBadInput, "A result is neither the loss nor a parameter.", dir};
  return pairs;
}

using Param = std::tuple<const char*, const char*>;
class TrainingTest : public ::testing::TestWithParam<Param> {};

TEST_P(TrainingTest, LossesAreThoseOfJax) {
  auto [name, device_name] = GetParam();
  std::string dir = std::string(TUFF_TEST_DATA) + "/models/" + name;
  auto losses = read_npy(dir + "/expected/losses.npy", DType::kF32);
  ASSERT_OK(losses);
  auto carried = carried_values(dir);
  ASSERT_OK(carried);
  auto model = load_model(name);
  ASSERT_OK(model);
  auto device = open_device(device_name);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  auto executable = compile_model(*model, **device, {});
  ASSERT_OK(executable);
  ASSERT_EQ(losses->num_elements(), 20);
  for (int64_t step = 0; step < losses->num_elements(); ++step) {
    auto outputs = (*executable)(model->arguments);
    ASSERT_OK(outputs);
    double loss = (*outputs)[0].get_double(0), expected = losses->get_double(step);
    EXPECT_LE(std::fabs(loss - expected), kTolerance * std::fabs(expected))
        << "step " << step << ": " << loss << " instead of " << expected;
    for (auto [result, argument] : *carried)
      model->arguments[argument] = std::move((*outputs)[result]);
  }
}

INSTANTIATE_TEST_SUITE_P(Toys, TrainingTest,
                         ::testing::Combine(::testing::ValuesIn(kModels),
                                            ::testing::Values("cpu", "vulkan")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param);
                         });

}  // namespace
}  // namespace tuff
