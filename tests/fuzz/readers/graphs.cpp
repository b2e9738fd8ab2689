// Graphs in their text form, compiled for the CPU and for a GPU: each pass leaves a valid graph,
// each kernel and plan verifies. What computes with integers only also runs on the CPU, where it
// gives the evaluator's bits.
#include <algorithm>

#include "backend/cpu/device.h"
#include "backend/executable.h"
#include "ir/evaluate/evaluate.h"
#include "ir/text/parse.h"
#include "tests/fuzz/readers/target.h"

namespace {

using namespace tuff;

// Loops may run for ever, and what is large takes long.
constexpr int64_t kMaxNodes = 200, kMaxElements = 1 << 14;

bool is_small(const Graph& graph, int64_t& nodes, int64_t& elements) {
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kWhile || ++nodes > kMaxNodes) return false;
    for (const TensorType& type : node.types)
      if ((elements += type.num_elements()) > kMaxElements) return false;
    for (const GraphPtr& region : node.regions)
      if (!is_small(*region, nodes, elements)) return false;
  }
  return true;
}

bool has_floats(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return std::any_of(node.types.begin(), node.types.end(),
                       [](const TensorType& type) { return is_float(type.dtype); }) ||
           std::any_of(node.regions.begin(), node.regions.end(),
                       [](const GraphPtr& region) { return has_floats(*region); });
  });
}

Literal pattern(const TensorType& type) {
  Literal value(type);
  for (int64_t i = 0; i < value.size_bytes(); ++i)
    value.mutable_bytes()[i] =
        static_cast<std::byte>(type.dtype == DType::kBool ? i % 3 == 0 : i * 37 % 251);
  return value;
}

std::shared_ptr<const Program> compiled(const Graph& graph, const Caps& caps) {
  CompileOptions options;
  options.verify = true;
  auto program = compile(graph, caps, options, nullptr);
  if (program.ok()) return *program;
  if (program.error().code == ErrorCode::kRunFailed) fuzz::found(program.error().to_string());
  return nullptr;
}

void compare_with_evaluator(const Graph& graph, std::shared_ptr<const Program> program) {
  static Device& device = *create_cpu_device({.checked = true})->release();
  std::vector<Literal> arguments;
  for (uint32_t i = 0; i < graph.num_parameters(); ++i)
    arguments.push_back(pattern(graph.node(i).types[0]));
  auto expected = evaluate(graph, arguments);
  if (!expected.ok()) return;
  auto executable = Executable::create(device, std::move(program), {});
  if (!executable.ok()) fuzz::found(executable.error().to_string());
  auto got = (*executable)(arguments);
  if (!got.ok()) fuzz::found(got.error().to_string());
  for (size_t i = 0; i < got->size(); ++i)
    if (!((*got)[i] == (*expected)[i])) fuzz::found("The CPU gives other bits than the evaluator.");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Result<Graph> graph = parse_graph(fuzz::as_text(data, size));
  int64_t nodes = 0, elements = 0;
  if (!graph.ok() || !verify(*graph).ok() || !is_small(*graph, nodes, elements)) return 0;
  Caps gpu;
  gpu.device_class = DeviceClass::kDiscreteGpu;
  gpu.max_storage_buffers = 32;
  gpu.host = std::make_shared<const Caps>();
  compiled(*graph, gpu);
  auto program = compiled(*graph, Caps{});
  if (program && !has_floats(*graph)) compare_with_evaluator(*graph, std::move(program));
  return 0;
}
