// A piece of a graph that is thought out before it is built: parameters come first in a graph,
// and which ones a contraction and its store need is known only at their end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/graph_builder.h"

namespace tuff::fuzz {

class Sketch {
 public:
  using Place = size_t;  // of a value

  const TensorType& type(Place p) const { return items_[p].node.types[0]; }
  const Shape& shape(Place p) const { return type(p).shape; }

  Place parameter(TensorType type, const std::string& name);
  Place constant(Literal literal);
  // Nothing where it is ill-typed or large.
  std::optional<Place> add(Op op, const std::vector<Place>& operands, Attrs attrs, TensorType guess,
                           std::vector<GraphPtr> regions = {});
  // For what is well-typed for sure.
  Place must_add(Op op, const std::vector<Place>& operands, Attrs attrs, TensorType guess,
                 std::vector<GraphPtr> regions = {});

  // A parameter of whole numbers seen through views that make it `type`: transposed, a part of a
  // larger one, reversed, repeated, taken apart or put together, cast.
  Place view(GraphBuilder& b, TensorType type, const std::string& name = kWholeName);
  // The same, only repeated along those dimensions d that are not `kept`.
  Place repeated(GraphBuilder& b, const TensorType& type, const std::vector<bool>& kept,
                 const std::string& name = kWholeName);

  // In this order, each once.
  void add_parameters(GraphBuilder& b);
  void add_operations(GraphBuilder& b) const;

 private:
  struct Item {
    Node node;                     // its operands' numbers are places
    std::string name;              // of a parameter
    std::optional<Literal> value;  // of a constant
  };

  Place push(Item item);
  // What a view of `type` is made from by one more view.
  struct Step;
  Step step_back(GraphBuilder& b, const TensorType& type);

  std::vector<Item> items_;
  std::vector<std::optional<Value>> made_;  // parameters, once they are added
};

}  // namespace tuff::fuzz
