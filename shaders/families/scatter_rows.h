// A scatter whose updates are rows of elements side by side, as kernels that compute where each
// goes and what it is, and a call that puts them there: for devices that run C++.
#pragma once

#include <optional>

#include "shaders/families/scatter_kernel.h"

namespace tuff {

class RowScatter {
 public:
  RowScatter(const GroupContext& group, const Node& node, const ScatterDims& dims, ScatterCall call)
      : group_(group), node_(node), dims_(dims), call_(std::move(call)) {}

  // Adds the steps; the result is `c`, which holds the scatter's input by then. They take more
  // scratch memory behind what there is.
  Status lower(GroupBuffer c, LoweredGroup& lowered);

 private:
  Result<LoweredStep> lower_targets(const GroupBuffer& to) const;
  Result<LoweredStep> lower_updates(const GroupBuffer& to) const;
  // The region's parameter that holds the updates as the call reads them.
  std::optional<uint32_t> updates_parameter() const;

  const GroupContext& group_;
  const Node& node_;
  const ScatterDims& dims_;
  ScatterCall call_;
};

// Nothing where the device has no such call, or it cannot say this scatter.
std::optional<RowScatter> row_scatter(const GroupContext& group, const Node& node,
                                      const ScatterDims& dims);

}  // namespace tuff
