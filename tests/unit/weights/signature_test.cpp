#include "frontend/weights/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuff {
namespace {

using testing::HasSubstr;

constexpr const char* kSignature = R"({"format": 1, "arguments": [
  {"name": "w", "kind": "weight", "dtype": "f32", "shape": [2], "init": {"scale": 0.5, "mean": 1.0}},
  {"name": "x", "kind": "input", "dtype": "i32", "shape": []}],
  "results": [{"name": "out0", "dtype": "f32", "shape": [2]}]})";

std::string signature_error(const std::string& json) {
  auto result = parse_signature(json, "signature.json");
  return result.ok() ? "reads" : result.error().to_string();
}

TEST(Signature, Reads) {
  auto signature = parse_signature(kSignature, "s");
  ASSERT_TRUE(signature.ok()) << signature.error().to_string();
  EXPECT_TRUE(signature->arguments[0].is_weight);
  EXPECT_EQ(signature->arguments[0].init->mean, 1.0);
  EXPECT_EQ(signature->arguments[1].type.to_string(), "i32");
}

TEST(Signature, MistakesAreNamed) {
  EXPECT_THAT(signature_error("{"),
              HasSubstr("signature.json: The signature (1 bytes) is not a JSON object."));
  EXPECT_THAT(signature_error("{\"format\": 2}"), HasSubstr("format (2)"));
  EXPECT_THAT(signature_error("{\"format\": 1}"), HasSubstr("no \"arguments\" list"));
  auto with = [](const std::string& argument) {
    return signature_error("{\"format\": 1, \"arguments\": [" + argument + "], \"results\": []}");
  };
  EXPECT_THAT(with("3"), HasSubstr("arguments[0] has no text under \"name\""));
  EXPECT_THAT(with(R"({"name": "", "kind": "input"})"), HasSubstr("empty name"));
  EXPECT_THAT(with(R"({"name": "x", "kind": "thing"})"), HasSubstr("kind (thing)"));
  EXPECT_THAT(with(R"({"name": "x", "kind": "input", "dtype": "f8", "shape": []})"),
              HasSubstr("(f8) is not supported"));
  EXPECT_THAT(with(R"({"name": "x", "kind": "input", "dtype": "f32", "shape": [-1]})"),
              HasSubstr("dimension (-1)"));
  EXPECT_THAT(
      with(R"({"name": "x", "kind": "input", "dtype": "f32", "shape": [4294967296, 4294967296]})"),
      HasSubstr("too many"));
  std::string x = R"({"name": "x", "kind": "input", "dtype": "f32", "shape": []})";
  EXPECT_THAT(with(x + "," + x), HasSubstr("stands twice"));
}

// However deep, it is refused without recursion: at depths that no stack has frames for.
TEST(Signature, NestingIsBounded) {
  std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  std::string lists = R"({"format": 1, "arguments": [{"name": "x", "kind": "input", )"
                      R"("dtype": "f32", "shape": )" +
                      deep + "}]}";
  EXPECT_THAT(signature_error(lists), HasSubstr("nested more than 8 lists and objects deep"));
  std::string objects;
  for (int i = 0; i < 1000000; ++i) objects += R"({"a":)";
  EXPECT_THAT(signature_error(objects), HasSubstr("nested more than 8"));
}

TEST(Signature, KeysStandOnce) {
  EXPECT_THAT(signature_error(R"({"format": 1, "format": 1})"), HasSubstr("key (format) twice"));
  EXPECT_THAT(signature_error(R"({"arguments": [{"name": "a", "name": "b"}]})"),
              HasSubstr("key (name) twice"));
}

}  // namespace
}  // namespace tuff
