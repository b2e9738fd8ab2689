// Floats of 8 and 4 bits and integers of 4 and 2 bits: what a byte means, and graphs of bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "ir/evaluate/evaluate.h"
#include "ir/passes/lower_small_types.h"
#include "ir/small_float.h"
#include "ir/verify.h"

namespace tuff {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kFloats[] = {DType::kF8E4M3FN,   DType::kF8E4M3FNUZ, DType::kF8E5M2,
                             DType::kF8E5M2FNUZ, DType::kF8E8M0FNU,  DType::kF4E2M1FN,
                             DType::kF8E4M3,     DType::kF8E3M4,     DType::kF8E4M3B11FNUZ};

int codes(DType dtype) { return 1 << dtype_bits(dtype); }

// As the formats' specifications list them.
TEST(SmallFloats, TheLeastAndTheLargest) {
  struct Row {
    DType dtype;
    double largest, least;
  };
  constexpr Row kRows[] = {
      {DType::kF8E4M3FN, 448, 0x1p-9},        {DType::kF8E4M3FNUZ, 240, 0x1p-10},
      {DType::kF8E5M2, 57344, 0x1p-16},       {DType::kF8E5M2FNUZ, 57344, 0x1p-17},
      {DType::kF8E8M0FNU, 0x1p127, 0x1p-127}, {DType::kF4E2M1FN, 6, 0.5},
      {DType::kF8E4M3, 240, 0x1p-9},          {DType::kF8E3M4, 15.5, 0x1p-6},
      {DType::kF8E4M3B11FNUZ, 30, 0x1p-13}};
  for (const Row& row : kRows) {
    EXPECT_EQ(largest_of_small(row.dtype), row.largest) << dtype_name(row.dtype);
    uint8_t least = row.dtype == DType::kF8E8M0FNU ? 0 : 1;
    EXPECT_EQ(from_small(row.dtype, least), row.least) << dtype_name(row.dtype);
  }
}

TEST(SmallFloats, ANumberOfTheFormatIsItsByte) {
  for (DType dtype : kFloats)
    for (int code = 0; code < codes(dtype); ++code) {
      double value = from_small(dtype, static_cast<uint8_t>(code));
      if (!std::isnan(value))
        EXPECT_EQ(to_small(dtype, value), code) << dtype_name(dtype) << " " << value;
      else
        EXPECT_TRUE(std::isnan(from_small(dtype, to_small(dtype, value)))) << dtype_name(dtype);
    }
}

// The bits that values become, one graph for all of them.
std::vector<uint8_t> converted(const Literal& values, DType dtype) {
  Graph graph;
  Value x = graph.add_parameter(values.type());
  graph.set_outputs({float_to_small(graph, x, dtype, {})});
  Literal bytes = evaluate(graph, {values}).value()[0];
  return {bytes.data<uint8_t>(), bytes.data<uint8_t>() + bytes.num_elements()};
}

void expect_as_on_host(const Literal& values) {
  for (DType dtype : kFloats) {
    std::vector<uint8_t> bytes = converted(values, dtype);
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      double value = values.get_double(i);
      // A NaN's sign is the machine's.
      if (std::isnan(value) && dtype == DType::kF4E2M1FN) continue;
      ASSERT_EQ(bytes[static_cast<size_t>(i)], to_small(dtype, value))
          << dtype_name(dtype) << " of " << value << " (" << values.type().to_string() << ")";
    }
  }
}

TEST(SmallFloats, GraphsConvertAsTheHostDoes) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    Literal all(TensorType{dtype, {65536}});
    for (int i = 0; i < 65536; ++i) all.mutable_data<uint16_t>()[i] = static_cast<uint16_t>(i);
    expect_as_on_host(all);
  }
}

// Halves between neighbours, and what is next to them.
TEST(SmallFloats, OneRounding) {
  std::vector<double> edges{0, -0.0, kInf, -kInf, 0x1p-149, -0x1p-149, 0x1p-1000, 1e300, -1e300};
  for (DType dtype : kFloats)
    for (int code = 0; code < codes(dtype); ++code) {
      double a = from_small(dtype, static_cast<uint8_t>(code));
      double b = from_small(dtype, static_cast<uint8_t>((code + 1) % codes(dtype)));
      for (double x : {a, (a + b) / 2, 2 * a, 1.5 * a, 1.25 * a})
        if (std::isfinite(x))
          for (double toward : {-kInf, x, kInf}) {
            edges.push_back(std::nextafter(x, toward));
            edges.push_back(static_cast<double>(
                std::nextafterf(static_cast<float>(x), static_cast<float>(toward))));
          }
    }
  auto count = static_cast<int64_t>(edges.size());
  expect_as_on_host(Literal::from_doubles(DType::kF64, {count}, edges));
  expect_as_on_host(Literal::from_doubles(DType::kF32, {count}, edges));
}

