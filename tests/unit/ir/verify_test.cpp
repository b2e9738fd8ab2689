// One graph per rule of the verifier that breaks it, and the message.
#include "ir/verify.h"

#include <gmock/gmock.h>

#include "ir/text/parse.h"

namespace tuff {
namespace {

struct Broken {
  const char* name;
  const char* text;     // the nodes; parameters are x: f32[4,8], i: i32[], p: i1[]
  const char* message;  // the whole error
};

// A graph around the case's nodes. The node under test is %r.
std::string around(const std::string& nodes) {
  return "graph main(%x: f32[4,8], %i: i32[], %p: i1[], %s: f32[]) {\n" + nodes + "\n return }";
}

class BrokenGraph : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenGraph, IsToldWithWhatWasExpected) {
  Result<Graph> g = parse_graph(around(GetParam().text));
  ASSERT_TRUE(g.ok()) << g.error().to_string();
  Status status = verify(*g);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().to_string(), GetParam().message);
  EXPECT_EQ(status.error().code, ErrorCode::kBadInput);
}

const Broken kBroken[] = {
    {"OperandCount", "%r = abs(%x, %x) : f32[4,8]",
     "abs (%4 of main): The operation does not take (2) operands."},
    {"Location", "%r = abs(%x, %x) : f32[4,8] loc(\"a.py:3\")",
     "abs (%4 of main) at a.py:3: The operation does not take (2) operands."},
    {"ResultType", "%r = abs(%x) : f32[4,9]",
     "abs (%4 of main): The result types must be (f32[4,8]), found (f32[4,9])."},
    {"Same", "%r = add(%x, %s) : f32[4,8]",
     "add (%4 of main): Every operand must be (f32[4,8]), found (f32[])."},
    {"ElementType", "%r = subtract(%p, %p) : i1[]",
     "subtract (%4 of main): The operation is not defined for element type (i1)."},
    {"KernelOnly", "%r = fma(%s, %s, %s) : f32[]",
     "fma (%4 of main): The operation exists in kernels only."},
    {"Predicate", "%r = is_finite(%x) : f32[4,8]",
     "is_finite (%4 of main): The result types must be (i1[4,8]), found (f32[4,8])."},
    {"Select", "%r = select(%i, %x, %x) : f32[4,8]",
     "select (%4 of main): The predicate must be (i1[4,8]), found (i32[])."},
    {"Clamp", "%r = clamp(%i, %x, %s) : f32[4,8]",
     "clamp (%4 of main): The lower bound must be (f32[4,8]), found (i32[])."},
    {"Precision", "%r = reduce_precision(%x) {exponent_bits = 0, mantissa_bits = 3} : f32[4,8]",
     "reduce_precision (%4 of main): Attribute exponent_bits (0) must be at least 1."},
    {"Convert", "%r = convert(%x) : i32[4]",
     "convert (%4 of main): The result types must be (i32[4,8]), found (i32[4])."},
    {"Iota", "%r = iota() {iota_dimension = 1} : i32[4]",
     "iota (%4 of main): Attribute iota_dimension (1) is no dimension of rank (1)."},
    {"Reshape", "%r = reshape(%x) : f32[31]",
     "reshape (%4 of main): (f32[31]) has (31) elements, the operand (f32[4,8]) has (32)."},
    {"Transpose", "%r = transpose(%x) {permutation = [0, 0]} : f32[4,4]",
     "transpose (%4 of main): Attribute permutation ([0, 0]) names a dimension twice."},
    {"Broadcast", "%r = broadcast_in_dim(%x) {broadcast_dimensions = [1, 0]} : f32[4,8]",
     "broadcast_in_dim (%4 of main): Operand dimension (0) of size (4) cannot become result "
     "dimension (1) of size "
     "(8)."},
    {"Slice",
     "%r = slice(%x) {start_indices = [0, 5], limit_indices = [4, 9], strides = [1, 1]} : f32[4,4]",
     "slice (%4 of main): [5, 9) is no range of dimension (1) of size (8)."},
    {"SliceStride",
     "%r = slice(%x) {start_indices = [0, 0], limit_indices = [4, 8], strides = [0, 1]} : f32[4,8]",
     "slice (%4 of main): Stride (0) of dimension (0) must be at least 1."},
    {"Reverse", "%r = reverse(%x) {dimensions = [2]} : f32[4,8]",
     "reverse (%4 of main): Attribute dimensions ([2]) names a dimension outside rank (2)."},
    {"Pad", "%r = pad(%x, %i) : f32[4,8]",
     "pad (%4 of main): The padding value must be (f32[]), found (i32[])."},
    {"PadNegative", "%r = pad(%x, %s) {edge_padding_low = [-5, 0]} : f32[0,8]",
     "pad (%4 of main): A dimension (-1) is negative."},
    {"PadHuge", "%r = pad(%x, %s) {interior_padding = [0, 4611686018427387904]} : f32[4,8]",
     "pad (%4 of main): interior_padding ([0, 4611686018427387904]) has an entry outside [0, "
     "2^31)."},
    {"Concatenate",
     "%y = reshape(%x) : f32[8,4]\n%r = concatenate(%x, %y) {dimension = 0} : f32[12,8]",
     "concatenate (%5 of main): Every operand must be (f32[8,8]), found (f32[8,4])."},
    {"BitcastConvert", "%r = bitcast_convert(%x) : f64[4]",
     "bitcast_convert (%4 of main): The operand's last dimension must have (2) elements, found "
     "(f32[4,8])."},
    {"DynamicSlice", "%r = dynamic_slice(%x, %i) {slice_sizes = [1, 1]} : f32[1,1]",
     "dynamic_slice (%4 of main): The operation needs (2) start indices, found (1)."},
    {"DynamicSliceSize", "%r = dynamic_slice(%x, %i, %i) {slice_sizes = [5, 1]} : f32[5,1]",
     "dynamic_slice (%4 of main): Slice size (5) does not fit dimension (0) of size (4)."},
    {"DynamicUpdateSlice",
     "%y = reshape(%x) : f32[8,4]\n%r = dynamic_update_slice(%x, %y, %i, %i) : f32[4,8]",
     "dynamic_update_slice (%5 of main): The update (f32[8,4]) does not fit into the operand "
     "(f32[4,8])."},
    {"Gather",
     "%k = iota() {iota_dimension = 0} : i32[3]\n%r = gather(%x, %k) {offset_dims = [1], "
     "collapsed_slice_dims = [0], "
     "start_index_map = [0], index_vector_dim = 1, slice_sizes = [2, 8]} : f32[3,8]",
     "gather (%5 of main): Slice size (2) of dimension (0) must be 1: the dimension is collapsed."},
    {"Scatter",
     "%k = iota() {iota_dimension = 0} : i32[3]\n%u = reshape(%x) : f32[8,4]\n%r = scatter(%x, %k, "
     "%u) "
     "{update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
     "index_vector_dim = "
     "1} : f32[4,8] applies add",
     "scatter (%6 of main): Dimension (0) of the updates (f32[8,4]) does not fit."},
    {"ReduceInit", "%r = reduce(%x, %i) {dimensions = [1]} : f32[4] applies add",
     "reduce (%4 of main): The initial value must be (f32[]), found (i32[])."},
    {"ReduceBody",
     "%r = reduce(%x, %s) {dimensions = [1]} : f32[4] graph (%a: f32[], %b: f32[]) { return %a, %b "
     "}",
     "reduce (%4 of main): The body must return (f32[]), found (f32[], f32[])."},
    {"ReduceWindow",
     "%r = reduce_window(%x, %s) {window_dimensions = [2, 2], window_strides = [0, 1]} : f32[3,7] "
     "applies add",
     "reduce_window (%4 of main): The window's size, stride and dilations ([2, 0, 1, 1]) has an "
     "entry outside [1, "
     "2^31)."},
    {"SelectAndScatter",
     "%r = select_and_scatter(%x, %x, %s) {window_dimensions = [2, 2]} : f32[4,8] graph (%a: "
     "f32[], %b: f32[]) { "
     "return %a } applies add",
     "select_and_scatter (%4 of main): The source must be (f32[3,7]), found (f32[4,8])."},
    {"Sort", "%r = sort(%x) {dimension = 2} : f32[4,8] graph (%a: f32[], %b: f32[]) { return %a }",
     "sort (%4 of main): Attribute dimension (2) is no dimension of rank (2)."},
    {"Comparator",
     "%r = sort(%x) {dimension = 1} : f32[4,8] graph (%a: f32[], %b: f32[]) { return %a }",
     "sort (%4 of main): The comparator must return (i1[]), found (f32[])."},
    {"TopK", "%r:2 = top_k(%x) {k = 9} : f32[4,9], i32[4,9]",
     "top_k (%4 of main): Attribute k (9) must be in [0, 8]."},
    {"DotGeneral",
     "%r = dot_general(%x, %x) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = "
     "[0]} : f32[4,8]",
     "dot_general (%4 of main): The contracting dimensions (1) of (f32[4,8]) and (0) of (f32[4,8]) "
     "differ in size."},
    {"Convolution", "%r = convolution(%x, %s) : f32[4,8]",
     "convolution (%4 of main): The input (f32[4,8]) and the kernel (f32[]) must have the same "
     "rank, at least 2."},
    {"BatchNorm", "%r = batch_norm_inference(%x, %s, %s, %s, %s) {feature_index = 1} : f32[4,8]",
     "batch_norm_inference (%4 of main): A per-feature operand must be (f32[8]), found (f32[])."},
    {"Cholesky", "%r = cholesky(%x) : f32[4,8]",
     "cholesky (%4 of main): The operand must be square matrices of floating point, found "
     "(f32[4,8])."},
    {"RandomBits", "%r:2 = rng_bit_generator(%x) : f32[4,8], ui32[2]",
     "rng_bit_generator (%4 of main): The state must be a vector of unsigned integers, found "
     "(f32[4,8])."},
    {"WhileCondition",
     "%r = while(%i) : i32[] graph (%i: i32[]) { return %i } graph (%i: i32[]) { return %i }",
     "while (%4 of main): The condition must return (i1[]), found (i32[])."},
    {"IfPredicate", "%r = if(%i) : i32[]",
     "if (%4 of main): The predicate must be (i1[]), found (i32[])."},
    {"IfRegions", "%r = if(%p) : i32[]",
     "if (%4 of main): The operation needs (2) regions, found (0)."},
    {"Branch", "%r = case(%i, %x) : f32[4,8] graph (%a: f32[]) { return %a }",
     "case (%4 of main): The branch must take (f32[4,8]), found (f32[])."},
    {"Barrier", "%r = optimization_barrier(%x) : f32[4]",
     "optimization_barrier (%4 of main): The result types must be (f32[4,8]), found (f32[4])."},
    {"Map", "%r = map(%x) : i1[4,8] graph (%a: f32[]) { return %a }",
     "map (%4 of main): The computation must return (i1[]), found (f32[])."},
    {"Fused", "%r = fused(%x) : f32[4,8] graph (%a: f32[4]) { return %a }",
     "fused (%4 of main): The group must take (f32[4,8]), found (f32[4])."},
    {"CompositeRows",
     "%r = fused(%x) {columns = 5, composite = \"softmax\"} : f32[4,8] "
     "graph (%a: f32[4,8]) { return %a }",
     "fused (%4 of main): Rows of (5) elements do not make up (f32[4,8]) and (f32[4,8])."},
    {"CompositeParameter",
     "%r = fused(%x) {columns = 8, composite = \"softmax\", input = 1} : f32[4,8] "
     "graph (%a: f32[4,8]) { return %a }",
     "fused (%4 of main): A composite of rows names a parameter and has one output."},
    {"CompositeVector",
     "%r = fused(%x) {columns = 8, composite = \"layer_norm\", scale = [0, 25]} : f32[4,8] "
     "graph (%a: f32[4,8]) { return %a }",
     "fused (%4 of main): A vector of (8) elements from (25) on is not in parameter (0)."},
    {"CompositeAttention",
     "%r = fused(%x) {composite = \"attention\"} : f32[4,8] "
     "graph (%a: f32[4,8]) { return %a }",
     "fused (%4 of main): An attention names a dot, two reduces, a quotient and a dot of its "
     "region."},
    {"Hosted", "%r = hosted(%x) {why = \"\"} : f32[4,8] graph (%a: f32[4,8]) { return %a }",
     "hosted (%4 of main): Attribute why must say what the device lacks."},
    {"InsideRegion",
     "%r = if(%p, %x) : f32[4,8] graph yes(%a: f32[4,8]) { %b = abs(%a) : f32[8] return %a } graph "
     "(%a: f32[4,8]) { "
     "return %a }",
     "if (%4 of main), abs (%1 of yes): The result types must be (f32[4,8]), found (f32[8])."},
};

