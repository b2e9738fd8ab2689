// Losses of training.
#include <fmt/format.h>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

// -weight[target] * log_probability[target], of classes along dimension 1. Targets that are
// ignored count as nothing.
Tensor negative_log_likelihood(const Call& call, const Tensor& log_probabilities,
                               const Tensor& target, const Tensor& class_weights) {
  Tensor index = target.convert(DType::kI64);
  Tensor wide = log_probabilities;
  int64_t classes = wide.dim(1);
  Tensor ignored;
  if (call.has("ignore_index"))
    ignored = equal(index, index.scalar(static_cast<double>(call.i("ignore_index", 0))));
  Tensor safe = wrap_indices(ignored ? ignored.select(index.scalar(0), index) : index, classes);
  Tensor loss = -wide.take_along(safe.unsqueeze({1}), 1).squeeze({1});
  Tensor weight;
  if (class_weights) weight = class_weights.wide().take(safe, 0);
  if (ignored) {
    weight = weight ? weight : loss.like(1);
    weight = ignored.select(weight.scalar(0), weight);
    loss = ignored.select(loss.scalar(0), loss);
  }
  if (weight) loss = loss * weight;
  std::string reduction = call.s("reduction", "mean");
  Ints all = range(0, loss.rank());
  if (reduction == "none") return loss;
  if (reduction == "sum") return loss.sum(all);
  if (reduction != "mean")
    refuse_input(fmt::format("The attribute reduction ({}) is not known.", reduction));
  return weight ? loss.sum(all) / weight.sum(all) : loss.mean(all);
}

Items nll_loss(const Call& call) {
  Tensor x = call.need(0);
  return {negative_log_likelihood(call, x.wide(), call.need(1), call.in(2)).convert(x.dtype())};
}

Items softmax_cross_entropy(const Call& call) {
  Tensor x = call.need(0);
  Tensor log_probabilities = log_softmax(x.wide(), 1);
  return {
      negative_log_likelihood(call, log_probabilities, call.need(1), call.in(2)).convert(x.dtype()),
      log_probabilities.convert(x.dtype())};
}

constexpr OpRow kLossRows[] = {
    {"NegativeLogLikelihoodLoss", nll_loss},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
};

}  // namespace

std::span<const OpRow> loss_ops() { return kLossRows; }

}  // namespace tuff::onnx
