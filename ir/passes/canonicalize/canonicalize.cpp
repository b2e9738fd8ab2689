#include "ir/passes/canonicalize/canonicalize.h"

#include "ir/passes/canonicalize/canonicalize_rules.h"

namespace tuff {

namespace canonical {

Value add_reshape(const RewriteSite& site, Value v, const Shape& shape) {
  if (site.out.type(v).shape == shape) return v;
  return site.add(Op::kReshape, {v}, {site.out.type(v).dtype, shape});
}

Value add_broadcast(const RewriteSite& site, Value v, const Shape& shape,
                    std::vector<int64_t> dims) {
  return site.add(Op::kBroadcastInDim, {v}, {site.out.type(v).dtype, shape},
                  BroadcastInDimAttrs{std::move(dims)});
}

}  // namespace canonical

Result<Graph> canonicalize(const Graph& graph, const PassContext&) {
  using Family = canonical::Values (*)(const RewriteSite&);
  static constexpr Family kFamilies[] = {
      canonical::arithmetic, canonical::conversions,  canonical::views,   canonical::broadcasts,
      canonical::indexing,   canonical::contractions, canonical::windows, canonical::control_flow};
  return rewrite_to_fixpoint(graph, [](const RewriteSite& site) -> canonical::Values {
    for (Family family : kFamilies)
      if (canonical::Values values = family(site)) return values;
    return std::nullopt;
  });
}

}  // namespace tuff
