// rng_bit_generator: counter-based generators of Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3" (2011), fed and laid out as XLA does, so that the
// same state gives the same bits. The state is ui64: key, counter[, counter high].
#include <array>
#include <cstdint>

#include "ir/evaluate/ops.h"

namespace tuff::eval {

namespace {

struct Generated {
  std::vector<uint64_t> bits;   // one per element, low bits used
  std::vector<uint64_t> state;  // updated
};

uint32_t low_half(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t high_half(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
uint64_t join(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

// Threefry-2x32, 20 rounds, on one counter; the result's halves are the two words.
uint64_t threefry(uint64_t key, uint64_t counter) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t ks[3] = {low_half(key), high_half(key), 0x1BD11BDA ^ low_half(key) ^ high_half(key)};
  uint32_t x0 = low_half(counter) + ks[0], x1 = high_half(counter) + ks[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x0 += x1;
      x1 = x1 << rotation | x1 >> (32 - rotation);
      x1 ^= x0;
    }
    x0 += ks[(group + 1) % 3];
    x1 += ks[(group + 2) % 3] + group + 1;
  }
  return join(x0, x1);
}

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

// Elements 2i and 2i + 1 along the split dimension are the two words of one
// counter; an odd size drops the last word.
Generated threefry_32(const std::vector<uint64_t>& state, Shape shape) {
  if (shape.empty()) shape = {1};
  size_t split = split_dimension(shape);
  int64_t inner = 1, outer = 1, size = shape[split], half = (size + 1) / 2;
  for (size_t d = 0; d < shape.size(); ++d)
    (d < split ? outer : inner) *= d == split ? 1 : shape[d];
  Generated out;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t s = 0; s < size; ++s)
      for (int64_t i = 0; i < inner; ++i) {
        auto counter = static_cast<uint64_t>((o * half + s / 2) * inner + i);
        uint64_t words = threefry(state[0], state[1] + counter);
        out.bits.push_back(s % 2 == 0 ? low_half(words) : high_half(words));
      }
  out.state = {state[0], state[1] + static_cast<uint64_t>(outer * half * inner)};
  return out;
}

Generated threefry_64(const std::vector<uint64_t>& state, int64_t count) {
  Generated out;
  for (int64_t i = 0; i < count; ++i)
    out.bits.push_back(threefry(state[0], state[1] + static_cast<uint64_t>(i)));
  out.state = {state[0], state[1] + static_cast<uint64_t>(count)};
  return out;
}

// Philox-4x32, 10 rounds, on a 128-bit counter.
std::array<uint32_t, 4> philox(uint64_t key, uint64_t low, uint64_t high) {
  std::array<uint32_t, 4> x = {low_half(low), high_half(low), low_half(high), high_half(high)};
  uint32_t k0 = low_half(key), k1 = high_half(key);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    uint64_t p0 = uint64_t{x[0]} * 0xD2511F53u, p1 = uint64_t{x[2]} * 0xCD9E8D57u;
    x = {high_half(p1) ^ x[1] ^ k0, low_half(p1), high_half(p0) ^ x[3] ^ k1, low_half(p0)};
  }
  return x;
}

// A state of two words keeps the key as the counter's high word.
Generated philox_bits(const std::vector<uint64_t>& state, int64_t count, bool wide) {
  uint64_t low = state[1], high = state.size() >= 3 ? state[2] : state[0];
  int64_t per_counter = wide ? 2 : 4, counters = (count + per_counter - 1) / per_counter;
  Generated out;
  for (int64_t i = 0; i < counters; ++i) {
    uint64_t sum = low + static_cast<uint64_t>(i);
    std::array<uint32_t, 4> x = philox(state[0], sum, high + (sum < low ? 1 : 0));
    if (wide)
      out.bits.insert(out.bits.end(), {join(x[0], x[1]), join(x[2], x[3])});
    else
      out.bits.insert(out.bits.end(), x.begin(), x.end());
  }
  uint64_t sum = low + static_cast<uint64_t>(counters);
  out.state = {state[0], sum};
  if (state.size() >= 3) out.state.push_back(high + (sum < low ? 1 : 0));
  return out;
}

}  // namespace

Result<Literals> evaluate_rng_bit_generator(const Node& node, const Literals& operands) {
  const TensorType& type = node.types[1];
  std::vector<uint64_t> state;
  for (int64_t i = 0; i < operands[0].num_elements(); ++i)
    state.push_back(static_cast<uint64_t>(operands[0].get_int(i)));
  RngAlgorithm algorithm = node.attrs.as<RngBitGeneratorAttrs>().rng_algorithm;
  bool three_fry = algorithm == RngAlgorithm::kThreeFry;
  if (operands[0].type().dtype != DType::kU64 || state.size() < 2 || state.size() > 3 ||
      (three_fry && state.size() != 2))
    return unsupported(node, "has a state of type (" + operands[0].type().to_string() +
                                 ") where (" + word_of(algorithm) + ") needs ui64 words");
  if (!is_integer(type.dtype))
    return unsupported(node,
                       std::string("makes integers only, not (") + dtype_name(type.dtype) + ")");
  bool wide = dtype_size(type.dtype) == 8;
  // XLA's DEFAULT is PHILOX on every platform of its own.
  Generated made = !three_fry ? philox_bits(state, type.num_elements(), wide)
                   : wide     ? threefry_64(state, type.num_elements())
                              : threefry_32(state, type.shape);
  Literal next(node.types[0]), bits(type);
  for (size_t i = 0; i < made.state.size(); ++i)
    next.set_int(static_cast<int64_t>(i), static_cast<int64_t>(made.state[i]));
  for (int64_t i = 0; i < type.num_elements(); ++i)
    bits.set_int(i, static_cast<int64_t>(made.bits[static_cast<size_t>(i)]));
  return Literals{std::move(next), std::move(bits)};
}

}  // namespace tuff::eval
