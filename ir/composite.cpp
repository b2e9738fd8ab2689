#include "ir/composite.h"

#include <fmt/format.h>

#include "ir/text/print.h"

namespace tuff {

namespace {

constexpr const char* kComposite = "composite";

// One list of a composite's fields, by which it is written to attributes and read from them.
template <typename Visit>
void visit_fields(Softmax& c, const Visit& visit) {
  visit("input", c.input);
  visit("columns", c.columns);
}
template <typename Visit>
void visit_fields(LayerNorm& c, const Visit& visit) {
  visit("input", c.input);
  visit("columns", c.columns);
  visit("epsilon", c.epsilon);
  visit("scale", c.scale);
  visit("shift", c.shift);
}
template <typename Visit>
void visit_fields(Attention& c, const Visit& visit) {
  visit("scores", c.scores);
  visit("max", c.max);
  visit("sum", c.sum);
  visit("values", c.values);
  visit("weights_operand", c.weights_operand);
  visit("weights", c.weights.node);
  visit("logits", c.logits.node);
}

struct FieldWriter {
  Attrs& attrs;
  template <typename Integer>
  void operator()(const char* name, Integer& value) const {
    attrs.set(name, static_cast<int64_t>(value));
  }
  void operator()(const char* name, double& value) const { attrs.set(name, value); }
  void operator()(const char* name, std::optional<RowVector>& value) const {
    if (value) attrs.set(name, std::vector<int64_t>{value->parameter, value->offset});
  }
};

struct FieldReader {
  const Attrs& attrs;
  template <typename Integer>
  void operator()(const char* name, Integer& value) const {
    value = static_cast<Integer>(attrs.get_int(name));
  }
  void operator()(const char* name, double& value) const { value = attrs.get_double(name); }
  void operator()(const char* name, std::optional<RowVector>& value) const {
    const std::vector<int64_t>& pair = attrs.get_ints(name);
    if (pair.size() == 2) value = RowVector{static_cast<uint32_t>(pair[0]), pair[1]};
  }
};

// Calls visit with an empty composite of each kind, until it says true.
template <typename Visit>
bool any_composite(const Visit& visit) {
  return visit(Softmax{}) || visit(LayerNorm{}) || visit(Attention{});
}

Status invalid(const std::string& what) { return Error{ErrorCode::kBadInput, what, ""}; }

Status check_rows(const Graph& region, uint32_t input, int64_t columns) {
  if (input >= region.num_parameters() || region.outputs().size() != 1)
    return invalid("A composite of rows names a parameter and has one output.");
  const TensorType &from = region.type({input, 0}), &to = region.type(region.outputs()[0]);
  if (from.dtype != to.dtype || from.num_elements() != to.num_elements() || columns <= 0 ||
      to.num_elements() % columns != 0)
    return invalid(fmt::format("Rows of ({}) elements do not make up ({}) and ({}).", columns,
                               print_type(from), print_type(to)));
  return {};
}

Status check_vector(const Graph& region, const std::optional<RowVector>& vector, int64_t columns) {
  if (!vector) return {};
  if (vector->parameter >= region.num_parameters() || vector->offset < 0 ||
      region.type({vector->parameter, 0}).num_elements() - vector->offset < columns)
    return invalid(fmt::format("A vector of ({}) elements from ({}) on is not in parameter ({}).",
                               columns, vector->offset, vector->parameter));
  return {};
}

Status check(const Graph& region, const Softmax& c) {
  return check_rows(region, c.input, c.columns);
}
Status check(const Graph& region, const LayerNorm& c) {
  TUFF_RETURN_IF_ERROR(check_rows(region, c.input, c.columns));
  TUFF_RETURN_IF_ERROR(check_vector(region, c.scale, c.columns));
  return check_vector(region, c.shift, c.columns);
}
Status check(const Graph& region, const Attention& c) {
  auto is = [&](uint32_t node, Op op) {
    return node < region.nodes().size() && region.node(node).op == op;
  };
  if (!is(c.scores, Op::kDotGeneral) || !is(c.max, Op::kReduce) || !is(c.sum, Op::kReduce) ||
      !is(c.values, Op::kDotGeneral) || c.weights_operand > 1 || !is(c.weights.node, Op::kDivide) ||
      c.logits.node >= c.max)
    return invalid("An attention names a dot, two reduces, a quotient and a dot of its region.");
  return {};
}

}  // namespace

void set_composite(Attrs& attrs, const Composite& composite) {
  std::visit(
      [&](auto fields) {
        if constexpr (!std::is_same_v<decltype(fields), std::monostate>) {
          attrs.set(kComposite, std::string(fields.kName));
          visit_fields(fields, FieldWriter{attrs});
        }
      },
      composite);
}

Composite composite_of(const Attrs& attrs) {
  Composite found;
  std::string name = attrs.get_string(kComposite);
  any_composite([&](auto fields) {
    if (name != fields.kName) return false;
    visit_fields(fields, FieldReader{attrs});
    found = fields;
    return true;
  });
  return found;
}

Status check_composite(const Node& fused) {
  std::string name = fused.attrs.get_string(kComposite);
  if (name.empty()) return {};
  return std::visit(
      [&](const auto& fields) -> Status {
        if constexpr (std::is_same_v<decltype(fields), const std::monostate&>)
          return invalid(fmt::format("There is no composite ({}).", name));
        else
          return check(*fused.regions[0], fields);
      },
      composite_of(fused.attrs));
}

}  // namespace tuff
