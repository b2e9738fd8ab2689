// Random graphs, their arguments and results spread over a mesh at random: the parts of all
// devices, on the evaluator, against the whole. --graphs=N and --seed=S choose what runs. A failing
// graph is cut down and printed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "ir/evaluate/evaluate.h"
#include "ir/text/print.h"
#include "tests/fuzz/cut_down.h"
#include "tests/fuzz/graph_generator.h"
#include "tests/fuzz/precision.h"
#include "tests/unit/spmd/run_parts.h"

namespace tuff::fuzz {
namespace {

int num_graphs = 400;
uint32_t first_seed = 1;
constexpr int kMaxFailures = 5;

// Each axis of the mesh once at most, where it divides a dimension.
Sharding random_sharding(const TensorType& type, const Mesh& mesh, std::mt19937& random) {
  Sharding sharding = Sharding::whole(type.rank());
  for (int64_t axis = 0; axis < static_cast<int64_t>(mesh.axes.size()); ++axis)
    for (size_t d = 0; d < type.shape.size(); ++d) {
      std::vector<int64_t> over = sharding.axes[d];
      over.push_back(axis);
      if (random() % 2 == 0 || type.shape[d] % mesh.num_parts(over) != 0) continue;
      sharding.axes[d] = over;
      break;
    }
  return sharding;
}

WholeProgram spread(const Graph& graph, uint32_t seed) {
  std::mt19937 random(seed);
  WholeProgram whole;
  whole.graph = graph;
  whole.mesh.axes = seed % 3 == 0 ? std::vector<Mesh::Axis>{{"x", 2}, {"y", 3}}
                                  : std::vector<Mesh::Axis>{{"x", seed % 3 == 1 ? 2 : 3}};
  auto maybe = [&](const TensorType& type) -> std::optional<Sharding> {
    if (random() % 3 == 0) return std::nullopt;
    return random_sharding(type, whole.mesh, random);
  };
  for (uint32_t i = 0; i < graph.num_parameters(); ++i)
    whole.arguments.push_back(maybe(graph.node(i).types[0]));
  for (Value v : graph.outputs()) whole.outputs.push_back(maybe(graph.type(v)));
  return whole;
}

// Devices' shares of such a sum are rounded each, and so is theirs.
bool rounds_shares(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    bool sums = node.op == Op::kDotGeneral || node.op == Op::kConvolution ||
                node.op == Op::kReduce || node.op == Op::kScatter;
    if (sums && (node.types[0].dtype == DType::kF16 || node.types[0].dtype == DType::kBF16))
      return true;
  }
  return false;
}

// Empty when the parts agree with the whole.
std::string problem(const Graph& graph, uint32_t seed, int64_t* collectives) {
  std::vector<Literal> arguments = make_arguments(graph, seed);
  auto expected = evaluate(graph, arguments);
  if (!expected.ok()) return "";  // the evaluator has its own fuzzer
  // In batches, too, as of large tensors.
  const int64_t batch_bytes = seed % 2 == 0 ? kBatchBytes : int64_t{8} << seed % 7;
  auto run = run_parts(spread(graph, seed), arguments, batch_bytes);
  if (!run.ok()) return run.error().to_string();
  if (collectives) *collectives += run->program.num_collectives();
  return difference(graph, run->outputs, *expected);
}

TEST(PartitionFuzz, PartsAgreeWithTheWhole) {
  int failures = 0;
  int64_t collectives = 0;
  for (int i = 0; i < num_graphs && failures < kMaxFailures; ++i) {
    uint32_t seed = first_seed + static_cast<uint32_t>(i);
    Graph graph = make_graph(seed);
    if (rounds_shares(graph)) continue;
    std::string text = problem(graph, seed, &collectives);
    if (text.empty()) continue;
    ++failures;
    Graph small =
        cut_down(graph, [&](const Graph& g) { return !problem(g, seed, nullptr).empty(); });
    ADD_FAILURE() << "seed " << seed << ": " << text << "\n"
                  << print(small) << "\n"
                  << problem(small, seed, nullptr);
  }
  fmt::print("{} graphs, {} collectives\n", num_graphs, collectives);
  EXPECT_GT(collectives, num_graphs / 8);
}

}  // namespace
}  // namespace tuff::fuzz

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg.starts_with("--graphs=")) tuff::fuzz::num_graphs = std::stoi(arg.substr(9));
    if (arg.starts_with("--seed="))
      tuff::fuzz::first_seed = static_cast<uint32_t>(std::stoul(arg.substr(7)));
  }
  return RUN_ALL_TESTS();
}
