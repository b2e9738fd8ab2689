// Random well-typed graphs: the evaluator against the CPU's kernels (every index
// checked) and Vulkan device 0, bit for bit. A failing graph is cut down to the
// first value that differs and printed. --graphs=N and --seed=S choose what runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "backend/compile.h"
#include "backend/cpu/device.h"
#include "backend/executable.h"
#include "backend/vulkan/vulkan.h"
#include "ir/evaluate/evaluate.h"
#include "ir/infer.h"
#include "ir/pass.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace tuff {
namespace {

int num_graphs = 200;
uint32_t first_seed = 1;

constexpr int64_t kMaxElements = 4000;
using Ints = std::vector<int64_t>;

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {
    constexpr DType kTypes[] = {DType::kI32, DType::kF32, DType::kI8, DType::kI64};
    dtype_ = kTypes[pick(4)];
  }

  Graph make() {
    for (int i = 0; i < 3; ++i) values_.push_back(graph_.add_parameter({dtype_, random_shape()}));
    values_.push_back(graph_.add_parameter({dtype_, {}}));
    for (int64_t steps = 3 + pick(14); steps > 0; --steps) step();
    std::vector<Value> outputs;
    std::vector<std::vector<uint32_t>> users = graph_.users();
    for (uint32_t id = graph_.num_parameters(); id < graph_.nodes().size(); ++id)
      if (users[id].empty() || pick(8) == 0) outputs.push_back({id, 0});
    if (outputs.empty()) outputs.push_back(values_[0]);
    graph_.set_outputs(outputs);
    return std::move(graph_);
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint32_t>(n)); }
  const Shape& shape(Value v) const { return graph_.type(v).shape; }

  Shape random_shape() {
    constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 6};
    Shape s(static_cast<size_t>(pick(5)));
    for (int64_t& d : s) d = kSizes[pick(7)];
    return s;
  }

  // Adds a node whose type is inferred (from `guess` where nothing implies it).
  void add(Op op, std::vector<Value> operands, Attrs attrs, Shape guess = {},
           std::vector<GraphPtr> regions = {}) {
    Node node{
        op, std::move(operands), {{dtype_, std::move(guess)}}, std::move(attrs), std::move(regions),
        ""};
    auto types = infer_types(graph_, node);
    if (!types.ok() || num_elements((*types)[0].shape) > kMaxElements) return;
    node.types = *types;
    values_.push_back(graph_.add(std::move(node)));
  }

  static Attrs attrs(std::initializer_list<std::pair<const char*, Ints>> lists) {
    Attrs result;
    for (const auto& [name, list] : lists) result.set(name, list);
    return result;
  }

  void step() {
    Value x = values_[static_cast<size_t>(pick(static_cast<int64_t>(values_.size())))];
    switch (pick(12)) {
      case 0:
      case 1:
      case 2: return binary(x);
      case 3: return add(pick(2) ? Op::kNegate : Op::kAbs, {x}, {}, shape(x));
      case 4: return transpose(x);
      case 5: return reshape(x);
      case 6: return slice(x);
      case 7: return pad(x);
      case 8: return concatenate(x);
      case 9: return reduce(x);
      case 10: return pick(2) ? dot(x) : reverse(x);
      default: return broadcast(x);
    }
  }

  void binary(Value x) {
    constexpr Op kOps[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kMaximum, Op::kMinimum};
    std::vector<Value> partners;
    for (Value v : values_)
      if (shape(v) == shape(x)) partners.push_back(v);
    Value y = partners[static_cast<size_t>(pick(static_cast<int64_t>(partners.size())))];
    add(kOps[pick(5)], {x, y}, {}, shape(x));
  }

  void transpose(Value x) {
    Ints order(shape(x).size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::shuffle(order.begin(), order.end(), random_);
    Shape to;
    for (int64_t d : order) to.push_back(shape(x)[static_cast<size_t>(d)]);
    add(Op::kTranspose, {x}, attrs({{"permutation", order}}), to);
  }

  // Splits the elements anew: factors of the count in random order.
  void reshape(Value x) {
    int64_t rest = num_elements(shape(x));
    Shape to;
    if (rest == 0) return add(Op::kReshape, {x}, {}, {3, 0});
    for (int64_t f : {7, 5, 3, 2})
      while (rest % f == 0 && rest > 1) {
        rest /= f;
        if (!to.empty() && (pick(2) || to.size() > 3))
          to[static_cast<size_t>(pick(static_cast<int64_t>(to.size())))] *= f;
        else
          to.push_back(f);
      }
    if (rest > 1) to.push_back(rest);
    if (pick(4) == 0) to.push_back(1);
    std::shuffle(to.begin(), to.end(), random_);
    add(Op::kReshape, {x}, {}, to);
  }

  void slice(Value x) {
    Ints starts, limits, strides;
    for (int64_t size : shape(x)) {
      starts.push_back(size == 0 ? 0 : pick(size));
      limits.push_back(size == 0 ? 0 : starts.back() + 1 + pick(size - starts.back()));
      strides.push_back(1 + pick(3));
    }
    add(Op::kSlice, {x},
        attrs({{"start_indices", starts}, {"limit_indices", limits}, {"strides", strides}}));
  }

  void pad(Value x) {
    Ints low, high, interior;
    for (size_t i = 0; i < shape(x).size(); ++i) {
      low.push_back(pick(4) - 1);
      high.push_back(pick(4) - 1);
      interior.push_back(pick(3) == 0);
    }
    add(Op::kPad, {x, values_[3]},
        attrs({{"edge_padding_low", low},
               {"edge_padding_high", high},
               {"interior_padding", interior}}));
  }

  void concatenate(Value x) {
    if (shape(x).empty()) return;
    auto d = static_cast<size_t>(pick(static_cast<int64_t>(shape(x).size())));
    std::vector<Value> parts = {x};
    for (Value v : values_) {
      Shape s = shape(v);
      if (s.size() == shape(x).size()) s[d] = shape(x)[d];
      if (s == shape(x) && parts.size() < 3) parts.push_back(v);
    }
    Attrs a;
    a.set("dimension", static_cast<int64_t>(d));
    add(Op::kConcatenate, parts, a);
  }

  void reverse(Value x) {
    Ints dims;
    for (size_t d = 0; d < shape(x).size(); ++d)
      if (pick(2)) dims.push_back(static_cast<int64_t>(d));
    add(Op::kReverse, {x}, attrs({{"dimensions", dims}}));
  }

  void reduce(Value x) {
    Ints dims;
    for (size_t d = 0; d < shape(x).size(); ++d)
      if (pick(2)) dims.push_back(static_cast<int64_t>(d));
    // Sums of floats depend on their order.
    Op op = dtype_ == DType::kF32 || pick(2) ? Op::kMaximum : Op::kAdd;
    Graph body;
    Value a = body.add_parameter({dtype_, {}}), b = body.add_parameter({dtype_, {}});
    body.set_outputs({add_op(body, op, {a, b}, {dtype_, {}})});
    add(Op::kReduce, {x, values_[3]}, attrs({{"dimensions", dims}}), {},
        {std::make_shared<const Graph>(std::move(body))});
  }

  void dot(Value x) {
    if (shape(x).empty() || dtype_ == DType::kF32) return;
    auto d = static_cast<int64_t>(pick(static_cast<int64_t>(shape(x).size())));
    for (Value y : values_)
      for (size_t e = 0; e < shape(y).size(); ++e)
        if (shape(y)[e] == shape(x)[static_cast<size_t>(d)] && pick(2))
          return add(Op::kDotGeneral, {x, y},
                     attrs({{"lhs_contracting_dimensions", {d}},
                            {"rhs_contracting_dimensions", {static_cast<int64_t>(e)}}}));
  }

  void broadcast(Value x) {
    Shape to;
    Ints dims;
    for (int64_t size : shape(x)) {
      if (pick(3) == 0) to.push_back(1 + pick(4));
      dims.push_back(static_cast<int64_t>(to.size()));
      to.push_back(size == 1 && pick(2) ? 3 : size);
    }
    if (to.size() < 5 && pick(2)) to.push_back(1 + pick(5));
    if (to.size() <= 5) add(Op::kBroadcastInDim, {x}, attrs({{"broadcast_dimensions", dims}}), to);
  }

  std::mt19937 random_;
  DType dtype_;
  Graph graph_;
  std::vector<Value> values_;
};

