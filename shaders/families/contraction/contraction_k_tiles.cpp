#include "shaders/families/contraction/contraction_k_tiles.h"

namespace tuff {

void require(IndexContext& context, std::vector<IndexCondition>& inside, const IndexExpr& rest) {
  IndexCondition condition{rest, IndexCondition::Kind::kNonNegative};
  if (truth(context, condition) != Truth::kAlways) inside.push_back(condition);
}

KTiles::KTiles(GroupContext& group, const ContractionKernel& kernel, int64_t depth)
    : group_(group), kernel_(kernel), depth_(depth) {
  Shape outer = kernel.k();
  while (!outer.empty() && num_elements(inner_k_) < depth_) {
    inner_k_.insert(inner_k_.begin(), outer.back());
    outer.pop_back();
  }
  tiles_of_ = outer;
  tiles_of_.push_back((num_elements(inner_k_) + depth_ - 1) / depth_);
}

IndexExpr KTiles::behind_pair(KernelBuilder& b, const IndexExpr& pair) const {
  return b.clamp_to(pair, (count() - 3) / 2) * 2 + 2;
}

KStep KTiles::step_at(const IndexExpr& tile, const IndexExpr& within) const {
  IndexVector k = delinearize(group_.index, tile, tiles_of_);
  IndexExpr inner = k.back() * depth_ + within;
  k.pop_back();
  // (A dimension alone may have a rest, also if its size is 1.)
  IndexVector parts{inner};
  if (inner_k_.size() > 1) parts = delinearize(group_.index, inner, inner_k_);
  k.insert(k.end(), parts.begin(), parts.end());
  std::vector<IndexCondition> inside;
  if (tiles_of_.size() > 1) require(group_.index, inside, IndexExpr(count() - 1) - tile);
  if (inner_k_.size() > 1)
    require(group_.index, inside, IndexExpr(num_elements(inner_k_) - 1) - inner);
  KStep step = kernel_.step_at(std::move(k));
  step.inside.insert(step.inside.end(), inside.begin(), inside.end());
  return step;
}

}  // namespace tuff
