#include "backend/vulkan/self_test/self_test_probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace tuff {

namespace {

using Doubles = std::function<double(int64_t)>;

// Element i is value(i), rounded to the type.
Literal floats(DType dtype, Shape shape, const Doubles& value) {
  Literal literal(TensorType{dtype, std::move(shape)});
  for (int64_t i = 0; i < literal.num_elements(); ++i) literal.set_double(i, value(i));
  return literal;
}

Literal integers(DType dtype, Shape shape, const std::function<int64_t(int64_t)>& value) {
  Literal literal(TensorType{dtype, std::move(shape)});
  for (int64_t i = 0; i < literal.num_elements(); ++i) literal.set_int(i, value(i));
  return literal;
}

// Numbers in [-5, 5] without a pattern: sums of their products are exact in any order.
int64_t small(int64_t i) { return (i * i * 7 + i * 3) % 11 - 5; }

std::optional<Probe> division(const Caps& caps) {
  constexpr int64_t kCount = 4096;
  auto x = [](int64_t i) { return 1.37f * static_cast<float>(i + 1); };
  auto y = [](int64_t i) { return 0.731f * static_cast<float>(i * i + 3); };
  return Probe{
      R"(graph main(%x: f32[4096], %y: f32[4096]) {
        %q = divide(%x, %y) : f32[4096]
        %s = sqrt(%x) : f32[4096]
        return %q, %s
      })",
      caps,
      {floats(DType::kF32, {kCount}, x), floats(DType::kF32, {kCount}, y)},
      {floats(DType::kF32, {kCount}, [&](int64_t i) { return x(i) / y(i); }),
       floats(DType::kF32, {kCount}, [&](int64_t i) { return std::sqrt(x(i)); })}};
}

std::optional<Probe> wide_integers(const Caps& caps) {
  if (!caps.int64) return std::nullopt;
  constexpr int64_t kCount = 41;
  auto x = [](int64_t i) { return (i - 20) * 3'000'000'007; };
  auto y = [](int64_t i) { return 5 * i + 1; };
  return Probe{
      R"(graph main(%x: i64[41], %y: i64[41]) {
        %p = multiply(%x, %y) : i64[41]
        %q = divide(%x, %y) : i64[41]
        return %p, %q
      })",
      caps,
      {integers(DType::kI64, {kCount}, x), integers(DType::kI64, {kCount}, y)},
      {integers(DType::kI64, {kCount}, [&](int64_t i) { return x(i) * y(i); }),
       integers(DType::kI64, {kCount}, [&](int64_t i) { return x(i) / y(i); })}};
}

// Integers that were widened to 64 bits, against constants.
std::optional<Probe> wide_comparisons(const Caps& caps) {
  if (!caps.int64) return std::nullopt;
  constexpr int64_t kCount = 41, kConstant = 3;
  auto x = [](int64_t i) { return i - 20; };
  auto both = [](int64_t v, int64_t from, int64_t to) { return v >= from && v < to ? 1 : 0; };
  return Probe{
      R"(graph main(%x: i32[41]) {
        %w = convert(%x) : i64[41]
        %c = constant i64[] 3
        %d = constant i64[] -7
        %cb = broadcast_in_dim(%c) {broadcast_dimensions = []} : i64[41]
        %db = broadcast_in_dim(%d) {broadcast_dimensions = []} : i64[41]
        %ge = compare(%w, %db) {comparison_direction = "GE"} : i1[41]
        %lt = compare(%w, %cb) {comparison_direction = "LT"} : i1[41]
        %and = and(%ge, %lt) : i1[41]
        %r = convert(%and) : i32[41]
        %gt = compare(%w, %cb) {comparison_direction = "GT"} : i1[41]
        %le = compare(%w, %db) {comparison_direction = "LE"} : i1[41]
        %or = or(%gt, %le) : i1[41]
        %s = select(%or, %w, %cb) : i64[41]
        %t = minimum(%w, %cb) : i64[41]
        return %r, %s, %t
      })",
      caps,
      {integers(DType::kI32, {kCount}, x)},
      {integers(DType::kI32, {kCount}, [&](int64_t i) { return both(x(i), -7, kConstant); }),
       integers(DType::kI64, {kCount},
                [&](int64_t i) { return x(i) > kConstant || x(i) <= -7 ? x(i) : kConstant; }),
       integers(DType::kI64, {kCount}, [&](int64_t i) { return std::min(x(i), kConstant); })},
      0,
      {"narrow_integers"}};
}