std::vector<Literal> make_arguments(const Graph& graph, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Literal> arguments;
  for (uint32_t i = 0; i < graph.num_parameters(); ++i) {
    Literal value(graph.node(i).types[0]);
    for (int64_t k = 0; k < value.num_elements(); ++k)
      value.set_double(k, static_cast<double>(random() % 2001) / 8 - 125);
    arguments.push_back(std::move(value));
  }
  return arguments;
}

// Empty when the device agrees with the evaluator.
std::string problem(Device& device, const Caps& caps, const Graph& graph, uint32_t seed) {
  std::vector<Literal> arguments = make_arguments(graph, seed);
  auto expected = evaluate(graph, arguments);
  if (!expected.ok()) return "evaluator: " + expected.error().to_string();
  auto program = compile(graph, caps, {}, nullptr);
  if (!program.ok()) return program.error().to_string();
  auto executable = Executable::create(device, *program, {});
  if (!executable.ok()) return executable.error().to_string();
  auto outputs = (*executable)(arguments);
  if (!outputs.ok()) return outputs.error().to_string();
  for (size_t i = 0; i < outputs->size(); ++i)
    if (!((*outputs)[i] == (*expected)[i])) return fmt::format("output {} differs", i);
  return "";
}

// The smallest graph of one value that still fails, without what it does not need.
Graph cut_down(Device& device, const Caps& caps, const Graph& graph, uint32_t seed) {
  for (uint32_t id = graph.num_parameters(); id < graph.nodes().size(); ++id) {
    Graph one = graph;
    one.set_outputs({{id, 0}});
    if (problem(device, caps, one, seed).empty()) continue;
    auto small = run_pass(*find_pass("eliminate_dead"), one, {});
    return small.ok() ? *small : one;
  }
  return graph;
}

