// ai.onnx.ml: what is no tree and has no strings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

// A list of floats as a constant of an element type.
Tensor vector(const Call& call, const std::vector<double>& list, DType dtype) {
  return call.constant(Literal::from_doubles(dtype, {static_cast<int64_t>(list.size())}, list));
}

Tensor ints_vector(const Call& call, const Ints& list) {
  return call.constant(Literal::from_ints(DType::kI64, {static_cast<int64_t>(list.size())}, list));
}

// [rows, features], of floats.
Tensor features(const Call& call) {
  Tensor x = call.need(0).wide();
  if (x.rank() == 1) x = x.unsqueeze({0});
  if (x.rank() != 2) refuse_input("The input is no matrix of rows and features.");
  return x;
}

Items binarizer(const Call& call) {
  Tensor x = call.need(0);
  return {(x.wide() > call.f("threshold", 0)).convert(x.dtype())};
}

Items scaler(const Call& call) {
  Tensor x = call.need(0).wide();
  Tensor offset = vector(call, call.floats("offset", {0}), x.dtype());
  Tensor scale = vector(call, call.floats("scale", {1}), x.dtype());
  Tensor y = (x - offset) * scale;
  if (y.shape() != x.shape()) refuse_input("There are more offsets or scales than features.");
  return {y.convert(DType::kF32)};
}

Items normalizer(const Call& call) {
  Tensor x = call.need(0).wide();
  if (x.rank() != 1 && x.rank() != 2) refuse_input("The input is no row or matrix.");
  std::string norm = call.s("norm", "MAX");
  Ints last{x.rank() - 1};
  Tensor by;
  if (norm == "MAX")
    by = x.abs().reduce(Op::kMaximum, last, true);
  else if (norm == "L1")
    by = x.abs().sum(last, true);
  else if (norm == "L2")
    by = (x * x).sum(last, true).sqrt();
  else
    refuse_input(fmt::format("The attribute (norm) is ({}), and none that ONNX knows.", norm));
  constexpr double kSmallest = 1e-30;
  return {(x / by.max(kSmallest)).convert(DType::kF32)};
}

Tensor is_nan(const Tensor& x) { return not_equal(x, x); }

Items imputer(const Call& call) {
  Tensor x = call.need(0), values, missing;
  if (is_float(x.dtype())) {
    values = vector(call, call.floats("imputed_value_floats"), x.dtype());
    Tensor replaced = x.scalar(call.f("replaced_value_float", 0));
    missing = equal(x, replaced) | (is_nan(x) & is_nan(replaced));
  } else {
    values = ints_vector(call, call.ints("imputed_value_int64s")).convert(x.dtype());
    Tensor replaced =
        call.constant(Literal::from_ints(DType::kI64, {}, {call.i("replaced_value_int64", 0)}));
    missing = equal(x, replaced.convert(x.dtype()));
  }
  if (values.num_elements() != 1 && values.num_elements() != x.dim(-1))
    refuse_input("There is not one value, or one for each feature.");
  return {missing.select(values, x)};
}

// The keys or values of a LabelEncoder: one of three attributes.
Tensor labels(const Call& call, const std::string& kind) {
  if (call.has(kind + "_strings")) refuse_unsupported("Strings are not supported.");
  if (call.has(kind + "_int64s")) return ints_vector(call, call.ints(kind + "_int64s"));
  if (call.has(kind + "_floats")) return vector(call, call.floats(kind + "_floats"), DType::kF32);
  auto found = call.attributes.find(kind + "_tensor");
  if (found == call.attributes.end() || !found->second.tensor)
    refuse_input(fmt::format("The attribute ({}_tensor) is missing.", kind));
  Tensor all = call.constant(*found->second.tensor);
  return all.reshape({all.num_elements()});
}

// What a LabelEncoder gives for other labels.
Tensor default_label(const Call& call, const Tensor& values) {
  auto found = call.attributes.find("default_tensor");
  if (found != call.attributes.end() && found->second.tensor)
    return call.constant(*found->second.tensor).reshape({1}).convert(values.dtype());
  if (is_float(values.dtype())) return values.scalar(call.f("default_float", -0.0)).reshape({1});
  return ints_vector(call, {call.i("default_int64", -1)}).convert(values.dtype());
}

