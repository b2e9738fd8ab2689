#include "tests/ops/op_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "ir/evaluate/evaluate.h"
#include "ir/evaluate/tolerances.h"
#include "ir/text/print.h"

namespace tuff {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The limits of a float type.
struct FloatFormat {
  int mantissa_bits;  // of the significand, the hidden one included
  int min_exponent;   // 2^min_exponent is the least normal number
  int max_exponent;   // 2^max_exponent is just too large
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::kF16: return {11, -14, 16};
    case DType::kBF16: return {8, -126, 128};
    case DType::kF64: return {53, -1022, 1024};
    default: return {24, -126, 128};
  }
}

class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed * 2654435761u + 12345u) {}
  uint32_t next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<uint32_t>(state_ >> 33);
  }
  double unit() { return next() / 2147483648.0; }

 private:
  uint64_t state_;
};

std::vector<double> special_floats(DType dtype) {
  FloatFormat f = format_of(dtype);
  double least = std::ldexp(1.0, f.min_exponent),
         last = std::ldexp(1.0, f.min_exponent - f.mantissa_bits + 1);
  double most = std::ldexp(2.0 - std::ldexp(1.0, 1 - f.mantissa_bits), f.max_exponent - 1);
  return {0.0,   -0.0, 1.0,   -1.0, kInfinity, -kInfinity, std::nan(""), least,
          -last, most, -most, 0.5,  -1.5,      2.5,        3.0,          1e-3};
}

std::vector<int64_t> special_integers(DType dtype) {
  int64_t bits = 8 * dtype_size(dtype);
  if (is_unsigned_int(dtype))
    return {0, 1, -1, 2, 3, 7, bits - 1, bits, bits + 1, int64_t{1} << (bits - 1), 100};
  int64_t least = bits == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (bits - 1));
  return {0,
          1,
          -1,
          2,
          -3,
          7,
          bits - 1,
          bits,
          bits + 1,
          least,
          least == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max()
                                                       : -1 - least,
          100};
}

struct Range {
  double low, high;
};

std::optional<Range> parse_range(const std::string& name) {
  size_t dots = name.find("..");
  if (name.rfind("in ", 0) != 0 || dots == std::string::npos) return std::nullopt;
  return Range{std::stod(name.substr(3, dots - 3)), std::stod(name.substr(dots + 2))};
}

double random_float(Random& random, DType dtype) {
  double u = 2 * random.unit() - 1;
  if (random.next() % 2) return 8 * u;
  FloatFormat f = format_of(dtype);
  int span = f.max_exponent - f.min_exponent;
  return std::ldexp(u,
                    f.min_exponent + static_cast<int>(random.next() % static_cast<uint32_t>(span)));
}

// Element i of argument k takes special value number i / n^k, so that the first
// elements of several arguments meet in all combinations.
Literal make_argument(const TensorType& type, const std::string& name, bool moderate, uint32_t k,
                      uint32_t seed) {
  Random random(seed * 31 + k);
  Literal value(type);
  std::optional<Range> range = parse_range(name);
  std::vector<double> floats = special_floats(type.dtype);
  std::vector<int64_t> integers =
      is_integer(type.dtype) ? special_integers(type.dtype) : std::vector<int64_t>();
  size_t specials = is_float(type.dtype) ? floats.size() : integers.size();
  size_t combinations = specials * specials, step = 1;
  for (uint32_t i = 0; i < k % 2; ++i) step *= specials;
  size_t start = value.num_elements() < static_cast<int64_t>(combinations) ? random.next() : 0;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    size_t at = start + static_cast<size_t>(i);
    bool special = start ? random.next() % 3 == 0 : at < combinations;
    if (start && special) at = random.next();
    if (type.dtype == DType::kBool) {
      value.set_int(i, random.next() % 2);
    } else if (range && is_integer(type.dtype)) {
      value.set_int(i, static_cast<int64_t>(range->low) +
                           random.next() % static_cast<uint32_t>(range->high - range->low + 1));
    } else if (range || (moderate && is_float(type.dtype))) {
      Range r = range ? *range : Range{-2, 2};
      value.set_double(i, r.low + (r.high - r.low) * random.unit());
    } else if (is_float(type.dtype)) {
      value.set_double(i,
                       special ? floats[at / step % specials] : random_float(random, type.dtype));
    } else {
      int64_t any = static_cast<int64_t>(uint64_t{random.next()} << 33 |
                                         uint64_t{random.next()} << 11 | random.next());
      value.set_int(i, special ? integers[at / step % specials] : any >> (random.next() % 64));
    }
  }
  return value;
}

