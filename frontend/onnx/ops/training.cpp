// Optimizers: one step for each of the tensors that they train.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

// The inputs are the rate, how many steps were before, and lists of one length: the tensors, their
// gradients, then what the optimizer keeps of each.
class Step {
 public:
  Step(const Call& call, size_t lists) : call_(call), lists_(lists) {
    size_t listed = call.inputs.size() - std::min<size_t>(call.inputs.size(), 2);
    if (listed == 0 || listed % lists != 0)
      refuse_input(fmt::format(
          "The inputs after the first two must be ({}) lists of one length, but are ({}).", lists,
          listed));
    count_ = listed / lists;
  }

  // The results of `update` for each tensor, as lists again. It sees the rate, the number of steps
  // and one element of each list, all of the tensor's element type.
  template <typename Update>
  Items run(const Update& update) const {
    std::vector<std::vector<Tensor>> results(count_);
    for (size_t k = 0; k < count_; ++k) {
      std::vector<Tensor> state;
      for (size_t list = 0; list < lists_; ++list)
        state.push_back(call_.need(2 + list * count_ + k));
      DType dtype = state[0].dtype();
      results[k] = update(call_.need(0).reshape({}).convert(dtype),
                          call_.need(1).reshape({}).convert(dtype), state);
    }
    Items items;
    for (size_t list = 0; list < results[0].size(); ++list)
      for (size_t k = 0; k < count_; ++k) items.emplace_back(results[k][list]);
    return items;
  }

 private:
  const Call& call_;
  size_t lists_, count_ = 0;
};

Items adagrad(const Call& call) {
  double norm = call.f("norm_coefficient", 0), decay = call.f("decay_factor", 0);
  double epsilon = call.f("epsilon", 1e-6);
  return Step(call, 3).run(
      [&](const Tensor& rate, const Tensor& steps, const std::vector<Tensor>& s) {
        Tensor gradient = norm * s[0] + s[1];
        Tensor squares = s[2] + gradient * gradient;
        Tensor now = rate / (1.0 + steps * decay);
        return std::vector<Tensor>{s[0] - now * gradient / (squares.sqrt() + epsilon), squares};
      });
}

Items adam(const Call& call) {
  double norm = call.f("norm_coefficient", 0), post = call.f("norm_coefficient_post", 0);
  double alpha = call.f("alpha", 0.9), beta = call.f("beta", 0.999);
  double epsilon = call.f("epsilon", 1e-6);
  return Step(call, 4).run(
      [&](const Tensor& rate, const Tensor& steps, const std::vector<Tensor>& s) {
        Tensor gradient = norm * s[0] + s[1];
        Tensor mean = alpha * s[2] + (1 - alpha) * gradient;
        Tensor squares = beta * s[3] + (1 - beta) * (gradient * gradient);
        auto left = [&](double base) {  // of the start, whose share shrinks with the steps
          return 1.0 - steps.scalar(base).binary(Op::kPower, steps);
        };
        Tensor now = (steps > 0).select(rate * left(beta).sqrt() / left(alpha), rate);
        Tensor x = s[0] - now * (mean / (squares.sqrt() + epsilon));
        return std::vector<Tensor>{(1 - post) * x, mean, squares};
      });
}

Items momentum(const Call& call) {
  for (const char* name : {"norm_coefficient", "alpha", "beta", "mode"})
    if (!call.has(name)) refuse_input(fmt::format("The attribute ({}) is missing.", name));
  double norm = call.f("norm_coefficient", 0), alpha = call.f("alpha", 0);
  double beta = call.f("beta", 0);
  std::string mode = call.s("mode", "");
  if (mode != "standard" && mode != "nesterov")
    refuse_input(fmt::format("The attribute (mode) is ({}), and none that ONNX knows.", mode));
  return Step(call, 3).run(
      [&](const Tensor& rate, const Tensor& steps, const std::vector<Tensor>& s) {
        Tensor gradient = norm * s[0] + s[1];
        Tensor share = (steps > 0).select(steps.scalar(beta), steps.scalar(1));
        Tensor moment = alpha * s[2] + share * gradient;
        Tensor by = mode == "nesterov" ? gradient + alpha * moment : moment;
        return std::vector<Tensor>{s[0] - rate * by, moment};
      });
}

constexpr OpRow kTrainingRows[] = {
    {"Adagrad", adagrad},
    {"Adam", adam},
    {"Gradient", nullptr,
     "Derivatives by ONNX are not supported; make them with JAX or PyTorch and export those."},
    {"Momentum", momentum},
};

}  // namespace

std::span<const OpRow> training_ops() { return kTrainingRows; }

}  // namespace tuff::onnx
