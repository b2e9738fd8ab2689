// Products: dot, dot_general with an algorithm, chlo.ragged_dot.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "frontend/stablehlo/import/expression.h"

namespace tuff::stablehlo {

namespace {

using Ints = std::vector<int64_t>;

// dot is dot_general of the last dimension with the first; vectors included.
OpResult import_dot(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(2));
  TUFF_RETURN_IF_ERROR(context.expect_results(1));
  int64_t lhs_rank = context.type(context.operands[0]).rank();
  if (lhs_rank < 1 || context.type(context.operands[1]).rank() < 1)
    return context.bad("A dot's operands have at least one dimension.");
  Node node;
  node.op = Op::kDotGeneral;
  node.operands = context.operands;
  node.types = context.types;
  node.attrs = DotGeneralAttrs{.lhs_contracting_dimensions = {lhs_rank - 1},
                               .rhs_contracting_dimensions = {0}};
  return context.add_checked(std::move(node));
}

// --- algorithms -------------------------------------------------------------

// The word after "name =" in "<lhs_precision_type = tf32, ...>"; empty if there is none.
std::string_view named_part(std::string_view algorithm, std::string_view name) {
  size_t at = algorithm.find(name);
  if (at == std::string_view::npos) return {};
  at = algorithm.find_first_not_of(" =", at + name.size());
  if (at == std::string_view::npos) return {};
  return algorithm.substr(at, algorithm.find_first_of(" ,>", at) - at);
}

// How many bits of a number a type of an algorithm keeps, up to f64's; 0 for others (integers).
int64_t kept_bits(std::string_view type) {
  struct Row {
    std::string_view type;
    int64_t bits;
  };
  constexpr Row kRows[] = {{"f64", 53}, {"f32", 24}, {"tf32", 11}, {"f16", 11}, {"bf16", 8}};
  for (const Row& row : kRows)
    if (row.type == type) return row.bits;
  return type.starts_with("f8") ? 4 : 0;
}

// An algorithm says how exact a product must be at least. We multiply operands as they are, with
// sums in f32 (f64 of f64). That is as exact as any algorithm that asks for no more bits than these
// have, however many parts it takes operands in. f64 is computed where it is asked for.
OpResult import_dot_general(OpContext& context) {
  const Attribute* attribute = context.attribute("algorithm");
  if (!attribute) return import_table_op(context);
  TUFF_RETURN_IF_ERROR(context.expect_operands(2));
  TUFF_RETURN_IF_ERROR(context.expect_results(1));
  std::string algorithm = attribute_words(*attribute);
  int64_t most = 0;
  for (const char* name : {"lhs_precision_type", "rhs_precision_type", "accumulation_type"}) {
    int64_t bits = kept_bits(named_part(algorithm, name));
    if (bits == 0)
      return context.unsupported(fmt::format(
          "The dot's algorithm ({}) is not supported; use one of f64, f32, tf32, f16, bf16 or f8 "
          "numbers, or none.",
          algorithm));
    most = std::max(most, bits);
  }
  const TensorType result = context.types[0];
  // Sums of integers are exact.
  bool widens = is_float(result.dtype) && most > kept_bits("f32") && result.dtype != DType::kF64;
  if (!widens) return import_table_op(context);
  for (Value& operand : context.operands)
    operand = Expr(context, operand).convert(DType::kF64).value();
  context.types[0].dtype = DType::kF64;
  TUFF_ASSIGN(Values wide, import_table_op(context));
  context.types[0] = result;
  return Values{Expr(context, wide[0]).convert(result.dtype).value()};
}

// --- ragged_dot -------------------------------------------------------------

struct RaggedDims {
  Ints lhs_batch, rhs_batch, lhs_contract, rhs_contract, lhs_ragged, rhs_group;
};

Result<RaggedDims> ragged_dims(const OpContext& context) {
  const Attribute* attribute = context.attribute("ragged_dot_dimension_numbers");
  auto* dict = attribute ? std::get_if<DictAttr>(&attribute->value) : nullptr;
  if (!dict) return context.bad("The operation has no dimension numbers.");
  RaggedDims dims;
  std::pair<const char*, Ints*> rows[] = {{"lhs_batching_dimensions", &dims.lhs_batch},
                                          {"rhs_batching_dimensions", &dims.rhs_batch},
                                          {"lhs_contracting_dimensions", &dims.lhs_contract},
                                          {"rhs_contracting_dimensions", &dims.rhs_contract},
                                          {"lhs_ragged_dimensions", &dims.lhs_ragged},
                                          {"rhs_group_dimensions", &dims.rhs_group}};
  for (auto [name, ints] : rows) {
    const Attribute* entry = find_attribute(dict->entries, name);
    if (entry && !attribute_ints(*entry, ints))
      return context.bad(fmt::format("The dimension numbers' ({}) is no list of integers.", name));
  }
  if (dims.lhs_ragged.size() != 1) return context.bad("A ragged dot has one ragged dimension.");
  int64_t ragged = dims.lhs_ragged[0];
  if (ragged < 0 || ragged >= context.type(context.operands[0]).rank())
    return context.bad(fmt::format("The ragged dimension ({}) is out of range.", ragged));
  return dims;
}

Expr iota(const OpContext& context, TensorType type, int64_t dimension) {
  return {context, context.add(Op::kIota, {}, std::move(type), IotaAttrs{dimension})};
}

Result<Expr> spread(const OpContext& context, Value value, TensorType type, Ints dims) {
  Node node;
  node.op = Op::kBroadcastInDim;
  node.operands = {value};
  node.types = {std::move(type)};
  node.attrs = BroadcastInDimAttrs{std::move(dims)};
  TUFF_ASSIGN(Values made, context.add_checked(std::move(node)));
  return Expr(context, made[0]);
}

// The sums of sizes[0..g] for each g, from sizes [g].
Result<Expr> ends_of(const OpContext& context, Value sizes) {
  const TensorType type = context.type(sizes);
  TensorType square{type.dtype, {type.shape[0], type.shape[0]}};
  TUFF_ASSIGN(Expr all, spread(context, sizes, square, {1}));
  Expr before = iota(context, square, 1) <= iota(context, square, 0);
  auto body = std::make_shared<Graph>();
  Value a = body->add_parameter({type.dtype, {}}), b = body->add_parameter({type.dtype, {}});
  body->set_outputs({add_op(*body, Op::kAdd, {a, b}, {type.dtype, {}})});
  Node reduce;
  reduce.op = Op::kReduce;
  reduce.operands = {
      before.select(all, all.like_bits(0)).value(),
      add_constant(context.graph(), Literal(TensorType{type.dtype, {}}), context.loc)};
  reduce.types = {type};
  reduce.attrs = DimensionsAttrs{{1}};
  reduce.regions = {body};
  TUFF_ASSIGN(Values ends, context.add_checked(std::move(reduce)));
  return Expr(context, ends[0]);
}

// lhs once for each group, in front, with zeros where the ragged dimension is another group's.
Result<Expr> by_group(const OpContext& context, int64_t ragged) {
  Value lhs = context.operands[0], sizes = context.operands[2];
  const TensorType type = context.type(lhs), counts = context.type(sizes);
  int64_t groups = counts.shape[0];
  TUFF_ASSIGN(Expr ends, ends_of(context, sizes));
  Expr starts = ends - Expr(context, sizes);
  TensorType table{counts.dtype, {groups, type.shape[static_cast<size_t>(ragged)]}};
  Expr at = iota(context, table, 1);
  TUFF_ASSIGN(Expr first, spread(context, starts.value(), table, {0}));
  TUFF_ASSIGN(Expr end, spread(context, ends.value(), table, {0}));
  Expr inside = (at >= first) & (at < end);
  TensorType wide{type.dtype, type.shape};
  wide.shape.insert(wide.shape.begin(), groups);
  Ints dims;
  for (int64_t d = 0; d < type.rank(); ++d) dims.push_back(d + 1);
  TUFF_ASSIGN(Expr mask,
              spread(context, inside.value(), {DType::kBool, wide.shape}, {0, ragged + 1}));
  TUFF_ASSIGN(Expr copies, spread(context, lhs, wide, std::move(dims)));
  return mask.select(copies, copies.like(0.0));
}

Ints shifted(Ints dims) {
  for (int64_t& d : dims) ++d;
  return dims;
}

bool contains(const Ints& list, int64_t d) {
  return std::find(list.begin(), list.end(), d) != list.end();
}

// Rows of a dimension of lhs belong to groups, which follow each other and are group_sizes long.
//   the dimension is one of lhs alone: each group is multiplied by its own matrix of rhs, and rows
//     of no group give 0;
//   it is summed over: each group's sum is a result, along a new first dimension;
//   it is a batch's: groups change nothing.
OpResult import_ragged_dot(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(3));
  TUFF_RETURN_IF_ERROR(context.expect_results(1));
  TUFF_ASSIGN(RaggedDims dims, ragged_dims(context));
  int64_t ragged = dims.lhs_ragged[0];
  Node node;
  node.op = Op::kDotGeneral;
  node.operands = {context.operands[0], context.operands[1]};
  node.types = context.types;
  bool in_batch = contains(dims.lhs_batch, ragged), summed = contains(dims.lhs_contract, ragged);
  if (!in_batch) {
    const TensorType counts = context.type(context.operands[2]);
    if (counts.rank() != 1 || !is_integer(counts.dtype))
      return context.unsupported("Sizes of groups that differ within a batch are not supported.");
    TUFF_ASSIGN(Expr groups, by_group(context, ragged));
    node.operands[0] = groups.value();
    dims.lhs_batch = shifted(dims.lhs_batch);
    dims.lhs_contract = shifted(dims.lhs_contract);
    if (!summed && dims.rhs_group.size() != 1)
      return context.bad("The right operand has one dimension of groups.");
    if (!summed) dims.lhs_contract.push_back(0), dims.rhs_contract.push_back(dims.rhs_group[0]);
  }
  node.attrs =
      DotGeneralAttrs{dims.lhs_batch, dims.rhs_batch, dims.lhs_contract, dims.rhs_contract};
  if (in_batch || !summed || dims.lhs_batch.empty()) return context.add_checked(std::move(node));
  // The groups come after the batch, and belong in front of it.
  Shape& shape = node.types[0].shape;
  auto batches = static_cast<int64_t>(dims.lhs_batch.size());
  if (static_cast<int64_t>(shape.size()) <= batches)
    return context.bad("The result has too few dimensions.");
  std::rotate(shape.begin(), shape.begin() + 1, shape.begin() + batches + 1);
  TUFF_ASSIGN(Values product, context.add_checked(std::move(node)));
  Ints order{batches};
  for (int64_t d = 0; d < context.types[0].rank(); ++d)
    if (d != batches) order.push_back(d);
  return Values{
      context.add(Op::kTranspose, product, context.types[0], TransposeAttrs{std::move(order)})};
}

}  // namespace

Handler find_dot_handler(std::string_view name) {
  if (name == "stablehlo.dot") return import_dot;
  if (name == "stablehlo.dot_general") return import_dot_general;
  if (name == "chlo.ragged_dot") return import_ragged_dot;
  return nullptr;
}

}  // namespace tuff::stablehlo
