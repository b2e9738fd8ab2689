// Products of groups that have few output features each, as depthwise convolutions: a matrix of
// them is so narrow that tiles are all but empty. Each lane owns a run of neighbouring results,
// mostly those of neighbouring groups, and walks k once for all of them.
#include "shaders/families/contraction/contraction.h"
#include "shaders/families/contraction/contraction_kernel.h"
#include "shaders/families/fold.h"

namespace tuff {

namespace {

// Of a group whose contraction is known to exist.
class Owner {
 public:
  Owner(GroupContext& group, FamilyKernel& kernel)
      : c_(std::move(*contraction_of(group))),
        group_(group),
        kernel_(kernel),
        b_(kernel.builder),
        node_(group.region.node(group.space.anchors[0])),
        sum_(contraction_sum_type(node_.types[0].dtype)) {}

  // By element of the run; bind(e) binds its place.
  std::vector<std::vector<Operand>> results(int64_t run, const PointAnchor::Bind& bind) {
    std::vector<Operand> sums(static_cast<size_t>(run), immediate_of(Literal::scalar(sum_, 0)));
    sums = emit_fold(b_, c_.k, group_.caps.max_loop_iterations, std::move(sums),
                     [&](const IndexVector& k, const std::vector<Operand>& before) {
                       std::vector<Operand> next;
                       for (int64_t e = 0; e < run; ++e) {
                         bind(e);
                         next.push_back(advance(k, before[static_cast<size_t>(e)]));
                       }
                       return next;
                     });
    std::vector<std::vector<Operand>> results;
    for (const Operand& sum : sums) results.push_back({b_.convert(sum, node_.types[0].dtype)});
    return results;
  }

 private:
  Operand advance(const IndexVector& k, const Operand& sum) {
    IndexVector m;
    for (size_t d : c_.out_m) m.push_back(group_.space.vars[d]);
    const IndexExpr feature = group_.space.vars[c_.out_n[0]];
    const IndexVector batch{group_.index.floor_div(feature, c_.n[0])};
    const IndexVector n{feature - batch[0] * c_.n[0]};
    std::vector<IndexCondition> inside;
    IndexVector place = c_.a_index(batch, m, k, inside);
    std::optional<Operand> guard = b_.all_of(inside, std::nullopt);
    Operand a = emit_or_zero(kernel_, group_.region, node_.operands[0], place, guard);
    Operand b = kernel_.emitter.emit(node_.operands[1], c_.b_index(batch, n, k));
    return add_product(b_, b_.convert(a, sum_), b_.convert(b, sum_), sum);
  }

  const Contraction c_;
  GroupContext& group_;
  FamilyKernel& kernel_;
  KernelBuilder& b_;
  const Node& node_;
  DType sum_;
};

}  // namespace

Result<LoweredStep> lower_contraction_owner(GroupContext& group, const Contraction& c) {
  TUFF_RETURN_IF_ERROR(check_fold(c.k, group.caps.max_loop_iterations, "A convolution"));
  PointAnchor anchor;
  anchor.results = [](GroupContext& at, FamilyKernel& kernel, uint32_t) {
    return Owner(at, kernel).results(1, [](int64_t) {})[0];
  };
  anchor.results_of_run = [](GroupContext& at, FamilyKernel& kernel, int64_t run,
                             const PointAnchor::Bind& bind) {
    return Owner(at, kernel).results(run, bind);
  };
  return lower_map(group, &anchor);
}

}  // namespace tuff
