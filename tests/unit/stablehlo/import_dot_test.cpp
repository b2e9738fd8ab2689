// Products that are more than a dot_general of their operands: with an algorithm, with groups.
#include "ir/evaluate/evaluate.h"
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string with_algorithm(const std::string& precision, const std::string& sum,
                           const std::string& element = "f32", int parts = 1) {
  std::string a = "tensor<2x3x" + element + ">", b = "tensor<3x4x" + element + ">",
              c = "tensor<2x4x" + element + ">";
  return function("(%a: " + a + ", %b: " + b + ") -> " + c,
                  "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = "
                  "<lhs_precision_type = " +
                      precision + ", rhs_precision_type = " + precision +
                      ", accumulation_type = " + sum +
                      ", lhs_component_count = 1, rhs_component_count = 1, "
                      "num_primitive_operations = " +
                      std::to_string(parts) + ", allow_imprecise_accumulation = false> : (" + a +
                      ", " + b + ") -> " + c + "\nreturn %0 : " + c);
}

TEST(DotAlgorithm, SumsInF32MeetThoseThatAskForNoMore) {
  std::string plain = graph_text(function(
      "(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32>",
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, "
      "tensor<3x4xf32>) -> tensor<2x4xf32>\nreturn %0 : tensor<2x4xf32>"));
  for (const char* type : {"f32", "tf32", "bf16", "f16"})
    EXPECT_EQ(graph_text(with_algorithm(type, "f32")), plain) << type;
  EXPECT_EQ(graph_text(with_algorithm("bf16", "f32", "f32", 6)), plain);
  EXPECT_EQ(graph_text(with_algorithm("f16", "f16")), plain);
}

TEST(DotAlgorithm, F64IsComputedWhereItIsAskedFor) {
  std::string text = graph_text(with_algorithm("f64", "f64"));
  EXPECT_THAT(text, HasSubstr("convert(%0) : f64[2,3]"));
  EXPECT_THAT(text, HasSubstr(": f64[2,4]"));
  EXPECT_THAT(text, HasSubstr(": f32[2,4]\n  return"));
  EXPECT_THAT(graph_text(with_algorithm("f32", "f64")), HasSubstr(": f64[2,4]"));
  EXPECT_THAT(graph_text(with_algorithm("f64", "f64", "f64")), Not(HasSubstr("convert")));
}

TEST(DotAlgorithm, OthersAreRefusedByName) {
  Error error = error_of(with_algorithm("i8", "i32"));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("lhs_precision_type = i8"));
}

TEST(DotAlgorithm, SumsOfIntegersAreExact) {
  EXPECT_THAT(graph_text(with_algorithm("tf32", "f32", "i64")), HasSubstr(": i64[2,4]"));
}

// Small whole numbers.
Literal numbers(const TensorType& type) {
  Literal value(type);
  for (int64_t i = 0; i < type.num_elements(); ++i)
    value.set_double(i, static_cast<double>(i * 7 % 5 - 2));
  return value;
}

struct Ragged {
  const char *lhs, *rhs, *result;
  std::string dims;
};

// The results for groups of these sizes.
Literal ragged_dot(const Ragged& r, const std::vector<int64_t>& sizes) {
  auto tensor = [](const char* type) { return "tensor<" + std::string(type) + ">"; };
  std::string counts = "tensor<" + std::to_string(sizes.size()) + "xi32>";
  auto graph = read_stablehlo(
      function("(%a: " + tensor(r.lhs) + ", %b: " + tensor(r.rhs) + ", %g: " + counts + ") -> " +
                   tensor(r.result),
               "%0 = \"chlo.ragged_dot\"(%a, %b, %g) <{ragged_dot_dimension_numbers = "
               "#chlo.ragged_dot<" +
                   r.dims + ">}> : (" + tensor(r.lhs) + ", " + tensor(r.rhs) + ", " + counts +
                   ") -> " + tensor(r.result) + "\nreturn %0 : " + tensor(r.result)),
      "t.mlir");
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  if (!graph.ok()) return {};
  Status valid = verify(*graph);
  EXPECT_TRUE(valid.ok()) << valid.error().to_string();
  Literal groups(graph->node(2).types[0]);
  for (size_t i = 0; i < sizes.size(); ++i) groups.set_int(static_cast<int64_t>(i), sizes[i]);
  auto results = evaluate(
      *graph, {numbers(graph->node(0).types[0]), numbers(graph->node(1).types[0]), groups});
  EXPECT_TRUE(results.ok()) << results.error().to_string();
  return results.ok() ? (*results)[0] : Literal();
}

double at(const Literal& value, int64_t i) { return value.get_double(i); }

TEST(RaggedDot, EachGroupOfRowsHasItsMatrix) {
  Ragged rows{"5x3xf32", "2x3x4xf32", "5x4xf32",
              "lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
              "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], "
              "lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]"};
  Literal got = ragged_dot(rows, {1, 3});
  Literal a = numbers({DType::kF32, {5, 3}}), b = numbers({DType::kF32, {2, 3, 4}});
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 4; ++j) {
      int64_t group = i < 1 ? 0 : 1;
      double sum = 0;
      for (int64_t k = 0; k < 3 && i < 4; ++k)
        sum += at(a, i * 3 + k) * at(b, (group * 3 + k) * 4 + j);
      EXPECT_EQ(at(got, i * 4 + j), sum) << i << " " << j;
    }
}

TEST(RaggedDot, GroupsOfASumAreResultsInFrontOfTheBatch) {
  Ragged summed{"2x4x5xf32", "2x5x3xf32", "3x2x4x3xf32",
                "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
                "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], "
                "lhs_ragged_dimensions = [2], rhs_group_dimensions = []"};
  Literal got = ragged_dot(summed, {2, 0, 3});
  Literal a = numbers({DType::kF32, {2, 4, 5}}), b = numbers({DType::kF32, {2, 5, 3}});
  const int64_t first[] = {0, 2, 2, 5};
  for (int64_t g = 0; g < 3; ++g)
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 3; ++j) {
          double sum = 0;
          for (int64_t k = first[g]; k < first[g + 1]; ++k)
            sum += at(a, (n * 4 + i) * 5 + k) * at(b, (n * 5 + k) * 3 + j);
          EXPECT_EQ(at(got, ((g * 2 + n) * 4 + i) * 3 + j), sum);
        }
}

TEST(RaggedDot, GroupsOfABatchChangeNothing) {
  Ragged batch{"3x2x4xf32", "3x4x2xf32", "3x2x2xf32",
               "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
               "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], "
               "lhs_ragged_dimensions = [0], rhs_group_dimensions = []"};
  EXPECT_EQ(ragged_dot(batch, {3}), ragged_dot(batch, {1}));
}

}  // namespace
}  // namespace tuff::stablehlo
