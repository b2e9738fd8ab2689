// Tiles in shared memory: every size of tile, each way that operands lie in memory, and edges
// that are no multiples, on the devices that are here; and the kernels themselves as golden
// files (TUFF_REWRITE_GOLDENS=1 writes them).
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/vulkan/vulkan.h"
#include "tests/models/run_model.h"
#include "tests/unit/families/contractions.h"

namespace tuff {
namespace {

using test::convolution, test::dot, test::expect_agreement, test::expect_golden,
    test::grouped_convolution, test::kernels_text, test::padded_dot, test::transposed_dot,
    test::two_way_dot;

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

Caps gpu_caps() {
  Caps caps;
  caps.name = "a GPU";
  caps.device_class = DeviceClass::kDiscreteGpu;
  caps.subgroup_size = 32;
  caps.subgroup_shuffle = true;
  caps.max_group_invocations = 1024;
  caps.max_shared_bytes = 48 << 10;
  return caps;
}

// As a poor device says of itself.
Caps small_gpu_caps() {
  Caps caps = gpu_caps();
  caps.int64 = caps.storage_8bit = caps.storage_16bit = false;
  caps.max_group_invocations = 128;
  caps.max_shared_bytes = 16 << 10;
  return caps;
}

// Batches make up for small problems where a large tile is wanted.
const std::string kLargeTiles[] = {dot("f32", 128, 128, 128, 16), dot("f32", 128, 127, 129, 5),
                                   dot("i32", 128, 66, 130, 19)};

const std::string kSmallTiles[] = {
    // Rows and columns that fill tiles, nearly do, and go beyond; one tile of k, an odd and an
    // even number of them, with and without a rest.
    dot("f32", 1, 64, 64, 16), dot("f32", 3, 65, 63, 17), dot("f32", 2, 31, 70, 33),
    dot("f32", 1, 17, 1, 40), dot("f32", 1, 33, 34, 1), dot("f32", 1, 20, 20, 0),
    dot("f32", 0, 20, 20, 4), dot("f16", 1, 40, 48, 24), dot("bf16", 2, 18, 37, 20),
    dot("ui32", 1, 19, 20, 21), dot("f32", 1, 32, 32, 1024),
    // Operands along k, along rows, along columns; k of two dimensions.
    transposed_dot(32, 64, 32), transposed_dot(21, 39, 35), transposed_dot(3, 40, 1030),
    two_way_dot("f32", 34, 36, 2, 24), two_way_dot("f32", 18, 35, 5, 3),
    two_way_dot("i32", 20, 20, 3, 7), two_way_dot("bf16", 33, 32, 3, 34), padded_dot(37, 41, 22),
    convolution(7, 3, 18, 3, 2), convolution(6, 32, 33, 1, 1), convolution(5, 18, 40, 3, 1),
    convolution(17, 3, 18, 4, 4), convolution(9, 5, 20, 3, 3), grouped_convolution(5, 2, 20, 24)};

struct Way {
  const char* name;
  const char* device;
  Caps caps;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class MatmulTiles : public ::testing::TestWithParam<Way> {};

TEST_P(MatmulTiles, AgreeWithEvaluator) {
  const Way& way = GetParam();
  auto device = open_device(way.device);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  // What the device cannot do is not asked of it.
  Caps caps = (*device)->caps();
  caps.device_class = way.caps.device_class;
  caps.library_calls = false;
  caps.int64 &= way.caps.int64;
  caps.max_group_invocations = std::min(caps.max_group_invocations, way.caps.max_group_invocations);
  caps.max_shared_bytes = std::min(caps.max_shared_bytes, way.caps.max_shared_bytes);
  for (const std::string& text : kSmallTiles) expect_agreement(text, **device, caps);
  for (const std::string& text : kLargeTiles) expect_agreement(text, **device, caps);
  EXPECT_EQ(validation_errors(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, MatmulTiles,
                         ::testing::Values(Way{"cpu", "cpu", gpu_caps()},
                                           Way{"small_cpu", "cpu", small_gpu_caps()},
                                           Way{"vulkan", "vulkan", gpu_caps()},
                                           Way{"small_vulkan", "vulkan", small_gpu_caps()}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(MatmulTilesGolden, Words) {
  expect_golden("words", kernels_text(transposed_dot(32, 32, 64), gpu_caps()));
}
TEST(MatmulTilesGolden, Scalars) {
  expect_golden("scalars", kernels_text(transposed_dot(31, 30, 33), small_gpu_caps()));
}
TEST(MatmulTilesGolden, Split) {
  expect_golden("split", kernels_text(transposed_dot(32, 32, 4096), gpu_caps()));
}

}  // namespace
}  // namespace tuff
