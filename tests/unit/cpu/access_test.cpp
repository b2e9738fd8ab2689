// Index arithmetic and the classes of access it leads to, against plain loops.
#include <functional>

#include "tests/unit/cpu/run_kernel.h"

namespace tuff::test {
namespace {

constexpr int kLanes = 600;  // more than a block
constexpr int kElements = 6000;

int32_t source(int64_t i) { return static_cast<int32_t>(i * 37 % 1009); }

std::vector<std::byte> source_bytes() {
  std::vector<int32_t> values;
  for (int i = 0; i < kElements; ++i) values.push_back(source(i));
  return bytes_of(values);
}

// b1[lane] = b0[index(p0, lane)] for several p0; `statements` define %3 of %1 (a
// uniform start) and %2 (the lane).
void expect_loads(const std::string& statements,
                  const std::function<int64_t(int64_t, int64_t)>& f) {
  std::string text =
      "kernel access lanes 600 params 1 {\nbuffer b0: i32 read\nbuffer b1: i32 write\n"
      "grid %0 < 1 {\n%1 = i32 add %0, p0\nlane %2 < 600 {\n" +
      statements + "\n%90 = i32 load b0[%3]\nstore b1[%2] = %90\n}\n}\n}\n";
  Kernel kernel = parse(text);
  for (int start : {0, 1, 5, 96, 100, 767}) {
    Buffers out = run(kernel, {start}, {source_bytes(), bytes_of(std::vector<int32_t>(kLanes))});
    std::vector<int32_t> got = values_of<int32_t>(out[1]);
    for (int lane = 0; lane < kLanes; ++lane)
      ASSERT_EQ(got[static_cast<size_t>(lane)], source(f(start, lane)))
          << start << " " << lane << text;
  }
}

TEST(CpuAccess, ContiguousStridedReversedAndUniform) {
  expect_loads("%3 = i32 add %1, %2", [](int64_t s, int64_t l) { return s + l; });
  expect_loads("%4 = i32 multiply %2, 5\n%3 = i32 add %1, %4",
               [](int64_t s, int64_t l) { return s + 5 * l; });
  expect_loads("%4 = i32 subtract 4000, %2\n%3 = i32 subtract %4, %1",
               [](int64_t s, int64_t l) { return 4000 - l - s; });
  expect_loads("%4 = i32 negate %2\n%5 = i32 add %4, %2\n%3 = i32 add %5, %1",
               [](int64_t s, int64_t) { return s; });
}

// Divisors that cut the block often, seldom, at its ends, and not at all.
TEST(CpuAccess, QuotientsAndRemainders) {
  for (int d : {1, 2, 3, 7, 64, 96, 300, 600, 767, 5000}) {
    std::string n = std::to_string(d);
    std::string i = "%4 = i32 add %1, %2\n";
    expect_loads(i + "%3 = i32 index_div %4, " + n,
                 [=](int64_t s, int64_t l) { return (s + l) / d; });
    expect_loads(i + "%3 = i32 remainder %4, " + n,
                 [=](int64_t s, int64_t l) { return (s + l) % d; });
    // A quotient of a quotient has no affine form.
    expect_loads(i + "%5 = i32 index_div %4, 3\n%3 = i32 index_div %5, " + n,
                 [=](int64_t s, int64_t l) { return (s + l) / 3 / d; });
    // Steps wider than the divisor, multiples of it and not.
    expect_loads("%4 = i32 multiply %2, 6\n%5 = i32 add %4, %1\n%3 = i32 index_div %5, " + n,
                 [=](int64_t s, int64_t l) { return (6 * l + s) / d; });
    expect_loads("%4 = i32 multiply %2, 6\n%5 = i32 add %4, %1\n%3 = i32 remainder %5, " + n,
                 [=](int64_t s, int64_t l) { return (6 * l + s) % d; });
  }
}

// Signed values go the way of the op's own body.
TEST(CpuAccess, NegativeDividends) {
  std::string i = "%4 = i32 subtract %2, 300\n";
  expect_loads(i + "%5 = i32 divide %4, 7\n%3 = i32 add %5, 100",
               [](int64_t, int64_t l) { return (l - 300) / 7 + 100; });
  expect_loads(i + "%5 = i32 remainder %4, 7\n%3 = i32 add %5, 100",
               [](int64_t, int64_t l) { return (l - 300) % 7 + 100; });
}

TEST(CpuAccess, ClampsAndSelections) {
  expect_loads(
      "%4 = i32 add %1, %2\n%5 = i32 minimum %4, 500\n%3 = i32 maximum %5, 110",
      [](int64_t s, int64_t l) { return std::max<int64_t>(std::min<int64_t>(s + l, 500), 110); });
  expect_loads("%4 = i32 minimum %2, 5000\n%5 = i32 maximum %4, 0\n%3 = i32 add %5, %1",
               [](int64_t s, int64_t l) { return s + l; });
  expect_loads("%4 = i1 ge %2, 100\n%5 = i32 subtract 900, %2\n%3 = i32 select %4, %2, %5",
               [](int64_t, int64_t l) { return l >= 100 ? l : 900 - l; });
}

// Each direction, with the point of change before, in and after the lanes.
TEST(CpuAccess, ComparisonsOfAffineValues) {
  struct Case {
    const char* name;
    bool (*holds)(int64_t, int64_t);
  };
  const Case cases[] = {{"lt", [](int64_t a, int64_t b) { return a < b; }},
                        {"le", [](int64_t a, int64_t b) { return a <= b; }},
                        {"gt", [](int64_t a, int64_t b) { return a > b; }},
                        {"ge", [](int64_t a, int64_t b) { return a >= b; }},
                        {"eq", [](int64_t a, int64_t b) { return a == b; }},
                        {"ne", [](int64_t a, int64_t b) { return a != b; }}};
  for (const Case& c : cases)
    for (int bound : {-1, 0, 1, 300, 511, 512, 599, 600, 700})
      for (bool reversed : {false, true}) {
        std::string value = reversed ? "%4 = i32 subtract 599, %2\n" : "%4 = i32 add %2, 0\n";
        expect_loads(
            value + "%5 = i1 " + c.name + " %4, " + std::to_string(bound) + "\n%3 = i32 convert %5",
            [=](int64_t, int64_t l) { return c.holds(reversed ? 599 - l : l, bound) ? 1 : 0; });
      }
  // Two values that run towards each other meet at one lane.
  expect_loads("%4 = i32 subtract 598, %2\n%5 = i1 eq %2, %4\n%3 = i32 convert %5",
               [](int64_t, int64_t l) { return l == 299 ? 1 : 0; });
  expect_loads("%5 = i1 ne %2, %2\n%3 = i32 convert %5", [](int64_t, int64_t) { return 0; });
}

TEST(CpuAccess, SixtyFourBitAndOtherIndices) {
  expect_loads(
      "%4 = i64 convert %2\n%5 = i64 convert %1\n%6 = i64 multiply %4, i64 3\n"
      "%7 = i64 add %6, %5\n%8 = i64 index_div %7, i64 2\n%3 = i32 convert %8",
      [](int64_t s, int64_t l) { return (3 * l + s) / 2; });
}

// Sums and products wrap; what wraps within the block is no longer monotonic.
TEST(CpuAccess, AffineValuesThatWrap) {
  const char* text = R"(kernel wrap lanes 600 params 1 {
    buffer b0: i32 write
    buffer b1: i1 write
    buffer b2: i32 write
    grid {
      lane %0 < 600 {
        %1 = i32 multiply %0, 50000000
        %2 = i32 add %1, p0
        store b0[%0] = %2
        %3 = i1 lt %2, 1000
        store b1[%0] = %3
        %4 = i32 remainder %2, 10
        store b2[%0] = %4
      }
    }
  })";
  for (int32_t start : {0, INT32_MAX, INT32_MIN, -5}) {
    Buffers out = run(text, {start},
                      {bytes_of(std::vector<int32_t>(600)), bytes_of(std::vector<uint8_t>(600)),
                       bytes_of(std::vector<int32_t>(600))});
    auto values = values_of<int32_t>(out[0]);
    auto below = values_of<uint8_t>(out[1]);
    auto rest = values_of<int32_t>(out[2]);
    for (uint32_t i = 0; i < 600; ++i) {
      auto want = static_cast<int32_t>(i * 50000000u + static_cast<uint32_t>(start));
      ASSERT_EQ(values[i], want);
      ASSERT_EQ(below[i], want < 1000);
      ASSERT_EQ(rest[i], want % 10);
    }
  }
}

