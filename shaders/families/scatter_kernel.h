// Places of a scatter's updates, and the kernels that write them.
#pragma once

#include "ir/ops/scatter.h"
#include "shaders/families/family.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

// A start index as an expression: values that cannot hit anything stay outside.
IndexExpr start_of(ValueEmitter& emitter, const Node& node, const ScatterDims& s,
                   const ScatterDims::Dim& dim, const IndexVector& batch);

// Where the update for an element of the window lies.
IndexVector update_index(const ScatterDims& s, const IndexVector& batch, const IndexVector& window);

// One kernel that writes one buffer; its others are inputs.
class ScatterKernel {
 public:
  ScatterKernel(GroupContext& group, int64_t lanes, DType dtype, Access access, int64_t bytes)
      : builder("scatter", lanes, group.index, group.caps),
        emitter(group.region, group.index, builder) {
    builder.add_buffer(dtype, access, bytes);
  }

  // Opens the lanes. Each owns `run` neighbours of `shape`, which it divides, in row-major order.
  std::vector<IndexVector> own(IndexContext& index, const Shape& shape, int64_t run = 1) {
    int64_t units = num_elements(shape) / run, lanes = builder.lanes();
    IndexExpr base = builder.grid("block", (units + lanes - 1) / lanes) * lanes;
    IndexExpr unit = base + builder.begin_lanes(builder.lane_extent(base, units));
    std::vector<IndexVector> elements;
    for (int64_t e = 0; e < run; ++e) elements.push_back(delinearize(index, unit * run + e, shape));
    emitter.run = run;
    return elements;
  }

  Result<LoweredStep> finish(GroupBuffer c) { return finish_step(builder, emitter, {c}); }

  KernelBuilder builder;
  ValueEmitter emitter;
};

}  // namespace tuff
