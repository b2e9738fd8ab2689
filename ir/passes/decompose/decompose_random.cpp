// rng_bit_generator: counter-based generators of Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3" (2011), fed and laid out as XLA does, so that the same
// state gives the same bits. Every element computes the counter it comes from and picks
// its word of the result, so the bits are elementwise work on iotas: they fuse into
// whatever makes numbers of them.
#include <array>

#include "ir/passes/decompose/decompose_rules.h"

namespace tuff::decomposition {

namespace {

// The dimension that XLA splits so that one counter yields two 32-bit elements:
// the first even one, else the first of the largest.
size_t split_dimension(const Shape& shape) {
  size_t largest = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] % 2 == 0) return d;
    if (shape[d] > shape[largest]) largest = d;
  }
  return largest;
}

int64_t halves(int64_t size) { return (size + 1) / 2; }

class BitGenerator {
 public:
  explicit BitGenerator(const RewriteSite& site)
      : site_(site),
        type_(site.node.types[1]),
        words_(site.node.types[0].shape[0]),
        wide_(dtype_size(type_.dtype) == 8) {}

  std::vector<Value> three_fry() {
    size_t split = wide_ ? type_.shape.size() : split_dimension(type_.shape);
    Shape counters = type_.shape;
    if (split < counters.size()) counters[split] = halves(counters[split]);
    Value counter = add({state_word(1), convert(site_, position(counters, split), DType::kU64)});
    std::array<Value, 2> bits = three_fry_words(counter);
    Value odd = split < counters.size() ? op(Op::kAnd, {iota(split), u32(1)}) : u32(0);
    Value word = wide_ ? join(bits[0], bits[1]) : pick(bits, odd);
    return {next_state(num_elements(counters)), convert(site_, word, type_.dtype)};
  }

  std::vector<Value> philox() {
    int64_t per_counter = wide_ ? 2 : 4;
    Value element = position(type_.shape, type_.shape.size());
    Value index = op(Op::kShiftRightLogical, {element, u32(wide_ ? 1 : 2)});
    Value word = op(Op::kAnd, {element, u32(static_cast<uint32_t>(per_counter - 1))});
    std::array<Value, 4> x = philox_words(convert(site_, index, DType::kU64));
    Value odd = op(Op::kAnd, {word, u32(1)});
    Value picked;
    if (wide_) {
      picked = select({is_zero(odd), join(x[0], x[1]), join(x[2], x[3])});
    } else {
      Value low = op(Op::kShiftRightLogical, {word, u32(1)});
      picked = select({is_zero(low), pick({x[0], x[1]}, odd), pick({x[2], x[3]}, odd)});
    }
    int64_t counters = (type_.num_elements() + per_counter - 1) / per_counter;
    return {next_state(counters), convert(site_, picked, type_.dtype)};
  }

 private:
  TensorType as(DType dtype) const { return {dtype, type_.shape}; }
  Value u32(uint32_t value) { return site_.splat(as(DType::kU32), value); }
  Value u64(uint64_t value) {  // at most 2^53
    return site_.splat(as(DType::kU64), static_cast<double>(value));
  }
  // Lists of operands are made from left to right, whatever the compiler.
  Value op(Op o, std::vector<Value> operands) {
    TensorType type = site_.out.type(operands.back());
    return site_.add(o, std::move(operands), std::move(type));
  }
  Value add(std::vector<Value> operands) { return op(Op::kAdd, std::move(operands)); }

  Value compare(Value a, Value b, ComparisonDirection direction) {
    return site_.add(Op::kCompare, {a, b}, {DType::kBool, site_.out.type(a).shape},
                     CompareAttrs{direction});
  }
  Value is_zero(Value a) { return compare(a, u32(0), ComparisonDirection::kEq); }
  Value select(std::vector<Value> operands) { return op(Op::kSelect, std::move(operands)); }
  Value pick(const std::array<Value, 2>& words, Value odd) {
    return select({is_zero(odd), words[0], words[1]});
  }

  Value low(Value x) { return convert(site_, x, DType::kU32); }
  Value high(Value x) { return low(op(Op::kShiftRightLogical, {x, u64(32)})); }
  Value join(Value low, Value high) {
    Value upper = op(Op::kShiftLeft, {convert(site_, high, DType::kU64), u64(32)});
    return op(Op::kOr, {upper, convert(site_, low, DType::kU64)});
  }

  Value iota(size_t d) {
    return site_.add(Op::kIota, {}, as(DType::kU32), IotaAttrs{static_cast<int64_t>(d)});
  }

