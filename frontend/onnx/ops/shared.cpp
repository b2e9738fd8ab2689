#include "frontend/onnx/ops/shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tuff::onnx {

Tensor named(const std::vector<Tensor>& operands,
             const std::function<Composite(const Graph& region)>& name,
             const std::function<Tensor(const std::vector<Tensor>&)>& body) {
  Emitter& emitter = operands[0].emitter();
  std::vector<TensorType> types;
  std::vector<Value> values;
  for (const Tensor& t : operands) {
    types.push_back(t.type());
    values.push_back(t.value());
  }
  if (!is_float(types[0].dtype) || is_small(types[0].dtype) || types[0].num_elements() == 0)
    return body(operands);
  Node node;
  node.op = Op::kFused;
  node.operands = values;
  node.regions = {make_region(types, emitter.location(), [&](const std::vector<Tensor>& p) {
    return std::vector<Tensor>{body(p)};
  })};
  node.types = {node.regions[0]->type(node.regions[0]->outputs()[0])};
  node.attrs = FusedAttrs{{}, name(*node.regions[0])};
  if (!check_composite(node).ok()) return body(operands);
  return {emitter, emitter.add(node.op, node.operands, node.types, node.attrs, node.regions)[0]};
}

Tensor softmax(const Tensor& x, int64_t axis) {
  axis = x.axis(axis);
  auto formula = [axis](const std::vector<Tensor>& p) {
    Tensor wide = p[0].wide();
    Tensor power = (wide - wide.reduce(Op::kMaximum, {axis}, true)).exp();
    return (power / power.sum({axis}, true)).convert(p[0].dtype());
  };
  if (axis != x.rank() - 1) return formula({x});
  return named(
      {x},
      [&](const Graph&) {
        return Softmax{0, x.dim(-1)};
      },
      formula);
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  Tensor wide = x.wide();
  Tensor shifted = wide - wide.reduce(Op::kMaximum, {axis}, true);
  return (shifted - shifted.exp().sum({axis}, true).log()).convert(x.dtype());
}

