// Operators that are known and not supported, with the reason and what to do.
#include "frontend/onnx/build/call.h"

namespace tuff::onnx {

namespace {

#define RANDOM "Its result is random; make the numbers outside and give them as an input."
#define STRINGS "Strings are not supported; do this before the model."

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
};

#undef RANDOM
#undef STRINGS

}  // namespace

std::span<const OpRow> refused_ops() { return kRefusedRows; }

}  // namespace tuff::onnx
