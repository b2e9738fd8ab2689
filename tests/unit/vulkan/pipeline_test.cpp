// Pipelines are made once per text, process and disk.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/vulkan/device_fixture.h"

namespace tuff {
namespace {

class CachedTest : public VulkanTest {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tuff-vulkan-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    reopen();
  }
  void TearDown() override {
    VulkanTest::TearDown();
    std::filesystem::remove_all(directory_);
  }
  void reopen() {
    device_.reset();
    cache_ = std::make_shared<DiskCache>(directory_, 1 << 20,
                                         [this](const std::string& w) { warnings_.push_back(w); });
    open({.cache = cache_});
  }
  LoadStats load_stats(const ProgramBuilder& builder) {
    return load(builder.program(), builder.shaders())->stats();
  }
  std::string directory_;
  std::shared_ptr<DiskCache> cache_;
  std::vector<std::string> warnings_;
};

TEST_F(CachedTest, CompilesOncePerTextAndDisk) {
  ProgramBuilder builder = one_step();
  builder.kernel(affine_shader() + "// two\n", 2, 3);
  builder.kernel(affine_shader(), 2, 3);
  LoadStats first = load_stats(builder);
  EXPECT_EQ(first.kernels, 3);
  EXPECT_EQ(first.glsl_compiled, 2) << "equal texts are one";
  EXPECT_EQ(first.disk_hits, 0);
  LoadStats again = load_stats(builder);
  EXPECT_EQ(again.glsl_compiled, 0);
  EXPECT_EQ(again.memory_hits, 3);
  reopen();
  LoadStats fresh = load_stats(builder);
  EXPECT_EQ(fresh.glsl_compiled, 0);
  EXPECT_EQ(fresh.disk_hits, 2);
  EXPECT_EQ(fresh.memory_hits, 0);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CachedTest, KeepsSomeThatNoProgramHas) {
  auto builder = [](size_t number) {
    ProgramBuilder one;
    one.kernel(affine_shader() + fmt::format("// {}\n", number), 2, 3);
    return one;
  };
  auto held = load(builder(0).program(), builder(0).shaders());
  for (size_t i = 1; i <= PipelineStore::kMaxUnused + 2; ++i) load_stats(builder(i));
  EXPECT_EQ(load_stats(builder(0)).memory_hits, 1) << "a program has it";
  EXPECT_EQ(load_stats(builder(2)).memory_hits, 1) << "of the ones used last";
  EXPECT_EQ(load_stats(builder(1)).memory_hits, 0) << "the one unused longest";
}

TEST_F(CachedTest, DamagedEntriesAreCompiledAnew) {
  ProgramBuilder builder = one_step();
  load_stats(builder);
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-2, std::ios::end);
    file.put('\x55');
  }
  reopen();
  EXPECT_EQ(load_stats(builder).glsl_compiled, 1);
  EXPECT_FALSE(warnings_.empty());
  reopen();
  EXPECT_EQ(load_stats(builder).disk_hits, 1);
}

TEST_F(VulkanTest, ReportsProgress) {
  ProgramBuilder builder;
  for (int i = 0; i < 5; ++i)
    builder.kernel(affine_shader() + "// " + std::to_string(i) + "\n", 2, 3);
  std::vector<int64_t> done;
  LoadOptions options;
  options.progress = [&](int64_t d, int64_t total) {
    EXPECT_EQ(total, 5);
    done.push_back(d);
  };
  ASSERT_TRUE(
      VulkanProgram::create(device_->services(), builder.program(), builder.shaders(), options)
          .ok());
  EXPECT_EQ(done, (std::vector<int64_t>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace tuff