namespace {

int64_t columns_from(const Tensor& x, int64_t axis) {
  int64_t columns = 1;
  for (int64_t d = x.axis(axis); d < x.rank(); ++d) columns *= x.dim(d);
  return columns;
}

std::optional<RowVector> vector_of(const Tensor& x, int64_t axis, const Tensor& vector,
                                   uint32_t parameter) {
  if (!vector || vector.num_elements() != columns_from(x, axis)) return std::nullopt;
  return RowVector{parameter, 0};
}

// Vectors over all of the columns can be named; others come after.
bool covers(const Tensor& x, int64_t axis, const Tensor& vector) {
  return !vector || vector.num_elements() == columns_from(x, axis);
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& shift, int64_t axis,
                  double epsilon) {
  Ints dims = range(x.axis(axis), x.rank());
  std::vector<Tensor> operands{x};
  if (scale) operands.push_back(scale);
  if (shift) operands.push_back(shift);
  auto formula = [&](const std::vector<Tensor>& p) {
    Tensor wide = p[0].wide();
    Tensor centred = wide - wide.mean(dims, true);
    Tensor y = centred * ((centred * centred).mean(dims, true) + epsilon).rsqrt();
    if (scale) y = y * p[1].wide();
    if (shift) y = y + p[scale ? 2 : 1].wide();
    return y.convert(p[0].dtype());
  };
  if (!covers(x, axis, scale) || !covers(x, axis, shift)) return formula(operands);
  return named(
      operands,
      [&](const Graph&) {
        return LayerNorm{0, columns_from(x, axis), epsilon, vector_of(x, axis, scale, 1),
                         vector_of(x, axis, shift, scale ? 2 : 1)};
      },
      formula);
}

Tensor rms_norm(const Tensor& x, const Tensor& scale, int64_t axis, double epsilon) {
  Ints dims = range(x.axis(axis), x.rank());
  std::vector<Tensor> operands{x};
  if (scale) operands.push_back(scale);
  auto formula = [&](const std::vector<Tensor>& p) {
    Tensor wide = p[0].wide();
    Tensor y = wide * ((wide * wide).mean(dims, true) + epsilon).rsqrt();
    if (scale) y = y * p[1].wide();
    return y.convert(p[0].dtype());
  };
  if (!covers(x, axis, scale)) return formula(operands);
  return named(
      operands,
      [&](const Graph&) {
        return RmsNorm{0, columns_from(x, axis), epsilon, vector_of(x, axis, scale, 1)};
      },
      formula);
}

Tensor gelu(const Tensor& x, bool by_tanh) {
  auto formula = [by_tanh](const std::vector<Tensor>& p) {
    Tensor wide = p[0].wide();
    Tensor inner = by_tanh ? ((wide + wide * wide * wide * 0.044715) * 0.7978845608028654).tanh()
                           : (wide * std::sqrt(0.5)).unary(Op::kErf);
    return (wide * 0.5 * (inner + 1.0)).convert(p[0].dtype());
  };
  return named(
      {x},
      [&](const Graph& region) {
        Gelu gelu;
        (by_tanh ? gelu.by_tanh : gelu.by_erf).push_back({0, region.outputs()[0].node});
        return gelu;
      },
      formula);
}

Tensor wrap_indices(const Tensor& indices, int64_t size) {
  if (is_unsigned_int(indices.dtype())) return indices;
  if (auto known = indices.known()) {
    bool wraps = false;
    for (int64_t i = 0; i < known->num_elements(); ++i) wraps = wraps || known->get_int(i) < 0;
    if (!wraps) return indices;
  }
  return (indices < 0.0).select(indices + static_cast<double>(size), indices);
}

SpatialWindow spatial_window(const Call& call, const Tensor& x, Ints kernel) {
  auto spatial = static_cast<size_t>(std::max<int64_t>(x.rank() - 2, 0));
  SpatialWindow window;
  window.sizes = call.ints("kernel_shape", std::move(kernel));
  window.strides = call.ints("strides", Ints(spatial, 1));
  window.dilations = call.ints("dilations", Ints(spatial, 1));
  Ints pads = call.ints("pads", Ints(2 * spatial, 0));
  if (x.rank() < 3 || window.sizes.size() != spatial || window.strides.size() != spatial ||
      window.dilations.size() != spatial || pads.size() != 2 * spatial)
    refuse_input(fmt::format(
        "The window's attributes do not have as many entries as the input ({}) has spatial "
        "dimensions.",
        words(x.type())));
  for (size_t d = 0; d < spatial; ++d)
    if (window.strides[d] < 1 || window.dilations[d] < 1 || window.sizes[d] < 1)
      refuse_input("Kernel sizes, strides and dilations must be positive.");
  window.low.assign(pads.begin(), pads.begin() + static_cast<ptrdiff_t>(spatial));
  window.high.assign(pads.begin() + static_cast<ptrdiff_t>(spatial), pads.end());
  std::string mode = call.s("auto_pad", "NOTSET");
  if (mode == "VALID") {
    window.low = window.high = Ints(spatial, 0);
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (size_t d = 0; d < spatial; ++d) {
      int64_t size = x.shape()[d + 2], stride = window.strides[d];
      int64_t reach = (window.sizes[d] - 1) * window.dilations[d] + 1;
      int64_t pad =
          std::max<int64_t>(((size + stride - 1) / stride - 1) * stride + reach - size, 0);
      window.low[d] = mode == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
      window.high[d] = pad - window.low[d];
    }
  } else if (mode != "NOTSET" && !mode.empty()) {
    refuse_input(fmt::format("The attribute auto_pad ({}) is not known.", mode));
  }
  return window;
}

Tensor weighted(const Tensor& x, const Tensor& weights, int64_t axis) {
  axis = x.axis(axis);
  Tensor product = dot(x, weights, {{}, {}, {axis}, {1}, {}});  // the dimension is the last now
  Ints permutation = range(0, x.rank() - 1);
  permutation.insert(permutation.begin() + axis, x.rank() - 1);
  return product.transpose(std::move(permutation));
}

std::vector<Tensor> run_loop(Emitter& emitter, const Tensor& trips, bool has_condition,
                             const std::vector<Tensor>& carried,
                             const std::vector<Tensor>& captured, const LoopBody& body) {
  // Carried through the loop: the counter, its end, what the body carries, what it only reads.
  std::vector<Tensor> all{Tensor(emitter, emitter.scalar(DType::kI64, 0)), trips};
  all.insert(all.end(), carried.begin(), carried.end());
  all.insert(all.end(), captured.begin(), captured.end());
  std::vector<TensorType> types;
  std::vector<Value> values;
  for (const Tensor& t : all) {
    types.push_back(t.type());
    values.push_back(t.value());
  }
  GraphPtr condition = make_region(types, emitter.location(), [&](const std::vector<Tensor>& p) {
    Tensor more = p[0] < p[1];
    return std::vector<Tensor>{has_condition ? more & p[2] : more};
  });
  GraphPtr once = make_region(types, emitter.location(), [&](const std::vector<Tensor>& p) {
    auto first = p.begin() + 2, end = first + static_cast<ptrdiff_t>(carried.size());
    std::vector<Tensor> results{p[0] + 1.0, p[1]};
    std::vector<Tensor> next = body(p[0], {first, end}, {end, p.end()});
    if (next.size() != carried.size())
      refuse_input(fmt::format("The body gives ({}) values where the loop carries ({}).",
                               next.size(), carried.size()));
    for (size_t i = 0; i < next.size(); ++i)
      if (next[i].type() != carried[i].type())
        refuse_unsupported(fmt::format(
            "What the loop carries changes its type from ({}) to ({}); loops are supported where "
            "it keeps its type, or where the number of rounds is constant.",
            words(carried[i].type()), words(next[i].type())));
    results.insert(results.end(), next.begin(), next.end());
    results.insert(results.end(), end, p.end());
    return results;
  });
  std::vector<Value> results =
      emitter.add(Op::kWhile, std::move(values), types, WhileAttrs{}, {condition, once});
  std::vector<Tensor> ends;
  for (size_t i = 0; i < carried.size(); ++i) ends.emplace_back(emitter, results[2 + i]);
  return ends;
}

Tensor element_at(const Tensor& x, const Tensor& index, int64_t dim) {
  dim = x.axis(dim);
  Tensor zero = index.scalar(0);
  std::vector<Tensor> starts(x.shape().size(), zero);
  starts[static_cast<size_t>(dim)] = index;
  Shape sizes = x.shape();
  sizes[static_cast<size_t>(dim)] = 1;
  return x.add(Op::kDynamicSlice, std::move(starts), x.type(), DynamicSliceAttrs{std::move(sizes)})
      .squeeze({dim});
}

Tensor with_element(const Tensor& x, const Tensor& part, const Tensor& index, int64_t dim) {
  dim = x.axis(dim);
  Tensor zero = index.scalar(0);
  std::vector<Tensor> operands(x.shape().size() + 1, zero);
  operands[0] = part.unsqueeze({dim});
  operands[static_cast<size_t>(dim) + 1] = index;
  return x.add(Op::kDynamicUpdateSlice, std::move(operands), x.type());
}

}  // namespace tuff::onnx