bool is_denormal(double x, DType dtype) {
  return x != 0 && std::fabs(x) < std::ldexp(1.0, format_of(dtype).min_exponent);
}

// Arithmetic may flush f32 denormals (f16 computes in f32, where its own are normal).
bool may_flush(DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16; }

bool is_sum(const Node& node) {
  if (node.op == Op::kDotGeneral || node.op == Op::kConvolution) return true;
  auto body = node.op == Op::kReduce || node.op == Op::kReduceWindow ? simple_body(*node.regions[0])
                                                                     : std::nullopt;
  return body == Op::kAdd || body == Op::kMultiply;
}

bool has_sums(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), is_sum);
}

Literal magnitudes(const Literal& value) {
  if (!is_float(value.type().dtype)) return value;
  Literal positive(value.type());
  for (int64_t i = 0; i < value.num_elements(); ++i)
    positive.set_double(i, std::fabs(value.get_double(i)));
  return positive;
}

// Copies with denormals made zero; nothing where there are none.
std::optional<std::vector<Literal>> flush(const std::vector<Literal>& arguments) {
  std::vector<Literal> flushed;
  bool any = false;
  for (const Literal& argument : arguments) {
    Literal copy = argument;
    if (may_flush(argument.type().dtype)) {
      copy = Literal(argument.type());
      for (int64_t i = 0; i < copy.num_elements(); ++i) {
        double x = argument.get_double(i);
        bool denormal = is_denormal(x, argument.type().dtype);
        any |= denormal;
        copy.set_double(i, denormal ? std::copysign(0.0, x) : x);
      }
    }
    flushed.push_back(std::move(copy));
  }
  if (!any) return std::nullopt;
  return flushed;
}

// kSum: within one rounding and a part of the sum of magnitudes. kScale: within a part of the
// largest number.
enum class Match { kBits, kUlp, kSum, kScale };
struct Bound {
  Match match;
  double value;
};

// The bound of a whole graph is its loosest node's.
Bound bound_of(const OpCase& c, DType dtype) {
  if (!is_float(dtype)) return {Match::kBits, 0};
  Bound bound{Match::kBits, 0};
  // An attention sums weights that were rounded to 16 bits on the way: one such rounding moves
  // many.
  auto count = [&](Op op) {
    return std::count_if(c.graph.nodes().begin(), c.graph.nodes().end(),
                         [&](const Node& node) { return node.op == op; });
  };
  if (dtype_size(dtype) == 2 && count(Op::kDotGeneral) > 1 && count(Op::kExponential) > 0)
    return {Match::kScale, tolerance("attention", dtype)};
  if (count(Op::kCholesky) + count(Op::kTriangularSolve) > 0)
    return {Match::kScale, tolerance("library", dtype)};
  if (count(Op::kFft) > 0) return {Match::kScale, tolerance("fft", dtype)};
  for (const Node& node : c.graph.nodes()) {
    // 16-bit floats are summed in f32 and rounded once.
    if (is_sum(node))
      return {Match::kSum, tolerance("sum", dtype == DType::kF64 ? dtype : DType::kF32)};
    bool reduces = node.op == Op::kReduce || node.op == Op::kReduceWindow;
    if ((!is_elementwise(node.op) || node.op == Op::kSelect) && !reduces) continue;
    double ulp = op_ulp(op_name(node.op));
    bound.match = Match::kUlp;
    bound.value =
        std::max(bound.value,
                 ulp > 0 ? (dtype == DType::kF16 || dtype == DType::kBF16 ? 1.0 : ulp + 0.5) : 0.0);
  }
  return bound;
}

double ulp_distance(double got, double want, DType dtype) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) == std::isnan(got) ? 0 : kInfinity;
  if (got == want) return want == 0 && std::signbit(got) != std::signbit(want) ? kInfinity : 0;
  FloatFormat f = format_of(dtype);
  auto finite = [&](double x) {
    return std::isinf(x) && f.max_exponent < 1024
               ? std::copysign(std::ldexp(1.0, f.max_exponent), x)
               : x;
  };
  got = finite(got), want = finite(want);
  int exponent = 0;
  std::frexp(want, &exponent);
  double unit = std::ldexp(1.0, std::max(exponent - 1, f.min_exponent) - f.mantissa_bits + 1);
  return std::fabs(got - want) / unit;
}

