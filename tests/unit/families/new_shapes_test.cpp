// Another batch size reuses kernels: sizes are parameters of a dispatch. Needs no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "backend/compile.h"
#include "ir/text/parse.h"

namespace tuff {
namespace {

// A transformer's block over `batch` sequences of 20 tokens, 32 wide, 4 heads.
std::string block_text(int64_t batch) {
  std::string x = fmt::format("f32[{},20,32]", batch), row = fmt::format("f32[{},20]", batch);
  std::string heads = fmt::format("f32[{},20,4,8]", batch);
  std::string scores = fmt::format("f32[{},4,20,20]", batch);
  std::string by_row = fmt::format("f32[{},4,20]", batch);
  std::string wide = fmt::format("f32[{},20,64]", batch);
  std::string text = fmt::format(
      "graph main(%x: {}, %wq: f32[32,32], %wk: f32[32,32], %wv: f32[32,32], %up: f32[32,64], "
      "%bias: f32[64], %down: f32[64,32]) {{\n"
      "  %z = constant f32[] 0.0\n  %low = constant f32[] -inf\n  %n = constant f32[] 0.03125\n",
      x);
  text += fmt::format(
      "  %s0 = reduce(%x, %z) {{dimensions = [2]}} : {1} applies add\n"
      "  %nb = broadcast_in_dim(%n) : {1}\n  %mean = multiply(%s0, %nb) : {1}\n"
      "  %mb = broadcast_in_dim(%mean) {{broadcast_dimensions = [0, 1]}} : {0}\n"
      "  %h = subtract(%x, %mb) : {0}\n",
      x, row);
  for (const char* name : {"q", "k", "v"})
    text += fmt::format(
        "  %{0}0 = dot_general(%h, %w{0}) {{lhs_batching_dimensions = [], "
        "lhs_contracting_dimensions = [2], rhs_batching_dimensions = [], "
        "rhs_contracting_dimensions = [0]}} : {1}\n  %{0} = reshape(%{0}0) : {2}\n",
        name, x, heads);
  text += fmt::format(
      "  %s = dot_general(%q, %k) {{lhs_batching_dimensions = [0, 2], lhs_contracting_dimensions "
      "= [3], rhs_batching_dimensions = [0, 2], rhs_contracting_dimensions = [3]}} : {0}\n"
      "  %m = reduce(%s, %low) {{dimensions = [3]}} : {1} applies maximum\n"
      "  %maxb = broadcast_in_dim(%m) {{broadcast_dimensions = [0, 1, 2]}} : {0}\n"
      "  %d = subtract(%s, %maxb) : {0}\n  %e = exponential(%d) : {0}\n"
      "  %t = reduce(%e, %z) {{dimensions = [3]}} : {1} applies add\n"
      "  %tb = broadcast_in_dim(%t) {{broadcast_dimensions = [0, 1, 2]}} : {0}\n"
      "  %p = divide(%e, %tb) : {0}\n"
      "  %o = dot_general(%v, %p) {{lhs_batching_dimensions = [0, 2], lhs_contracting_dimensions "
      "= [1], rhs_batching_dimensions = [0, 1], rhs_contracting_dimensions = [3]}} : "
      "f32[{2},4,8,20]\n"
      "  %ot = transpose(%o) {{permutation = [0, 3, 1, 2]}} : {3}\n"
      "  %a = reshape(%ot) : {4}\n",
      scores, by_row, batch, heads, x);
  return text + fmt::format(
                    "  %u = dot_general(%a, %up) {{lhs_batching_dimensions = [], "
                    "lhs_contracting_dimensions = [2], rhs_batching_dimensions = [], "
                    "rhs_contracting_dimensions = [0]}} : {0}\n"
                    "  %bb = broadcast_in_dim(%bias) {{broadcast_dimensions = [2]}} : {0}\n"
                    "  %ub = add(%u, %bb) : {0}\n  %act = tanh(%ub) : {0}\n"
                    "  %y0 = dot_general(%act, %down) {{lhs_batching_dimensions = [], "
                    "lhs_contracting_dimensions = [2], rhs_batching_dimensions = [], "
                    "rhs_contracting_dimensions = [0]}} : {1}\n"
                    "  %y = add(%y0, %x) : {1}\n  return %y\n}}\n",
                    wide, x);
}

Caps software_caps() {  // as lavapipe says of itself
  Caps caps;
  caps.device_class = DeviceClass::kSoftwareRasteriser;
  caps.subgroup_size = 8;
  caps.subgroup_shuffle = true;
  caps.max_group_invocations = 1024;
  caps.max_shared_bytes = 32768;
  return caps;
}

Caps gpu_caps() {
  Caps caps = software_caps();
  caps.device_class = DeviceClass::kDiscreteGpu;
  caps.subgroup_size = 32;
  caps.max_shared_bytes = 49152;
  return caps;
}

int fresh_kernels(int64_t batch, const Caps& caps, std::set<std::string>& known) {
  auto graph = parse_graph(block_text(batch));
  EXPECT_TRUE(graph.ok());
  auto program = compile(*graph, caps, {}, nullptr);
  EXPECT_TRUE(program.ok());
  int fresh = 0;
  for (const std::string& key : (*program)->kernel_keys) fresh += known.insert(key).second;
  return fresh;
}

// Tiles follow the problem's size, so a far larger batch has its own.
TEST(NewShapes, ANearBatchSizeIsFewNewKernelsOnAGpu) {
  std::set<std::string> known;
  fresh_kernels(7, gpu_caps(), known);
  for (int64_t batch : {8, 9, 11, 13})
    EXPECT_LE(fresh_kernels(batch, gpu_caps(), known), 3) << batch;
}

TEST(NewShapes, AnotherBatchSizeIsNoNewKernel) {
  std::set<std::string> known;
  for (int64_t batch : {2, 3, 4, 5, 6, 7, 8, 11, 65}) {  // 20 rows each: 4 fill blocks of 16
    int fresh = fresh_kernels(batch, software_caps(), known);
    // From 64 rows on lanes have runs of them.
    EXPECT_LE(fresh, batch == 2 ? 100 : batch == 4 ? 1 : 0) << "with batch " << batch;
  }
}

// Their leading dimension of size 1 has a variable as if it were longer.
TEST(NewShapes, ABatchOfOneHasTheKernelsOfLargerOnes) {
  std::set<std::string> known;
  fresh_kernels(1, software_caps(), known);
  EXPECT_EQ(fresh_kernels(2, software_caps(), known), 0);
}

}  // namespace
}  // namespace tuff
