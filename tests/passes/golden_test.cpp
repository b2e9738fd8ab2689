// Every file tests/passes/PASS/NAME.ir is a test of the pass: cases separated by
// a line "// -----", each a graph, a line "// =>", and the graph the pass makes of
// it. "// => unchanged" says that nothing happens. Each case is parsed, verified,
// run, verified, compared exactly and run again, which must change nothing. Where
// the evaluator is built, both graphs are also evaluated on the same arguments,
// special values among them: no pass may change a bit of a result, NaN payloads
// apart; `decompose`, `recognize`, `inline_composites` and `integer_sums` may round differently.
// A line
// "// caps: NAME ..." in a case gives the device the pass works for: library_calls, gpu, no_int64,
// no_float64, max_storage_buffers=N. TUFF_REWRITE_GOLDENS=1 writes what the passes now make into
// the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "ir/pass.h"
#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "ir/verify.h"
#ifdef TUFF_HAS_EVALUATOR
#include "ir/evaluate/evaluate.h"
#include "ir/evaluate/tolerances.h"
#endif

namespace tuff {
namespace {

constexpr char kSeparator[] = "// -----\n";
constexpr char kArrow[] = "// =>";

Caps caps_of(const std::string& text) {
  Caps caps;
  size_t line = text.find("// caps:");
  if (line == std::string::npos) return caps;
  std::istringstream words(text.substr(line + 8, text.find('\n', line) - line - 8));
  for (std::string word; words >> word;) {
    if (word == "library_calls")
      caps.library_calls = true;
    else if (word == "gpu")
      caps.device_class = DeviceClass::kDiscreteGpu;
    else if (word == "software")
      caps.device_class = DeviceClass::kSoftwareRasteriser;
    else if (word == "shuffles")
      caps.subgroup_shuffle = true;
    else if (word == "no_int64")
      caps.int64 = false;
    else if (word == "no_float64")
      caps.float64 = false;
    else if (word.rfind("max_storage_buffers=", 0) == 0)
      caps.max_storage_buffers = std::stoll(word.substr(20));
    else
      ADD_FAILURE() << "unknown caps: " << word;
  }
  return caps;
}

PassContext context(const Caps& caps) {
  PassContext context;
  context.caps = &caps;
#ifdef TUFF_HAS_EVALUATOR
  context.evaluate_node = [](const Node& node, const std::vector<Literal>& operands) {
    return evaluate_node(node, operands);
  };
#endif
  return context;
}

std::vector<std::string> split_cases(const std::string& text) {
  std::vector<std::string> cases;
  for (size_t start = 0;;) {
    size_t end = text.find(kSeparator, start);
    cases.push_back(text.substr(start, end - start));
    if (end == std::string::npos) return cases;
    start = end + sizeof kSeparator - 1;
  }
}

struct Case {
  std::string input, expected;
  bool unchanged = false;
};

Case read_case(const std::string& text) {
  Case c;
  size_t arrow = text.find(kArrow);
  c.input = text.substr(0, arrow);
  if (arrow == std::string::npos) return c;
  size_t line_end = std::min(text.find('\n', arrow), text.size());
  c.unchanged = text.substr(arrow, line_end - arrow) == "// => unchanged";
  c.expected = text.substr(std::min(line_end + 1, text.size()));
  while (!c.expected.empty() && c.expected.back() == '\n') c.expected.pop_back();
  if (!c.expected.empty()) c.expected += '\n';
  return c;
}

Result<Graph> checked_graph(const std::string& text, const std::string& file) {
  TUFF_ASSIGN(Graph graph, parse_graph(text, file));
  TUFF_RETURN_IF_ERROR(verify(graph));
  return graph;
}

#ifdef TUFF_HAS_EVALUATOR
// What a transform makes of a line with an infinity depends on how it is computed: on which sums
// meet it first. And a scale of dequantised bytes is finite.
bool wants_finite(const Graph& graph) {
  bool widens_bytes = false, contracts = false;
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kFft) return true;
    contracts |= node.op == Op::kDotGeneral || node.op == Op::kConvolution;
    widens_bytes |= node.op == Op::kConvert && dtype_size(graph.type(node.operands[0]).dtype) == 1;
  }
  return widens_bytes && contracts;
}

Literal argument(const TensorType& type, uint32_t seed, bool finite) {
  static constexpr double kSpecial[] = {0.0, -0.0, 1.0, -1.0, HUGE_VAL, -HUGE_VAL, NAN, 0.5};
  Literal l(type);
  for (int64_t i = 0; i < l.num_elements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    double random = static_cast<double>(seed >> 8) / (1 << 22) - 2;
    bool special = is_float(type.dtype) && !finite && (seed >> 4) % 4 == 0;
    l.set_double(i, special                      ? kSpecial[(seed >> 8) % 8]
                    : type.dtype == DType::kBool ? (seed >> 9) % 2
                                                 : random);
  }
  return l;
}