  // Row-major position in `shape`, where two neighbours along `split` are one.
  Value position(const Shape& shape, size_t split) {
    Value sum = u32(0);
    std::vector<int64_t> strides = row_major_strides(shape);
    for (size_t d = 0; d < shape.size(); ++d) {
      Value at = iota(d);
      if (d == split) at = op(Op::kShiftRightLogical, {at, u32(1)});
      sum = add({sum, op(Op::kMultiply, {at, u32(static_cast<uint32_t>(strides[d]))})});
    }
    return sum;
  }

  Value state_element(int64_t i) {
    return site_.add(Op::kSlice, {site_.node.operands[0]}, {DType::kU64, {1}},
                     SliceAttrs{{i}, {i + 1}, {1}});
  }
  Value state_word(int64_t i) {
    return broadcast(site_, reshape(site_, state_element(i), {}), type_.shape, {});
  }

  // The state, its counter moved on; a counter of two words carries.
  Value next_state(int64_t counters) {
    TensorType one{DType::kU64, {1}};
    Value before = state_element(1);
    Value after = add({before, site_.splat(one, static_cast<double>(counters))});
    std::vector<Value> parts = {state_element(0), after};
    if (words_ == 3) parts.push_back(add({state_element(2), carry(after, before)}));
    return site_.add(Op::kConcatenate, std::move(parts), site_.node.types[0], ConcatenateAttrs{0});
  }

  Value carry(Value sum, Value term) {
    return convert(site_, compare(sum, term, ComparisonDirection::kLt), DType::kU64);
  }

  Value rotate(Value x, uint32_t bits) {
    return op(Op::kOr, {op(Op::kShiftLeft, {x, u32(bits)}),
                        op(Op::kShiftRightLogical, {x, u32(32 - bits)})});
  }

  // Threefry-2x32, 20 rounds.
  std::array<Value, 2> three_fry_words(Value counter) {
    constexpr uint32_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    Value key = state_word(0);
    Value keys[3] = {low(key), high(key), {}};
    keys[2] = op(Op::kXor, {op(Op::kXor, {keys[0], keys[1]}), u32(0x1BD11BDA)});
    Value x0 = add({low(counter), keys[0]}), x1 = add({high(counter), keys[1]});
    for (uint32_t group = 0; group < 5; ++group) {
      for (uint32_t rotation : kRotations[group % 2]) {
        x0 = add({x0, x1});
        x1 = op(Op::kXor, {rotate(x1, rotation), x0});
      }
      x0 = add({x0, keys[(group + 1) % 3]});
      x1 = add({add({x1, keys[(group + 2) % 3]}), u32(group + 1)});
    }
    return {x0, x1};
  }

  // Philox-4x32, 10 rounds, on a counter of 128 bits. A state of two words keeps the
  // key as the counter's high word.
  std::array<Value, 4> philox_words(Value index) {
    Value key = state_word(0), first = state_word(1);
    Value sum = add({first, index});
    Value upper = add({words_ == 3 ? state_word(2) : key, carry(sum, first)});
    std::array<Value, 4> x = {low(sum), high(sum), low(upper), high(upper)};
    Value key_low = low(key), key_high = high(key);
    for (uint32_t round = 0; round < 10; ++round) {
      Value k0 = add({key_low, u32(round * 0x9E3779B9u)});
      Value k1 = add({key_high, u32(round * 0xBB67AE85u)});
      Value p0 = op(Op::kMultiply, {convert(site_, x[0], DType::kU64), u64(0xD2511F53)});
      Value p1 = op(Op::kMultiply, {convert(site_, x[2], DType::kU64), u64(0xCD9E8D57)});
      x = {op(Op::kXor, {op(Op::kXor, {high(p1), x[1]}), k0}), low(p1),
           op(Op::kXor, {op(Op::kXor, {high(p0), x[3]}), k1}), low(p0)};
    }
    return x;
  }

  const RewriteSite& site_;
  TensorType type_;
  int64_t words_;
  bool wide_;
};

}  // namespace

Values random_bits(const RewriteSite& site) {
  const TensorType& state = site.node.types[0];
  // XLA's DEFAULT is PHILOX on every platform of its own.
  bool three_fry =
      site.node.attrs.as<RngBitGeneratorAttrs>().rng_algorithm == RngAlgorithm::kThreeFry;
  if (state.dtype != DType::kU64 || state.rank() != 1 || !is_integer(site.node.types[1].dtype))
    return std::nullopt;
  if (state.shape[0] != 2 && (three_fry || state.shape[0] != 3)) return std::nullopt;
  BitGenerator generator(site);
  return three_fry ? generator.three_fry() : generator.philox();
}

}  // namespace tuff::decomposition