std::optional<Probe> wide_floats(const Caps& caps) {
  if (!caps.float64) return std::nullopt;
  constexpr int64_t kCount = 41;
  // 31 bits times 7: exact in f64 alone.
  auto x = [](int64_t i) { return static_cast<double>((int64_t{1} << 30) + i); };
  auto y = [](int64_t i) { return 0.25 * static_cast<double>(i + 64); };
  return Probe{
      R"(graph main(%x: f64[41], %y: f64[41]) {
        %p = multiply(%x, %y) : f64[41]
        return %p
      })",
      caps,
      {floats(DType::kF64, {kCount}, x), floats(DType::kF64, {kCount}, y)},
      {floats(DType::kF64, {kCount}, [&](int64_t i) { return x(i) * y(i); })}};
}

// An odd number of elements, doubled: words that hold two or four must not mix them up.
Probe doubled(const Caps& caps, DType first, DType second) {
  constexpr int64_t kCount = 37;
  Probe probe{fmt::format("graph main(%x: {0}[37], %y: {1}[37]) {{\n  %a = add(%x, %x) : {0}[37]\n"
                          "  %b = add(%y, %y) : {1}[37]\n  return %a, %b\n}}\n",
                          dtype_name(first), dtype_name(second)),
              caps,
              {},
              {}};
  for (DType dtype : {first, second}) {
    auto value = [&](int64_t i) { return std::abs(small(i)) + i; };
    probe.arguments.push_back(integers(dtype, {kCount}, value));
    probe.expected.push_back(integers(dtype, {kCount}, [&](int64_t i) { return 2 * value(i); }));
  }
  return probe;
}

// What the bits of an f16 stand for; a NaN is the quiet one.
float half_value(int64_t bits) {
  int64_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float size = exponent == 31  ? std::numeric_limits<float>::infinity()
               : exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                               : std::ldexp(static_cast<float>(1024 + mantissa),
                                            static_cast<int>(exponent) - 25);
  if (exponent == 31 && mantissa != 0) return std::numeric_limits<float>::quiet_NaN();
  return (bits & 0x8000) != 0 ? -size : size;
}

// An f32 and the bits of the f16 next to it.
struct Rounding {
  float from;
  int64_t to;
};

// Of the f16 number `bits` and its neighbour away from zero: the number itself, what is just
// below the middle of the two, the middle, or what is just above. The neighbour of the largest
// number is infinity.
Rounding rounding(int64_t bits) {
  float low = half_value(bits);
  if (!std::isfinite(low)) return {low, std::isnan(low) ? 0x7e00 : bits};
  bool last = !std::isfinite(half_value(bits + 1));
  float high = last ? std::copysign(65536.0f, low) : half_value(bits + 1);
  float middle = low + (high - low) / 2;
  switch ((bits * 7 + bits / 64) % 4) {
    case 0: return {low, bits};
    case 1: return {std::nextafter(middle, low), bits};
    case 2: return {middle, bits + bits % 2};
    default: return {std::nextafter(middle, high), bits + 1};
  }
}

constexpr int64_t kHalves = 1 << 16;

int64_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

