// Subgraphs of a model as regions of a graph.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/onnx/build/call.h"

namespace tuff::onnx {

using RegionBody =
    std::function<std::vector<Tensor>(Emitter& emitter, const std::vector<Tensor>& parameters)>;
// There is at least one parameter.
GraphPtr region_with_emitter(const std::vector<TensorType>& parameters, const std::string& loc,
                             const RegionBody& body);

// What one round of a loop's body gives.
struct Round {
  std::vector<TensorType> types;  // of its outputs
  bool goes_on = false;           // True iff output 0 is true, or input 1, which it came in as
};
// Imports the body to see what it gives; nothing where it needs values that only a constant number
// of rounds has.
std::optional<Round> try_round(const Call& call, const proto::Graph& body,
                               const std::vector<TensorType>& inputs, const Captures& captures);

std::vector<Tensor> captured_tensors(const Captures& captures);

}  // namespace tuff::onnx