TEST(SmallFloats, GraphsReadBytesAsTheHostDoes) {
  for (DType dtype : kFloats) {
    Literal bytes(TensorType{DType::kU8, {codes(dtype)}});
    for (int i = 0; i < codes(dtype); ++i) bytes.set_int(i, i);
    Graph graph;
    Value x = graph.add_parameter(bytes.type());
    graph.set_outputs({small_to_f32(graph, x, dtype, {})});
    Literal values = evaluate(graph, {bytes}).value()[0];
    for (int i = 0; i < codes(dtype); ++i) {
      double expected = from_small(dtype, static_cast<uint8_t>(i)), got = values.get_double(i);
      EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected)))
          << dtype_name(dtype) << " " << i << ": " << got << " for " << expected;
      EXPECT_TRUE(std::isnan(expected) || std::signbit(got) == std::signbit(expected)) << i;
    }
  }
}

// Builds a graph with small types, lowers it and runs it on bytes.
class Lowered {
 public:
  Value parameter(DType dtype, Shape shape) { return graph_.add_parameter({dtype, shape}); }
  Value add(Op op, std::vector<Value> operands, TensorType type, Attrs attrs = {}) {
    return add_op(graph_, op, std::move(operands), std::move(type), std::move(attrs), "here");
  }
  Graph& graph() { return graph_; }

  std::vector<double> run(Value output, const std::vector<Literal>& values) {
    TensorType type = graph_.type(output);
    graph_.set_outputs({output});
    auto lowered = lower_small_types(graph_);
    if (!lowered.ok()) {
      ADD_FAILURE() << lowered.error().to_string();
      return {};
    }
    EXPECT_FALSE(has_small_types(*lowered));
    EXPECT_TRUE(verify(*lowered).ok());
    std::vector<Literal> bytes;
    for (const Literal& value : values) bytes.push_back(as_parts(value));
    Literal result = evaluate(*lowered, bytes).value()[0].with_type(type);
    std::vector<double> list;
    for (int64_t i = 0; i < result.num_elements(); ++i) list.push_back(result.get_double(i));
    return list;
  }

 private:
  Graph graph_;
};

TEST(LowerSmallTypes, ElementsMoveAsBytes) {
  Lowered g;
  Value x = g.parameter(DType::kF8E4M3FN, {4});
  Value y = g.add(Op::kReverse, {x}, {DType::kF8E4M3FN, {4}}, DimensionsAttrs{{0}});
  EXPECT_THAT(g.run(y, {Literal::from_doubles(DType::kF8E4M3FN, {4}, {1, 2, 3, 4})}),
              ElementsAre(4, 3, 2, 1));
}

TEST(LowerSmallTypes, ArithmeticRoundsOnce) {
  Lowered g;
  Value x = g.parameter(DType::kF8E4M3FN, {3}), y = g.parameter(DType::kF8E4M3FN, {3});
  Value sum = g.add(Op::kAdd, {x, y}, {DType::kF8E4M3FN, {3}});
  EXPECT_THAT(g.run(sum, {Literal::from_doubles(DType::kF8E4M3FN, {3}, {16, 16, 1}),
                          Literal::from_doubles(DType::kF8E4M3FN, {3}, {1, 3, 0.5})}),
              ElementsAre(16, 20, 1.5));
}

TEST(LowerSmallTypes, IntegersWrapAndKeepTheirSign) {
  Lowered g;
  Value x = g.parameter(DType::kI4, {3});
  Value sum = g.add(Op::kAdd, {x, x}, {DType::kI4, {3}});
  Value wide = g.add(Op::kConvert, {sum}, {DType::kF32, {3}});
  EXPECT_THAT(g.run(wide, {Literal::from_ints(DType::kI4, {3}, {-8, 7, 3})}),
              ElementsAre(0, -2, 6));
}

TEST(LowerSmallTypes, UnknownBitsOfArgumentsDoNotCount) {
  Lowered g;
  Value x = g.parameter(DType::kI4, {2});
  Value wide = g.add(Op::kConvert, {x}, {DType::kI32, {2}});
  Literal bytes = Literal::from_ints(DType::kU8, {2}, {0x0f, 0x27}).with_type({DType::kI4, {2}});
  EXPECT_THAT(g.run(wide, {bytes}), ElementsAre(-1, 7));
}

TEST(LowerSmallTypes, FloatsBecomeTheLowBitsOfIntegers) {
  Lowered g;
  Value x = g.parameter(DType::kF32, {3});
  Value y = g.add(Op::kConvert, {x}, {DType::kU4, {3}});
  EXPECT_THAT(g.run(y, {Literal::from_doubles(DType::kF32, {3}, {-9, 15.5, 300})}),
              ElementsAre(7, 15, 12));
}

