// Random well-typed graphs: the evaluator against the CPU's kernels (every index
// checked), the CPU with its libraries, and Vulkan device 0. Results are compared bit
// for bit where graphs are exact, else by the op's bound (precision.h). A failing graph
// is cut down and printed. --graphs=N and --seed=S choose what runs; --coverage also
// demands that every operation was met 200 times and half of the graphs were fused.
// Bugs sown into kernels show that the fuzzer finds bugs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>

#include "backend/compile.h"
#include "backend/cpu/device.h"
#include "backend/executable.h"
#include "backend/verify/validate_device.h"
#include "backend/vulkan/vulkan.h"
#include "ir/evaluate/evaluate.h"
#include "ir/text/print.h"
#include "ir/verify.h"
#include "tests/fuzz/contraction.h"
#include "tests/fuzz/cut_down.h"
#include "tests/fuzz/graph_generator.h"
#include "tests/fuzz/kernel_bugs.h"
#include "tests/fuzz/precision.h"

namespace tuff::fuzz {
namespace {

int num_graphs = 200;
uint32_t first_seed = 1;
bool coverage = false;
constexpr int kTimesEach = 200;  // with --coverage
constexpr int kMaxFailures = 5;

using Make = Graph (*)(uint32_t);

// What one test has run.
struct Counts {
  int graphs = 0, fused = 0;
  std::map<std::string, int> ops;

