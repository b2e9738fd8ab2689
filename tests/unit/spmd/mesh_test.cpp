#include "ir/spmd/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuff {
namespace {

using ::testing::ElementsAre;

const Mesh kMesh{{{"a", 2}, {"b", 3}}};

TEST(Mesh, GroupsDifferInTheirAxesOnly) {
  EXPECT_THAT(kMesh.groups(std::vector<int64_t>{0}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(kMesh.groups(std::vector<int64_t>{1}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(kMesh.groups(std::vector<int64_t>{1, 0}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(kMesh.groups({}), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Mesh, ShardingsAsIntsComeBack) {
  Sharding sharding{{{1}, {}, {0}}};
  EXPECT_THAT(sharding.to_ints(), ElementsAre(1, 1, 0, 1, 0));
  auto back = sharding_of_ints(sharding.to_ints(), 3, kMesh);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, sharding);
  EXPECT_FALSE(sharding_of_ints(std::vector<int64_t>{1, 2}, 1, kMesh).ok());
  EXPECT_FALSE(sharding_of_ints(std::vector<int64_t>{1, 0, 1, 0}, 2, kMesh).ok());
}

TEST(Mesh, PartsAreOfOneSize) {
  TensorType whole{DType::kF32, {4, 6}};
  auto part = part_type(whole, {{{0}, {1}}}, kMesh);
  ASSERT_TRUE(part.ok());
  EXPECT_THAT(part->shape, ElementsAre(2, 2));
  EXPECT_FALSE(part_type(whole, {{{1}, {}}}, kMesh).ok());
}

TEST(Mesh, XlaTextListsDevicesByPart) {
  EXPECT_EQ(xla_text({{{}, {}}}, kMesh), "{replicated}");
  EXPECT_EQ(xla_text({{{0}, {}}}, kMesh), "{devices=[2,1,3]0,1,2,3,4,5 last_tile_dim_replicate}");
  EXPECT_EQ(xla_text({{{1}, {}}}, kMesh), "{devices=[3,1,2]0,3,1,4,2,5 last_tile_dim_replicate}");
  EXPECT_EQ(xla_text({{{1, 0}}}, kMesh), "{devices=[6]0,3,1,4,2,5}");
  EXPECT_EQ(xla_text({{{}}}, kMesh, {0, 1}),
            "{devices=[1,6]0,1,2,3,4,5 last_tile_dims={unreduced}}");
  EXPECT_EQ(xla_text({{{0}}}, kMesh, {1}), "{devices=[2,3]0,1,2,3,4,5 last_tile_dims={unreduced}}");
  EXPECT_EQ(xla_text({{{}}}, kMesh, {1}),
            "{devices=[1,3,2]0,3,1,4,2,5 last_tile_dims={unreduced, replicated}}");
}

}  // namespace
}  // namespace tuff
