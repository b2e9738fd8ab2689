// Golden files of what each family becomes: families/NAME.golden holds a graph in IR text and
// then, for each profile of a device (caps_profile.h), the GLSL of its kernels in the order in
// which they run; profiles that get the same text share a section. TUFF_REWRITE_GOLDENS=1 writes
// what is printed now. The prelude has its own tests and is left out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backend/compile.h"
#include "ir/text/parse.h"
#include "tests/kernels/caps_profile.h"
#include "tests/unit/shaders/validate_glsl.h"

namespace tuff::test {
namespace {

constexpr const char* kFolder = TUFF_TEST_DATA "/kernels/families";
constexpr const char* kSection = "==== ";

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".golden") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_text(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Result<std::string> kernels_text(const Graph& graph, const std::string& profile) {
  TUFF_ASSIGN(Caps caps, read_caps_profile(profile));
  CompileOptions options;
  options.verify = true;
  TUFF_ASSIGN(auto program, compile(graph, caps, options, nullptr));
  std::string text;
  for (size_t i = 0; i < program->kernels.size(); ++i) {
    const Kernel& kernel = program->kernels[i];
    TUFF_ASSIGN(GlslShader shader, emit_glsl(kernel, caps));
    text += fmt::format("// kernel {}: {}, {} lanes\n", i, kernel.family, kernel.lanes) +
            without_prelude(shader.text);
    if (!can_validate_glsl()) continue;
    std::string complaint = validate_glsl(shader, profile + std::to_string(i));
    if (!complaint.empty()) return Error{ErrorCode::kRunFailed, complaint, text};
  }
  return text;
}

class FamilyGlsl : public testing::TestWithParam<std::string> {};

TEST_P(FamilyGlsl, IsThatOfTheGolden) {
  std::string path = std::string(kFolder) + "/" + GetParam() + ".golden";
  std::string golden = read_text(path);
  std::string source = golden.substr(0, golden.find(kSection));
  auto graph = parse_graph(source);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  std::vector<std::pair<std::string, std::string>> sections;  // profiles, text
  for (const std::string& profile : caps_profiles()) {
    auto text = kernels_text(*graph, profile);
    ASSERT_TRUE(text.ok()) << profile << ": " << text.error().to_string();
    auto same = std::find_if(sections.begin(), sections.end(),
                             [&](const auto& section) { return section.second == *text; });
    if (same == sections.end())
      sections.emplace_back(profile, *text);
    else
      same->first += " " + profile;
  }
  std::string now = source;
  for (const auto& [profiles, text] : sections) now += kSection + profiles + "\n" + text;
  if (std::getenv("TUFF_REWRITE_GOLDENS") != nullptr)
    std::ofstream(path) << now;
  else
    EXPECT_EQ(now, golden) << "TUFF_REWRITE_GOLDENS=1 writes what is printed now.";
  if (!can_validate_glsl()) GTEST_SKIP() << "glslangValidator or spirv-val was not found";
}

INSTANTIATE_TEST_SUITE_P(Kernels, FamilyGlsl, testing::ValuesIn(golden_names()),
                         [](const auto& info) { return info.param; });

TEST(CapsProfile, SaysWhichLineItDoesNotTake) {
  EXPECT_FALSE(read_caps_profile("no_such").ok());
  for (const std::string& name : caps_profiles()) EXPECT_TRUE(read_caps_profile(name).ok()) << name;
}

}  // namespace
}  // namespace tuff::test
