// What the host does in a program: functions of whoever has the process, in what order and how
// often; LAPACK's, by what they leave of the matrices they are given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backend/compile.h"
#include "backend/cpu/device.h"
#include "backend/executable.h"
#include "backend/host_callbacks.h"
#include "ir/text/parse.h"

namespace tuff {
namespace {

using Outputs = Result<std::vector<Literal>>;

Outputs run(const std::string& text, const std::vector<Literal>& arguments) {
  TUFF_ASSIGN(Graph graph, parse_graph(text));
  TUFF_ASSIGN(std::unique_ptr<Device> device, create_cpu_device({}));
  CompileOptions options;
  options.verify = true;
  TUFF_ASSIGN(auto program, compile(graph, device->caps(), options, nullptr));
  TUFF_ASSIGN(Executable executable, Executable::create(*device, program, {}));
  return executable(arguments);
}

// Function 1 doubles, any other hands on; each call is noted as its number and first element.
class HostCallbacksTest : public testing::Test {
 public:
  void SetUp() override {
    set_host_callbacks(HostCallbacks{[this](int64_t callback, auto arguments, auto results) {
                                       return call(callback, arguments, results);
                                     },
                                     [](int64_t) { return true; }, [](int64_t) {}});
  }
  void TearDown() override { set_host_callbacks(std::nullopt); }

  Status call(int64_t callback, std::span<const HostTensor> arguments,
              std::span<const HostTensor> results) {
    const auto* from = reinterpret_cast<const float*>(arguments[0].data);
    calls.emplace_back(callback, from ? from[0] : -1);
    if (callback == failing) return Error{ErrorCode::kRunFailed, "It fails.", ""};
    for (const HostTensor& result : results)
      for (int64_t i = 0; i < result.type->num_elements(); ++i)
        reinterpret_cast<float*>(result.data)[i] = callback == 1 ? 2 * from[i] : from[i];
    return {};
  }

  std::vector<std::pair<int64_t, float>> calls;
  int64_t failing = -1;
};

TEST_F(HostCallbacksTest, StandsBetweenKernels) {
  auto outputs = run(R"(graph main(%x: f32[4]) {
  %a = add(%x, %x) : f32[4]
  %b = host_call(%a) {function = "callback", callback = 1} : f32[4]
  %c = negate(%b) : f32[4]
  return %c
})",
                     {Literal::from_doubles(DType::kF32, {4}, {3, 3, 3, 3})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ((*outputs)[0].get_double(i), -12);
}

// Also where nobody reads the result, where two calls are alike, and where the memory would ask for
// another order.
TEST_F(HostCallbacksTest, EffectsHappenInOrder) {
  auto outputs = run(R"(graph main(%x: f32[]) {
  %n = constant i32[] 3
  %w:2 = while(%n, %x) : i32[], f32[] graph cond(%i: i32[], %a: f32[]) {
    %z = constant i32[] 0
    %c = compare(%i, %z) {comparison_direction = "GT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[]) {
    %o = constant i32[] 1
    %j = subtract(%i, %o) : i32[]
    %b = host_call(%a) {function = "callback", callback = 1, has_side_effect = 1} : f32[]
    %c = host_call(%b) {function = "callback", callback = 2, has_side_effect = 1} : f32[]
    return %j, %b
  }
  %p = host_call(%x) {function = "callback", callback = 3, has_side_effect = 1} : f32[]
  %q = host_call(%x) {function = "callback", callback = 3, has_side_effect = 1} : f32[]
  return %x
})",
                     {Literal::scalar(DType::kF32, 1)});
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  using Call = std::pair<int64_t, float>;
  EXPECT_EQ(calls,
            (std::vector<Call>{{1, 1}, {2, 2}, {1, 2}, {2, 4}, {1, 4}, {2, 8}, {3, 1}, {3, 1}}));
}

// A loop that counts is known to end without asking, but not its effects.
TEST_F(HostCallbacksTest, ConditionsHaveEffects) {
  auto outputs = run(R"(graph main(%x: f32[]) {
  %n = constant i32[] 2
  %w:2 = while(%n, %x) : i32[], f32[] graph cond(%i: i32[], %a: f32[]) {
    %z = constant i32[] 0
    %h = host_call(%a) {function = "callback", callback = 2, has_side_effect = 1} : f32[]
    %c = compare(%i, %z) {comparison_direction = "GT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[]) {
    %o = constant i32[] 1
    %j = subtract(%i, %o) : i32[]
    %b = add(%a, %a) : f32[]
    return %j, %b
  }
  return %w#1
})",
                     {Literal::scalar(DType::kF32, 1)});
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  EXPECT_EQ((*outputs)[0].get_double(0), 4);
  using Call = std::pair<int64_t, float>;
  EXPECT_EQ(calls, (std::vector<Call>{{2, 1}, {2, 2}, {2, 4}}));
}

TEST_F(HostCallbacksTest, AFailureEndsTheRun) {
  failing = 1;
  auto outputs = run(R"(graph main(%x: f32[]) {
  %a = host_call(%x) {function = "callback", callback = 1, has_side_effect = 1} : f32[]
  %b = host_call(%x) {function = "callback", callback = 2, has_side_effect = 1} : f32[]
  return %b
})",
                     {Literal::scalar(DType::kF32, 1)});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().message, "It fails.");
  EXPECT_EQ(calls.size(), 1u);
}

TEST_F(HostCallbacksTest, NobodyIsCalledAfterTheEnd) {
  set_host_callbacks(std::nullopt);
  auto outputs = run(R"(graph main(%x: f32[0,3]) {
  %a = host_call(%x) {function = "callback", callback = 1} : f32[]
  return %a
})",
                     {Literal(TensorType{DType::kF32, {0, 3}})});
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(outputs.error().message, testing::HasSubstr("nobody to be called"));
}

