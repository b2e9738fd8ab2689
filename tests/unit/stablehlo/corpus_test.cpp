// Whole files: the model bundles of this repository, and the conformance suites
// where TUFF_CONFORMANCE names the folder with their unpacked cases.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream stream;
  stream << file.rdbuf();
  return stream.str();
}

TEST(Corpus, EveryModelBundleImportsAndVerifies) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(std::string(TUFF_TEST_DATA) + "/models")) {
    fs::path path = entry.path() / "module.mlir";
    if (!fs::exists(path)) continue;
    ++count;
    Result<Graph> graph = read_stablehlo(slurp(path), path.string());
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    EXPECT_TRUE(verify(*graph).ok()) << path << verify(*graph).error().to_string();
  }
  EXPECT_GT(count, 0);
}

// The values of a key, one a case, in the manifest's order. The manifest has one
// case a line; a JSON library is not needed to see two of its strings.
std::string json_string(const std::string& line, const std::string& key) {
  size_t at = line.find("\"" + key + "\": \"");
  if (at == std::string::npos) return {};
  at += key.size() + 5;
  return line.substr(at, line.find('"', at) - at);
}

// Nothing is taken for a malformed file: what tuff lacks is refused by import.
TEST(Corpus, ConformanceSuites) {
  const char* folder = std::getenv("TUFF_CONFORMANCE");
  if (!folder) GTEST_SKIP() << "TUFF_CONFORMANCE is not set; the suites are not read";
  std::map<std::string, std::map<std::string, int>> counts;
  for (const char* suite : {"stablehlo", "fuzz"}) {
    fs::path root = fs::path(folder) / suite;
    std::ifstream manifest(root / "manifest.json");
    for (std::string line; std::getline(manifest, line);) {
      std::string file = json_string(line, "file"), group = json_string(line, "group");
      if (file.empty() || group.empty() || !fs::exists(root / file)) continue;
      Result<Graph> graph = read_stablehlo(slurp(root / file), file);
      std::string outcome = graph.ok() ? "imported" : error_code_name(graph.error().code);
      ++counts[group][outcome];
      bool must = group == "core" || group == "chlo";
      EXPECT_TRUE(graph.ok() || (!must && graph.error().code == ErrorCode::kUnsupported))
          << graph.error().to_string();
      if (!graph.ok()) continue;
      EXPECT_TRUE(verify(*graph).ok()) << file << verify(*graph).error().to_string();
    }
  }
  if (counts.empty()) GTEST_SKIP() << "no unpacked cases in " << folder;
  for (const auto& [group, outcomes] : counts)
    for (const auto& [outcome, count] : outcomes)
      std::printf("%-12s %-12s %d\n", group.c_str(), outcome.c_str(), count);
}

}  // namespace
}  // namespace tuff::stablehlo
