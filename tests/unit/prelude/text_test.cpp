// The text side: what prelude_functions picks, and that all of it is valid GLSL
// whose arithmetic no driver may contract.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>

#include "gtest/gtest.h"
#include "shaders/prelude/prelude_text.h"

namespace tuff {
namespace {

std::set<std::string> all_names() {
  std::set<std::string> names;
  for (const PreludeFile* file = kPreludeFiles; file->name != nullptr; ++file) {
    names.merge(prelude_names(file->text));
  }
  return names;
}

TEST(PreludeText, PicksDependenciesAndNothingElse) {
  const std::string text = prelude_functions({"t_exp", "not_ours", "t_unknown"});
  const size_t series = text.find("float t_exp_series(");
  ASSERT_NE(series, std::string::npos);
  EXPECT_LT(series, text.find("float t_exp("));
  EXPECT_EQ(text.find("t_log"), std::string::npos);
  EXPECT_EQ(text.find("T_FN"), std::string::npos);
  EXPECT_EQ(text.find("//"), std::string::npos);
  EXPECT_EQ(prelude_functions({}), "");
}

TEST(PreludeText, OverloadsByType) {
  const std::string every = prelude_functions({"t_max"});
  EXPECT_NE(every.find("int t_max(int a"), std::string::npos);
  EXPECT_NE(every.find("float t_max(float a"), std::string::npos);
  EXPECT_EQ(every.find("int64_t"), std::string::npos);
  const std::string one = prelude_functions({"t_max/int"});
  EXPECT_EQ(one, "int t_max(int a, int b) { return a > b ? a : b; }\n");
  const std::string wide = prelude_functions({"t_max/int64_t"}, {.int64 = true});
  EXPECT_EQ(wide, "int64_t t_max(int64_t a, int64_t b) { return a > b ? a : b; }\n");
  // t_srl for int calls the one for uint.
  EXPECT_NE(prelude_functions({"t_srl/int"}).find("uint t_srl(uint a"), std::string::npos);
}

TEST(PreludeText, NativeDivisionDropsTheRepair) {
  EXPECT_NE(prelude_functions({"t_div/float"}).find("t_div_bits"), std::string::npos);
  EXPECT_EQ(prelude_functions({"t_div/float"}, {.native_division = true}),
            "float t_div(float a, float b) {\n  precise float y = a / b;\n  return y;\n}\n");
}

TEST(PreludeText, Conversions) {
  EXPECT_EQ(convert_expression(DType::kF32, DType::kF32, "v1"), "v1");
  EXPECT_EQ(convert_expression(DType::kF32, DType::kF16, "v1"), "t_round_f16(v1)");
  EXPECT_EQ(convert_expression(DType::kF16, DType::kF32, "v1"), "v1");
  EXPECT_EQ(convert_expression(DType::kF32, DType::kI8, "v1"), "t_f32_to_i8(v1)");
  EXPECT_EQ(convert_expression(DType::kI32, DType::kU8, "v1"), "t_wrap_u8(uint(v1))");
  EXPECT_EQ(convert_expression(DType::kI8, DType::kI32, "v1"), "v1");
  EXPECT_EQ(convert_expression(DType::kU8, DType::kBF16, "v1"), "t_round_bf16(float(int(v1)))");
  EXPECT_EQ(convert_expression(DType::kBool, DType::kF32, "v1"), "float(int(v1))");
  EXPECT_EQ(convert_expression(DType::kI64, DType::kBool, "v1"), "(v1 != int64_t(0))");
  EXPECT_EQ(convert_expression(DType::kF64, DType::kF16, "v1"),
            "t_round_f16(t_f64_to_f32_odd(v1))");
  EXPECT_EQ(convert_expression(DType::kF64, DType::kI32, "v1"), "t_f64_to_i32(v1)");
  EXPECT_EQ(convert_expression(DType::kI64, DType::kI8, "v1"), "t_wrap_i8(int(v1))");
  EXPECT_EQ(convert_expression(DType::kI8, DType::kU64, "v1"), "t_i32_to_u64(v1)");
  EXPECT_EQ(convert_expression(DType::kBool, DType::kI64, "v1"), "t_i32_to_i64(int(v1))");
}

// A main that calls every function of the text, since uncalled ones are not emitted.
std::string call_all(const std::string& functions) {
  const std::map<std::string, std::string> members{
      {"ivec2", ".y"}, {"uvec2", ".y"}, {"t_angle", ".quadrant"}, {"t_logarithm", ".high"}};
  std::string body;
  const std::regex definition("(?:^|\\n)(\\w+) (\\w+)\\(([^)]*)\\)");
  for (std::sregex_iterator it(functions.begin(), functions.end(), definition), end; it != end;
       ++it) {
    std::string arguments = (*it)[3];
    arguments = std::regex_replace(arguments, std::regex("(\\w+) \\w+"), "$1(r)");
    const std::string call = (*it)[2].str() + "(" + arguments + ")";
    const auto member = members.find((*it)[1]);
    body += "  r += uint(" + call + (member == members.end() ? "" : member->second) + ");\n";
  }
  return "layout(binding = 0) buffer B { uint b[]; };\nvoid main() {\n  uint r = b[0];\n" + body +
         "  b[0] = r;\n}\n";
}

// Compiles a shader of every function, and of every conversion, with the tools.
void compile_all(const PreludeOptions& options, const std::string& stem) {
#if !defined(GLSLANG_VALIDATOR) || !defined(SPIRV_VAL)
  GTEST_SKIP() << "glslangValidator or spirv-val not found";
#else
  const char* const i64 = options.pairs ? "ivec2" : "int64_t";
  const char* const u64 = options.pairs ? "uvec2" : "uint64_t";
  const char* const compute_types[] = {"bool", "int", "int",   "int",   i64,     "uint",  "uint",
                                       "uint", u64,   "float", "float", "float", "double"};
  std::string conversions;
  for (int from = 0; from < kNumDTypes; ++from) {
    for (int to = 0; to < kNumDTypes; ++to) {
      const std::string source = compute_types[from], target = compute_types[to];
      const bool wide = (source + target).find("64") != std::string::npos;
      const bool twice = (source + target).find("double") != std::string::npos;
      if ((wide && !options.int64) || (twice && !options.float64)) continue;
      conversions += target + " convert_" + std::to_string(from) + "_" + std::to_string(to) + "(" +
                     source + " v) { return " +
                     convert_expression(DType(from), DType(to), "v", options.pairs) + "; }\n";
    }
  }
  const std::string functions = prelude_functions(all_names(), options) + conversions;
  std::ofstream(stem + ".comp")
      << "#version 460\n"
      << (options.int64 ? "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n"
                        : "")
      << (options.native_f16_narrow
              ? "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
              : "")
      << "layout(local_size_x = 1) in;\n"
      << functions << call_all(functions);
  ASSERT_EQ(std::system((GLSLANG_VALIDATOR " -V --target-env vulkan1.1 -o " + stem + ".spv " +
                         stem + ".comp > " + stem + ".log")
                            .c_str()),
            0)
      << "see " << stem << ".log";
  ASSERT_EQ(std::system((SPIRV_VAL " --target-env vulkan1.1 " + stem + ".spv").c_str()), 0);

  // Every float sum, product and quotient is decorated NoContraction.
  std::ifstream file(stem + ".spv", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<uint32_t> words(bytes.size() / 4);
  std::copy_n(bytes.data(), words.size() * 4, reinterpret_cast<char*>(words.data()));
  std::set<uint32_t> exact;
  int arithmetic = 0;
  for (size_t i = 5; i < words.size(); i += words[i] >> 16) {
    const uint32_t op = words[i] & 0xffff;
    if (op == 71 && words[i + 2] == 42) exact.insert(words[i + 1]);  // OpDecorate NoContraction
    if (op != 129 && op != 131 && op != 133 && op != 136) continue;  // OpFAdd, FSub, FMul, FDiv
    ++arithmetic;
    EXPECT_TRUE(exact.contains(words[i + 2])) << "instruction at word " << i;
  }
  EXPECT_GT(arithmetic, 250);
#endif
}

TEST(PreludeText, Compiles) { compile_all({}, "prelude_all_32"); }
TEST(PreludeText, CompilesWithNativeDivision) {
  compile_all({.native_division = true}, "prelude_all_native");
}
TEST(PreludeText, CompilesWithFusedMultiplyAdd) {
  compile_all({.fused_multiply_add = true}, "prelude_all_fused");
}
TEST(PreludeText, CompilesWithNativeF16) {
  compile_all({.native_f16_widen = true, .native_f16_narrow = true}, "prelude_all_native_f16");
}
TEST(PreludeText, CompilesWithPairs) { compile_all({.pairs = true}, "prelude_all_pairs"); }
TEST(PreludeText, CompilesWith64Bits) {
  compile_all({.int64 = true, .float64 = true}, "prelude_all_64");
}

}  // namespace
}  // namespace tuff
