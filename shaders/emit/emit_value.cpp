#include "shaders/emit/emit_value.h"

#include <algorithm>
#include <cstring>

#include "ir/group/group_space.h"

namespace tuff {

Operand immediate_of(const Literal& literal, int64_t element) {
  auto size = static_cast<size_t>(dtype_size(literal.type().dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, literal.bytes() + static_cast<size_t>(element) * size, size);
  return Operand::immediate(literal.type().dtype, bits);
}

namespace {

Operand emit_compare(KernelBuilder& builder, const Node& node, std::vector<Operand> sides) {
  // In the order of ComparisonDirection.
  constexpr Op kRows[] = {Op::kEq, Op::kNe, Op::kLt, Op::kLe, Op::kGt, Op::kGe};
  const auto& attrs = node.attrs.as<CompareAttrs>();
  if (attrs.compare_type == CompareType::kTotalOrder)
    for (Operand& side : sides) {
      DType order = side.dtype == DType::kF64 ? DType::kI64 : DType::kI32;
      side = builder.compute(Op::kTotalOrder, order, {side});
    }
  return builder.compute(kRows[static_cast<size_t>(attrs.comparison_direction)], DType::kBool,
                         std::move(sides));
}

// On the bits of f16, whose denormals are normal in f32, and of f64, which has no
// body: round the magnitude to nearest even, then overflow and underflow.
Operand emit_reduce_precision(KernelBuilder& builder, const Node& node, const Operand& x) {
  bool half = x.dtype == DType::kF16;
  DType bits = half ? DType::kU16 : DType::kU64;
  int own_mantissa = half ? 10 : 52;
  uint64_t bias = half ? 15 : 1023, infinity = (2 * bias + 1) << own_mantissa;
  int64_t mantissa = node.attrs.as<ReducePrecisionAttrs>().mantissa_bits,
          exponent = node.attrs.as<ReducePrecisionAttrs>().exponent_bits;
  uint64_t top = (uint64_t{1} << (std::min<int64_t>(exponent, half ? 5 : 11) - 1)) - 1;
  auto number = [&](uint64_t value) { return Operand::immediate(bits, value); };
  auto op = [&](Op o, const Operand& a, const Operand& b) {
    return builder.compute(o, bits, {a, b});
  };
  auto choose = [&](const Operand& a, Op o, uint64_t b, const Operand& yes, const Operand& no) {
    return builder.compute(Op::kSelect, bits,
                           {builder.compute(o, DType::kBool, {a, number(b)}), yes, no});
  };
  Operand all = builder.bitcast(x, bits);
  uint64_t sign_bit = infinity + (uint64_t{1} << own_mantissa);
  Operand sign = op(Op::kAnd, all, number(sign_bit)),
          magnitude = op(Op::kAnd, all, number(sign_bit - 1));
  Operand result = magnitude;
  if (mantissa < own_mantissa) {
    auto dropped = static_cast<uint64_t>(own_mantissa - mantissa);
    uint64_t unit = uint64_t{1} << dropped;
    Operand odd = op(Op::kAnd, op(Op::kShiftRightLogical, magnitude, number(dropped)), number(1));
    Operand rounded = op(Op::kAdd, op(Op::kAdd, magnitude, number(unit / 2 - 1)), odd);
    result = op(Op::kAnd, rounded, number(sign_bit - unit));
  }
  if (top < bias) {
    result = choose(result, Op::kGe, (bias + top + 1) << own_mantissa, number(infinity), result);
    result = choose(result, Op::kLt, (bias - top + 1) << own_mantissa, number(0), result);
  }
  // Without a mantissa there is no NaN: infinity stands for it.
  Operand nan = mantissa > 0 ? magnitude : number(infinity);
  result = choose(magnitude, Op::kGt, infinity, nan, result);
  return builder.bitcast(op(Op::kOr, sign, result), x.dtype);
}

// An integer that is known, of no more bits than devices multiply by themselves.
bool divides_by_number(const Operand& divisor) {
  return divisor.kind == Operand::Kind::kImmediate && is_integer(divisor.dtype) &&
         dtype_size(divisor.dtype) <= 4 && divisor.bits != 0;
}

// Less the multiple that the quotient tells, which is mostly wanted as well. Wraps as a remainder
// by -1 should.
Operand emit_remainder(KernelBuilder& builder, DType dtype, const Operand& a, const Operand& by) {
  const Operand quotient = builder.compute(Op::kDivide, dtype, {a, by});
  const Operand multiple = builder.compute(Op::kMultiply, dtype, {quotient, by});
  return builder.compute(Op::kSubtract, dtype, {a, multiple});
}

}  // namespace

Operand emit_scalar_op(KernelBuilder& builder, const Node& node, std::vector<Operand> operands) {
  DType dtype = node.types[0].dtype;
  if (node.op == Op::kConvert) return builder.convert(operands[0], dtype);
  if (node.op == Op::kCompare) return emit_compare(builder, node, std::move(operands));
  if (node.op == Op::kReducePrecision && (dtype == DType::kF16 || dtype == DType::kF64))
    return emit_reduce_precision(builder, node, operands[0]);
  if (node.op == Op::kReducePrecision) {
    operands.push_back(Operand::i32(node.attrs.as<ReducePrecisionAttrs>().exponent_bits));
    operands.push_back(Operand::i32(node.attrs.as<ReducePrecisionAttrs>().mantissa_bits));
  }
  if (node.op == Op::kRemainder && divides_by_number(operands[1]))
    return emit_remainder(builder, dtype, operands[0], operands[1]);
  return builder.compute(node.op, dtype, std::move(operands));
}

ValueEmitter::ValueEmitter(const Graph& region, IndexContext& context, KernelBuilder& builder)
    : region_(region), context_(context), builder_(builder) {}

Operand ValueEmitter::emit(Value v, const IndexVector& index, const Guard& guard) {
  // A guard is identified by its value number; no guard by -1.
  uint64_t guard_key =
      guard ? (uint64_t{static_cast<uint8_t>(guard->kind)} << 32 | guard->id) : ~uint64_t{0};
  auto key = std::make_tuple(v, index, guard_key);
  auto it = memo_.find(key);
  if (it != memo_.end() && builder_.alive(it->second.scope)) return it->second.value;
  Operand value = emit_fresh(v, index, guard);
  memo_[key] = {value, builder_.scope_of(value)};
  return value;
}

Operand ValueEmitter::emit_fresh(Value v, const IndexVector& index, const Guard& guard) {
  if (elsewhere)
    if (std::optional<Operand> value = elsewhere(v, index, guard)) return *value;
  const Node& node = region_.node(v);
  if (node.op == Op::kParameter) return load_input(v.node, index, guard);
  if (node.op == Op::kConstant) return emit_constant(node, index);
  if (node.op == Op::kIota) {
    auto d = static_cast<size_t>(node.attrs.as<IotaAttrs>().iota_dimension);
    return builder_.convert(builder_.index(index[d]), node.types[0].dtype);
  }
  if (is_anchor(node.op) || v == stored) return anchor_value(v);
  if (is_free_view(region_, node)) return emit_view(node, index, guard);
  if (node.op == Op::kBitcastConvert) return emit_bitcast(node, index, guard);
  if (node.op == Op::kDynamicUpdateSlice) return emit_update_slice(node, index, guard);
  if (is_indexed_load(node.op)) return emit_indexed_load(node, index, guard);
  return emit_elementwise(node, index, guard);
}

Operand ValueEmitter::emit_elementwise(const Node& node, const IndexVector& index,
                                       const Guard& guard) {
  std::vector<Operand> operands;
  for (Value v : node.operands)
    operands.push_back(emit(v, region_.type(v).rank() == 0 ? IndexVector{} : index, guard));
  return emit_scalar_op(builder_, node, std::move(operands));
}

// Sources are tried in order: the first whose conditions hold gives the value.
Operand ValueEmitter::emit_view(const Node& node, const IndexVector& index, const Guard& guard) {
  std::vector<Shape> shapes;
  for (Value operand : node.operands) shapes.push_back(region_.type(operand).shape);
  std::vector<ViewSource> sources = view_sources(context_, node, shapes, index);
  if (node.op == Op::kReshape &&
      !std::all_of(sources[0].index.begin(), sources[0].index.end(),
                   [&](const IndexExpr& e) { return builder_.divides_32_bits(e); })) {
    IndexExpr position = linearize(index, node.types[0].shape);
    sources[0].index =
        delinearize(context_, builder_.computed(position, node.types[0].num_elements()), shapes[0]);
  }
  std::optional<Operand> value;
  for (size_t i = sources.size(); i-- > 0;) {
    const ViewSource& source = sources[i];
    Guard inside = builder_.all_of(source.conditions, std::nullopt);
    Guard safe = builder_.all_of(source.implied, builder_.all_of(source.conditions, guard));
    Operand element = emit(node.operands[source.operand], source.index, safe);
    if (node.op == Op::kBitcastConvert) element = builder_.bitcast(element, node.types[0].dtype);
    value = value && inside
                ? builder_.compute(Op::kSelect, node.types[0].dtype, {*inside, element, *value})
                : element;
  }
  // An index that is known to lie outside of every source: the guard holds nowhere.
  return value.value_or(Operand::immediate(node.types[0].dtype, 0));
}

Operand ValueEmitter::emit_constant(const Node& node, const IndexVector& index) {
  const auto& literal = node.attrs.as<ConstantAttrs>().value;
  if (literal.is_splat()) return immediate_of(literal);
  IndexExpr linear = linearize(index, literal.type().shape);
  Operand value = immediate_of(literal, literal.num_elements() - 1);
  for (int64_t i = literal.num_elements() - 1; i-- > 0;) {
    Operand here =
        builder_.compute(Op::kEq, DType::kBool, {builder_.index(linear), Operand::i32(i)});
    value =
        builder_.compute(Op::kSelect, node.types[0].dtype, {here, immediate_of(literal, i), value});
  }
  return value;
}

Operand ValueEmitter::load_input(uint32_t parameter, const IndexVector& index, const Guard& guard) {
  const TensorType& type = region_.node(parameter).types[0];
  // The guard holds nowhere, and there is no memory to bind.
  if (type.num_elements() == 0) return Operand::immediate(type.dtype, 0);
  IndexExpr element = linearize(index, type.shape);
  if (keep_words)
    if (std::optional<Operand> part = load_part(parameter, element, guard)) return *part;
  if (run > 1)
    if (std::optional<Operand> part = load_from_run(parameter, element, guard)) return *part;
  if (wide_loads)
    if (std::optional<Operand> part = load_from_word(parameter, element, guard)) return *part;
  return builder_.load(buffer_of(buffers_, parameter, type.dtype), element, guard);
}

// The longest word that divides the run and what the place is made of.
std::optional<Operand> ValueEmitter::load_from_run(uint32_t parameter, const IndexExpr& element,
                                                   const Guard& guard) {
  const TensorType& type = region_.node(parameter).types[0];
  int64_t size = dtype_size(type.dtype);
  if (size > 4 || !builder_.stores_unchanged(type.dtype)) return std::nullopt;
  for (int64_t bytes : {16, 8, 4}) {
    int64_t per_word = bytes / size;
    if (per_word < 2 || run % per_word != 0 || type.num_elements() % per_word != 0) continue;
    std::optional<KernelBuilder::WordPart> part = builder_.word_part(element, per_word);
    if (!part) continue;
    uint32_t buffer = buffer_of(runs_[per_word], parameter, type.dtype, per_word);
    return builder_.load_word(buffer, part->word, guard)[static_cast<size_t>(part->slot)];
  }
  return std::nullopt;
}

// A word is two elements, and whole memory of the input, so the neighbour needs no guard of
// its own.
std::optional<Operand> ValueEmitter::load_from_word(uint32_t parameter, const IndexExpr& element,
                                                    const Guard& guard) {
  const TensorType& type = region_.node(parameter).types[0];
  int64_t size = dtype_size(type.dtype);
  bool has_word = (size == 2 || size == 4) && builder_.stores_unchanged(type.dtype);
  if (!has_word || type.num_elements() % 2 != 0) return std::nullopt;
  std::optional<KernelBuilder::WordPart> part = builder_.word_part(element, 2);
  if (!part) return std::nullopt;
  DType word = size == 2 ? DType::kU32 : DType::kU64;
  Operand bits = builder_.load(buffer_of(words_, parameter, word), part->word, guard);
  return part_of(bits, part->slot, type.dtype);
}

// The longest word that divides the run, as load_from_run() has it, as parts of 32 bits.
std::optional<Operand> ValueEmitter::load_part(uint32_t parameter, const IndexExpr& element,
                                               const Guard& guard) {
  const TensorType& type = region_.node(parameter).types[0];
  int64_t size = dtype_size(type.dtype), in_part = 4 / size;
  bool narrow = size < 4 && type.dtype != DType::kBool;
  if (!narrow || !builder_.stores_unchanged(type.dtype)) return std::nullopt;
  for (int64_t parts : {4, 2, 1}) {
    int64_t per_word = parts * in_part;
    if (run % per_word != 0 || type.num_elements() % per_word != 0) continue;
    std::optional<KernelBuilder::WordPart> at = builder_.word_part(element, per_word);
    if (!at) continue;
    uint32_t buffer = buffer_of(word_runs_[parts], parameter, DType::kU32, parts);
    Operand bits = parts == 1 ? builder_.load(buffer, at->word, guard)
                              : builder_.load_word(buffer, at->word,
                                                   guard)[static_cast<size_t>(at->slot / in_part)];
    Operand part = part_of(bits, at->slot % in_part, type.dtype);
    word_parts_[part.id] = {bits, at->slot % in_part};
    return part;
  }
  return std::nullopt;
}

Operand ValueEmitter::part_of(const Operand& bits, int64_t slot, DType dtype) {
  int64_t size = dtype_size(dtype);
  Operand own = bits;
  if (slot > 0) {
    auto shift = Operand::immediate(bits.dtype, static_cast<uint64_t>(8 * size * slot));
    own = builder_.compute(Op::kShiftRightLogical, bits.dtype, {bits, shift});
  }
  DType bare = size == 1 ? DType::kU8 : size == 2 ? DType::kU16 : DType::kU32;
  return builder_.bitcast(builder_.convert(own, bare), dtype);
}

std::optional<Operand> ValueEmitter::whole_word(std::span<const Operand> parts) const {
  std::optional<Operand> word;
  for (size_t i = 0; i < parts.size(); ++i) {
    auto it =
        parts[i].kind == Operand::Kind::kValue ? word_parts_.find(parts[i].id) : word_parts_.end();
    if (it == word_parts_.end() || it->second.slot != static_cast<int64_t>(i)) return std::nullopt;
    if (i > 0 && !(it->second.word == *word)) return std::nullopt;
    word = it->second.word;
  }
  return word;
}

uint32_t ValueEmitter::buffer_of(std::map<uint32_t, uint32_t>& buffers, uint32_t parameter,
                                 DType dtype, int64_t per_word) {
  auto [it, fresh] = buffers.try_emplace(parameter, 0);
  if (fresh) {
    it->second = builder_.add_buffer(dtype, Access::kRead,
                                     region_.node(parameter).types[0].size_bytes(), per_word);
    inputs_.push_back(parameter);
  }
  return it->second;
}

}  // namespace tuff
