// Matrix products and what is made of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

Items mat_mul(const Call& call) { return {matmul(call.need(0), call.need(1))}; }

// alpha * A * B + beta * C
Items gemm(const Call& call) {
  Tensor a = call.need(0), b = call.need(1), c = call.in(2);
  if (a.rank() != 2 || b.rank() != 2) refuse_input("A and B must be matrices.");
  int64_t rows = call.flag("transA") ? 0 : 1, columns = call.flag("transB") ? 1 : 0;
  Tensor y = dot(a, b, {{}, {}, {rows}, {columns}, {}});
  double alpha = call.f("alpha", 1), beta = call.f("beta", 1);
  if (alpha != 1) y = y * alpha;
  if (c && beta != 0) y = y + (beta == 1 ? c : c * beta).broadcast_to(y.shape());
  return {y};
}

// --- Einsum

using Labels = std::vector<int>;  // letters; dimensions of the ellipsis from kEllipsis on
constexpr int kEllipsis = 256;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

Labels read_labels(std::string_view text, int64_t rank) {
  int64_t letters = std::count_if(text.begin(), text.end(), [](char c) { return c != '.'; });
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '.') {
      labels.push_back(static_cast<unsigned char>(text[i]));
      continue;
    }
    if (text.substr(i, 3) != "...") refuse_input("The equation has a dot that is no ellipsis.");
    // Aligned at their ends, as broadcasting has it.
    for (int64_t left = rank - letters; left > 0; --left)
      labels.push_back(kEllipsis + static_cast<int>(left) - 1);
    i += 2;
  }
  return labels;
}

Equation read_equation(const Call& call) {
  std::string text = call.s("equation", "");
  std::erase(text, ' ');
  size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation equation;
  int most = 0;
  for (size_t i = 0; i <= call.inputs.size(); ++i) {
    size_t comma = left.find(',');
    if (i < call.inputs.size())
      equation.operands.push_back(read_labels(left.substr(0, comma), call.need(i).rank()));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (equation.operands.size() != call.inputs.size())
    refuse_input("The equation does not have as many terms as the operator has inputs.");
  std::map<int, int> counts;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    if (static_cast<int64_t>(equation.operands[i].size()) != call.need(i).rank())
      refuse_input(fmt::format("Term ({}) of the equation does not fit ({}).", i,
                               words(call.need(i).type())));
    for (int label : equation.operands[i]) {
      ++counts[label];
      if (label >= kEllipsis) most = std::max(most, label - kEllipsis + 1);
    }
  }
  if (arrow != std::string::npos) {
    std::string_view right = std::string_view(text).substr(arrow + 2);
    auto letters = std::count_if(right.begin(), right.end(), [](char c) { return c != '.'; });
    equation.result = read_labels(right, letters + most);
  } else {  // the letters that occur once
    for (int left_dims = most; left_dims > 0; --left_dims)
      equation.result.push_back(kEllipsis + left_dims - 1);
    for (auto [label, count] : counts)
      if (label < kEllipsis && count == 1) equation.result.push_back(label);
  }
  return equation;
}

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
int64_t place(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

// A label that stands twice takes the diagonal.
void take_diagonals(Tensor* x, Labels* labels) {
  for (size_t i = 0; i < labels->size(); ++i)
    for (size_t k = labels->size() - 1; k > i; --k) {
      if ((*labels)[i] != (*labels)[k]) continue;
      auto a = static_cast<int64_t>(i), b = static_cast<int64_t>(k);
      Tensor same = equal(x->iota(x->shape(), a), x->iota(x->shape(), b));
      *x = same.select(*x, x->scalar(0)).sum({b});
      labels->erase(labels->begin() + b);
    }
}

void sum_out(Tensor* x, Labels* labels, const std::function<bool(int)>& is_needed) {
  Ints dims;
  Labels kept;
  for (size_t i = 0; i < labels->size(); ++i)
    is_needed((*labels)[i]) ? kept.push_back((*labels)[i])
                            : dims.push_back(static_cast<int64_t>(i));
  *x = x->sum(dims);
  *labels = kept;
}

Tensor in_order(const Tensor& x, const Labels& labels, const Labels& order) {
  Ints permutation;
  for (int label : order) permutation.push_back(place(labels, label));
  return x.transpose(std::move(permutation));
}

// The product of two terms, of which all labels are needed in the result or are in both.
Tensor contract(Tensor a, Labels* la, Tensor b, const Labels& lb,
                const std::function<bool(int)>& is_needed) {
  DotGeneralAttrs attrs;
  Labels result, free_a, free_b;
  for (int label : *la) {
    if (!has(lb, label)) {
      free_a.push_back(label);
      continue;
    }
    int64_t i = place(*la, label), k = place(lb, label);
    // A size of 1 stands for any other.
    if (a.dim(i) != b.dim(k)) {
      Shape shape = a.dim(i) == 1 ? a.shape() : b.shape();
      shape[static_cast<size_t>(a.dim(i) == 1 ? i : k)] = a.dim(i) == 1 ? b.dim(k) : a.dim(i);
      (a.dim(i) == 1 ? a : b) = (a.dim(i) == 1 ? a : b).broadcast_to(shape);
    }
    if (is_needed(label)) {
      attrs.lhs_batching_dimensions.push_back(i);
      attrs.rhs_batching_dimensions.push_back(k);
      result.push_back(label);
    } else {
      attrs.lhs_contracting_dimensions.push_back(i);
      attrs.rhs_contracting_dimensions.push_back(k);
    }
  }
  for (int label : lb)
    if (!has(*la, label)) free_b.push_back(label);
  result.insert(result.end(), free_a.begin(), free_a.end());
  result.insert(result.end(), free_b.begin(), free_b.end());
  *la = result;
  return dot(a, b, std::move(attrs));
}

Items einsum(const Call& call) {
  Equation equation = read_equation(call);
  Tensor x = call.need(0);
  Labels labels = equation.operands[0];
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    auto needed_after = [&](int label) {
      bool needed = has(equation.result, label);
      for (size_t k = i + 1; k < equation.operands.size(); ++k)
        needed = needed || has(equation.operands[k], label);
      return needed;
    };
    if (i == 0) {
      take_diagonals(&x, &labels);
      sum_out(&x, &labels, needed_after);
      continue;
    }
    Tensor next = call.need(i);
    Labels next_labels = equation.operands[i];
    take_diagonals(&next, &next_labels);
    sum_out(&next, &next_labels,
            [&](int label) { return needed_after(label) || has(labels, label); });
    sum_out(&x, &labels, [&](int label) { return needed_after(label) || has(next_labels, label); });
    x = contract(x, &labels, next, next_labels, needed_after);
  }
  for (int label : equation.result)
    if (!has(labels, label)) refuse_input("The equation's result has a letter that no term has.");
  return {in_order(x, labels, equation.result)};
}

