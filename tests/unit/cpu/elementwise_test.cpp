// Every elementwise row of op.def for every dtype, against the reference evaluator.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/evaluate/evaluate.h"
#include "ir/evaluate/tolerances.h"
#include "tests/unit/cpu/run_kernel.h"

namespace tuff::test {
namespace {

constexpr int64_t kCount = 203;

// Rows by name as the kernel text has them; graph-level compare has a direction.
struct Row {
  Op op;
  const char* name;
  int arity;
  TypeRule rule;
};
const Row kRows[] = {
#define ELEMENTWISE(enumerator, name, arity, rule, ...) \
  {Op::enumerator, name, arity, TypeRule::k##rule},
#define KERNEL_ONLY ELEMENTWISE
#include "ir/op.def"
};

DType result_dtype(const Row& row, DType dtype) {
  if (row.rule == TypeRule::kPredicate) return DType::kBool;
  if (row.rule != TypeRule::kTotalOrder) return dtype;
  return dtype_size(dtype) == 2 ? DType::kI16 : dtype_size(dtype) == 4 ? DType::kI32 : DType::kI64;
}

// Special values first, then a spread of ordinary ones; `salt` tells operands apart.
Literal sample(DType dtype, int salt, bool small) {
  Literal literal(TensorType{dtype, {kCount}});
  const double specials[] = {0.0, -0.0, 1, -1, NAN, INFINITY, -INFINITY, 0.5, -0.5, 2.5, 1e-3, 88};
  uint64_t state = 88172645463325252u + static_cast<uint64_t>(salt) * 7919;
  for (int64_t i = 0; i < kCount; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    if (is_float(dtype)) {
      double value = i < 144 ? specials[salt == 0 ? i / 12 : i % 12]
                             : (static_cast<double>(state % 20001) - 10000) / 1000.0;
      literal.set_double(i, value);
    } else if (dtype == DType::kBool) {
      literal.set_int(i, static_cast<int64_t>(state >> 11 & 1));
    } else if (i < 49) {
      const int64_t corners[] = {0, 1, -1, INT64_MIN, INT64_MAX, 2, -3};
      int64_t corner = corners[salt == 0 ? i / 7 : i % 7];
      int unused = 64 - 8 * static_cast<int>(dtype_size(dtype));
      bool extreme = corner == INT64_MIN || corner == INT64_MAX;
      literal.set_int(i, extreme ? corner >> unused : corner);
    } else {
      literal.set_int(i, small ? static_cast<int64_t>(state % 71) : static_cast<int64_t>(state));
    }
  }
  return literal;
}

std::vector<std::byte> bytes_of_literal(const Literal& literal) {
  return {literal.bytes(), literal.bytes() + literal.size_bytes()};
}

// One group of one lane loop: load the operands, apply `statement`, store.
Literal run_row(const std::string& statement, const std::vector<Literal>& operands, DType result) {
  std::string text = "kernel row lanes 203 params 0 {\n", loads;
  Buffers buffers;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string name = dtype_name(operands[i].type().dtype), id = std::to_string(i);
    text += "buffer b" + id + ": " + name + " read\n";
    loads += "%" + std::to_string(i + 1) + " = " + name + " load b" + id + "[%0]\n";
    buffers.push_back(bytes_of_literal(operands[i]));
  }
  std::string out = std::to_string(operands.size()), value = std::to_string(operands.size() + 1);
  text += "buffer b" + out + ": " + dtype_name(result) + " write\ngrid {\nlane %0 < 203 {\n" +
          loads + "%" + value + " = " + dtype_name(result) + " " + statement + "\nstore b" + out +
          "[%0] = %" + value + "\n}\n}\n}\n";
  buffers.push_back(std::vector<std::byte>(static_cast<size_t>(kCount * dtype_size(result))));
  Buffers after = run(text, {}, buffers);
  return Literal(TensorType{result, {kCount}}, after.back());
}

bool transcendental(Op op) {
  switch (op) {
    case Op::kAtan2:
    case Op::kCbrt:
    case Op::kCosine:
    case Op::kErf:
    case Op::kExponential:
    case Op::kExponentialMinusOne:
    case Op::kLog:
    case Op::kLogPlusOne:
    case Op::kLogistic:
    case Op::kPower:
    case Op::kRsqrt:
    case Op::kSine:
    case Op::kTan:
    case Op::kTanh: return true;
    default: return false;
  }
}

double bound_of(Op op, DType dtype) { return transcendental(op) ? tolerance("cpu_op", dtype) : 0; }

void expect_same(const Literal& got, const Literal& want, double relative,
                 const std::string& what) {
  ASSERT_EQ(got.type(), want.type()) << what;
  for (int64_t i = 0; i < kCount; ++i) {
    if (!is_float(want.type().dtype)) {
      ASSERT_EQ(got.get_int(i), want.get_int(i)) << what << " at " << i;
      continue;
    }
    double a = got.get_double(i), b = want.get_double(i);
    if (std::isnan(b) || std::isinf(b) || relative == 0) {
      ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
          << what << " at " << i << ": " << a << " but " << b;
      ASSERT_TRUE(std::isnan(b) || std::signbit(a) == std::signbit(b)) << what << " at " << i;
    } else {
      ASSERT_LE(std::abs(a - b), relative * std::abs(b) + 1e-38) << what << " at " << i;
    }
  }
}

Result<std::vector<Literal>> evaluate_row(const Row& row, const std::vector<Literal>& operands,
                                          DType result) {
  Node node;
  node.op = row.op;
  node.types = {{result, {kCount}}};
  std::string name = row.name;
  if (row.rule == TypeRule::kPrecision) {
    node.attrs = ReducePrecisionAttrs{5, 7};
  }
  if (name.size() == 2 && row.rule == TypeRule::kPredicate) {
    for (char& c : name) c = static_cast<char>(std::toupper(c));
    node.op = Op::kCompare;
    node.attrs = CompareAttrs{*parse_word<ComparisonDirection>(name)};
  }
  return evaluate_node(node, operands);
}

TEST(CpuElementwise, EveryRowAndDtypeAgreesWithTheEvaluator) {
  int compared = 0;
  for (const Row& row : kRows) {
    for (int d = 0; d < kNumDTypes; ++d) {
      auto dtype = static_cast<DType>(d);
      if (op_body(row.op, dtype) == nullptr) continue;
      // The evaluator has no kernel-only rows but the comparisons.
      if (op_info(row.op).kernel_only && row.rule != TypeRule::kPredicate) continue;
      // Shifts and powers by small counts, mostly.
      bool counts = row.op == Op::kPower || std::string(row.name).starts_with("shift");
      std::vector<Literal> operands;
      std::string statement = row.name;
      int loaded = row.rule == TypeRule::kPrecision ? 1 : row.arity;
      for (int i = 0; i < loaded; ++i) {
        DType type = row.rule == TypeRule::kSelect && i == 0 ? DType::kBool : dtype;
        operands.push_back(sample(type, i, counts && i == 1));
        statement += (i == 0 ? " %" : ", %") + std::to_string(i + 1);
      }
      if (row.rule == TypeRule::kPrecision) statement += ", 5, 7";
      DType result = result_dtype(row, dtype);
      auto expected = evaluate_row(row, operands, result);
      ASSERT_TRUE(expected.ok()) << row.name << " " << dtype_name(dtype) << ": "
                                 << expected.error().to_string();
      Literal got = run_row(statement, operands, result);
      std::string what = std::string(row.name) + " " + dtype_name(dtype);
      expect_same(got, (*expected)[0], bound_of(row.op, dtype), what);
      ++compared;
    }
  }
  EXPECT_GT(compared, 200);
}

TEST(CpuElementwise, EveryConversionAgreesWithTheEvaluator) {
  for (int from = 0; from < kNumDTypes; ++from)
    for (int to = 0; to < kNumDTypes; ++to) {
      Literal operand = sample(static_cast<DType>(from), 0, false);
      auto result = static_cast<DType>(to);
      Node node;
      node.op = Op::kConvert;
      node.types = {{result, {kCount}}};
      auto expected = evaluate_node(node, {operand});
      ASSERT_TRUE(expected.ok()) << expected.error().to_string();
      expect_same(run_row("convert %1", {operand}, result), (*expected)[0], 0,
                  std::string(dtype_name(operand.type().dtype)) + " to " + dtype_name(result));
    }
}

const cpu::IsaLevel kLevels[] = {cpu::IsaLevel::kBaseline, cpu::IsaLevel::kAvx2,
                                 cpu::IsaLevel::kAvx512};

template <typename T>
T wrapping_add(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}

// Dividends and divisors about which vectors of floats may err: ends of the type, neighbours of
// multiples, few and many bits.
template <typename T>
std::vector<T> numbers_to_divide() {
  std::vector<T> numbers;
  const T ends[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}};
  for (T end : ends)
    for (int i = -3; i <= 3; ++i) numbers.push_back(wrapping_add(end, static_cast<T>(i)));
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < 200; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    numbers.push_back(static_cast<T>(state >> (i % 64)));
    numbers.push_back(static_cast<T>(-static_cast<int64_t>(state >> (i % 64))));
  }
  for (T factor : {T{3}, T{7}, T{100}})
    for (int i = 1; i < 20; ++i)
      for (int near = -1; near <= 1; ++near)
        numbers.push_back(
            wrapping_add<T>(std::numeric_limits<T>::max() / factor / static_cast<T>(i) * factor,
                            static_cast<T>(near)));
  return numbers;
}

