// A dot or a convolution as a batch of matrix products, and the kernels that compute it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "shaders/families/family.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

// C[batch, m, n] = sum over k of A * B: dimension sizes by role, and how their indices
// address A, B and C's dimensions. A convolution is one whose A load walks the input's
// windows; nothing is copied.
struct Contraction {
  Shape batch, m, n, k;
  std::vector<size_t> out_batch, out_m, out_n;  // space dimension of each
  bool splits_m = false;  // A's elements need the parts of m, not only m as a whole
  bool a_along_k = false, b_along_k = false;  // neighbours in memory are steps of k
  // Operand indices given indices by role; conditions hold where A's element exists
  // (otherwise it is zero).
  std::function<IndexVector(const IndexVector& batch, const IndexVector& m, const IndexVector& k,
                            std::vector<IndexCondition>& conditions)>
      a_index;
  std::function<IndexVector(const IndexVector& batch, const IndexVector& n, const IndexVector& k)>
      b_index;
};

// Of the group's anchor. What it returns makes expressions of the group's own index.
Result<Contraction> contraction_of(GroupContext& group);

// Whether the value's elements at neighbouring values of a symbol are neighbours in memory.
bool lies_along(GroupContext& group, Value v, const IndexVector& index, uint32_t symbol);

// What products are summed in, given the type of the result.
DType contraction_sum_type(DType result);

// Ways to compute it. Without a split the kernel stores the group's outputs; with one it leaves
// each part's sums in the group's scratch memory, part by part, each as the space lies.
Result<LoweredStep> lower_contraction_registers(GroupContext& group, const Contraction& c,
                                                const MatmulSchedule& schedule,
                                                const std::optional<KSplit>& split);
Result<LoweredStep> lower_contraction_tiles(GroupContext& group, const Contraction& c,
                                            const TileSchedule& schedule,
                                            const std::optional<KSplit>& split);
Result<LoweredStep> lower_contraction_stream(GroupContext& group, const Contraction& c,
                                             const StreamSchedule& schedule,
                                             const std::optional<KSplit>& split);
Result<LoweredStep> lower_contraction_owner(GroupContext& group, const Contraction& c);
Result<LoweredStep> lower_contraction_matrices(GroupContext& group, const Contraction& c,
                                               const MatrixTileSchedule& schedule,
                                               const std::optional<KSplit>& split);

}  // namespace tuff
