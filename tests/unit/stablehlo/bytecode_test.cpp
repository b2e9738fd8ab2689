// Portable artifacts: equal to their text twins, and no bytes crash the reader.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <sstream>

#include "frontend/stablehlo/exported.h"
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

namespace fs = std::filesystem;

const std::string kArtifacts = TUFF_TEST_DATA "/unit/stablehlo/artifacts";

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream stream;
  stream << file.rdbuf();
  return stream.str();
}

// The committed pairs NAME.mlirbc and NAME.mlir.
std::vector<fs::path> artifacts() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(kArtifacts))
    if (entry.path().extension() == ".mlirbc") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Error error_of_bytes(const std::string& bytes) {
  Result<Graph> graph = read_stablehlo(bytes, "m.mlirbc");
  return graph.ok() ? Error{ErrorCode::kRunFailed, "no error", ""} : graph.error();
}

TEST(Bytecode, EqualsTheText) {
  std::vector<fs::path> paths = artifacts();
  EXPECT_GE(paths.size(), 6u);
  for (fs::path path : paths) {
    SCOPED_TRACE(path.filename());
    Result<Graph> graph = read_stablehlo(slurp(path), "m.mlirbc");
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    EXPECT_TRUE(verify(*graph).ok());
    Result<Graph> twin = read_stablehlo(slurp(path.replace_extension(".mlir")), "m.mlir");
    ASSERT_TRUE(twin.ok()) << twin.error().to_string();
    EXPECT_TRUE(*graph == *twin) << print(*graph) << print(*twin);
  }
}

// The module among what else JAX says of a function that it has serialized.
TEST(Bytecode, InsideOfAnExport) {
  std::string bytes = slurp(kArtifacts + "/exported.jax");
  Result<Graph> graph = read_stablehlo(bytes, "exported.jax");
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  Result<Graph> twin = read_stablehlo(slurp(kArtifacts + "/exported.mlir"), "m.mlir");
  ASSERT_TRUE(twin.ok()) << twin.error().to_string();
  EXPECT_TRUE(*graph == *twin) << print(*graph) << print(*twin);
  std::mt19937 random(7);
  for (size_t size = 0; size < bytes.size(); ++size) {
    exported_module(bytes.substr(0, size));
    std::string other = bytes;
    other[random() % 200] = static_cast<char>(random());
    if (std::optional<std::string_view> module = exported_module(other)) {
      EXPECT_TRUE(is_bytecode(*module));
    }
  }
}

// Files are read on threads with large stacks, whose every page an emulator notes: there only one
// in so many is tried.
int emulated_stride() { return std::getenv("EMULATED") != nullptr ? 50 : 1; }

// A file cut anywhere is an error, unless only parts that say nothing are missing.
TEST(Bytecode, TruncatedFilesAreErrors) {
  for (const fs::path& path : artifacts()) {
    std::string bytes = slurp(path);
    Result<Graph> whole = read_stablehlo(bytes, "m.mlirbc");
    ASSERT_TRUE(whole.ok());
    for (size_t size = 4; size < bytes.size(); size += emulated_stride()) {
      Result<Graph> graph = read_stablehlo(bytes.substr(0, size), "m.mlirbc");
      if (graph.ok()) {
        EXPECT_TRUE(*graph == *whole) << path << size;
      } else {
        EXPECT_EQ(graph.error().code, ErrorCode::kBadInput) << path << size;
      }
    }
  }
}

TEST(Bytecode, MutatedFilesDoNotCrash) {
  std::mt19937 random(7);
  for (const fs::path& path : artifacts()) {
    const std::string original = slurp(path);
    for (int round = 0; round < 1000; round += emulated_stride()) {
      std::string bytes = original;
      for (size_t edit = random() % 3 + 1; edit > 0; --edit) {
        size_t at = 4 + random() % (bytes.size() - 4);
        bytes[at] = random() % 2 ? static_cast<char>(random())
                                 : static_cast<char>(bytes[at] ^ (1 << random() % 8));
      }
      Result<Graph> graph = read_stablehlo(bytes, "m.mlirbc");
      if (graph.ok()) {
        EXPECT_TRUE(verify(*graph).ok()) << path << round;
      }
    }
  }
}

TEST(Bytecode, ErrorsNameTheByte) {
  Error error = error_of_bytes("ML\xEFR\x0DStableHLO_v1.17.0");
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_THAT(error.where, testing::StartsWith("m.mlirbc: byte "));
}

TEST(Bytecode, NewerFormatIsRefusedByVersion) {
  Error error = error_of_bytes(std::string("ML\xEFR\x0FStableHLO_v9.1.0\0", 22));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, testing::HasSubstr("StableHLO_v9.1.0"));
}

