// Tensors in files beside the model: how they are read, and what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/onnx/models.h"
#include "tests/unit/weights/files.h"

namespace tuff::onnx::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class OnnxExternal : public testing::Test {
 protected:
  OnnxExternal() {
    folder_.write("model/weights.bin", std::string(1000, '\0'));
    folder_.write("secret.bin", std::string(1000, '\1'));
  }
  // A model whose weight, of 100 floats, is at `location`.
  Result<Model> read_with(const std::string& location, const std::string& offset = "",
                          const std::string& length = "") {
    ModelWriter w;
    w.input("x", {100});
    proto::Tensor& tensor = *w.graph().add_initializer();
    tensor.set_name("weight"), tensor.set_data_type(1), tensor.add_dims(100);
    tensor.set_data_location(1);
    auto entry = [&](const char* key, const std::string& value) {
      if (value.empty() && key != std::string("location")) return;
      proto::Entry& added = *tensor.add_external_data();
      added.set_key(key), added.set_value(value);
    };
    entry("location", location), entry("offset", offset), entry("length", length);
    w.node("Add", {"x", "weight"}, {"y"});
    w.output("y");
    return read(w.bytes(), shapes(), folder_.path("model/m.onnx"));
  }
  void refused(const std::string& location, const std::string& why) {
    auto model = read_with(location);
    ASSERT_FALSE(model.ok()) << location;
    EXPECT_EQ(model.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(model.error().message, HasSubstr("The tensor (weight)"));
    EXPECT_THAT(model.error().message, HasSubstr(why)) << location;
  }
  tuff::test::TemporaryFolder folder_;
};

TEST_F(OnnxExternal, IsReadFromItsOffsetOn) {
  auto model = read_with("weights.bin", "64", "400");
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->arguments[1].value->size_bytes(), 400);
}

TEST_F(OnnxExternal, PathsThatLeaveTheFolder) {
  refused("../secret.bin", "leaves the model's folder");
  refused("sub/../../secret.bin", "leaves the model's folder");
  refused(folder_.path("secret.bin"), "absolute");
  refused("", "no file is named");
  refused(std::string("weights.bin\0x", 13), "no file is named");
}

TEST_F(OnnxExternal, LinksToOutside) {
  fs::create_symlink(folder_.path("secret.bin"), folder_.path("model/link.bin"));
  refused("link.bin", "a link");
  fs::create_directory_symlink(folder_.path(), folder_.path("model/up"));
  refused("up/secret.bin", "a link");
  fs::create_hard_link(folder_.path("secret.bin"), folder_.path("model/hard.bin"));
  refused("hard.bin", "another name");
}

TEST_F(OnnxExternal, WhatIsNoFile) {
  fs::create_directory(folder_.path("model/directory"));
  refused("directory", "no regular file");
  refused("none.bin", "no such file");
}

TEST_F(OnnxExternal, SizesAreThoseOfTheFile) {
  for (auto [offset, length] : {std::pair{"601", "400"},
                                {"0", "399"},
                                {"18446744073709551615", "400"},
                                {"-1", "400"},
                                {"x", "400"},
                                {"0", "x"}})
    EXPECT_EQ(read_with("weights.bin", offset, length).error().code, ErrorCode::kBadInput)
        << offset << " " << length;
}

}  // namespace
}  // namespace tuff::onnx::test
