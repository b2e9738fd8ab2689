#include "ir/group/byte_access.h"

#include <algorithm>

#include "ir/ops/contraction.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

// A chain of nodes from an operand down, and what it ends at.
struct Chain {
  std::vector<uint32_t> nodes;
  Value end;
};

std::optional<AffineAccess> access_of(const Graph& graph, Value operand, const Chain& chain) {
  auto access = affine_internal::access_through(graph, operand, chain.nodes);
  if (access) access->base = chain.end;
  return access;
}

// The zero point's own views and its conversion.
Chain zero_chain(const Graph& graph, Chain chain, Value zero,
                 const std::function<bool(uint32_t)>& follow) {
  for (chain.end = zero; follow(chain.end.node);) {
    const Node& node = graph.node(chain.end);
    bool converts = node.op == Op::kConvert && is_byte(graph.type(node.operands[0]).dtype);
    if (!converts && !is_view_of_elements(node)) break;
    chain.nodes.push_back(chain.end.node);
    chain.end = node.operands[0];
  }
  return chain;
}

}  // namespace

std::optional<int64_t> ByteAccess::known_zero(const Graph& graph) const {
  if (!zero) return 0;
  const Literal* value = splat_value(graph, zero->base);
  return value ? std::optional(value->get_int(0)) : std::nullopt;
}

std::optional<ByteAccess> byte_access(const Graph& graph, Value operand,
                                      const std::function<bool(uint32_t)>& follow) {
  ByteAccess access;
  Chain chain{{}, operand};
  std::optional<Chain> zero;
  bool narrow = is_byte(graph.type(operand).dtype);
  if (narrow) access.bytes = operand;
  while (follow(chain.end.node)) {
    const Node& node = graph.node(chain.end);
    if (!narrow && node.op == Op::kSubtract && !zero) {
      zero = zero_chain(graph, chain, node.operands[1], follow);
    } else if (!narrow && node.op == Op::kConvert) {
      narrow = is_byte(graph.type(node.operands[0]).dtype);
      if (!narrow) return std::nullopt;
      access.bytes = node.operands[0];
      chain.nodes.push_back(chain.end.node);
    } else if (is_view_of_elements(node)) {
      chain.nodes.push_back(chain.end.node);
    } else {
      break;
    }
    chain.end = node.operands[0];
  }
  if (!narrow) return std::nullopt;
  auto read = access_of(graph, operand, chain);
  if (!read) return std::nullopt;
  access.read = *std::move(read);
  access.dtype = graph.type(access.bytes).dtype;
  if (!zero) return access;
  access.zero = access_of(graph, operand, *zero);
  if (!access.zero) return std::nullopt;
  access.zero_dtype = graph.type(zero->end).dtype;
  return access;
}

bool has_byte_product(const Node& contraction) {
  if (contraction.op != Op::kConvolution) return contraction.op == Op::kDotGeneral;
  ConvolutionDims dims = convolution_dims(contraction);
  return dims.feature_groups == 1 && dims.batch_groups == 1 &&
         std::all_of(dims.lhs_dilation.begin(), dims.lhs_dilation.end(),
                     [](int64_t dilation) { return dilation == 1; });
}

bool is_byte_product(const Graph& graph, const Node& contraction) {
  return has_byte_product(contraction) && contraction.types[0].dtype == DType::kI32 &&
         std::all_of(contraction.operands.begin(), contraction.operands.end(), [&](Value v) {
           return byte_access(graph, v, [](uint32_t) { return true; }).has_value();
         });
}

}  // namespace tuff
