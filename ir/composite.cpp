#include "ir/composite.h"

#include <fmt/format.h>

#include "ir/graph.h"
#include "ir/support/hash.h"
#include "ir/text/attribute_text.h"
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
void visit_fields(RmsNorm& c, const Visit& visit) {
  visit("input", c.input);
  visit("columns", c.columns);
  visit("epsilon", c.epsilon);
  visit("scale", c.scale);
}
template <typename Visit>
void visit_fields(Gelu& c, const Visit& visit) {
  visit("by_erf", c.by_erf);
  visit("by_tanh", c.by_tanh);
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
  std::vector<NamedValue>& values;
  template <typename Integer>
  void operator()(const char* name, Integer& value) const {
    values.push_back({name, static_cast<int64_t>(value)});
  }
  void operator()(const char* name, double& value) const { values.push_back({name, value}); }
  void operator()(const char* name, std::optional<RowVector>& value) const {
    if (value) values.push_back({name, std::vector<int64_t>{value->parameter, value->offset}});
  }
  void operator()(const char* name, std::vector<AppliedFunction>& value) const {
    std::vector<int64_t> nodes;
    for (auto [input, result] : value) nodes.insert(nodes.end(), {input, result});
    if (!nodes.empty()) values.push_back({name, std::move(nodes)});
  }
};

// Fields that are not given stay as they are.
struct FieldReader {
  std::vector<NamedValue>& values;
  template <typename Integer>
  void operator()(const char* name, Integer& value) const {
    if (auto given = take<int64_t>(values, name)) value = static_cast<Integer>(*given);
  }
  void operator()(const char* name, double& value) const {
    if (auto given = take<double>(values, name)) value = *given;
  }
  void operator()(const char* name, std::optional<RowVector>& value) const {
    auto pair = take<std::vector<int64_t>>(values, name);
    if (pair && pair->size() == 2) value = RowVector{static_cast<uint32_t>((*pair)[0]), (*pair)[1]};
  }
  void operator()(const char* name, std::vector<AppliedFunction>& value) const {
    auto nodes = take<std::vector<int64_t>>(values, name);
    for (size_t i = 0; nodes && i + 1 < nodes->size(); i += 2)
      value.push_back({static_cast<uint32_t>((*nodes)[i]), static_cast<uint32_t>((*nodes)[i + 1])});
  }
};

// Calls visit with an empty composite of each kind, until it says true.
template <typename Visit>
bool any_composite(const Visit& visit) {
  return visit(Softmax{}) || visit(LayerNorm{}) || visit(RmsNorm{}) || visit(Gelu{}) ||
         visit(Attention{});
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
Status check(const Graph& region, const RmsNorm& c) {
  TUFF_RETURN_IF_ERROR(check_rows(region, c.input, c.columns));
  return check_vector(region, c.scale, c.columns);
}
Status check(const Graph& region, const Gelu& c) {
  if (c.by_erf.empty() && c.by_tanh.empty()) return invalid("A gelu names its nodes.");
  for (const auto* list : {&c.by_erf, &c.by_tanh})
    for (auto [input, result] : *list)
      if (input >= result || result >= region.nodes().size() ||
          region.type({input, 0}) != region.type({result, 0}) ||
          !is_float(region.type({input, 0}).dtype))
        return invalid(fmt::format(
            "A gelu is a value of its argument's type, computed after it: not ({}) of ({}).",
            result, input));
  return {};
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

void write_composite(const Composite& composite, std::vector<NamedValue>* values) {
  std::visit(
      [&](auto fields) {
        if constexpr (!std::is_same_v<decltype(fields), std::monostate>) {
          values->push_back({kComposite, std::string(fields.kName)});
          visit_fields(fields, FieldWriter{*values});
        }
      },
      composite);
}

Status read_composite(std::vector<NamedValue>* values, Composite* composite) {
  auto name = take<std::string>(*values, kComposite);
  bool known = !name || any_composite([&](auto fields) {
    if (*name != fields.kName) return false;
    visit_fields(fields, FieldReader{*values});
    *composite = fields;
    return true;
  });
  return known ? Status() : invalid(fmt::format("There is no composite ({}).", *name));
}

bool operator==(const Composite& a, const Composite& b) {
  if (a.index() != b.index()) return false;
  std::vector<NamedValue> of_a, of_b;
  write_composite(a, &of_a);
  write_composite(b, &of_b);
  return of_a == of_b;
}

uint64_t hash_of(const Composite& composite) { return composite.index(); }

bool is_named_region(const Node& node) {
  return node.op == Op::kFused && !node.attrs.as<FusedAttrs>().kind;
}

Status check_composite(const Node& fused) {
  return std::visit(
      [&](const auto& fields) -> Status {
        if constexpr (std::is_same_v<decltype(fields), const std::monostate&>)
          return {};
        else
          return check(*fused.regions[0], fields);
      },
      fused.attrs.as<FusedAttrs>().composite);
}

}  // namespace tuff
