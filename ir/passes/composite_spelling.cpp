// Composites spelled out, as canonicalize leaves them and composites.cpp finds them.
#include <cmath>
#include <numeric>

#include "ir/passes/composites.h"

namespace tuff {

namespace {

// Spells one composite. Lives for one call.
class Speller {
 public:
  Speller(const Graph& region, const std::string& loc) : region_(region), loc_(loc) {
    for (uint32_t i = 0; i < region.num_parameters(); ++i)
      out_.add_parameter(region.node(i).types[0], region.parameter_name(i), region.node(i).loc);
    out_.name = region.name;
  }

  template <typename Fields>
  std::optional<Graph> spell(const Fields& composite) {
    std::optional<Value> v = value_of(composite);
    if (!v) return std::nullopt;
    out_.set_outputs({reshape(*v, region_.type(region_.outputs()[0]).shape)},
                     region_.output_names());
    return std::move(out_);
  }

 private:
  std::optional<Value> value_of(const std::monostate&) { return std::nullopt; }
  // Its nodes are the region's own.
  std::optional<Value> value_of(const Attention&) { return std::nullopt; }

  std::optional<Value> value_of(const Softmax& c) {
    Value x = rows(c.input, c.columns);
    Value power = add(Op::kExponential, {add(Op::kSubtract, {x, spread(fold(x, Op::kMaximum))})});
    return add(Op::kDivide, {power, spread(fold(power, Op::kAdd))});
  }

  std::optional<Value> value_of(const LayerNorm& c) {
    Value x = rows(c.input, c.columns);
    Value v = normalized(add(Op::kSubtract, {x, spread(mean(x))}), c.epsilon);
    if (c.scale) v = add(Op::kMultiply, {v, along_columns(*c.scale)});
    if (c.shift) v = add(Op::kAdd, {v, along_columns(*c.shift)});
    return v;
  }

  std::optional<Value> value_of(const RmsNorm& c) {
    Value v = normalized(rows(c.input, c.columns), c.epsilon);
    return c.scale ? add(Op::kMultiply, {v, along_columns(*c.scale)}) : v;
  }

  // One that is all of the region.
  std::optional<Value> value_of(const Gelu& c) {
    bool by_erf = c.by_tanh.empty();
    const auto& list = by_erf ? c.by_erf : c.by_tanh;
    if (c.by_erf.size() + c.by_tanh.size() != 1 || list[0].input >= region_.num_parameters() ||
        region_.outputs() != std::vector<Value>{{list[0].result, 0}})
      return std::nullopt;
    Value x{list[0].input, 0};
    type_ = region_.type(x);
    auto times = [&](Value v, double factor) {
      return add(Op::kMultiply, {v, splat(type_, factor)});
    };
    Value inner =
        by_erf ? add(Op::kErf, {times(x, std::sqrt(0.5))})
               : add(Op::kTanh,
                     {times(add(Op::kAdd, {x, times(cube(x), 0.044715)}), 0.7978845608028654)});
    return add(Op::kMultiply, {times(x, 0.5), add(Op::kAdd, {inner, splat(type_, 1)})});
  }
  Value cube(Value x) { return add(Op::kMultiply, {add(Op::kMultiply, {x, x}), x}); }

  // A value of the rows' type.
  Value add(Op op, std::vector<Value> operands) { return add(op, std::move(operands), type_); }
  Value add(Op op, std::vector<Value> operands, TensorType type, Attrs attrs = {}) {
    return add_op(out_, op, std::move(operands), std::move(type), std::move(attrs), loc_);
  }

  Value reshape(Value v, const Shape& shape) {
    const TensorType& type = out_.type(v);
    return type.shape == shape ? v : add(Op::kReshape, {v}, {type.dtype, shape});
  }

  Value broadcast(Value v, const Shape& shape, std::vector<int64_t> dims) {
    return add(Op::kBroadcastInDim, {v}, {out_.type(v).dtype, shape},
               BroadcastInDimAttrs{std::move(dims)});
  }

  Value splat(const TensorType& type, double value) {
    Value scalar = add_constant(out_, Literal::scalar(type.dtype, value), loc_);
    return type.rank() == 0 ? scalar : broadcast(scalar, type.shape, {});
  }

  // The parameter with its rows along the last dimension; sets the rows' type.
  Value rows(uint32_t parameter, int64_t columns) {
    type_ = out_.type({parameter, 0});
    if (type_.shape.empty() || type_.shape.back() != columns)
      type_.shape = {type_.num_elements() / columns, columns};
    return reshape({parameter, 0}, type_.shape);
  }
  TensorType one_each() const {
    return {type_.dtype, Shape(type_.shape.begin(), type_.shape.end() - 1)};
  }

  // Each row folded by the operation.
  Value fold(Value v, Op op) {
    TensorType scalar{type_.dtype, {}};
    Graph body;
    Value a = body.add_parameter(scalar), b = body.add_parameter(scalar);
    body.set_outputs({add_op(body, op, {a, b}, scalar)});
    Node node;
    node.op = Op::kReduce;
    node.operands = {v, splat(scalar, op == Op::kMaximum ? -INFINITY : 0)};
    node.types = {one_each()};
    node.attrs = DimensionsAttrs{{type_.rank() - 1}};
    node.regions = {std::make_shared<const Graph>(std::move(body))};
    node.loc = loc_;
    return out_.add(std::move(node));
  }
  // One element per row, along its columns.
  Value spread(Value v) {
    std::vector<int64_t> dims(type_.shape.size() - 1);
    std::iota(dims.begin(), dims.end(), 0);
    return broadcast(v, type_.shape, std::move(dims));
  }

  Value mean(Value v) {
    Value count = splat(one_each(), static_cast<double>(type_.shape.back()));
    return add(Op::kDivide, {fold(v, Op::kAdd), count}, one_each());
  }
  Value normalized(Value d, double epsilon) {
    Value squares = mean(add(Op::kMultiply, {d, d}));
    Value sum = add(Op::kAdd, {squares, splat(one_each(), epsilon)}, one_each());
    return add(Op::kMultiply, {d, spread(add(Op::kRsqrt, {sum}, one_each()))});
  }

  Value along_columns(const RowVector& vector) {
    Value all{vector.parameter, 0};
    int64_t size = out_.type(all).num_elements(), columns = type_.shape.back();
    Value v = reshape(all, {size});
    if (size != columns) {
      v = add(Op::kSlice, {v}, {out_.type(all).dtype, {columns}},
              SliceAttrs{{vector.offset}, {vector.offset + columns}, {1}});
    }
    return broadcast(v, type_.shape, {type_.rank() - 1});
  }

  const Graph& region_;
  const std::string& loc_;
  Graph out_;
  TensorType type_;  // of the rows
};

}  // namespace

std::optional<Graph> spell_composite(const Graph& region, const Composite& composite,
                                     const std::string& loc) {
  return std::visit([&](const auto& fields) { return Speller(region, loc).spell(fields); },
                    composite);
}

}  // namespace tuff