// Every f16 as f32.
std::optional<Probe> widened_halves(const Caps& caps) {
  if (!caps.native_f16_widen) return std::nullopt;
  return Probe{
      R"(graph main(%h: ui16[65536]) {
        %f = bitcast_convert(%h) : f16[65536]
        %w = convert(%f) : f32[65536]
        %b = bitcast_convert(%w) : ui32[65536]
        %quiet = constant ui32[] 2143289344
        %quiets = broadcast_in_dim(%quiet) {broadcast_dimensions = []} : ui32[65536]
        %is_nan = compare(%w, %w) {comparison_direction = "NE"} : i1[65536]
        %wide = select(%is_nan, %quiets, %b) : ui32[65536]
        return %wide
      })",
      caps,
      {integers(DType::kU16, {kHalves}, [](int64_t i) { return i; })},
      {integers(DType::kU32, {kHalves}, [](int64_t i) { return bits_of(half_value(i)); })}};
}

// An f32 beside every f16 as f16, and sums that are rounded twice: at once to 11 bits they
// would be larger.
std::optional<Probe> narrowed_halves(const Caps& caps) {
  if (!caps.native_f16_narrow) return std::nullopt;
  auto even = [](int64_t i) { return static_cast<double>(1 + (2 * i % 1024) / 1024.0); };
  return Probe{
      R"(graph main(%u: ui32[65536], %x: f32[65536], %y: f32[65536]) {
        %v = bitcast_convert(%u) : f32[65536]
        %n = convert(%v) : f16[65536]
        %c = bitcast_convert(%n) : ui16[65536]
        %quiet = constant ui16[] 32256
        %quiets = broadcast_in_dim(%quiet) {broadcast_dimensions = []} : ui16[65536]
        %is_nan = compare(%n, %n) {comparison_direction = "NE"} : i1[65536]
        %narrow = select(%is_nan, %quiets, %c) : ui16[65536]
        %s = add(%x, %y) : f32[65536]
        %t = convert(%s) : f16[65536]
        %sum = convert(%t) : f32[65536]
        return %narrow, %sum
      })",
      caps,
      {integers(DType::kU32, {kHalves}, [](int64_t i) { return bits_of(rounding(i).from); }),
       floats(DType::kF32, {kHalves}, even),
       floats(DType::kF32, {kHalves}, [](int64_t) { return 0x1p-11 + 0x1p-31; })},
      {integers(DType::kU16, {kHalves}, [](int64_t i) { return rounding(i).to; }),
       floats(DType::kF32, {kHalves}, even)}};
}

std::optional<Probe> storage_16bit(const Caps& caps) {
  if (!caps.storage_16bit) return std::nullopt;
  return doubled(caps, DType::kF16, DType::kBF16);
}

std::optional<Probe> storage_8bit(const Caps& caps) {
  if (!caps.storage_8bit) return std::nullopt;
  return doubled(caps, DType::kI8, DType::kU8);
}

std::optional<Probe> matmul(const Caps& caps) {
  constexpr int64_t kM = 9, kN = 130, kK = 128;  // no tile is full in both directions
  auto a = [](int64_t i) { return static_cast<double>(small(i)); };
  auto b = [](int64_t i) { return static_cast<double>(small(i + 5)); };
  return Probe{
      R"(graph main(%a: f32[9,128], %b: f32[128,130]) {
        %c = dot_general(%a, %b) {lhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_batching_dimensions = [], rhs_contracting_dimensions = [0]} : f32[9,130]
        return %c
      })",
      caps,
      {floats(DType::kF32, {kM, kK}, a), floats(DType::kF32, {kK, kN}, b)},
      {floats(DType::kF32, {kM, kN}, [&](int64_t i) {
        double sum = 0;
        for (int64_t k = 0; k < kK; ++k) sum += a(i / kN * kK + k) * b(k * kN + i % kN);
        return sum;
      })}};
}