// A later version of an operation is no operation this reader may guess at.
TEST(Bytecode, NewerOperationIsRefusedByName) {
  std::string bytes = slurp(fs::path(kArtifacts) / "sort.mlirbc");
  size_t at = bytes.find(std::string("sort_v1\0", 8));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 6] = '7';
  Error error = error_of_bytes(bytes);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, testing::HasSubstr("vhlo.sort_v7"));
  EXPECT_THAT(error.message, testing::HasSubstr("StableHLO_v"));
}

TEST(Bytecode, LocationsAndNamesAreKept) {
  std::string path = kArtifacts + "/mlp";
  Result<Graph> graph = read_stablehlo(slurp(path + ".mlirbc"), "m.mlirbc");
  Result<Graph> twin = read_stablehlo(slurp(path + ".mlir"), "m.mlir");
  ASSERT_TRUE(graph.ok() && twin.ok());
  EXPECT_EQ(print(*graph), print(*twin));
}

// One case a line, as in corpus_test.
std::string json_string(const std::string& line, const std::string& key) {
  size_t at = line.find("\"" + key + "\": \"");
  if (at == std::string::npos) return {};
  at += key.size() + 5;
  return line.substr(at, line.find('"', at) - at);
}

// The graph with its nodes in the order in which the outputs need them. Writers that
// legalise CHLO also move constants to the front.
Graph in_order_of_need(const Graph& graph) {
  Graph ordered;
  std::vector<std::optional<uint32_t>> made(graph.nodes().size());
  for (uint32_t i = 0; i < graph.num_parameters(); ++i)
    made[i] = ordered.add_parameter(graph.type({i, 0})).node;
  std::function<Value(Value)> visit = [&](Value value) {
    if (!made[value.node]) {
      Node node = graph.node(value);
      for (Value& operand : node.operands) operand = visit(operand);
      for (GraphPtr& region : node.regions)
        region = std::make_shared<Graph>(in_order_of_need(*region));
      made[value.node] = ordered.add(std::move(node)).node;
    }
    return Value{*made[value.node], value.result};
  };
  std::vector<Value> outputs;
  for (Value output : graph.outputs()) outputs.push_back(visit(output));
  ordered.set_outputs(std::move(outputs));
  ordered.donations = graph.donations;
  return ordered;
}

// CHLO operations are spelled out in bytecode: there only that it imports is seen.
void compare_case(const fs::path& root, const std::string& line,
                  std::map<std::string, std::map<std::string, int>>* counts) {
  std::string file = json_string(line, "file"), group = json_string(line, "group");
  std::string bytecode = json_string(line, "bytecode");
  if (file.empty() || bytecode.empty() || !fs::exists(root / bytecode)) return;
  Result<Graph> graph = read_stablehlo(slurp(root / bytecode), bytecode);
  Result<Graph> twin = read_stablehlo(slurp(root / file), file);
  std::string outcome = "differs";
  if (!graph.ok())
    outcome = twin.ok() ? "only text imports" : error_code_name(graph.error().code);
  else if (!twin.ok())
    outcome = "only bytecode imports";
  else if (*graph == *twin)
    outcome = "equal";
  else if (in_order_of_need(*graph) == in_order_of_need(*twin))
    outcome = "equal, other order";
  ++(*counts)[group][outcome];
  if (graph.ok()) {
    EXPECT_TRUE(verify(*graph).ok()) << bytecode;
  }
  if (group == "core") {
    EXPECT_THAT(outcome, testing::StartsWith("equal")) << file;
  }
  if (group == "chlo") {
    EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  }
  if (!graph.ok()) {
    EXPECT_EQ(graph.error().code, ErrorCode::kUnsupported) << graph.error().to_string();
  }
}

TEST(Bytecode, ConformanceSuites) {
  const char* folder = std::getenv("TUFF_CONFORMANCE");
  if (!folder) GTEST_SKIP() << "TUFF_CONFORMANCE is not set; the suites are not read";
  std::map<std::string, std::map<std::string, int>> counts;
  for (const char* suite : {"stablehlo", "fuzz"}) {
    fs::path root = fs::path(folder) / suite;
    std::ifstream manifest(root / "manifest.json");
    for (std::string line; std::getline(manifest, line);) compare_case(root, line, &counts);
  }
  if (counts.empty()) GTEST_SKIP() << "no unpacked cases in " << folder;
  for (const auto& [group, outcomes] : counts)
    for (const auto& [outcome, count] : outcomes)
      std::printf("%-12s %-22s %d\n", group.c_str(), outcome.c_str(), count);
}

}  // namespace
}  // namespace tuff::stablehlo
