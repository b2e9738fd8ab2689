// batch_norm_inference, batch_norm_training and batch_norm_grad, in double and
// rounded once per result. Formulas: StableHLO, sections of these names.
#include <cmath>

#include "ir/evaluate/ops.h"

namespace tuff::eval {

namespace {

// Views the operand as [outer][feature][inner].
struct Features {
  int64_t outer = 1, count = 1, inner = 1;

  Features(const Shape& shape, int64_t feature_index) {
    auto f = static_cast<size_t>(feature_index);
    for (size_t d = 0; d < f; ++d) outer *= shape[d];
    count = shape[f];
    for (size_t d = f + 1; d < shape.size(); ++d) inner *= shape[d];
  }

  double elements_per_feature() const { return static_cast<double>(outer * inner); }

  // f(feature, element offset) over every element.
  template <typename F>
  void for_each(F f) const {
    int64_t at = 0;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t c = 0; c < count; ++c)
        for (int64_t i = 0; i < inner; ++i) f(static_cast<size_t>(c), at++);
  }
};

using Doubles = std::vector<double>;

Doubles to_doubles(const Literal& literal) {
  Literal wide = convert_literal(literal, DType::kF64);
  return Doubles(wide.data<double>(), wide.data<double>() + wide.num_elements());
}

Literal from_doubles(const TensorType& type, const Doubles& values) {
  return convert_literal(Literal::from_doubles(DType::kF64, type.shape, values), type.dtype);
}

Doubles normalize(const Features& features, const Doubles& x, const Doubles& scale,
                  const Doubles& offset, const Doubles& mean, const Doubles& variance,
                  double epsilon) {
  Doubles y(x.size());
  features.for_each([&](size_t c, int64_t i) {
    auto e = static_cast<size_t>(i);
    y[e] = (x[e] - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + offset[c];
  });
  return y;
}

Literals training(const Node& node, const Features& features, const Doubles& x,
                  const Doubles& scale, const Doubles& offset, double epsilon) {
  Doubles mean(static_cast<size_t>(features.count), 0), variance = mean;
  features.for_each([&](size_t c, int64_t i) { mean[c] += x[static_cast<size_t>(i)]; });
  for (double& m : mean) m /= features.elements_per_feature();
  features.for_each([&](size_t c, int64_t i) {
    double centered = x[static_cast<size_t>(i)] - mean[c];
    variance[c] += centered * centered;
  });
  for (double& v : variance) v /= features.elements_per_feature();
  Doubles y = normalize(features, x, scale, offset, mean, variance, epsilon);
  return {from_doubles(node.types[0], y), from_doubles(node.types[1], mean),
          from_doubles(node.types[2], variance)};
}

Literals gradient(const Node& node, const Features& features, const Doubles& x,
                  const Doubles& scale, const Doubles& mean, const Doubles& variance,
                  const Doubles& grad, double epsilon) {
  // sum = sum of grad, dot = sum of grad * centered, per feature.
  Doubles sum(static_cast<size_t>(features.count), 0), dot = sum, grad_scale = sum,
                                                       result(x.size());
  features.for_each([&](size_t c, int64_t i) {
    auto e = static_cast<size_t>(i);
    sum[c] += grad[e];
    dot[c] += grad[e] * (x[e] - mean[c]);
  });
  for (size_t c = 0; c < sum.size(); ++c) grad_scale[c] = dot[c] / std::sqrt(variance[c] + epsilon);
  double n = features.elements_per_feature();
  features.for_each([&](size_t c, int64_t i) {
    auto e = static_cast<size_t>(i);
    double inner = n * grad[e] - sum[c] - dot[c] * (x[e] - mean[c]) / (variance[c] + epsilon);
    result[e] = scale[c] / std::sqrt(variance[c] + epsilon) / n * inner;
  });
  return {from_doubles(node.types[0], result), from_doubles(node.types[1], grad_scale),
          from_doubles(node.types[2], sum)};
}

}  // namespace

Result<Literals> evaluate_batch_norm(const Node& node, const Literals& operands) {
  Features features(operands[0].type().shape, node.attrs.as<BatchNormAttrs>().feature_index);
  double epsilon = node.attrs.as<BatchNormAttrs>().epsilon;
  std::vector<Doubles> in;
  for (const Literal& operand : operands) in.push_back(to_doubles(operand));
  switch (node.op) {
    case Op::kBatchNormTraining: return training(node, features, in[0], in[1], in[2], epsilon);
    case Op::kBatchNormGrad:
      return gradient(node, features, in[0], in[1], in[2], in[3], in[4], epsilon);
    default:
      return Literals{from_doubles(
          node.types[0], normalize(features, in[0], in[1], in[2], in[3], in[4], epsilon))};
  }
}

}  // namespace tuff::eval
