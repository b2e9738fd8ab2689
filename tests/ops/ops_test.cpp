// Runs the op tables (tests/ops/*.table) on the CPU and on Vulkan device 0 against
// the reference evaluator; on the CPU also as kernels only, with every index checked.
// Without --full Vulkan takes a few cases of each block.
// --case=TEXT runs only cases whose text or place holds TEXT, and prints what failing
// ones become. --json=FILE writes one line per case.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "backend/compile.h"
#include "backend/cpu/device.h"
#include "backend/executable.h"
#include "backend/verify/validate_device.h"
#include "backend/vulkan/vulkan.h"
#include "ir/text/print.h"
#include "tests/ops/op_check.h"

namespace tuff {
namespace {

bool full = false;
std::string only_case;
std::FILE* json = nullptr;
// Counts of all blocks, told at the end.
struct Totals {
  int cases = 0, known = 0, cannot = 0;
};
std::map<std::string, Totals> totals;

// Kernels of one graph are compiled in parallel, so Vulkan takes cases by the batch.
constexpr size_t kBatch = 16;

// One way to run a program.
struct Way {
  const char* name;
  bool vulkan = false;
  bool checked = false;  // CPU: bounds are checked, and no library is called
};
constexpr Way kWays[] = {
    {"cpu"}, {.name = "cpu_checked", .checked = true}, {.name = "vulkan", .vulkan = true}};

Result<std::unique_ptr<Device>> open_device(const Way& way) {
  VulkanOptions options;
  TUFF_ASSIGN(std::unique_ptr<Device> cpu,
              create_cpu_device({.checked = way.checked, .interpreted_rounds = 0}));
  if (!way.vulkan) return validate_device(std::move(cpu));
  options.host = std::move(cpu);
  TUFF_ASSIGN(std::unique_ptr<Device> vulkan, create_vulkan_device(0, options));
  return validate_device(std::move(vulkan));
}

Device* shared_device(const Way& way, Error& error) {
  static std::map<std::string, Result<std::unique_ptr<Device>>> devices;
  auto it = devices.find(way.name);
  if (it == devices.end()) it = devices.emplace(way.name, open_device(way)).first;
  if (it->second.ok()) return it->second->get();
  error = it->second.error();
  return nullptr;
}

// What programs are compiled for.
Caps caps_of(const Way& way, const Device& device) {
  Caps caps = device.caps();
  if (way.checked) caps.library_calls = false;
  return caps;
}

// Appends the case's graph to another, its parameters already there.
std::vector<Value> append(Graph& to, const Graph& from, uint32_t first_parameter) {
  std::vector<uint32_t> node_ids;
  for (const Node& node : from.nodes()) {
    if (node.op == Op::kParameter) {
      node_ids.push_back(first_parameter +
                         static_cast<uint32_t>(node.attrs.as<ParameterAttrs>().index));
      continue;
    }
    Node copy = node;
    for (Value& operand : copy.operands) operand.node = node_ids[operand.node];
    node_ids.push_back(to.add(std::move(copy)).node);
  }
  std::vector<Value> outputs;
  for (Value output : from.outputs()) outputs.push_back({node_ids[output.node], output.result});
  return outputs;
}

using Batch = std::vector<const OpCase*>;

// The outputs of each case, run as one program.
Result<std::vector<std::vector<Literal>>> run_batch(
    Device& device, const Caps& caps, const Batch& batch,
    const std::vector<std::vector<Literal>>& arguments) {
  Graph graph;
  std::vector<uint32_t> first;
  std::vector<Literal> all_arguments;
  for (size_t i = 0; i < batch.size(); ++i) {
    first.push_back(graph.num_parameters());
    for (const Literal& argument : arguments[i]) {
      graph.add_parameter(argument.type(), fmt::format("x{}", graph.num_parameters()));
      all_arguments.push_back(argument);
    }
  }
  std::vector<Value> outputs;
  for (size_t i = 0; i < batch.size(); ++i)
    for (Value v : append(graph, batch[i]->graph, first[i])) outputs.push_back(v);
  graph.set_outputs(outputs);
  CompileOptions options;
  options.verify = true;
  TUFF_ASSIGN(auto program, compile(graph, caps, options, nullptr));
  TUFF_ASSIGN(Executable executable, Executable::create(device, std::move(program), {}));
  TUFF_ASSIGN(std::vector<Literal> values, executable(all_arguments));
  std::vector<std::vector<Literal>> by_case;
  size_t at = 0;
  for (const OpCase* c : batch) {
    size_t count = c->graph.outputs().size();
    by_case.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(at),
                         values.begin() + static_cast<std::ptrdiff_t>(at + count));
    at += count;
  }
  return by_case;
}

bool uses(const Graph& graph, bool (*wide)(DType)) {
  for (const Node& node : graph.nodes())
    for (const TensorType& type : node.types)
      if (wide(type.dtype)) return true;
  return false;
}

// A device without f64 says so; that is right, and counted.
bool lacks_types(const Caps& caps, const Graph& graph) {
  return !caps.float64 && uses(graph, [](DType d) { return d == DType::kF64; });
}

class BlockTest : public ::testing::Test {
 public:
  BlockTest(const OpBlock& block, const Way& way) : block_(block), way_(way) {}