bool within_ulp(double got, double want, DType dtype, double bound) {
  if (ulp_distance(got, want, dtype) <= bound) return true;
  return may_flush(dtype) && got == 0 && (is_denormal(want, dtype) || want == 0) &&
         std::signbit(got) == std::signbit(want);
}

std::string element_text(const Literal& value, int64_t i) {
  int64_t size = dtype_size(value.type().dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, value.bytes() + i * size, static_cast<size_t>(size));
  std::string number = is_float(value.type().dtype) ? fmt::format("{}", value.get_double(i))
                                                    : fmt::format("{}", value.get_int(i));
  return fmt::format("{} (0x{:x})", number, bits);
}

}  // namespace

std::vector<Literal> make_arguments(const OpCase& c, uint32_t seed) {
  bool moderate = c.options.moderate || has_sums(c.graph);
  std::vector<Literal> arguments;
  for (uint32_t i = 0; i < c.graph.num_parameters(); ++i)
    arguments.push_back(
        make_argument(c.graph.node(i).types[0], c.graph.parameter_name(i), moderate, i, seed));
  return arguments;
}

Result<Expected> expected_outputs(const OpCase& c, const std::vector<Literal>& arguments) {
  Expected expected;
  TUFF_ASSIGN(expected.outputs, evaluate(c.graph, arguments));
  bool moves = true;
  for (const Node& node : c.graph.nodes())
    moves &= !is_elementwise(node.op) && node.op != Op::kReduce && node.op != Op::kReduceWindow &&
             op_category(node.op) != OpCategory::kLibrary;
  if (auto flushed = flush(arguments); flushed && !moves) {
    TUFF_ASSIGN(expected.flushed, evaluate(c.graph, *flushed));
  }
  if (has_sums(c.graph)) {
    std::vector<Literal> positive;
    for (const Literal& argument : arguments) positive.push_back(magnitudes(argument));
    TUFF_ASSIGN(expected.magnitudes, evaluate(c.graph, positive));
  }
  return expected;
}

std::string difference(const OpCase& c, const Expected& expected, size_t index,
                       const Literal& got) {
  const Literal& want = expected.outputs[index];
  if (got.type() != want.type())
    return fmt::format("type {} instead of {}", print_type(got.type()), print_type(want.type()));
  DType dtype = want.type().dtype;
  Bound bound = bound_of(c, dtype);
  int64_t wrong = 0, first = -1, size = dtype_size(dtype);
  double scale = 0;
  for (int64_t i = 0; i < want.num_elements() && bound.match == Match::kScale; ++i)
    if (double y = want.get_double(i); std::isfinite(y)) scale = std::max(scale, std::fabs(y));
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    auto same_bits = [&](const Literal& other) {
      return std::memcmp(got.bytes() + i * size, other.bytes() + i * size,
                         static_cast<size_t>(size)) == 0;
    };
    auto matches = [&](const Literal& other) {
      if (same_bits(other)) return true;
      if (bound.match == Match::kBits) return false;
      double x = got.get_double(i), y = other.get_double(i);
      if (bound.match == Match::kUlp) return within_ulp(x, y, dtype, bound.value);
      if (bound.match == Match::kSum && std::isfinite(y)) {
        double sum = std::fabs(expected.magnitudes[index].get_double(i));
        return ulp_distance(x, y, dtype) <= 1 ||
               std::fabs(x - y) <= bound.value * std::max(sum, std::fabs(y));
      }
      if (bound.match == Match::kScale && std::isfinite(y))
        return std::fabs(x - y) <= bound.value * scale;
      return x == y || (std::isnan(x) && std::isnan(y));
    };
    if (matches(want) || (!expected.flushed.empty() && matches(expected.flushed[index]))) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  return fmt::format("output {}: {} of {} elements differ, the first at {}: got {}, want {}", index,
                     wrong, want.num_elements(), first, element_text(got, first),
                     element_text(want, first));
}

}  // namespace tuff
