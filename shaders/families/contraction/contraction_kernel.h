// A contraction's kernel under construction: what all ways to walk the operands share.
#pragma once

#include <optional>
#include <vector>

#include "shaders/families/contraction/contraction.h"

namespace tuff {

// Contracted indices of one step, and where they exist.
struct KStep {
  IndexVector k;
  std::vector<IndexCondition> inside;
};

// The value's element; 0 where the guard fails.
Operand emit_or_zero(FamilyKernel& kernel, const Graph& region, Value v, const IndexVector& index,
                     const std::optional<Operand>& guard);

// sum + a * b; of truth values, or and and.
Operand add_product(KernelBuilder& builder, const Operand& a, const Operand& b, const Operand& sum);

class ContractionKernel {
 public:
  // With a split the kernel leaves sums of parts in scratch memory, else it stores the
  // group's outputs.
  ContractionKernel(GroupContext& group, const Contraction& contraction, int64_t lanes,
                    const std::optional<KSplit>& split);

  FamilyKernel family;

  DType sum_type() const;
  DType element_type() const;  // of A
  // Contracted sizes: of a part where k is split. One dimension at least.
  const Shape& k() const { return k_; }
  // Opens the grid's outer loops: parts, then the batch.
  void open_outer();
  // The step at indices within k(); the innermost may reach beyond the end.
  KStep step_at(IndexVector k) const;
  // Elements of the operands as they are, or as the sums' type; 0 where the step or the element
  // is outside.
  Operand element_a(const IndexVector& m, const KStep& step);
  Operand element_b(const IndexVector& n, const KStep& step);
  Operand load_a(const IndexVector& m, const KStep& step);
  Operand load_b(const IndexVector& n, const KStep& step);
  void multiply_add(uint32_t sums, int64_t at, const Operand& a, const Operand& b);
  // One result, unless a condition of `inside` fails.
  void store(const IndexVector& m, IndexVector n, const std::vector<IndexCondition>& inside,
             const Operand& sum);
  Result<LoweredStep> finish();

 private:
  void bind_dims(const std::vector<size_t>& dims, const IndexVector& index);

  GroupContext& group_;
  const Contraction& c_;
  const Node& node_;
  std::optional<KSplit> split_;
  Shape k_;
  uint32_t scratch_ = 0;
  IndexExpr part_ = 0;
  IndexVector batch_;
};

}  // namespace tuff