  void TestBody() override {
    Error error;
    Device* device = shared_device(way_, error);
    if (!device && error.code == ErrorCode::kNoDevice && !std::getenv("TUFF_TEST_REQUIRE_VULKAN"))
      GTEST_SKIP() << error.to_string();
    ASSERT_TRUE(device) << error.to_string();
    caps_ = caps_of(way_, *device);
    std::vector<const OpCase*> cases = chosen_cases();
    size_t size = way_.vulkan ? kBatch : 1;
    Batch batch;
    for (const OpCase* c : cases) {
      if (c->options.known_device == (way_.vulkan ? "vulkan" : "cpu") ||
          c->options.known_device == "all")
        expect_known(*device, *c);
      else if (lacks_types(device->caps(), c->graph))
        ++totals[way_.name].cannot;
      else
        batch.push_back(c);
      if (batch.size() == size) check(*device, std::exchange(batch, {}));
    }
    if (!batch.empty()) check(*device, batch);
    EXPECT_EQ(validation_errors(), 0);
  }

 private:
  std::vector<const OpCase*> chosen_cases() const {
    std::vector<const OpCase*> cases;
    for (const OpCase& c : block_.cases)
      if (only_case.empty() || (c.where + " " + c.text).find(only_case) != std::string::npos)
        cases.push_back(&c);
    if (full || !way_.vulkan || !only_case.empty()) return cases;
    // A fixed choice that follows no loop of the table.
    std::stable_sort(cases.begin(), cases.end(), [](const OpCase* a, const OpCase* b) {
      return a->graph.hash() < b->graph.hash();
    });
    cases.resize(std::min(cases.size(), static_cast<size_t>(cases[0]->options.quick)));
    return cases;
  }

  // What is wrong with the case on the device; empty when nothing is.
  std::string problem(const OpCase& c, const std::vector<Literal>& arguments,
                      const std::vector<Literal>& outputs) {
    auto expected = expected_outputs(c, arguments);
    if (!expected.ok()) return "the evaluator says: " + expected.error().to_string();
    for (size_t i = 0; i < outputs.size(); ++i)
      if (std::string text = difference(c, *expected, i, outputs[i]); !text.empty()) return text;
    return "";
  }

  std::string run_alone(Device& device, const OpCase& c) {
    std::vector<Literal> arguments = make_arguments(c, 1);
    auto outputs = run_batch(device, caps_, {&c}, {arguments});
    return outputs.ok() ? problem(c, arguments, (*outputs)[0]) : outputs.error().to_string();
  }