// The place of the last key that each element is; there are `count` of them, and where there is
// none the place is `count`.
Tensor place_of(const Tensor& x, const Tensor& keys) {
  int64_t count = keys.num_elements();
  Tensor each = x.unsqueeze({x.rank()});
  Tensor is = equal(each, keys);
  if (is_float(x.dtype())) is = is | (is_nan(each) & is_nan(keys));
  Tensor place = x.iota(is.shape(), x.rank());
  Tensor last = is.select(place, place.scalar(-1)).reduce(Op::kMaximum, {x.rank()});
  return (last < 0).select(last.scalar(static_cast<double>(count)), last);
}

Items label_encoder(const Call& call) {
  Tensor x = call.need(0), keys = labels(call, "keys"), values = labels(call, "values");
  if (keys.num_elements() != values.num_elements() || keys.num_elements() == 0)
    refuse_input("There are not as many values as keys.");
  if (is_float(x.dtype()) != is_float(keys.dtype()))
    refuse_input("The keys are not of the input's element type.");
  Tensor all = concatenate({values, default_label(call, values)}, 0);
  return {all.take(place_of(x, keys.convert(x.dtype())), 0)};
}

Items array_feature_extractor(const Call& call) {
  Tensor x = call.need(0), indices = call.need(1).convert(DType::kI64);
  if (x.rank() == 0) refuse_input("The input is no array.");
  Tensor flat = wrap_indices(indices.reshape({indices.num_elements()}), x.dim(-1));
  Tensor y = x.take(flat, x.rank() - 1);
  return {x.rank() == 1 ? y.unsqueeze({0}) : y};
}

// Each input is cut, or filled up with zeros, to its number of features.
Items feature_vectorizer(const Call& call) {
  Ints widths = call.ints("inputdimensions");
  if (widths.size() != call.inputs.size())
    refuse_input("There is not one of the attribute (inputdimensions) for each input.");
  std::vector<Tensor> parts;
  for (size_t i = 0; i < widths.size(); ++i) {
    Tensor x = call.need(i).convert(DType::kF32);
    if (x.rank() == 1) x = x.unsqueeze({1});
    if (x.rank() != 2 || widths[i] < 0) refuse_input("An input is no matrix.");
    Tensor cut = x.slice(1, 0, std::min(widths[i], x.dim(1)));
    parts.push_back(cut.pad({0, 0}, {0, widths[i] - cut.dim(1)}));
  }
  if (parts.empty()) refuse_input("There is no input.");
  return {concatenate(parts, 1)};
}

// What the attribute post_transform makes of the scores.
Tensor transformed(const Call& call, const Tensor& scores) {
  std::string how = call.s("post_transform", "NONE");
  if (how == "NONE") return scores;
  if (how == "LOGISTIC") return scores.sigmoid();
  if (how == "SOFTMAX") return softmax(scores, 1);
  refuse_unsupported(fmt::format("The attribute (post_transform) ({}) is not supported.", how));
}

// Features times the attribute (coefficients), a row for each of `targets`, plus intercepts.
Tensor linear(const Call& call, const Tensor& x, int64_t targets) {
  std::vector<double> weights = call.floats("coefficients"), shift = call.floats("intercepts");
  if (targets < 1 || static_cast<int64_t>(weights.size()) % targets != 0 ||
      static_cast<int64_t>(weights.size()) / targets != x.dim(1))
    refuse_input("There is not one coefficient for each feature and target.");
  Tensor rows = vector(call, weights, x.dtype()).reshape({targets, x.dim(1)});
  Tensor scores = matmul(x, rows.transposed());
  if (shift.empty()) return scores;
  if (static_cast<int64_t>(shift.size()) != targets)
    refuse_input("There is not one intercept for each target.");
  return scores + vector(call, shift, x.dtype());
}

Items linear_regressor(const Call& call) {
  Tensor x = features(call);
  return {transformed(call, linear(call, x, call.i("targets", 1))).convert(DType::kF32)};
}

// The scores and the label of the largest, the first of equal ones. One row of coefficients for
// two classes is the second's.
Items linear_classifier(const Call& call) {
  Tensor x = features(call);
  Ints classes = call.ints("classlabels_ints");
  if (call.has("classlabels_strings")) refuse_unsupported("Strings are not supported.");
  auto count = static_cast<int64_t>(classes.size());
  if (count < 2) refuse_unsupported("Fewer than two classes are not supported.");
  auto weights = static_cast<int64_t>(call.floats("coefficients").size());
  bool is_binary = count == 2 && weights == x.dim(1);
  Tensor scores = linear(call, x, is_binary ? 1 : count);
  if (is_binary) scores = concatenate({-scores, scores}, 1);
  scores = transformed(call, scores);
  Tensor place = scores.iota(scores.shape(), 1);
  Tensor is_best = equal(scores, scores.reduce(Op::kMaximum, {1}, true));
  Tensor first =
      is_best.select(place, place.scalar(static_cast<double>(count - 1))).reduce(Op::kMinimum, {1});
  return {ints_vector(call, classes).take(first, 0), scores.convert(DType::kF32)};
}

