// What the plugin keeps of programs that nobody holds any more.
#include "frontend/pjrt/program_cache.h"

#include <gtest/gtest.h>

namespace tuff::pjrt {
namespace {

using Cache = GraphCache<Compiled>;

// A program with a constant of so many bytes, the only one of its number.
std::shared_ptr<const Compiled> program(int number, int64_t constant_bytes) {
  auto graph = std::make_shared<Graph>();
  TensorType type{DType::kF32, {4 + number}};
  graph->set_outputs({add_op(*graph, Op::kNegate, {graph->add_parameter(type)}, type)});
  auto made = std::make_shared<Program>();
  made->constants.emplace_back(TensorType{DType::kU8, {constant_bytes}});
  auto compiled = std::make_shared<Compiled>();
  compiled->hash = graph->hash();
  compiled->graph = graph;
  compiled->program = made;
  return compiled;
}

bool keeps(Cache& cache, const std::shared_ptr<const Compiled>& value) {
  return cache.find(*value->graph, value->hash) == value;
}

TEST(ProgramCache, BytesAreBounded) {
  Cache cache;
  std::vector<std::shared_ptr<const Compiled>> programs;
  constexpr int kPrograms = 24;
  constexpr int64_t kBytes = int64_t{16} << 20;
  for (int i = 0; i < kPrograms; ++i) {
    programs.push_back(program(i, kBytes));
    cache.insert(programs.back());
  }
  int64_t held = 0;
  for (const auto& value : programs) held += value.use_count() > 1 ? held_bytes(*value) : 0;
  EXPECT_LE(held, Cache::kMaxBytes);
  EXPECT_GT(held, Cache::kMaxBytes / 2);
  EXPECT_TRUE(keeps(cache, programs.back()));
  EXPECT_FALSE(keeps(cache, programs.front()));
}

TEST(ProgramCache, TheOneUsedLongestAgoGoes) {
  Cache cache;
  auto first = program(1, Cache::kMaxBytes / 3), second = program(2, Cache::kMaxBytes / 3);
  auto third = program(3, Cache::kMaxBytes / 2);
  cache.insert(first);
  cache.insert(second);
  EXPECT_TRUE(keeps(cache, first));
  cache.insert(third);
  EXPECT_TRUE(keeps(cache, first));
  EXPECT_FALSE(keeps(cache, second));
  EXPECT_TRUE(keeps(cache, third));
}

TEST(ProgramCache, OneThatIsTooLargeIsNotKept) {
  Cache cache;
  auto small = program(1, 1000), large = program(2, Cache::kMaxBytes + 1);
  cache.insert(small);
  cache.insert(large);
  EXPECT_FALSE(keeps(cache, large));
  EXPECT_EQ(large.use_count(), 1);
}

}  // namespace
}  // namespace tuff::pjrt