bool same_element(const Literal& a, const Literal& b, int64_t i, double tolerance) {
  double x = a.get_double(i), y = b.get_double(i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (x == y) return tolerance > 0 || std::signbit(x) == std::signbit(y);
  return std::abs(x - y) <= tolerance * std::max(1.0, std::abs(x));
}

// Both graphs give the same values, where the evaluator has a meaning for them.
void expect_same_values(const Graph& before, const Graph& after, double tolerance) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    std::vector<Literal> arguments;
    for (uint32_t i = 0; i < before.num_parameters(); ++i)
      arguments.push_back(argument(before.node(i).types[0], seed * 100 + i, wants_finite(before)));
    Result<std::vector<Literal>> expected = evaluate(before, arguments);
    if (!expected.ok()) return;
    Result<std::vector<Literal>> found = evaluate(after, arguments);
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    for (size_t k = 0; k < expected->size(); ++k)
      for (int64_t i = 0; i < (*expected)[k].num_elements(); ++i)
        ASSERT_TRUE(same_element((*expected)[k], (*found)[k], i, tolerance))
            << "output " << k << ", element " << i << ": " << (*expected)[k].get_double(i)
            << " became " << (*found)[k].get_double(i);
  }
}
#endif

// Runs one case; returns what the pass made, printed.
std::string run_case(const Pass& pass, const Case& c, const std::string& file) {
  Result<Graph> input = checked_graph(c.input, file);
  if (!input.ok()) return ADD_FAILURE() << input.error().to_string(), "";
  Caps caps = caps_of(c.input);
  Result<Graph> output = pass.run(*input, context(caps));
  if (!output.ok()) return ADD_FAILURE() << output.error().to_string(), "";
  Status valid = verify(*output);
  EXPECT_TRUE(valid.ok()) << valid.error().to_string() << "\n" << print(*output);
#ifdef TUFF_HAS_EVALUATOR
  static const std::set<std::string> kRounding{"decompose", "recognize", "inline_composites",
                                               "integer_sums"};
  bool rounds = kRounding.count(pass.name) > 0;
  if (valid.ok()) expect_same_values(*input, *output, rounds ? tolerance("spelled_out") : 0);
#endif
  Result<Graph> again = pass.run(*output, context(caps));
  if (!again.ok()) return ADD_FAILURE() << again.error().to_string(), "";
  EXPECT_EQ(print(*again), print(*output)) << "the second run of the pass changes the graph";
  return print(*output);
}

bool rewriting() {
  static const bool on = std::getenv("TUFF_REWRITE_GOLDENS") != nullptr;
  return on;
}

std::string printed_input(const Case& c) {
  Result<Graph> g = parse_graph(c.input);
  return g.ok() ? print(*g) : "";
}

class GoldenTest : public ::testing::Test {
 public:
  GoldenTest(const Pass& pass, std::string file) : pass_(pass), file_(std::move(file)) {}

  void TestBody() override {
    std::ifstream in(file_);
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::string rewritten;
    std::vector<std::string> cases = split_cases(text);
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(file_ + ", case " + std::to_string(i + 1));
      Case c = read_case(cases[i]);
      std::string made = run_case(pass_, c, file_), input = printed_input(c);
      bool same = made == input;
      rewritten += (i ? kSeparator : "") + c.input + kArrow + (same ? " unchanged\n" : "\n" + made);
      if (!rewriting()) {
        EXPECT_EQ(made, c.unchanged ? input : c.expected);
      }
    }
    if (rewriting()) std::ofstream(file_) << rewritten;
  }

 private:
  const Pass& pass_;
  std::string file_;
};

void register_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TUFF_TEST_DATA "/passes"))
    if (entry.path().extension() == ".ir") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::string folder = path.parent_path().filename();
    const Pass* pass = find_pass(folder);
    if (!pass) {
      std::fprintf(stderr, "%s: no pass is named '%s'\n", path.c_str(), folder.c_str());
      std::exit(1);
    }
#ifndef TUFF_HAS_EVALUATOR
    if (folder == "fold_constants") continue;
#endif
    ::testing::RegisterTest(
        folder.c_str(), path.stem().c_str(), nullptr, nullptr, path.c_str(), 1,
        [pass, file = path.string()]() -> ::testing::Test* { return new GoldenTest(*pass, file); });
  }
}

}  // namespace
}  // namespace tuff

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  tuff::register_files();
  return RUN_ALL_TESTS();
}