Items one_hot_encoder(const Call& call) {
  if (call.has("cats_strings")) refuse_unsupported("Strings are not supported.");
  Ints classes = call.ints("cats_int64s");
  if (classes.empty()) refuse_input("There are no categories.");
  Tensor x = call.need(0).convert(DType::kI64);
  return {equal(x.unsqueeze({x.rank()}), ints_vector(call, classes)).convert(DType::kF32)};
}

// How near each row of x is to each of the vectors.
Tensor kernel(const Call& call, const Tensor& x, const Tensor& vectors) {
  std::string kind = call.s("kernel_type", "LINEAR");
  std::vector<double> numbers = call.floats("kernel_params");
  numbers.resize(3);
  if (kind == "RBF") {
    Tensor apart = x.unsqueeze({1}) - vectors.unsqueeze({0});
    return (-numbers[0] * (apart * apart).sum({2})).exp();
  }
  Tensor products = matmul(x, vectors.transposed());
  if (kind == "LINEAR") return products;
  Tensor scaled = products * numbers[0] + numbers[1];
  if (kind == "POLY") return scaled.binary(Op::kPower, scaled.scalar(std::trunc(numbers[2])));
  if (kind == "SIGMOID") return scaled.tanh();
  refuse_input(fmt::format("The attribute (kernel_type) is ({}), and none that ONNX knows.", kind));
}

Items svm_regressor(const Call& call) {
  Tensor x = features(call);
  int64_t supports = call.i("n_supports", 0);
  std::vector<double> weights = call.floats("coefficients"), rho = call.floats("rho");
  std::vector<double> vectors = call.floats("support_vectors");
  int64_t terms = supports > 0 ? supports : x.dim(1);
  if (rho.empty() || static_cast<int64_t>(weights.size()) != terms ||
      (supports > 0 && static_cast<int64_t>(vectors.size()) / supports != x.dim(1)) ||
      (supports > 0 && static_cast<int64_t>(vectors.size()) % supports != 0))
    refuse_input("The attributes are not of the sizes that the supports and features need.");
  Tensor near = x;
  if (supports > 0)
    near = kernel(call, x, vector(call, vectors, x.dtype()).reshape({supports, x.dim(1)}));
  Tensor scores = matmul(near, vector(call, weights, x.dtype()).reshape({terms, 1})) + rho[0];
  if (call.flag("one_class")) scores = (scores > 0).select(scores.scalar(1), scores.scalar(-1));
  return {transformed(call, scores).convert(DType::kF32)};
}

#define MAPS "Maps and strings are not supported; export without them (skl2onnx: zipmap=False)."
#define TREES "Trees are not supported; export them as tensor operators."

constexpr OpRow kMlRows[] = {
    {"ArrayFeatureExtractor", array_feature_extractor},
    {"Binarizer", binarizer},
    {"CastMap", nullptr, MAPS},
    {"CategoryMapper", nullptr, MAPS},
    {"DictVectorizer", nullptr, MAPS},
    {"FeatureVectorizer", feature_vectorizer},
    {"Imputer", imputer},
    {"LabelEncoder", label_encoder, "No strings."},
    {"LinearClassifier", linear_classifier, "No strings; post_transform NONE, LOGISTIC, SOFTMAX."},
    {"LinearRegressor", linear_regressor, "post_transform NONE, LOGISTIC, SOFTMAX."},
    {"Normalizer", normalizer},
    {"OneHotEncoder", one_hot_encoder, "No strings; other categories are zeros in any case."},
    {"SVMClassifier", nullptr, "Not supported; export it as tensor operators."},
    {"SVMRegressor", svm_regressor, "post_transform NONE, LOGISTIC, SOFTMAX."},
    {"Scaler", scaler},
    {"TreeEnsemble", nullptr, TREES},
    {"TreeEnsembleClassifier", nullptr, TREES},
    {"TreeEnsembleRegressor", nullptr, TREES},
    {"ZipMap", nullptr, MAPS},
};

#undef MAPS
#undef TREES

}  // namespace

std::span<const OpRow> ml_ops() { return kMlRows; }

}  // namespace tuff::onnx
