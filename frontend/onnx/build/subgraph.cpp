#include "frontend/onnx/build/subgraph.h"

namespace tuff::onnx {

GraphPtr region_with_emitter(const std::vector<TensorType>& parameters, const std::string& loc,
                             const RegionBody& body) {
  return make_region(parameters, loc,
                     [&](const std::vector<Tensor>& p) { return body(p[0].emitter(), p); });
}

std::vector<Tensor> captured_tensors(const Captures& captures) {
  std::vector<Tensor> tensors;
  for (const Capture& c : captures) tensors.push_back(c.tensor);
  return tensors;
}

std::optional<Round> try_round(const Call& call, const proto::Graph& body,
                               const std::vector<TensorType>& inputs, const Captures& captures) {
  std::vector<TensorType> types = inputs;
  for (const Capture& c : captures) types.push_back(c.tensor.type());
  Graph graph;
  Emitter emitter(graph);
  Items items;
  std::vector<Tensor> bound;
  for (size_t i = 0; i < types.size(); ++i) {
    Tensor parameter(emitter, graph.add_parameter(types[i]));
    if (i < inputs.size())
      items.emplace_back(parameter);
    else
      bound.push_back(parameter);
  }
  Round round;
  try {
    for (const Item& item : call.around->import_region(body, items, captures, bound, emitter)) {
      if (item.kind != Item::Kind::kTensor || !item.tensor) return std::nullopt;
      if (round.types.empty()) {
        Value v = item.tensor.value();
        auto known = emitter.known(v);
        round.goes_on =
            (known && known->num_elements() == 1 && known->get_int(0) != 0) || v == Value{1, 0};
      }
      round.types.push_back(item.tensor.type());
    }
  } catch (const Refusal&) {
    return std::nullopt;
  }
  return round;
}

}  // namespace tuff::onnx
