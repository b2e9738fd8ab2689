// The text form of graphs: what is printed reads back equal, what is wrong is
// told with its place.
#include <gmock/gmock.h>

#include <bit>
#include <cstring>
#include <limits>

#include "ir/text/parse.h"
#include "ir/text/print.h"

namespace tuff {
namespace {

using ::testing::HasSubstr;

Graph parse_ok(const std::string& text) {
  Result<Graph> g = parse_graph(text, "t");
  EXPECT_TRUE(g.ok()) << (g.ok() ? "" : g.error().to_string());
  return g.ok() ? std::move(g).value() : Graph();
}

void expect_round_trip(const Graph& g) {
  PrintOptions with_locations{.locations = true};
  std::string text = print(g, with_locations);
  Graph again = parse_ok(text);
  EXPECT_EQ(print(again, with_locations), text);
  EXPECT_TRUE(again == g) << text;
}

std::string parse_error(const std::string& text) {
  Result<Graph> g = parse_graph(text, "t");
  return g.ok() ? "no error" : g.error().to_string();
}

constexpr char kExample[] = R"(graph main(%0: f32[4,8] "x", %1: i32[]) {
  %2 = constant f32[] 0.5
  %3 = reduce(%0, %2) {dimensions = [1]} : f32[4] applies add
  %4 = compare(%0, %0) {compare_type = "FLOAT", comparison_direction = "LT"} : i1[4,8]
  %5:2 = while(%3, %1) : f32[4], i32[] graph cond(%0: f32[4], %1: i32[]) {
    %2 = constant i32[] 10
    %3 = compare(%1, %2) {comparison_direction = "LT"} : i1[]
    return %3
  } graph body(%0: f32[4], %1: i32[] "i") {
    %2 = constant i32[] 1
    %3 = add(%1, %2) : i32[]
    return %0, %3 "next"
  }
  %6:0 = custom_call(%5#1) {call_target_name = "f"} : ()
  donate %0 -> 1
  return %5 "loss", %5#1, %4
}
)";

TEST(GraphText, PrintsAsRead) { EXPECT_EQ(print(parse_ok(kExample)), kExample); }

TEST(GraphText, NamesAreFreeAndCommentsAreSkipped) {
  Graph g =
      parse_ok("// c\ngraph(%x: f32[]) {\n %mean = abs(%x) : f32[] // here\n return %mean\n}");
  EXPECT_EQ(print(g), "graph main(%0: f32[]) {\n  %1 = abs(%0) : f32[]\n  return %1\n}\n");
}

// A node of three operands at most, whose types are not checked here.
void expect_attributes_round_trip(Op op, Attrs attrs) {
  Graph g;
  Node n;
  n.op = op;
  n.types = {{DType::kF32, {2}}};
  n.attrs = std::move(attrs);
  n.loc = "model.py:12 \"quoted\" \\ \n";
  g.set_outputs({g.add(std::move(n))});
  expect_round_trip(g);
}

TEST(GraphText, EveryKindOfAttributeReadsBack) {
  for (double d :
       {0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(),
        std::bit_cast<double>(uint64_t{0xfff0000000000001})})
    expect_attributes_round_trip(Op::kBatchNormTraining, BatchNormAttrs{d, 1});
  expect_attributes_round_trip(Op::kTopK, TopKAttrs{std::numeric_limits<int64_t>::min()});
  expect_attributes_round_trip(Op::kHosted, HostedAttrs{"a\"b\\c\n\x01\x7f\xc3\xa9"});
  expect_attributes_round_trip(Op::kReverse, DimensionsAttrs{{1, -2}});
  expect_attributes_round_trip(Op::kReverse, DimensionsAttrs{});
  expect_attributes_round_trip(
      Op::kDotGeneral,
      DotGeneralAttrs{.precision_config = {Precision::kHighest, Precision::kDefault}});
  expect_attributes_round_trip(Op::kConstant,
                               ConstantAttrs{Literal::from_ints(DType::kI8, {3}, {1, 2, -3})});
  expect_attributes_round_trip(Op::kCompare, CompareAttrs{ComparisonDirection::kGe});
  expect_attributes_round_trip(Op::kWhile, WhileAttrs{7});
  expect_attributes_round_trip(Op::kCholesky, CholeskyAttrs{true});
  LayerNorm norm;
  norm.columns = 3, norm.epsilon = 0.1, norm.scale = RowVector{1};
  expect_attributes_round_trip(Op::kFused, FusedAttrs{GroupKind::kRows, norm});
}

TEST(GraphText, AttributesAreThoseOfTheOperation) {
  auto error = [](const std::string& op) {
    return parse_error("graph m(%x: f32[4,8]) {\n  %r = " + op + " : f32[4,8]\n  return %r\n}");
  };
  EXPECT_THAT(error("abs(%x) {dimensions = [1]}"),
              HasSubstr("t:2:17: There is no attribute 'dimensions' of abs."));
  EXPECT_THAT(error("reverse(%x) {dimensions = [1], \"odd name-\" = 1}"),
              HasSubstr("t:2:39: There is no attribute 'odd name-' of reverse."));
  EXPECT_THAT(error("reverse(%x) {dimensions = 1}"),
              HasSubstr("t:2:21: Attribute dimensions (1) is not a list of integers."));
  EXPECT_THAT(error("iota() {iota_dimension = strings[]}"),
              HasSubstr("Attribute iota_dimension (strings[]) is not an integer."));
  EXPECT_THAT(error("cholesky(%x) {lower = 2}"), HasSubstr("Attribute lower (2) is not 0 or 1."));
  EXPECT_THAT(error("compare(%x, %x) {comparison_direction = \"UP\"}"),
              HasSubstr("Attribute comparison_direction (UP) is not one of EQ, NE, LT, LE, GT "
                        "and GE."));
  EXPECT_THAT(error("compare(%x, %x)"),
              HasSubstr("Attribute comparison_direction of compare is missing."));
  EXPECT_THAT(error("constant()"), HasSubstr("Attribute value of constant is missing."));
  EXPECT_THAT(error("fused(%x) {composite = \"swish\"}"),
              HasSubstr("There is no composite (swish)."));
  EXPECT_THAT(error("reverse(%x) {dimensions = [1], dimensions = [1]}"),
              HasSubstr("Attribute 'dimensions' is given twice."));
}

TEST(GraphText, LiteralsOfEveryTypeReadBackBitForBit) {
  for (int d = 0; d < kNumDTypes; ++d) {
    auto dtype = static_cast<DType>(d);
    for (int64_t n : {0, 1, 2, 16, 17}) {
      Literal l(TensorType{dtype, {n}});
      // Every byte value appears, so floats meet NaNs with payloads and denormals.
      for (int64_t i = 0; i < l.size_bytes(); ++i)
        l.mutable_bytes()[i] = static_cast<std::byte>(i * 37 + (i % 3 ? 255 : 0));
      Graph g;
      g.set_outputs({add_constant(g, l)});
      expect_round_trip(g);
    }
  }
}

TEST(GraphText, SpecialFloatsReadBackBitForBit) {
  for (uint32_t bits : {0u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u,
                        0x7f800001u, 1u, 0x3dcccccdu, 0x7f7fffffu}) {
    Literal l(TensorType{DType::kF32, {}});
    std::memcpy(l.mutable_bytes(), &bits, 4);
    Graph g;
    g.set_outputs({add_constant(g, l)});
    expect_round_trip(g);
  }
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    for (DType dtype : {DType::kF16, DType::kBF16}) {
      Literal l(TensorType{dtype, {}});
      auto narrow = static_cast<uint16_t>(bits);
      std::memcpy(l.mutable_bytes(), &narrow, 2);
      Graph again = parse_ok("graph() {\n %0 = constant " + print_literal(l) + "\n return %0 }");
      ASSERT_EQ(again.node(0).attrs.as<ConstantAttrs>().value, l) << print_literal(l);
    }
}

TEST(GraphText, LiteralsAreShortWhereTheyCanBe) {
  EXPECT_EQ(print_literal(Literal::splat({DType::kF32, {64, 64}}, 0.1)), "f32[64,64] 0.1");
  EXPECT_EQ(print_literal(Literal::from_ints(DType::kBool, {2}, {1, 0})), "i1[2] {true, false}");
  EXPECT_EQ(print_literal(Literal(TensorType{DType::kF32, {0, 3}})), "f32[0,3] {}");
  Literal big(TensorType{DType::kU8, {17}});
  big.set_int(16, 255);
  EXPECT_EQ(print_literal(big), "ui8[17] hex \"00000000000000000000000000000000ff\"");
  EXPECT_THAT(print_literal(big, {.elide_above_bytes = 16}), HasSubstr("ui8[17] elided \""));
}

TEST(GraphText, LongLiteralsMayLieBesideTheText) {
  Graph graph;
  Literal big(TensorType{DType::kU8, {17}});
  big.set_int(16, 255);
  graph.set_outputs(
      {add_constant(graph, big), add_constant(graph, Literal::scalar(DType::kF32, 2))});
  std::vector<Literal> apart;
  std::string text = print(graph, {.apart = &apart});
  EXPECT_THAT(text, HasSubstr("ui8[17] apart 0\n"));
  ASSERT_EQ(apart.size(), 1u);
  EXPECT_TRUE(parse_graph(text, "t", apart).value() == graph);
  EXPECT_THAT(parse_error(text), HasSubstr("There is no literal (0) of (0) beside the text."));
  std::vector<Literal> other = {Literal(TensorType{DType::kU8, {18}})};
  Result<Graph> wrong = parse_graph(text, "t", other);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("beside the text has type (18xui8)."));
}