// Adds a product of types that the device has matrices of; tiles at the edges are not full.
void add_product(Probe& probe, DType element, DType sum) {
  constexpr int64_t kM = 70, kN = 77, kK = 90;
  auto literal = [](DType dtype, Shape shape, const std::function<int64_t(int64_t)>& value) {
    if (!is_float(dtype)) return integers(dtype, std::move(shape), value);
    return floats(dtype, std::move(shape),
                  [&](int64_t i) { return static_cast<double>(value(i)); });
  };
  auto b = [](int64_t i) { return small(i + 5); };
  probe.arguments.push_back(literal(element, {kM, kK}, small));
  probe.arguments.push_back(literal(element, {kK, kN}, b));
  probe.expected.push_back(literal(sum, {kM, kN}, [&](int64_t i) {
    int64_t total = 0;
    for (int64_t k = 0; k < kK; ++k) total += small(i / kN * kK + k) * b(k * kN + i % kN);
    return total;
  }));
}

// Halves, and bytes: what subgroups multiply as matrices.
std::optional<Probe> matrices(const Caps& caps) {
  // No kernel has any on a software device.
  if (caps.device_class == DeviceClass::kSoftwareRasteriser) return std::nullopt;
  Probe probe{"", caps, {}, {}};
  std::string parameters, products, results;
  for (auto [element, sum] :
       {std::pair(DType::kF16, DType::kF32), std::pair(DType::kI8, DType::kI32)}) {
    bool has = std::any_of(caps.matrix_shapes.begin(), caps.matrix_shapes.end(),
                           [e = element](const MatrixShape& shape) { return shape.element == e; });
    if (!has) continue;
    add_product(probe, element, sum);
    std::string name = dtype_name(element), comma = parameters.empty() ? "" : ", ";
    parameters += fmt::format("{1}%a{0}: {0}[70,90], %b{0}: {0}[90,77]", name, comma);
    products += fmt::format(
        "  %c{0} = dot_general(%a{0}, %b{0}) {{lhs_batching_dimensions = [], "
        "lhs_contracting_dimensions = [1], rhs_batching_dimensions = [], "
        "rhs_contracting_dimensions = [0]}} : {1}[70,77]\n",
        name, dtype_name(sum));
    results += fmt::format("{1}%c{0}", name, comma);
  }
  if (results.empty()) return std::nullopt;
  probe.graph =
      fmt::format("graph main({}) {{\n{}  return {}\n}}\n", parameters, products, results);
  return probe;
}

constexpr int64_t kRows = 5, kColumns = 203;

// Sums and maxima of the rows of `x`, in which `x(i)` is element i.
Probe row_reduces(const Caps& caps, const std::function<int64_t(int64_t)>& x) {
  auto fold = [&](int64_t row, const std::function<int64_t(int64_t, int64_t)>& combine) {
    int64_t value = x(row * kColumns);
    for (int64_t c = 1; c < kColumns; ++c) value = combine(value, x(row * kColumns + c));
    return value;
  };
  return Probe{
      R"(graph main(%x: i32[5,203]) {
        %zero = constant i32[] 0
        %low = constant i32[] -1000
        %s = reduce(%x, %zero) {dimensions = [1]} : i32[5] applies add
        %m = reduce(%x, %low) {dimensions = [1]} : i32[5] applies maximum
        return %s, %m
      })",
      caps,
      {integers(DType::kI32, {kRows, kColumns}, x)},
      {integers(DType::kI32, {kRows}, [&](int64_t row) { return fold(row, std::plus<int64_t>()); }),
       integers(DType::kI32, {kRows}, [&](int64_t row) {
         return fold(row, [](int64_t l, int64_t r) { return std::max(l, r); });
       })}};
}

std::optional<Probe> rows(const Caps& caps) { return row_reduces(caps, small); }

// The same through shared memory, which other families need where this one can do without.
std::optional<Probe> rows_in_shared_memory(const Caps& caps) {
  if (!caps.subgroup_shuffle) return std::nullopt;
  Caps without = caps;
  without.subgroup_shuffle = false;
  return row_reduces(without, small);
}