// The matrix of one batch element.
struct Matrix {
  int64_t rows, columns;
  std::vector<double> values;
  double at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * columns + j)]; }
};

Matrix matrix_of(const Literal& literal, int64_t batch) {
  const Shape& shape = literal.type().shape;
  Matrix m{shape.end()[-2], shape.end()[-1], {}};
  for (int64_t i = 0; i < m.rows * m.columns; ++i)
    m.values.push_back(literal.get_double(batch * m.rows * m.columns + i));
  return m;
}

Literal test_matrices(const Shape& shape, bool symmetric) {
  Literal a(TensorType{DType::kF32, shape});
  int64_t rows = shape.end()[-2], columns = shape.end()[-1];
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    int64_t r = i / columns % rows, c = i % columns, b = i / (rows * columns);
    auto phase = static_cast<double>(symmetric ? r * c + r + c : 3 * r + 5 * c);
    a.set_double(i, std::sin(phase + 1.0 + static_cast<double>(b)) + (r == c ? 2 : 0));
  }
  return a;
}

std::string call_text(const std::string& attributes, const std::string& argument,
                      const std::string& results, int count) {
  std::string names = "%r";
  for (int i = 1; i < count; ++i) names += ", %r#" + std::to_string(i);
  return "graph main(%x: " + argument + ") {\n  %r:" + std::to_string(count) +
         " = host_call(%x) {" + attributes + "} : " + results + "\n  return " + names + "\n}\n";
}

bool lacks_lapack(const Outputs& outputs) {
  return !outputs.ok() && outputs.error().message.find("needs LAPACK") != std::string::npos;
}

// Rows exchanged, the matrix is the product of a lower and an upper triangle.
TEST(Lapack, LuOfWideAndTallBatches) {
  for (auto [m, n] : {std::pair(3, 5), std::pair(5, 3), std::pair(1, 1)}) {
    Literal a = test_matrices({2, m, n}, false);
    int64_t k = std::min(m, n);
    std::string matrices = "f32[2," + std::to_string(m) + "," + std::to_string(n) + "]";
    auto outputs = run(call_text("function = \"getrf\"", matrices,
                                 matrices + ", i32[2," + std::to_string(k) + "], i32[2]", 3),
                       {a});
    if (lacks_lapack(outputs)) GTEST_SKIP() << outputs.error().message;
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    for (int64_t b = 0; b < 2; ++b) {
      EXPECT_EQ((*outputs)[2].get_int(b), 0);
      Matrix given = matrix_of(a, b), lu = matrix_of((*outputs)[0], b);
      for (int64_t i = 0; i < k; ++i) {
        int64_t other = (*outputs)[1].get_int(b * k + i) - 1;
        for (int64_t j = 0; j < n; ++j)
          std::swap(given.values[static_cast<size_t>(i * n + j)],
                    given.values[static_cast<size_t>(other * n + j)]);
      }
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < std::min<int64_t>({i + 1, j + 1, k}); ++l)
            sum += (l == i ? 1 : lu.at(i, l)) * lu.at(l, j);
          EXPECT_NEAR(sum, given.at(i, j), 1e-5);
        }
    }
  }
}

TEST(Lapack, EigenvectorsOfASymmetricBatch) {
  Literal a = test_matrices({3, 4, 4}, true);
  auto outputs = run(call_text("function = \"syevd\", mode = \"V\", uplo = \"L\"", "f32[3,4,4]",
                               "f32[3,4,4], f32[3,4], i32[3]", 3),
                     {a});
  if (lacks_lapack(outputs)) GTEST_SKIP() << outputs.error().message;
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  for (int64_t b = 0; b < 3; ++b) {
    Matrix given = matrix_of(a, b), v = matrix_of((*outputs)[0], b);
    for (int64_t j = 0; j < 4; ++j) {
      double w = (*outputs)[1].get_double(b * 4 + j);
      if (j > 0) {
        EXPECT_LE((*outputs)[1].get_double(b * 4 + j - 1), w);
      }
      for (int64_t i = 0; i < 4; ++i) {
        double sum = 0;
        for (int64_t l = 0; l < 4; ++l) sum += given.at(i, l) * v.at(l, j);
        EXPECT_NEAR(sum, w * v.at(i, j), 1e-5);
      }
    }
  }
}

// LAPACK might not come back from it.
TEST(Lapack, WhatIsNotFiniteIsToldOf) {
  Literal a = test_matrices({2, 2}, true);
  a.set_double(3, NAN);
  auto outputs = run(call_text("function = \"gesdd\", mode = \"S\"", "f32[2,2]",
                               "f32[2,2], f32[2], f32[2,2], f32[2,2], i32[]", 5),
                     {a});
  if (lacks_lapack(outputs)) GTEST_SKIP() << outputs.error().message;
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  EXPECT_NE((*outputs)[4].get_int(0), 0);
  EXPECT_TRUE(std::isnan((*outputs)[1].get_double(0)));
}

TEST(Lapack, TooLargeForItsIntegersIsRefused) {
  auto outputs = run(
      call_text("function = \"geqrf\"", "f32[32768,32768]", "f32[32768,32768], f32[32768]", 2), {});
  ASSERT_FALSE(outputs.ok());
  if (lacks_lapack(outputs)) GTEST_SKIP() << outputs.error().message;
  EXPECT_THAT(outputs.error().message, testing::HasSubstr("more than (268435456) elements"));
}

}  // namespace
}  // namespace tuff