TEST(GraphText, ErrorsShowThePlace) {
  EXPECT_EQ(parse_error("graph main(%0: f32[]) {\n  %1 = abs(%2) : f32[]\n  return %1\n}"),
            "t:2:12: %2 is not defined before its use.\n"
            "    %1 = abs(%2) : f32[]\n"
            "             ^");
  EXPECT_THAT(parse_error(""), HasSubstr("t:1:1: Expected 'graph', found the end of the text."));
  EXPECT_THAT(parse_error("graph m(%0: f33[]) {"),
              HasSubstr("t:1:13: Element type (f33) is not supported"));
  EXPECT_THAT(parse_error("graph m(%0: f32[-1]) {"), HasSubstr("A dimension (-1) is negative."));
  EXPECT_THAT(parse_error("graph m(%0: f32[4611686018427387904,4]) {"),
              HasSubstr("too many elements"));
  EXPECT_THAT(parse_error("graph m() { %0 = frob() : f32[]"),
              HasSubstr("'frob' is no operation of a graph."));
  EXPECT_THAT(parse_error("graph m() { %0 = constant f32[2] {1} return }"),
              HasSubstr("The literal lists (1) values where its type has (2)."));
  EXPECT_THAT(parse_error("graph m() { %0 = constant i8[] 128 return }"),
              HasSubstr("'128' is not a value of type i8."));
  EXPECT_THAT(parse_error("graph m() { %0 = constant f32[1000000000] 0 return }"),
              HasSubstr("at most"));
  EXPECT_THAT(parse_error("graph m() { %0:2 = iota() : f32[2] return }"),
              HasSubstr("The name declares (2) results, the types are (1)."));
  EXPECT_THAT(parse_error("graph m(%0: f32[]) { %0 = abs(%0) : f32[] return }"),
              HasSubstr("%0 is defined already."));
  EXPECT_THAT(parse_error("graph m(%0: f32[]) { return %0#1 }"),
              HasSubstr("%0 has (1) results; (1) is asked for."));
  EXPECT_THAT(parse_error("graph m() { return } x"),
              HasSubstr("Expected the end of the text, found 'x'."));
}

TEST(GraphText, DeepNestingIsAnError) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "graph() { %0 = map() : () ";
  EXPECT_THAT(parse_error(text), HasSubstr("Regions nest deeper than (64)."));
}

TEST(GraphText, MutatedTextNeverCrashes) {
  uint32_t seed = 1;
  auto next = [&] { return seed = seed * 1664525u + 1013904223u; };
  for (int i = 0; i < 20000; ++i) {
    std::string text = kExample;
    for (int k = 0; k < 3; ++k) {
      size_t at = (next() >> 8) % text.size();
      switch ((next() >> 8) % 3) {
        case 0: text[at] = static_cast<char>(next() >> 24); break;
        case 1: text.erase(at, (next() >> 8) % 9); break;
        default: text.insert(at, text.substr((next() >> 8) % text.size(), 7)); break;
      }
    }
    if (Result<Graph> g = parse_graph(text); g.ok()) expect_round_trip(*g);
  }
}

}  // namespace
}  // namespace tuff