  // What the case becomes on its way to the device.
  std::string walk_text(const OpCase& c) {
    std::string text;
    CompileOptions options;
    options.dump_after = {"import", "group", "lower"};
    options.dump = [&](const std::string& stop, const std::string& dumped) {
      text += stop + ":\n" + dumped + "\n";
    };
    (void)compile(c.graph, caps_, options, nullptr);
    return text;
  }

  // One line for tests/ops/support_table.py.
  void write_json(const OpCase& c, bool passes) const {
    std::string ops;
    for (const Node& node : c.graph.nodes())
      ops += fmt::format("{}\"{}\"", ops.empty() ? "" : ", ", op_name(node.op));
    fmt::print(json, "{{\"device\": \"{}\", \"ops\": [{}], \"status\": \"{}\"}}\n", way_.name, ops,
               passes ? "pass" : "fail");
  }

  void report(const OpCase& c, const std::string& text) {
    ++totals[way_.name].cases;
    if (json) write_json(c, text.empty());
    if (text.empty()) return;
    ADD_FAILURE() << c.where << ": " << c.text << "\n  on " << way_.name << ": " << text
                  << (only_case.empty() ? "" : "\n" + walk_text(c));
  }

  void check(Device& device, const Batch& batch) {
    std::vector<std::vector<Literal>> arguments;
    for (const OpCase* c : batch) arguments.push_back(make_arguments(*c, 1));
    auto outputs = run_batch(device, caps_, batch, arguments);
    for (size_t i = 0; i < batch.size(); ++i)
      report(*batch[i], outputs.ok()        ? problem(*batch[i], arguments[i], (*outputs)[i])
                        : batch.size() == 1 ? outputs.error().to_string()
                                            : run_alone(device, *batch[i]));
  }

  void expect_known(Device& device, const OpCase& c) {
    std::string text = run_alone(device, c);
    ++totals[way_.name].known;
    if (text.empty())
      ADD_FAILURE() << c.where << ": " << c.text << "\n  works on " << way_.name
                    << " now; take the 'known' line away (" << c.options.known_reason << ")";
  }

  const OpBlock& block_;
  const Way& way_;
  Caps caps_;
};

// Blocks live as long as the tests made of them.
std::vector<OpBlock>& blocks() {
  static std::vector<OpBlock> all;
  return all;
}

bool read_tables(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".table") files.push_back(entry.path());
  if (files.empty()) {
    fmt::print(stderr, "There are no tables in {}; --tables=DIR names their folder.\n", folder);
    return false;
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    auto read = read_op_table(file.string());
    if (!read.ok()) {
      fmt::print(stderr, "{}\n", read.error().to_string());
      return false;
    }
    for (OpBlock& block : *read) blocks().push_back(std::move(block));
  }
  return true;
}

void register_blocks() {
  for (const OpBlock& block : blocks())
    for (const Way& way : kWays) {
      size_t dot = block.name.find('.');
      ::testing::RegisterTest(
          block.name.substr(0, dot).c_str(), (block.name.substr(dot + 1) + "_" + way.name).c_str(),
          nullptr, nullptr, __FILE__, __LINE__,
          [&block, &way]() -> ::testing::Test* { return new BlockTest(block, way); });
    }
}

}  // namespace
}  // namespace tuff

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // From the program on, so that it does not say where it was built: packages carry it.
  std::string tables =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / TUFF_OP_TABLES;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg.rfind("--tables=", 0) == 0) tables = arg.substr(9);
    if (arg == "--full") tuff::full = true;
    if (arg.rfind("--json=", 0) == 0) tuff::json = std::fopen(arg.c_str() + 7, "w");
    if (arg.rfind("--case=", 0) == 0) tuff::only_case = arg.substr(7);
  }
  if (!tuff::read_tables(tables)) return 1;
  tuff::register_blocks();
  int failed = RUN_ALL_TESTS();
  for (const auto& [way, t] : tuff::totals)
    fmt::print("{}: {} cases, {} known to fail, {} of types the device lacks\n", way, t.cases,
               t.known, t.cannot);
  return failed;
}