// Elimination with the largest element of each column as pivot, a step a row.
Items det(const Call& call) {
  Tensor x = call.need(0);
  constexpr int64_t kMaxRows = 32;
  if (x.rank() < 2 || x.dim(-1) != x.dim(-2)) refuse_input("The input is no square matrix.");
  if (x.dim(-1) > kMaxRows)
    refuse_unsupported("Determinants of more than (32) rows are not supported.");
  Tensor rest = x.wide(), result;
  while (rest.dim(-1) > 0) {
    int64_t size = rest.dim(-1), last = rest.rank() - 1;
    Tensor column = rest.slice(-1, 0, 1);
    Tensor magnitude = column.abs(), top = magnitude.reduce(Op::kMaximum, {-2}, true);
    // One row of those with the largest element: the first.
    Tensor row = x.iota(column.shape(), last - 1, DType::kI32);
    Tensor first = (magnitude >= top)
                       .select(row, row.scalar(static_cast<double>(size)))
                       .reduce(Op::kMinimum, {-2}, true);
    Tensor is_pivot = equal(row, first.broadcast_to(row.shape()));
    Tensor pivot_row = is_pivot.select(rest, rest.scalar(0)).sum({-2}, true);
    Tensor pivot = pivot_row.slice(-1, 0, 1);
    Tensor sign = equal(first, first.scalar(0)).select(pivot.scalar(1), pivot.scalar(-1));
    Tensor factor = sign * pivot;
    result = result ? result * factor : factor;
    if (size == 1) break;
    Tensor swapped = is_pivot.select(rest.slice(-2, 0, 1), rest);
    Tensor safe = equal(pivot, pivot.scalar(0)).select(pivot.scalar(1), pivot);
    Tensor below = swapped.slice(-2, 1, size);
    rest = (below - below.slice(-1, 0, 1) / safe * pivot_row).slice(-1, 1, size);
  }
  if (!result) result = rest.scalar(1).broadcast_to(Shape(x.shape().begin(), x.shape().end() - 2));
  Shape shape(x.shape().begin(), x.shape().end() - 2);
  return {result.reshape(std::move(shape)).convert(x.dtype())};
}

constexpr OpRow kContractionRows[] = {
    {"Det", det, "Up to 32 rows."},
    {"Einsum", einsum},
    {"Gemm", gemm},
    {"MatMul", mat_mul},
};

}  // namespace

std::span<const OpRow> contraction_ops() { return kContractionRows; }

}  // namespace tuff::onnx