// As many iterations of one loop as kernels may make, or more than are known to fail. Nine
// rows: each of them is one lane's.
std::optional<Probe> long_loop(const Caps& caps) {
  constexpr int64_t kLong = 70'000, kLanes = 9;
  int64_t n = std::min(kLong, caps.max_loop_iterations);
  return Probe{
      fmt::format(R"(graph main(%x: i32[9]) {{
        %zero = constant i32[] 0
        %i = iota() {{iota_dimension = 0}} : i32[{0},9]
        %b = broadcast_in_dim(%x) {{broadcast_dimensions = [1]}} : i32[{0},9]
        %a = add(%i, %b) : i32[{0},9]
        %s = reduce(%a, %zero) {{dimensions = [0]}} : i32[9] applies add
        return %s
      }})",
                  n),
      caps,
      {integers(DType::kI32, {kLanes}, small)},
      {integers(DType::kI32, {kLanes}, [&](int64_t i) { return n * (n - 1) / 2 + n * small(i); })}};
}

std::optional<Probe> attention(const Caps& caps) {
  constexpr int64_t kQueries = 6, kKeys = 19, kDepth = 4;
  auto q = [](int64_t i) { return 0.25 * static_cast<double>(small(i)); };
  auto k = [](int64_t i) { return 0.125 * static_cast<double>(small(i + 3)); };
  auto v = [](int64_t i) { return static_cast<double>(small(i + 7)); };
  auto answer = [&](int64_t i) {
    double sum = 0, total = 0;
    for (int64_t key = 0; key < kKeys; ++key) {
      double score = 0;
      for (int64_t d = 0; d < kDepth; ++d)
        score += q(i / kDepth * kDepth + d) * k(key * kDepth + d);
      double weight = std::exp(score);
      sum += weight * v(key * kDepth + i % kDepth);
      total += weight;
    }
    return sum / total;
  };
  return Probe{
      R"(graph main(%q: f32[6,4], %k: f32[19,4], %v: f32[19,4]) {
        %zero = constant f32[] 0.0
        %low = constant f32[] -inf
        %s = dot_general(%q, %k) {lhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_batching_dimensions = [], rhs_contracting_dimensions = [1]} : f32[6,19]
        %m = reduce(%s, %low) {dimensions = [1]} : f32[6] applies maximum
        %mb = broadcast_in_dim(%m) {broadcast_dimensions = [0]} : f32[6,19]
        %d = subtract(%s, %mb) : f32[6,19]
        %e = exponential(%d) : f32[6,19]
        %t = reduce(%e, %zero) {dimensions = [1]} : f32[6] applies add
        %tb = broadcast_in_dim(%t) {broadcast_dimensions = [0]} : f32[6,19]
        %p = divide(%e, %tb) : f32[6,19]
        %o = dot_general(%p, %v) {lhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_batching_dimensions = [], rhs_contracting_dimensions = [0]} : f32[6,4]
        return %o
      })",
      caps,
      {floats(DType::kF32, {kQueries, kDepth}, q), floats(DType::kF32, {kKeys, kDepth}, k),
       floats(DType::kF32, {kKeys, kDepth}, v)},
      {floats(DType::kF32, {kQueries, kDepth}, answer)},
      1e-5};
}

// Several kernels, each of which reads what the one before wrote.
std::optional<Probe> scan(const Caps& caps) {
  constexpr int64_t kLength = 203;
  return Probe{
      R"(graph main(%x: i32[3,203]) {
        %zero = constant i32[] 0
        %r = reduce_window(%x, %zero) {window_dimensions = [1, 203], padding = [0, 0, 202, 0]} : i32[3,203] applies add
        return %r
      })",
      caps,
      {integers(DType::kI32, {3, kLength}, small)},
      {integers(DType::kI32, {3, kLength}, [](int64_t i) {
        int64_t sum = 0;
        for (int64_t j = i / kLength * kLength; j <= i; ++j) sum += small(j);
        return sum;
      })}};
}

