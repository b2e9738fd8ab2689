// Measured schedules of a device: their text, their place in the cache, and what a device does
// with them.
#include "backend/vulkan/tuning.h"

#include <filesystem>
#include <fstream>

#include "backend/compile.h"
#include "backend/executable.h"
#include "ir/evaluate/evaluate.h"
#include "ir/text/parse.h"
#include "shaders/schedule/contraction_schedule.h"
#include "tests/unit/vulkan/device_fixture.h"
#include "tests/unit/vulkan/fake_snapshot.h"

namespace tuff {
namespace {

namespace fs = std::filesystem;

const char* const kDot =
    "graph main(%a: f32[19,40], %b: f32[40,33]) {\n"
    "  %c = dot_general(%a, %b) {lhs_batching_dimensions = [], lhs_contracting_dimensions = [1], "
    "rhs_batching_dimensions = [], rhs_contracting_dimensions = [0]} : f32[19,33]\n"
    "  return %c\n}\n";
const char* const kProblem = "f32 f32 f32 1x19x33x40 a_along_k";
// Of another shape than any rule chooses.
const char* const kSchedule = "registers lanes=4 tile_m=2 tile_n=2 k_unroll=5 k_split=1";

TEST(TuningText, RoundTrips) {
  Tuning tuning{{"a problem", "a schedule"}, {"another", "and its own"}};
  EXPECT_EQ(parse_tuning(print_tuning(tuning)), tuning);
  EXPECT_EQ(parse_tuning(""), Tuning());
  EXPECT_EQ(parse_tuning("no line of ours\na: b"), (Tuning{{"a", "b"}}));
}

class TuningOnDisk : public VulkanTest {
 protected:
  void SetUp() override {
    directory_ =
        fs::path(::testing::TempDir()) /
        (std::string("tuff_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
  }
  void TearDown() override {
    VulkanTest::TearDown();
    fs::remove_all(directory_);
  }
  std::shared_ptr<DiskCache> make() {
    return std::make_shared<DiskCache>(
        directory_.string(), DiskCache::kDefaultMaxBytes,
        [this](const std::string& warning) { warnings_.push_back(warning); });
  }
  void open_again() {
    device_.reset();
    open({.cache = make()});
  }
  void damage(const std::string& kind) {
    for (const auto& entry : fs::directory_iterator(directory_)) {
      if (!entry.path().filename().string().starts_with(kind)) continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-2, std::ios::end);
      file.put('\x55');
    }
  }

  // The product under the device's caps is the evaluator's; what it took to load it.
  LoadStats expect_right_product() {
    auto graph = parse_graph(kDot);
    EXPECT_TRUE(graph.ok());
    std::vector<Literal> arguments;
    for (uint32_t i = 0; i < graph->num_parameters(); ++i) {
      Literal value(graph->node(i).types[0]);
      for (int64_t e = 0; e < value.num_elements(); ++e)
        value.set_double(e, static_cast<double>((e * 7 + i) % 5) - 2);
      arguments.push_back(value);
    }
    auto program = compile(*graph, device_->caps(), {}, nullptr);
    EXPECT_TRUE(program.ok());
    auto executable = Executable::create(*device_, *program, {});
    EXPECT_TRUE(executable.ok());
    auto got = (*executable)(arguments), expected = evaluate(*graph, arguments);
    EXPECT_TRUE(got.ok() && expected.ok());
    EXPECT_EQ((*got)[0], (*expected)[0]);
    return executable->load_stats();
  }
  bool is_tuned() const {
    return device_->caps().tuning && device_->caps().tuning->contains(kProblem);
  }

  fs::path directory_;
  std::vector<std::string> warnings_;
};

TEST_F(TuningOnDisk, IsFoundForItsDriverAlone) {
  DeviceSnapshot driver = fake_lavapipe("Mesa 25.0.7"), newer = driver, wider = driver;
  newer.properties.driverVersion += 1;
  wider.subgroup_size *= 2;
  std::shared_ptr<DiskCache> cache = make();
  EXPECT_EQ(find_tuning(cache.get(), driver), nullptr);
  EXPECT_EQ(find_tuning(nullptr, driver), nullptr);
  Tuning tuning{{kProblem, kSchedule}};
  keep_tuning(*cache, driver, tuning);
  std::shared_ptr<const Tuning> found = find_tuning(make().get(), driver);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, tuning);
  EXPECT_EQ(find_tuning(cache.get(), newer), nullptr);
  EXPECT_EQ(find_tuning(cache.get(), wider), nullptr);
}

TEST_F(TuningOnDisk, ADamagedOneIsNoneAndIsTold) {
  DeviceSnapshot driver = fake_lavapipe("Mesa 25.0.7");
  std::shared_ptr<DiskCache> cache = make();
  keep_tuning(*cache, driver, {{kProblem, kSchedule}});
  damage("tuning");
  EXPECT_EQ(find_tuning(cache.get(), driver), nullptr);
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(find_tuning(cache.get(), driver), nullptr);
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(TuningOnDisk, IsTakenAtOnceAndByLaterDevices) {
  open_again();
  if (IsSkipped()) return;
  EXPECT_FALSE(is_tuned());
  LoadStats untuned = expect_right_product();
  EXPECT_TRUE(device_->take_tuning({{kProblem, kSchedule}}));
  EXPECT_TRUE(is_tuned());
  EXPECT_EQ(expect_right_product().memory_hits, 0) << "the tuned kernel is another one";
  open_again();
  EXPECT_TRUE(is_tuned());
  LoadStats warm = expect_right_product();
  EXPECT_EQ(warm.glsl_compiled, 0);
  EXPECT_EQ(warm.disk_hits, warm.kernels);
  // What is learned of another problem joins it.
  EXPECT_TRUE(device_->take_tuning({{"another problem", "its schedule"}}));
  open_again();
  EXPECT_TRUE(is_tuned());
  EXPECT_EQ(device_->caps().tuning->size(), 2u);
  EXPECT_GE(untuned.kernels, 1);
}

TEST_F(TuningOnDisk, IsIgnoredWhereItIsDamagedOrIllegal) {
  open_again();
  if (IsSkipped()) return;
  LoadStats untuned = expect_right_product();
  for (const char* poison :
       {"registers lanes=1048576 tile_m=64 tile_n=64 k_unroll=5 k_split=1",
        "tiles rows=3 columns=5 k=7 lane_rows=1 lane_columns=1 run=1", "registers", ""}) {
    EXPECT_TRUE(device_->take_tuning({{kProblem, poison}}));
    EXPECT_EQ(expect_right_product().memory_hits, untuned.kernels) << poison;
  }
  damage("tuning");
  open_again();
  EXPECT_FALSE(is_tuned());
  EXPECT_EQ(warnings_.size(), 1u);
  expect_right_product();
}

TEST_F(TuningOnDisk, LastsAsLongAsTheDeviceWithoutACache) {
  open({});
  if (IsSkipped()) return;
  EXPECT_FALSE(device_->take_tuning({{kProblem, kSchedule}}));
  EXPECT_TRUE(is_tuned());
  expect_right_product();
}

}  // namespace
}  // namespace tuff