  void print() const {
    fmt::print("{} graphs, {} with a group of several operations\n", graphs, fused);
    std::string rarest;
    for (const auto& [op, count] : ops)
      if (rarest.empty() || count < ops.at(rarest)) rarest = op;
    if (!rarest.empty()) fmt::print("  rarest operation: {} ({})\n", rarest, ops.at(rarest));
  }
};

struct Target {
  Device& device;
  Caps caps;
  Bug bug = Bug::kNone;
};

// Empty when the device agrees with the evaluator.
std::string problem(const Target& target, const Graph& graph, uint32_t seed, Counts* counts) {
  std::vector<Literal> arguments = make_arguments(graph, seed);
  auto expected = evaluate(graph, arguments);
  if (!expected.ok()) return "evaluator: " + expected.error().to_string();
  CompileOptions compile_options;
  compile_options.verify = true;
  auto program = compile(graph, target.caps, compile_options, nullptr);
  if (!program.ok()) return program.error().to_string();
  LoadOptions options;
  options.donate = true;
  auto executable = Executable::create(target.device, sow(*program, target.bug), options);
  if (!executable.ok()) return executable.error().to_string();
  if (counts) {
    ++counts->graphs;
    counts->fused += std::any_of((*program)->steps.begin(), (*program)->steps.end(),
                                 [](const Step& step) { return step.ops.size() > 1; });
    for (const Node& node : graph.nodes()) ++counts->ops[op_name(node.op)];
  }
  auto outputs = (*executable)(arguments);
  if (!outputs.ok()) return outputs.error().to_string();
  return difference(graph, *outputs, *expected);
}

Graph smallest(const Target& target, const Graph& graph, uint32_t seed) {
  return cut_down(graph,
                  [&](const Graph& g) { return !problem(target, g, seed, nullptr).empty(); });
}

void check_coverage(const Counts& counts) {
  EXPECT_GE(2 * counts.fused, counts.graphs);
  for (int i = 0; i <= static_cast<int>(Op::kMap); ++i) {
    Op op = static_cast<Op>(i);
    if (!is_generated(op)) continue;
    auto found = counts.ops.find(op_name(op));
    EXPECT_GE(found == counts.ops.end() ? 0 : found->second, kTimesEach) << op_name(op);
  }
}

void fuzz(const Target& target, Make make) {
  Counts counts;
  int failures = 0;
  for (int i = 0; i < num_graphs && failures < kMaxFailures; ++i) {
    uint32_t seed = first_seed + static_cast<uint32_t>(i);
    Graph graph = make(seed);
    Status valid = verify(graph);
    ASSERT_TRUE(valid.ok()) << "seed " << seed << ": " << valid.error().to_string();
    std::string text = problem(target, graph, seed, &counts);
    if (text.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << text << "\n"
                  << print(smallest(target, graph, seed));
  }
  counts.print();
  if (coverage && make == make_graph) check_coverage(counts);
}

void fuzz_cpu_kernels(Make make) {
  auto device = create_cpu_device({.checked = true});
  ASSERT_TRUE(device.ok()) << device.error().to_string();
  Caps caps = (*device)->caps();
  caps.library_calls = false;
  fuzz({*validate_device(std::move(*device)), caps}, make);
}

// GPUs' schedules, which the CPU can run as well.
void fuzz_kernels_of_gpus(Make make) {
  auto device = create_cpu_device({.checked = true});
  ASSERT_TRUE(device.ok()) << device.error().to_string();
  Caps caps = (*device)->caps();
  caps.library_calls = false;
  caps.device_class = DeviceClass::kDiscreteGpu;
  caps.subgroup_size = 32;
  caps.max_group_invocations = 1024;
  caps.max_shared_bytes = 48 << 10;
  fuzz({*validate_device(std::move(*device)), caps}, make);
}

void fuzz_cpu(Make make) {
  auto device = create_cpu_device({.interpreted_rounds = 0});
  ASSERT_TRUE(device.ok()) << device.error().to_string();
  Caps caps = (*device)->caps();
  fuzz({*validate_device(std::move(*device)), caps}, make);
}

void fuzz_vulkan(Make make) {
  auto host = create_cpu_device();
  ASSERT_TRUE(host.ok()) << host.error().to_string();
  VulkanOptions options;
  options.host = std::move(*host);
  auto device = create_vulkan_device(0, options);
  if (!device.ok() && device.error().code == ErrorCode::kNoDevice &&
      !std::getenv("TUFF_TEST_REQUIRE_VULKAN"))
    GTEST_SKIP() << device.error().to_string();
  ASSERT_TRUE(device.ok()) << device.error().to_string();
  Caps caps = (*device)->caps();
  fuzz({*validate_device(std::move(*device)), caps}, make);
}

// NaNs are alike: which one an operation gives is the processor's choice.
bool same_bits(const Literal& a, const Literal& b) {
  if (!is_float(a.type().dtype))
    return std::memcmp(a.bytes(), b.bytes(), static_cast<size_t>(a.size_bytes())) == 0;
  for (int64_t i = 0; i < a.type().num_elements(); ++i) {
    double x = a.get_double(i), y = b.get_double(i);
    if (std::bit_cast<uint64_t>(x) != std::bit_cast<uint64_t>(y) && !(x != x && y != y))
      return false;
  }
  return true;
}

// Empty where native code gives what the interpreter gives.
std::string native_problem(Device& native, Device& interpreted, const Graph& graph, uint32_t seed) {
  auto program = compile(graph, native.caps(), {}, nullptr);
  if (!program.ok()) return program.error().to_string();
  std::vector<Literal> arguments = make_arguments(graph, seed);
  std::vector<Literal> outputs[2];
  for (Device* device : {&native, &interpreted}) {
    auto executable = Executable::create(*device, *program, {});
    if (!executable.ok()) return executable.error().to_string();
    auto ran = (*executable)(arguments);
    if (!ran.ok()) return ran.error().to_string();
    outputs[device == &native] = std::move(*ran);
  }
  for (size_t i = 0; i < outputs[0].size(); ++i)
    if (!same_bits(outputs[0][i], outputs[1][i])) return fmt::format("output {} differs", i);
  return "";
}

class NativeCode : public ::testing::TestWithParam<const char*> {};

TEST_P(NativeCode, GivesTheInterpretersBits) {
  setenv("TUFF_CPU_ISA", GetParam(), 1);
  auto native = create_cpu_device({.interpreted_rounds = 0});
  auto interpreted = create_cpu_device({.interpreted_rounds = CpuDeviceOptions::kInterpreted});
  unsetenv("TUFF_CPU_ISA");
  ASSERT_TRUE(native.ok() && interpreted.ok());
  auto problem_of = [&](const Graph& graph, uint32_t seed) {
    return native_problem(**native, **interpreted, graph, seed);
  };
  int failures = 0;
  for (int i = 0; i < num_graphs && failures < kMaxFailures; ++i) {
    uint32_t seed = first_seed + static_cast<uint32_t>(i);
    Graph graph = make_graph(seed);
    std::string text = problem_of(graph, seed);
    if (text.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << text << "\n"
                  << print(cut_down(graph,
                                    [&](const Graph& g) { return !problem_of(g, seed).empty(); }));
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, NativeCode, ::testing::Values("avx2", "avx512"),
                         [](const auto& info) { return std::string(info.param); });

TEST(GraphFuzz, CpuKernels) { fuzz_cpu_kernels(make_graph); }
TEST(GraphFuzz, Cpu) { fuzz_cpu(make_graph); }
TEST(GraphFuzz, Vulkan) { fuzz_vulkan(make_graph); }

TEST(Contractions, CpuKernels) { fuzz_cpu_kernels(make_contraction); }
TEST(Contractions, KernelsOfGpus) { fuzz_kernels_of_gpus(make_contraction); }
TEST(Contractions, Cpu) { fuzz_cpu(make_contraction); }
TEST(Contractions, Vulkan) { fuzz_vulkan(make_contraction); }

class SownBugs : public ::testing::TestWithParam<Bug> {};

// The bug is found in few graphs, and what is shown of it is short and fails without
// anything else being wrong.
TEST_P(SownBugs, AreFoundAndCutDown) {
  auto device = create_cpu_device({.checked = true});
  ASSERT_TRUE(device.ok()) << device.error().to_string();
  Target sound{**device, (*device)->caps()};
  sound.caps.library_calls = false;
  Target sick = sound;
  sick.bug = GetParam();
  constexpr uint32_t kGraphs = 1000;
  constexpr size_t kMaxNodes = 6;
  for (uint32_t seed = 1; seed <= kGraphs; ++seed) {
    Graph graph = make_graph(seed);
    if (problem(sick, graph, seed, nullptr).empty()) continue;
    Graph small = smallest(sick, graph, seed);
    EXPECT_LE(small.nodes().size() - small.num_parameters(), kMaxNodes) << print(small);
    EXPECT_NE(problem(sick, small, seed, nullptr), "") << print(small);
    EXPECT_EQ(problem(sound, small, seed, nullptr), "") << print(small);
    return;
  }
  FAIL() << "not found in " << kGraphs << " graphs";
}

const char* bug_name(Bug bug) {
  switch (bug) {
    case Bug::kNone: return "none";
    case Bug::kIndex: return "index";
    case Bug::kGuard: return "guard";
    case Bug::kRounding: return "rounding";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Kernels, SownBugs,
                         ::testing::Values(Bug::kIndex, Bug::kGuard, Bug::kRounding),
                         [](const auto& info) { return std::string(bug_name(info.param)); });

}  // namespace
}  // namespace tuff::fuzz

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg.rfind("--graphs=", 0) == 0) tuff::fuzz::num_graphs = std::stoi(arg.substr(9));
    if (arg.rfind("--seed=", 0) == 0)
      tuff::fuzz::first_seed = static_cast<uint32_t>(std::stoul(arg.substr(7)));
    if (arg == "--coverage") tuff::fuzz::coverage = true;
  }
  return RUN_ALL_TESTS();
}