template <typename T>
T quotient_of(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return static_cast<T>(0 - static_cast<uint64_t>(a));
  return static_cast<T>(a / b);
}
template <typename T>
T remainder_of(T a, T b) {
  if (b == 0) return a;
  return std::is_signed_v<T> && b == static_cast<T>(-1) ? T{0} : static_cast<T>(a % b);
}

template <typename T>
void divide_all(DType dtype) {
  std::vector<T> numbers = numbers_to_divide<T>();
  auto n = static_cast<int64_t>(numbers.size());
  std::vector<T> got(numbers.size()), divisors(numbers.size());
  for (cpu::IsaLevel level : kLevels) {
    if (!cpu::isa_level_available(level)) continue;
    const auto& table = cpu::lane_table(level).compute;
    for (Op op : {Op::kDivide, Op::kRemainder}) {
      const cpu::LaneFn* variants = table[static_cast<int>(op)][static_cast<int>(dtype)];
      auto expect = [&](size_t i, T a, T b) {
        T want = op == Op::kDivide ? quotient_of(a, b) : remainder_of(a, b);
        ASSERT_EQ(got[i], want) << dtype_name(dtype) << " " << op_name(op) << " of " << +a << ", "
                                << +b << " at " << cpu::isa_level_name(level);
      };
      for (size_t shift = 0; shift < numbers.size(); ++shift) {
        for (size_t i = 0; i < numbers.size(); ++i)
          divisors[i] = numbers[(i + shift) % numbers.size()];
        variants[0](n, got.data(), numbers.data(), divisors.data(), nullptr);
        for (size_t i = 0; i < numbers.size(); ++i) expect(i, numbers[i], divisors[i]);
        ASSERT_NE(variants[2], nullptr);
        variants[2](n, got.data(), numbers.data(), &divisors[0], nullptr);
        for (size_t i = 0; i < numbers.size(); ++i) expect(i, numbers[i], divisors[0]);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(CpuElementwise, DivisionIsExactAtEveryLevel) {
  divide_all<int8_t>(DType::kI8), divide_all<int16_t>(DType::kI16);
  divide_all<int32_t>(DType::kI32), divide_all<int64_t>(DType::kI64);
  divide_all<uint8_t>(DType::kU8), divide_all<uint16_t>(DType::kU16);
  divide_all<uint32_t>(DType::kU32), divide_all<uint64_t>(DType::kU64);
}

// Sums of f16 have the same bits at every level, by lane and with one operand for all, in whole
// vectors and less.
TEST(CpuElementwise, HalvesAreTheSameAtEveryLevel) {
  std::vector<uint16_t> a(300), b(300), want(300), got(300);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<uint16_t>(i * 40503);
    b[i] = static_cast<uint16_t>(i * 25717 + 11);
  }
  constexpr auto kAdd = static_cast<int>(Op::kAdd), kF16 = static_cast<int>(DType::kF16);
  const auto& plain = cpu::lane_table(cpu::IsaLevel::kBaseline).compute[kAdd][kF16];
  for (cpu::IsaLevel level : kLevels) {
    if (!cpu::isa_level_available(level)) continue;
    const auto& fns = cpu::lane_table(level).compute[kAdd][kF16];
    for (int singles : {0, 1, 2})
      for (int64_t n : {1, 15, 16, 17, 128, 129, 300}) {
        plain[singles](n, want.data(), a.data(), b.data(), nullptr);
        fns[singles](n, got.data(), a.data(), b.data(), nullptr);
        ASSERT_TRUE(std::equal(got.begin(), got.begin() + n, want.begin()))
            << n << " at " << cpu::isa_level_name(level) << ", singles " << singles;
      }
  }
}

// All 16-bit patterns through the loops' own conversions.
TEST(CpuElementwise, HalfConversionsAreExact) {
  const cpu::LaneTable& table = cpu::lane_table(cpu::best_isa_level());
  std::vector<uint16_t> halves(65536), back(65536);
  std::vector<float> floats(65536), between(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    auto to_float = table.convert[static_cast<int>(dtype)][static_cast<int>(DType::kF32)];
    auto from_float = table.convert[static_cast<int>(DType::kF32)][static_cast<int>(dtype)];
    to_float(65536, floats.data(), halves.data(), nullptr, nullptr);
    for (size_t i = 0; i < halves.size(); ++i) {
      float want = dtype == DType::kF16 ? f16_to_f32(halves[i]) : bf16_to_f32(halves[i]);
      ASSERT_TRUE(floats[i] == want || (std::isnan(floats[i]) && std::isnan(want))) << i;
      // Halfway to the next value, and a bit more: ties and roundings up.
      between[i] = std::nextafter(want, INFINITY) + (i % 3 == 0 ? 0.0f : want * 0.0002f);
    }
    from_float(65536, back.data(), between.data(), nullptr, nullptr);
    for (size_t i = 0; i < back.size(); ++i) {
      uint16_t want = dtype == DType::kF16 ? f32_to_f16(between[i]) : f32_to_bf16(between[i]);
      ASSERT_TRUE(back[i] == want || std::isnan(between[i])) << i;
    }
  }
}

// The orders of the integers that total_order gives and of the floats.
TEST(CpuElementwise, TotalOrder) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    Literal operand(TensorType{dtype, {kCount}});
    const double ascending[] = {-INFINITY, -2, -1e-3, -0.0, 0.0, 1e-3, 2, INFINITY, NAN};
    for (int64_t i = 0; i < kCount; ++i) operand.set_double(i, ascending[i % 9]);
    for (DType result : {DType::kI16, DType::kI32, DType::kI64}) {
      if (dtype_size(result) < dtype_size(dtype)) continue;
      Literal order = run_row("total_order %1", {operand}, result);
      for (int64_t i = 1; i < kCount; ++i) {
        if (i % 9 == 0) continue;
        ASSERT_LT(order.get_int(i - 1), order.get_int(i)) << dtype_name(dtype) << i;
      }
    }
  }
}

}  // namespace
}  // namespace tuff::test