INSTANTIATE_TEST_SUITE_P(Verify, BrokenGraph, ::testing::ValuesIn(kBroken),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Verify, DonationsNameWhatExists) {
  Result<Graph> g = parse_graph("graph main(%x: f32[4], %y: i32[]) { donate %y -> 0 return %x }");
  EXPECT_EQ(verify(*g).error().to_string(),
            "main: Donated parameter (1) is (i32[]), output (0) is (f32[4]).");
  g->donations = {{0, 1}};
  EXPECT_EQ(verify(*g).error().to_string(),
            "main: Donation (0 -> 1) names no parameter or output.");
  g->donations = {{0, 0}, {0, 0}};
  EXPECT_EQ(verify(*g).error().to_string(),
            "main: Donation (0 -> 0) uses a parameter or output twice.");
  g->donations = {{0, 0}};
  EXPECT_TRUE(verify(*g).ok());
}

TEST(Verify, ParametersComeFirst) {
  Graph g;
  Node n;
  n.types = {{DType::kF32, {}}};
  g.set_outputs({g.add(n)});
  EXPECT_EQ(verify(g).error().to_string(),
            "parameter (%0 of main): Parameters must be the first nodes of a graph.");
}

TEST(Verify, OutputsExist) {
  Graph g;
  g.set_outputs({{3, 0}});
  EXPECT_EQ(verify(g).error().to_string(), "main: Output (0) is no value of the graph.");
}

}  // namespace
}  // namespace tuff