void fuzz(Device& device, const Caps& caps) {
  int failures = 0;
  for (uint32_t seed = first_seed;
       seed < first_seed + static_cast<uint32_t>(num_graphs) && failures < 5; ++seed) {
    Graph graph = Generator(seed).make();
    Status valid = verify(graph);
    ASSERT_TRUE(valid.ok()) << valid.error().to_string();
    std::string text = problem(device, caps, graph, seed);
    if (text.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << text << "\n"
                  << print(cut_down(device, caps, graph, seed));
  }
}

TEST(GraphFuzz, CpuKernels) {
  auto device = create_cpu_device({.checked = true});
  ASSERT_TRUE(device.ok()) << device.error().to_string();
  Caps caps = (*device)->caps();
  caps.library_calls = false;
  fuzz(**device, caps);
}

TEST(GraphFuzz, Cpu) {
  auto device = create_cpu_device();
  ASSERT_TRUE(device.ok()) << device.error().to_string();
  fuzz(**device, (*device)->caps());
}

TEST(GraphFuzz, Vulkan) {
  auto device = create_vulkan_device(0, {});
  if (!device.ok() && device.error().code == ErrorCode::kNoDevice &&
      !std::getenv("TUFF_TEST_REQUIRE_VULKAN"))
    GTEST_SKIP() << device.error().to_string();
  ASSERT_TRUE(device.ok()) << device.error().to_string();
  fuzz(**device, (*device)->caps());
}

}  // namespace
}  // namespace tuff

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg.rfind("--graphs=", 0) == 0) tuff::num_graphs = std::stoi(arg.substr(9));
    if (arg.rfind("--seed=", 0) == 0)
      tuff::first_seed = static_cast<uint32_t>(std::stoul(arg.substr(7)));
  }
  return RUN_ALL_TESTS();
}