std::optional<Probe> sort(const Caps& caps) {
  constexpr int64_t kLength = 67;
  auto key = [](int64_t i) { return i * 31 % kLength; };  // a permutation
  return Probe{
      R"(graph main(%x: i32[67]) {
        %r = sort(%x) {dimension = 0, is_stable = 1} : i32[67] graph (%a: i32[], %b: i32[]) {
          %c = compare(%a, %b) {comparison_direction = "LT"} : i1[]
          return %c
        }
        return %r
      })",
      caps,
      {integers(DType::kI32, {kLength}, key)},
      {integers(DType::kI32, {kLength}, [](int64_t i) { return i; })}};
}

std::optional<Probe> scatter(const Caps& caps) {
  constexpr int64_t kUpdates = 101, kSlots = 11;
  auto slot = [](int64_t i) { return i * 5 % kSlots; };
  return Probe{
      R"(graph main(%x: i32[11], %i: i32[101,1], %u: i32[101]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : i32[11] applies add
        return %r
      })",
      caps,
      {integers(DType::kI32, {kSlots}, small), integers(DType::kI32, {kUpdates, 1}, slot),
       integers(DType::kI32, {kUpdates}, small)},
      {integers(DType::kI32, {kSlots}, [&](int64_t at) {
        int64_t sum = small(at);
        for (int64_t i = 0; i < kUpdates; ++i) sum += slot(i) == at ? small(i) : 0;
        return sum;
      })}};
}

}  // namespace

const std::vector<ProbeRow>& probe_rows() {
  static const std::vector<ProbeRow> rows_of_all{
      {"division",
       "quotients and square roots",
       {"native_division", "fused_multiply_add"},
       division},
      {"int64", "64-bit integers", {"int64"}, wide_integers},
      {"int64_comparisons", "comparisons of 64-bit integers", {"int64"}, wide_comparisons},
      {"float64", "64-bit floats", {"float64"}, wide_floats},
      {"widened_halves", "conversions from f16", {"native_f16_widen"}, widened_halves},
      {"narrowed_halves", "conversions to f16", {"native_f16_narrow"}, narrowed_halves},
      {"storage_16bit", "16-bit elements", {"storage_16bit"}, storage_16bit},
      {"storage_8bit", "8-bit elements", {"storage_8bit"}, storage_8bit},
      {"matmul", "matrix products", {"subgroup_shuffle", "int64"}, matmul},
      {"matrices", "matrix products by subgroups", {"cooperative_matrix"}, matrices},
      {"rows", "reductions of rows", {"subgroup_shuffle"}, rows},
      {"shared_memory", "reductions through shared memory", {}, rows_in_shared_memory},
      {"loop", "reductions by long loops", {"long_loops"}, long_loop},
      {"attention", "attention", {"int64"}, attention},
      {"scan", "running sums", {}, scan},
      {"sort", "sorts", {}, sort},
      {"scatter", "scatters", {}, scatter}};
  return rows_of_all;
}

std::string difference(const Probe& probe, const std::vector<Literal>& got) {
  if (got.size() != probe.expected.size())
    return fmt::format("it has {} outputs and not {}", got.size(), probe.expected.size());
  for (size_t o = 0; o < got.size(); ++o) {
    const Literal &is = got[o], &should = probe.expected[o];
    if (is.type() != should.type())
      return fmt::format("output {} is {} and not {}", o, is.type().to_string(),
                         should.type().to_string());
    if (is == should) continue;
    for (int64_t i = 0; i < is.num_elements(); ++i) {
      // Integers as integers: 64 bits do not fit a double.
      bool whole = !is_float(is.type().dtype);
      double x = is.get_double(i), y = should.get_double(i);
      bool right = whole                  ? is.get_int(i) == should.get_int(i)
                   : probe.tolerance == 0 ? x == y
                                          : std::fabs(x - y) <= probe.tolerance;
      if (right) continue;
      return whole ? fmt::format("element {} of output {} is {} and not {}", i, o, is.get_int(i),
                                 should.get_int(i))
                   : fmt::format("element {} of output {} is {} and not {}", i, o, x, y);
    }
  }
  return "";
}

}  // namespace tuff
