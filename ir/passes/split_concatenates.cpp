#include "ir/passes/split_concatenates.h"

#include <algorithm>

#include "ir/passes/group/group_table.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

// Neighbours of the operands as one value.
Value concatenated(const RewriteSite& site, std::span<const Value> operands) {
  if (operands.size() == 1) return operands[0];
  const auto& attrs = site.node.attrs.as<ConcatenateAttrs>();
  auto dimension = static_cast<size_t>(attrs.dimension);
  TensorType type = site.out.type(operands[0]);
  type.shape[dimension] = 0;
  for (Value v : operands) type.shape[dimension] += site.out.type(v).shape[dimension];
  return site.add(Op::kConcatenate, {operands.begin(), operands.end()}, type, attrs);
}

}  // namespace

Result<Graph> split_concatenates(const Graph& graph, const PassContext& context) {
  const auto most = static_cast<size_t>(kernel_buffers(*context.caps) - 1);  // beside the result
  return rewrite_graph(graph, [&](const RewriteSite& site) -> std::optional<std::vector<Value>> {
    if (site.node.op != Op::kConcatenate || site.node.operands.size() <= most) return std::nullopt;
    std::vector<Value> pieces = site.node.operands;
    while (pieces.size() > most) {
      std::vector<Value> joined;
      for (size_t i = 0; i < pieces.size(); i += most)
        joined.push_back(
            concatenated(site, std::span(pieces).subspan(i, std::min(most, pieces.size() - i))));
      pieces = std::move(joined);
    }
    return std::vector<Value>{concatenated(site, pieces)};
  });
}

}  // namespace tuff
