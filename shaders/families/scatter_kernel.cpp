#include "shaders/families/scatter_kernel.h"

namespace tuff {

IndexExpr start_of(ValueEmitter& emitter, const Node& node, const ScatterDims& s,
                   const ScatterDims::Dim& dim, const IndexVector& batch) {
  if (dim.component < 0) return 0;
  Value indices = node.operands[node.types.size()];
  return emitter.emit_start(indices, s.component_index(batch, dim.component), -dim.window, dim.size,
                            {});
}

IndexVector update_index(const ScatterDims& s, const IndexVector& batch,
                         const IndexVector& window) {
  IndexVector index(s.updates_rank);
  for (size_t d = 0; d < s.dims.size(); ++d)
    if (s.dims[d].update_dim >= 0) index[static_cast<size_t>(s.dims[d].update_dim)] = window[d];
  for (size_t b = 0; b < batch.size(); ++b)
    index[static_cast<size_t>(s.batch_update_dims[b])] = batch[b];
  return index;
}

}  // namespace tuff
