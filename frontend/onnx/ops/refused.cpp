// Operators that are known and not supported, with the reason and what to do.
#include "frontend/onnx/build/call.h"

namespace tuff::onnx {

namespace {

#define RANDOM "Its result is random; make the numbers outside and give them as an input."
#define STRINGS "Strings are not supported; do this before the model."
#define TREES "Trees and other classical models are not supported; export them as tensor operators."
#define TRAINS \
  "Training by ONNX is not supported; train with JAX or PyTorch and export for inference."

constexpr OpRow kRefusedRows[] = {
    {"Bernoulli", nullptr, RANDOM},
    {"ImageDecoder", nullptr, "Pictures are not decoded; give the decoded pixels as an input."},
    {"Multinomial", nullptr, RANDOM},
    {"RandomNormal", nullptr, RANDOM},
    {"RandomNormalLike", nullptr, RANDOM},
    {"RandomUniform", nullptr, RANDOM},
    {"RandomUniformLike", nullptr, RANDOM},
    {"RegexFullMatch", nullptr, STRINGS},
    {"StringConcat", nullptr, STRINGS},
    {"StringNormalizer", nullptr, STRINGS},
    {"StringSplit", nullptr, STRINGS},
    {"TfIdfVectorizer", nullptr, STRINGS},
};

constexpr OpRow kMlRows[] = {
    {"ArrayFeatureExtractor", nullptr, TREES},
    {"Binarizer", nullptr, TREES},
    {"CastMap", nullptr, TREES},
    {"CategoryMapper", nullptr, TREES},
    {"DictVectorizer", nullptr, TREES},
    {"FeatureVectorizer", nullptr, TREES},
    {"Imputer", nullptr, TREES},
    {"LabelEncoder", nullptr, TREES},
    {"LinearClassifier", nullptr, TREES},
    {"LinearRegressor", nullptr, TREES},
    {"Normalizer", nullptr, TREES},
    {"OneHotEncoder", nullptr, TREES},
    {"SVMClassifier", nullptr, TREES},
    {"SVMRegressor", nullptr, TREES},
    {"Scaler", nullptr, TREES},
    {"TreeEnsemble", nullptr, TREES},
    {"TreeEnsembleClassifier", nullptr, TREES},
    {"TreeEnsembleRegressor", nullptr, TREES},
    {"ZipMap", nullptr, TREES},
};

constexpr OpRow kTrainingRows[] = {
    {"Adagrad", nullptr, TRAINS},
    {"Adam", nullptr, TRAINS},
    {"Gradient", nullptr, TRAINS},
    {"Momentum", nullptr, TRAINS},
};

#undef RANDOM
#undef STRINGS
#undef TREES
#undef TRAINS

}  // namespace

std::span<const OpRow> refused_ops() { return kRefusedRows; }
std::span<const OpRow> ml_ops() { return kMlRows; }
std::span<const OpRow> training_ops() { return kTrainingRows; }

}  // namespace tuff::onnx
