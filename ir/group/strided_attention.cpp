#include "ir/group/strided_attention.h"

#include <algorithm>
#include <numeric>

#include "ir/ops/contraction.h"

namespace tuff {

namespace {

std::vector<int64_t> as_dims(const std::vector<size_t>& dims) { return {dims.begin(), dims.end()}; }

std::vector<int64_t> all_dims(size_t rank) {
  std::vector<int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), int64_t{0});
  return dims;
}

// An operand of a dot: its strides by the dimensions of the dot's result, and the one
// stride of what is contracted.
struct DotOperand {
  AffineAccess access;
  std::vector<int64_t> strides;
  int64_t contracted_stride = 0, contracted_size = 1;
};

std::optional<DotOperand> dot_operand(const Graph& graph, const Node& dot, size_t operand,
                                      const std::function<bool(uint32_t)>& follow) {
  Value value = dot.operands[operand];
  const TensorType& type = graph.type(value);
  auto access = affine_access(graph, value, follow);
  if (!access || type.dtype != DType::kF32 || type.num_elements() == 0) return std::nullopt;
  DotDims dims =
      dot_dims(dot, graph.type(dot.operands[0]).rank(), graph.type(dot.operands[1]).rank());
  const auto& batch = operand == 0 ? dims.lhs_batch : dims.rhs_batch;
  const auto& free = operand == 0 ? dims.lhs_free : dims.rhs_free;
  const auto& contract = operand == 0 ? dims.lhs_contract : dims.rhs_contract;
  auto stride = merged_stride(contract, type.shape, access->strides);
  if (!stride) return std::nullopt;
  DotOperand found{*access, std::vector<int64_t>(dot.types[0].shape.size(), 0), *stride, 1};
  for (int64_t d : contract) found.contracted_size *= type.shape[static_cast<size_t>(d)];
  size_t at = 0;
  for (int64_t d : batch) found.strides[at++] = access->strides[static_cast<size_t>(d)];
  if (operand == 1) at += dims.lhs_free.size();
  for (int64_t d : free) found.strides[at++] = access->strides[static_cast<size_t>(d)];
  return found;
}

class Finder {
 public:
  Finder(const Graph& graph, const AttentionSpace& space, const Shape& dims,
         const IndexVector& vars, const std::function<bool(uint32_t)>& follow)
      : graph_(graph), a_(space), dims_(dims), vars_(vars), follow_(follow) {}

  std::optional<StridedAttention> find() {
    const Node& scores = graph_.node(a_.nodes.scores);
    const Node& values = graph_.node(a_.nodes.values);
    for (const TensorType& type : {scores.types[0], values.types[0], graph_.type(a_.nodes.logits),
                                   graph_.type(a_.nodes.weights)})
      if (type.dtype != DType::kF32) return std::nullopt;
    auto q = dot_operand(graph_, scores, a_.rows_operand, follow_);
    auto k = dot_operand(graph_, scores, 1 - a_.rows_operand, follow_);
    auto v = dot_operand(graph_, values, 1 - a_.nodes.weights_operand, follow_);
    if (!q || !k || !v || !by_space(*q, scores) || !by_space(*k, scores)) return std::nullopt;
    if (!set_sizes(*q)) return std::nullopt;
    bool found =
        matrix(rows_of(*q), q->contracted_stride, *q, found_.rows, found_.depth, found_.queries) &&
        matrix(columns_stride_[1], k->contracted_stride, *k, found_.columns, found_.depth,
               found_.keys) &&
        matrix(v->contracted_stride, outs_of(*v), *v, found_.columns, found_.outs, found_.values);
    return found ? std::optional(std::move(found_)) : std::nullopt;
  }

 private:
  std::optional<int64_t> merged(const std::vector<size_t>& of, const DotOperand& x) const {
    return merged_stride(as_dims(of), dims_, x.strides);
  }
  std::optional<int64_t> rows_of(const DotOperand& x) const { return merged(a_.rows, x); }
  std::optional<int64_t> outs_of(const DotOperand& x) const { return merged(a_.out, x); }

  bool set_sizes(const DotOperand& queries) {
    for (size_t d : a_.batch) found_.batch.push_back(dims_[d]);
    for (size_t d : a_.rows) found_.rows *= dims_[d];
    for (size_t d : a_.out) found_.outs *= dims_[d];
    found_.columns = num_elements(a_.column_sizes);
    found_.depth = queries.contracted_size;
    return found_.columns > 0 && found_.depth > 0;
  }

  // From strides by the dimensions of the scores to strides by those of the space, and
  // to the one of the columns.
  bool by_space(DotOperand& x, const Node& scores) {
    std::vector<int64_t> of_space(dims_.size(), 0), of_columns(a_.columns.size(), 0);
    for (size_t d = 0; d < a_.scores.size(); ++d) {
      if (scores.types[0].shape[d] == 1) continue;
      auto var = std::find(vars_.begin(), vars_.end(), a_.scores[d]);
      auto column = std::find(a_.columns.begin(), a_.columns.end(), a_.scores[d]);
      if (var != vars_.end())
        of_space[static_cast<size_t>(var - vars_.begin())] = x.strides[d];
      else if (column != a_.columns.end())
        of_columns[static_cast<size_t>(column - a_.columns.begin())] = x.strides[d];
      else
        return false;  // the scores are seen through a view that takes dimensions apart
    }
    x.strides = std::move(of_space);
    auto stride = merged_stride(all_dims(a_.columns.size()), a_.column_sizes, of_columns);
    columns_stride_.push_back(stride);
    return stride.has_value();
  }

  bool matrix(std::optional<int64_t> row, std::optional<int64_t> col, const DotOperand& x,
              int64_t rows, int64_t cols, StridedMatrix& to) {
    if (!row || !col || !is_plain_matrix(rows, cols, *row, *col)) return false;
    to = {x.access.base, x.access.offset, {}, *row, *col};
    for (size_t d : a_.batch) to.batch.push_back(x.strides[d]);
    return true;
  }

  const Graph& graph_;
  const AttentionSpace& a_;
  const Shape& dims_;
  const IndexVector& vars_;
  const std::function<bool(uint32_t)>& follow_;
  std::vector<std::optional<int64_t>> columns_stride_;  // of queries, of keys
  StridedAttention found_;
};

}  // namespace

bool is_plain_matrix(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  return ((columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns)) ||
         ((rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows));
}

std::optional<StridedAttention> strided_attention(const Graph& graph, const AttentionSpace& space,
                                                  const Shape& dims, const IndexVector& vars,
                                                  const std::function<bool(uint32_t)>& follow) {
  return Finder(graph, space, dims, vars, follow).find();
}

}  // namespace tuff