TEST(LowerSmallTypes, BitsOfOneTypeAreThoseOfAnother) {
  Lowered g;
  Value x = g.parameter(DType::kI4, {2});
  Value y = g.add(Op::kBitcastConvert, {x}, {DType::kF4E2M1FN, {2}});
  EXPECT_THAT(g.run(y, {Literal::from_ints(DType::kI4, {2}, {-1, 1})}), ElementsAre(-6, 0.5));
}

TEST(LowerSmallTypes, SumsAreNotRoundedOnTheWay) {
  Lowered g;
  auto body = std::make_shared<Graph>();
  TensorType scalar{DType::kF8E5M2, {}};
  Value a = body->add_parameter(scalar), b = body->add_parameter(scalar);
  body->set_outputs({add_op(*body, Op::kAdd, {a, b}, scalar)});
  Value x = g.parameter(DType::kF8E5M2, {16});
  Node node;
  node.op = Op::kReduce;
  node.operands = {x, add_constant(g.graph(), Literal(scalar))};
  node.types = {scalar};
  node.attrs = DimensionsAttrs{{0}};
  node.regions = {body};
  EXPECT_THAT(g.run(g.graph().add(node), {Literal::splat({DType::kF8E5M2, {16}}, 1.25)}),
              ElementsAre(20));
}

TEST(LowerSmallTypes, ProductsAreF32) {
  Lowered g;
  Value x = g.parameter(DType::kF8E4M3FN, {1, 2}), y = g.parameter(DType::kF8E5M2, {2, 1});
  Value product =
      g.add(Op::kDotGeneral, {x, y}, {DType::kF32, {1, 1}}, DotGeneralAttrs{{}, {}, {1}, {0}, {}});
  EXPECT_THAT(g.run(product, {Literal::from_doubles(DType::kF8E4M3FN, {1, 2}, {1.125, 3}),
                              Literal::from_doubles(DType::kF8E5M2, {2, 1}, {1.25, 5})}),
              ElementsAre(16.40625));
}

// Of i4 -8: 1000 in its own bits.
TEST(LowerSmallTypes, BitsAreTheElementsOwn) {
  auto result = [](Op op, DType dtype) {
    Lowered g;
    Value x = g.parameter(dtype, {}), one = g.parameter(dtype, {});
    std::vector<Value> operands{x};
    bool shifts = op == Op::kShiftRightLogical || op == Op::kShiftRightArithmetic;
    if (shifts) operands.push_back(one);
    return g.run(g.add(op, operands, {dtype, {}}),
                 {Literal::scalar(dtype, 8), Literal::scalar(dtype, 1)})[0];
  };
  for (DType dtype : {DType::kI4, DType::kU4}) {
    EXPECT_EQ(result(Op::kPopcnt, dtype), 1);
    EXPECT_EQ(result(Op::kCountLeadingZeros, dtype), 0);
    EXPECT_EQ(result(Op::kShiftRightLogical, dtype), 4);
    EXPECT_EQ(result(Op::kShiftRightArithmetic, dtype), dtype == DType::kI4 ? -4 : 12);
  }
}

TEST(LowerSmallTypes, OrderIsThatOfNumbers) {
  Lowered g;
  TensorType scalar{DType::kF8E5M2, {}}, row{DType::kF8E5M2, {4}};
  auto less = std::make_shared<Graph>();
  Value a = less->add_parameter(scalar), b = less->add_parameter(scalar);
  less->set_outputs({add_op(*less, Op::kCompare, {a, b}, {DType::kBool, {}},
                            CompareAttrs{ComparisonDirection::kLt, CompareType::kFloat})});
  Node node;
  node.op = Op::kSort;
  node.operands = {g.parameter(DType::kF8E5M2, {4})};
  node.types = {row};
  node.attrs = SortAttrs{0, false};
  node.regions = {less};
  EXPECT_THAT(
      g.run(g.graph().add(node), {Literal::from_doubles(DType::kF8E5M2, {4}, {1, -2, 3, -4})}),
      ElementsAre(-4, -2, 1, 3));
}

TEST(LowerSmallTypes, OtherOperationsAreRefusedByName) {
  Graph graph;
  Value x = graph.add_parameter({DType::kI4, {2}});
  graph.set_outputs({add_op(graph, Op::kCustomCall, {x}, {DType::kI4, {2}}, {}, "model.mlir:3")});
  auto lowered = lower_small_types(graph);
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(
      lowered.error().to_string(),
      testing::AllOf(HasSubstr("(custom_call)"), HasSubstr("(i4)"), HasSubstr("model.mlir:3")));
}

}  // namespace
}  // namespace tuff