// Stores: reversed, strided, scattered, guarded; loads guarded with each class.
TEST(CpuAccess, StoresOfEachClass) {
  const std::pair<const char*, int64_t (*)(int64_t)> classes[] = {
      {"%2 = i32 add %0, 7", [](int64_t l) { return l + 7; }},
      {"%2 = i32 multiply %0, 2", [](int64_t l) { return 2 * l; }},
      {"%2 = i32 subtract 700, %0", [](int64_t l) { return 700 - l; }},
      {"%3 = i32 remainder %0, 2\n%4 = i32 multiply %3, 900\n%2 = i32 add %4, %0",
       [](int64_t l) { return l % 2 * 900 + l; }}};
  for (auto& [statements, index] : classes)
    for (int bound : {0, 1, 250, 599, 600}) {
      std::string text =
          "kernel stores lanes 600 params 1 {\nbuffer b0: f32 read\nbuffer b1: f32 write\n"
          "buffer b2: f32 write\ngrid {\nlane %0 < 600 {\n%1 = i1 lt %0, p0\n" +
          std::string(statements) +
          "\n%10 = f32 load b0[%2] if %1 else -1.0\nstore b1[%2] = %10 if %1\n"
          "store b2[%0] = %10\n}\n}\n}\n";
      std::vector<float> in(1600), scattered(1600), loaded(600, -1);
      for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
      for (int lane = 0; lane < bound; ++lane) {
        auto at = static_cast<size_t>(index(lane));
        scattered[at] = in[at];
        loaded[static_cast<size_t>(lane)] = in[at];
      }
      Buffers out = run(
          text, {bound},
          {bytes_of(in), bytes_of(std::vector<float>(1600)), bytes_of(std::vector<float>(600))});
      ASSERT_EQ(values_of<float>(out[1]), scattered) << text << bound;
      ASSERT_EQ(values_of<float>(out[2]), loaded) << text << bound;
    }
}

// The guard keeps every lane from memory that is not there.
TEST(CpuAccess, FalseGuardsNeverTouchMemory) {
  const char* text = R"(kernel pad lanes 600 params 0 {
    buffer b0: f32 read
    buffer b1: f32 write
    grid {
      lane %0 < 600 {
        %1 = i32 subtract %0, 295
        %2 = i1 ge %1, 0
        %3 = i1 lt %1, 10
        %4 = i1 and %2, %3
        %5 = f32 load b0[%1] if %4 else 9.0
        store b1[%0] = %5
      }
    }
  })";
  std::vector<float> in{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, expected(600, 9);
  for (size_t i = 0; i < 10; ++i) expected[295 + i] = in[i];
  Buffers out = run(text, {}, {bytes_of(in), bytes_of(std::vector<float>(600))});
  EXPECT_EQ(values_of<float>(out[1]), expected);
}

}  // namespace
}  // namespace tuff::test
