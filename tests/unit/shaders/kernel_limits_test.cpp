// What a kernel cannot count or loop over is refused as it is lowered, for every device alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/parse.h"
#include "shaders/lower.h"

namespace tuff {
namespace {

using ::testing::HasSubstr;

std::string message(const std::string& text, const Caps& caps) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  if (!graph.ok()) return "";
  Node fused;
  fused.op = Op::kFused;
  fused.regions = {std::make_shared<const Graph>(*std::move(graph))};
  auto lowered = lower_group(fused, caps);
  if (lowered.ok()) return "ok";
  EXPECT_EQ(lowered.error().code, ErrorCode::kUnsupported);
  return lowered.error().message;
}

Caps cpu() {
  Caps caps;
  caps.library_calls = true;
  return caps;
}

Caps software_gpu() {
  Caps caps;
  caps.device_class = DeviceClass::kSoftwareRasteriser;
  caps.subgroup_size = 8;
  caps.max_group_invocations = 1024;
  return caps;
}

// Positions of a tensor of `shape`, least of all.
std::string least_position(const std::string& shape) {
  return "graph main(%x: i32[]) {\n %big = constant i32[] 2147483647\n"
         " %i = iota() {iota_dimension = 1} : i32[" +
         shape + "]\n %b = broadcast_in_dim(%x) {broadcast_dimensions = []} : i32[" + shape +
         "]\n %s = add(%i, %b) : i32[" + shape +
         "]\n %m = reduce(%s, %big) {dimensions = [0, 1]} : i32[] applies minimum\n return %m\n}";
}

std::string sums_of(const std::string& shape) {
  return "graph main(%x: f32[" + shape + "]) {\n %y = add(%x, %x) : f32[" + shape +
         "]\n return %y\n}";
}

TEST(KernelLimits, CountsOfElementsFit32Bits) {
  for (const Caps& caps : {cpu(), software_gpu()}) {
    EXPECT_EQ(message(least_position("2,1000000000"), caps), "ok") << caps.name;
    EXPECT_EQ(message(sums_of("2,1000000000"), caps), "ok");
    EXPECT_EQ(message(sums_of("1,2000000000"), caps), "ok") << "one of a batch is no larger";
    for (const std::string shape : {"3,1000000000", "5,858993459", "70000,70000"}) {
      // Lanes with runs count in these, and reach further where they divide a line.
      const bool reaches = caps.device_class != DeviceClass::kCpu && shape != "5,858993459";
      const std::string least = message(least_position(shape), caps);
      if (reaches)
        EXPECT_EQ(least, "ok") << shape;
      else
        EXPECT_THAT(least, HasSubstr("does not fit 32 bits")) << shape;
      EXPECT_THAT(message(sums_of(shape), caps), HasSubstr("does not fit 32 bits")) << shape;
    }
    EXPECT_THAT(message(sums_of("4294967296,4"), caps), HasSubstr("does not fit 32 bits"));
  }
}

// A small part of a tensor that is too large to count.
TEST(KernelLimits, PlacesInATensorFit32Bits) {
  auto part = [](const char* start, const char* limit) {
    return std::string("graph main(%x: f32[6,1000000000]) {\n %p = slice(%x) {limit_indices = [") +
           limit + "], start_indices = [" + start +
           "], strides = [1, 1]} : f32[1,10]\n %y = add(%p, %p) : f32[1,10]\n return %y\n}";
  };
  EXPECT_EQ(message(part("1, 0", "2, 10"), cpu()), "ok");
  EXPECT_THAT(message(part("5, 0", "6, 10"), cpu()), HasSubstr("does not fit 32 bits"));
}

// Positions in a transposed tensor are sums whose parts are far larger than the whole.
TEST(KernelLimits, TransposedTensorsAreAsLargeAsOthers) {
  auto transposed = [](const std::string& shape, const std::string& order, const std::string& to) {
    return "graph main(%x: f32[" + shape + "], %y: f32[" + to +
           "]) {\n %t = transpose(%x) {permutation = [" + order + "]} : f32[" + to +
           "]\n %z = add(%t, %y) : f32[" + to + "]\n return %z\n}";
  };
  for (const Caps& caps : {cpu(), software_gpu()}) {
    EXPECT_EQ(message(transposed("2048,2048", "1, 0", "2048,2048"), caps), "ok");
    EXPECT_EQ(message(transposed("30000,30000", "1, 0", "30000,30000"), caps), "ok");
    EXPECT_EQ(message(transposed("64,197,12,64", "0, 2, 1, 3", "64,12,197,64"), caps), "ok");
    EXPECT_EQ(message(transposed("64,997,31,128", "3, 1, 0, 2", "128,997,64,31"), caps), "ok");
    EXPECT_EQ(message(transposed("7,64,31,997,61", "4, 2, 0, 3, 1", "61,31,7,997,64"), caps), "ok");
    EXPECT_EQ(message("graph main(%x: f32[4096,8192], %y: f32[8192,4096]) {\n"
                      " %t = transpose(%x) {permutation = [1, 0]} : f32[8192,4096]\n"
                      " %r = reshape(%t) : f32[1024,32768]\n"
                      " %u = transpose(%r) {permutation = [1, 0]} : f32[32768,1024]\n"
                      " %v = reshape(%u) : f32[8192,4096]\n %z = add(%v, %y) : f32[8192,4096]\n"
                      " return %z\n}",
                      caps),
              "ok");
  }
}

// A step of a long Fourier transform: what a view of a view divides is far larger than any
// position.
TEST(KernelLimits, DivisionsOfSumsFit32Bits) {
  for (const Caps& caps : {cpu(), software_gpu()})
    EXPECT_EQ(message("graph main(%x: f32[64,64,1024], %y: f32[32,2,1024]) {\n"
                      " %a = reshape(%x) : f32[2,32,64,1024]\n"
                      " %t = transpose(%a) {permutation = [2, 1, 0, 3]} : f32[64,32,2,1024]\n"
                      " %r = reverse(%t) {dimensions = [2]} : f32[64,32,2,1024]\n"
                      " %b = broadcast_in_dim(%y) {broadcast_dimensions = [1, 2, 3]} : "
                      "f32[64,32,2,1024]\n"
                      " %m = multiply(%r, %b) : f32[64,32,2,1024]\n"
                      " %s = add(%m, %t) : f32[64,32,2,1024]\n"
                      " %z = reshape(%s) : f32[2048,64,32]\n return %z\n}",
                      caps),
              "ok");
}

TEST(KernelLimits, LoopsAreAsLongAsTheDeviceRunsThem) {
  Caps caps = software_gpu();
  caps.max_loop_iterations = 65535;
  // Without a neutral element there are no parts.
  std::string text = R"(graph main(%x: f32[8,100000000], %zero: f32[]) {
    %s = reduce(%x, %zero) {dimensions = [1]} : f32[8] graph fold(%a: f32[], %b: f32[]) {
      %h = multiply(%a, %b) : f32[]
      %t = add(%h, %a) : f32[]
      return %t
    }
    return %s
  })";
  EXPECT_THAT(message(text, caps), HasSubstr("beyond the loop limit"));
  EXPECT_EQ(message(text, software_gpu()), "ok");
  for (const char* size : {"67107840", "67107841", "100000000", "2000000000"})
    EXPECT_EQ(message("graph main(%x: f32[" + std::string(size) +
                          "], %zero: f32[]) {\n %s = reduce(%x, %zero) {dimensions = [0]} : f32[] "
                          "applies add\n return %s\n}",
                      caps),
              "ok");
}

}  // namespace
}  // namespace tuff
