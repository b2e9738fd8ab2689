// The self-test: its judgement over results that are made up, its verdicts on disk, and what
// it says of the drivers that are here.
#include "backend/vulkan/self_test/self_test.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "backend/compile.h"
#include "backend/vulkan/self_test/self_test_run.h"
#include "ir/evaluate/evaluate.h"
#include "ir/text/parse.h"
#include "ir/verify.h"
#include "tests/unit/vulkan/device_fixture.h"
#include "tests/unit/vulkan/fake_snapshot.h"

namespace tuff {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Caps able() {
  Caps caps;
  caps.device_class = DeviceClass::kSoftwareRasteriser;
  caps.subgroup_size = 8;
  caps.subgroup_shuffle = caps.native_division = caps.fused_multiply_add = true;
  caps.native_f16_widen = caps.native_f16_narrow = true;
  caps.max_group_invocations = 1024;
  return caps;
}

// A device whose products are of matrices, too.
Caps able_gpu() {
  Caps caps = able();
  caps.device_class = DeviceClass::kDiscreteGpu;
  caps.max_shared_bytes = 48 << 10;
  caps.matrix_shapes = {{8, 8, 8}, {8, 8, 32, DType::kI8, DType::kI32}};
  return caps;
}

bool computes(const Probe& probe, const char* op) {
  return probe.graph.find(op) != std::string::npos;
}

// A driver that gets a problem wrong where `wrong` says so.
SelfTestVerdict judge(const Caps& caps, const std::function<bool(const Probe&)>& wrong) {
  auto verdict = judge_device(caps, [&](const Probe& probe) -> Result<std::string> {
    return wrong(probe) ? std::string("element 0 of output 0 is 1 and not 2") : std::string();
  });
  EXPECT_TRUE(verdict.ok()) << verdict.error().message;
  return verdict ? *verdict : SelfTestVerdict{};
}

TEST(SelfTest, ADeviceThatIsRightKeepsAll) {
  EXPECT_EQ(judge(able(), [](const Probe&) { return false; }), SelfTestVerdict{});
}

TEST(SelfTest, ClaimsAreTestedOnlyWhereTheyAreMade) {
  Caps poor;
  poor.int64 = poor.float64 = poor.storage_8bit = poor.storage_16bit = false;
  std::mutex mutex;
  std::string graphs;
  judge(poor, [&](const Probe& probe) {
    std::lock_guard lock(mutex);
    graphs += probe.graph;
    return false;
  });
  for (const char* type : {"i64", "f64", "f16", "bf16", "i8", "ui8"})
    EXPECT_EQ(graphs.find(type + std::string("[")), std::string::npos) << type;
}

TEST(SelfTest, WhatIsWrongIsTurnedOff) {
  auto off = [](const std::function<bool(const Probe&)>& wrong) {
    SelfTestVerdict verdict = judge(able(), wrong);
    EXPECT_EQ(verdict.failure, "");
    return verdict.off;
  };
  EXPECT_THAT(off([](const Probe& p) { return p.caps.subgroup_shuffle && computes(p, "dot"); }),
              ElementsAre("subgroup_shuffle"));
  EXPECT_THAT(off([](const Probe& p) { return p.caps.int64 && computes(p, "dot"); }),
              ElementsAre("int64"));
  EXPECT_THAT(off([](const Probe& p) { return p.caps.int64 && computes(p, "%lt = compare(%w"); }),
              ElementsAre("int64"));
  EXPECT_THAT(off([](const Probe& p) { return p.caps.native_division && computes(p, "sqrt"); }),
              ElementsAre("native_division"));
  EXPECT_THAT(off([](const Probe& p) {
                return (p.caps.native_division || p.caps.fused_multiply_add) && computes(p, "sqrt");
              }),
              ElementsAre("native_division", "fused_multiply_add"));
  EXPECT_THAT(off([](const Probe& p) { return p.caps.native_f16_widen && computes(p, "%wide"); }),
              ElementsAre("native_f16_widen"));
  EXPECT_THAT(
      off([](const Probe& p) { return p.caps.native_f16_narrow && computes(p, "%narrow"); }),
      ElementsAre("native_f16_narrow"));
  EXPECT_THAT(off([](const Probe& p) { return p.caps.storage_16bit && computes(p, "bf16"); }),
              ElementsAre("storage_16bit"));
  EXPECT_THAT(off([](const Probe& p) { return computes(p, "f64"); }), ElementsAre("float64"));
}

// Kernels take doubles apart as 64-bit integers.
TEST(SelfTest, WithoutInt64ThereIsNoFloat64) {
  DeviceSnapshot snapshot = fake_snapshot();
  snapshot.features.shaderInt64 = snapshot.features.shaderFloat64 = VK_TRUE;
  DevicePlan plan = *plan_device(snapshot);
  ASSERT_TRUE(plan.caps.int64 && plan.caps.float64);
  ASSERT_TRUE(apply_verdict({{"int64"}, ""}, snapshot, plan).ok());
  EXPECT_FALSE(plan.caps.int64 || plan.caps.float64);
}

TEST(SelfTest, MatricesThatAreWrongAreTurnedOff) {
  SelfTestVerdict verdict = judge(able_gpu(), [](const Probe& p) {
    return !p.caps.matrix_shapes.empty() && computes(p, "f16[70,90]");
  });
  EXPECT_THAT(verdict.off, ElementsAre("cooperative_matrix"));
  EXPECT_EQ(verdict.failure, "");
  DeviceSnapshot snapshot = fake_snapshot();
  DevicePlan plan = *plan_device(snapshot);
  plan.caps.matrix_shapes = able_gpu().matrix_shapes;
  ASSERT_TRUE(apply_verdict(verdict, snapshot, plan).ok());
  EXPECT_THAT(plan.caps.matrix_shapes, IsEmpty());
  ASSERT_EQ(plan.quirks.size(), 1u);
  EXPECT_EQ(plan.quirks[0].name, "self_test_cooperative_matrix");
}

// The probe of matrices is compiled to kernels that have them.
TEST(SelfTest, MatricesAreProbed) {
  for (const ProbeRow& row : probe_rows()) {
    if (row.name != std::string("matrices")) continue;
    EXPECT_FALSE(row.make(able()));
    std::optional<Probe> probe = row.make(able_gpu());
    ASSERT_TRUE(probe);
    auto program = compile(*parse_graph(probe->graph), probe->caps, {}, nullptr);
    ASSERT_TRUE(program.ok()) << program.error().message;
    ASSERT_EQ((*program)->kernels.size(), 2u);
    for (const Kernel& kernel : (*program)->kernels) EXPECT_TRUE(kernel.matrices);
  }
}

TEST(SelfTest, FaultsThatMeetAreBothFound) {
  SelfTestVerdict verdict = judge(able(), [](const Probe& p) {
    return computes(p, "dot") && (p.caps.subgroup_shuffle || p.caps.int64);
  });
  EXPECT_THAT(verdict.off, ElementsAre("subgroup_shuffle", "int64"));
  EXPECT_EQ(verdict.failure, "");
}

TEST(SelfTest, ALoopLimitIsFoundByDegrees) {
  auto stops_at = [](int64_t limit) {
    return judge(able(), [=](const Probe& p) {
      return computes(p, "iota") && std::min<int64_t>(p.caps.max_loop_iterations, 70'000) > limit;
    });
  };
  EXPECT_THAT(stops_at(65535).off, ElementsAre("long_loops"));
  EXPECT_THAT(stops_at(20'000).off, ElementsAre("long_loops", "long_loops", "long_loops"));
  EXPECT_THAT(stops_at(100).failure, HasSubstr("long loops"));
}

TEST(SelfTest, AFamilyThatCannotBeMendedIsNamed) {
  SelfTestVerdict verdict = judge(able(), [](const Probe& p) { return computes(p, "= sort"); });
  EXPECT_THAT(verdict.off, IsEmpty());
  EXPECT_EQ(verdict.failure,
            "it computes sorts wrong (the problem sort: element 0 of output 0 is 1 and not 2)");
  DeviceSnapshot snapshot = fake_snapshot();
  DevicePlan plan = *plan_device(snapshot);
  Status status = apply_verdict(verdict, snapshot, plan);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kNoDevice);
  EXPECT_THAT(status.error().message, HasSubstr("Fake 9000"));
  EXPECT_THAT(status.error().message, HasSubstr("it computes sorts wrong"));
}

TEST(SelfTest, ALostDeviceIsAnError) {
  auto verdict = judge_device(able(), [](const Probe&) -> Result<std::string> {
    return Error{ErrorCode::kDeviceLost, "The device is lost.", ""};
  });
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().code, ErrorCode::kDeviceLost);
}

TEST(SelfTest, TheVerdictNarrowsThePlan) {
  DeviceSnapshot snapshot = fake_lavapipe("Mesa 25.0.7");
  snapshot.features.shaderInt64 = VK_TRUE;
  DevicePlan plan = *plan_device(snapshot);
  ASSERT_TRUE(plan.caps.int64);
  ASSERT_TRUE(apply_verdict({{"int64", "long_loops", "long_loops"}, ""}, snapshot, plan).ok());
  EXPECT_FALSE(plan.caps.int64);
  EXPECT_EQ(plan.caps.max_loop_iterations, 32767);
  ASSERT_EQ(plan.quirks.size(), 2u) << "one each";
  EXPECT_EQ(plan.quirks[0].name, "self_test_int64");
  EXPECT_THAT(plan.quirks[1].sentence, HasSubstr("32767"));
}

TEST(SelfTest, ProbesAreGraphsWithTheirAnswers) {
  for (const ProbeRow& row : probe_rows()) {
    SCOPED_TRACE(row.name);
    std::optional<Probe> probe = row.make(able_gpu());
    ASSERT_TRUE(probe);
    auto graph = parse_graph(probe->graph);
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    Status valid = verify(*graph);
    ASSERT_TRUE(valid.ok()) << valid.error().to_string();
    auto answer = evaluate(*graph, probe->arguments);
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    EXPECT_EQ(difference(*probe, *answer), "") << "against the reference evaluator";
  }
}

TEST(SelfTest, DifferencesAreTold) {
  Probe probe;
  auto f32 = [](std::vector<double> values) {
    return Literal::from_doubles(DType::kF32, {2}, values);
  };
  probe.expected = {f32({1, 2})};
  EXPECT_EQ(difference(probe, {f32({1, 2})}), "");
  EXPECT_EQ(difference(probe, {f32({1, 3})}), "element 1 of output 0 is 3 and not 2");
  EXPECT_NE(difference(probe, {f32({NAN, 2})}), "");
  EXPECT_NE(difference(probe, {}), "");
  EXPECT_NE(difference(probe, {Literal::from_ints(DType::kI32, {2}, {1, 2})}), "");
  probe.tolerance = 0.5;
  EXPECT_EQ(difference(probe, {f32({1.25, 2})}), "");
  EXPECT_NE(difference(probe, {f32({1.75, 2})}), "");
  EXPECT_NE(difference(probe, {f32({NAN, 2})}), "") << "NaN is no small difference";
  probe.expected = {Literal::from_ints(DType::kI64, {1}, {(int64_t{1} << 60) + 1})};
  EXPECT_NE(difference(probe, {Literal::from_ints(DType::kI64, {1}, {int64_t{1} << 60})}), "")
      << "64 bits are compared as they are";
}

TEST(Verdict, ItsTextRoundTrips) {
  for (const SelfTestVerdict& verdict :
       {SelfTestVerdict{}, SelfTestVerdict{{"int64", "long_loops", "long_loops"}, ""},
        SelfTestVerdict{{"float64"}, "it computes sorts wrong (so)"}})
    EXPECT_EQ(parse_verdict(print_verdict(verdict)), verdict);
  for (const char* text : {"", "end", "off nothing\nend\n", "off int64\n", "off int64\nend\nmore\n",
                           "int64\nend\n", "failure \nend\n"})
    EXPECT_EQ(parse_verdict(text), std::nullopt) << text;
}

class VerdictOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tuff-verdict-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }
  DiskCache make() {
    return DiskCache(directory_, 1 << 20, [this](const std::string& w) { warnings_.push_back(w); });
  }
  std::string directory_;
  std::vector<std::string> warnings_;
};

TEST_F(VerdictOnDisk, IsFoundForItsDriverAlone) {
  DeviceSnapshot driver = fake_lavapipe("Mesa 25.0.7"), newer = fake_lavapipe("Mesa 25.0.8"),
                 wider = driver;
  wider.subgroup_size *= 2;
  SelfTestVerdict verdict{{"int64"}, ""};
  DiskCache cache = make();
  EXPECT_EQ(find_verdict(&cache, driver), std::nullopt);
  keep_verdict(&cache, driver, verdict);
  DiskCache again = make();
  EXPECT_EQ(find_verdict(&again, driver), verdict);
  EXPECT_EQ(find_verdict(&again, newer), std::nullopt);
  EXPECT_EQ(find_verdict(&again, wider), std::nullopt);
}

TEST_F(VerdictOnDisk, ADamagedOneIsNone) {
  DeviceSnapshot driver = fake_snapshot();
  DiskCache cache = make();
  keep_verdict(&cache, driver, {});
  for (const auto& entry : fs::directory_iterator(directory_)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-2, std::ios::end);
    file.put('\x55');
  }
  EXPECT_EQ(find_verdict(&cache, driver), std::nullopt);
  EXPECT_EQ(warnings_.size(), 1u);
  keep_verdict(&cache, driver, {});
  EXPECT_EQ(find_verdict(&cache, driver), SelfTestVerdict{});
}

class SelfTestOnDevice : public VulkanTest {
 protected:
  // What the device says of itself: opening it may have turned something off.
  Caps claimed() const {
    auto plan = plan_device(device_->context().snapshot());
    EXPECT_TRUE(plan.ok());
    return plan ? plan->caps : Caps();
  }
};

TEST_F(SelfTestOnDevice, FindsNothingWrong) {
  auto verdict = run_self_test(*device_, claimed());
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(*verdict, SelfTestVerdict{});
}

// What quirks.def says of old lavapipes is found without it.
TEST_F(SelfTestOnDevice, FindsTheLoopLimitOfOldLavapipes) {
  Caps caps = claimed();
  bool limited = caps.max_loop_iterations != Caps().max_loop_iterations;
  caps.max_loop_iterations = Caps().max_loop_iterations;
  auto verdict = run_self_test(*device_, caps);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(verdict->failure, "");
  EXPECT_EQ(verdict->off,
            limited ? std::vector<std::string>{"long_loops"} : std::vector<std::string>{});
}

// Only where the device has matrices: a software device uses none by itself.
TEST_F(SelfTestOnDevice, FindsMatricesRight) {
  Caps caps = claimed();
  if (caps.matrix_shapes.empty()) GTEST_SKIP() << caps.name << " has no cooperative matrices";
  caps.device_class = DeviceClass::kDiscreteGpu;
  auto verdict = run_self_test(*device_, caps);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(*verdict, SelfTestVerdict{});
}

// Kernels for wider subgroups read lanes that are none of theirs. (64: no software driver runs
// them ever rightly, so that none keeps them in a cache of its own as if they were.)
TEST_F(SelfTestOnDevice, CatchesALieAboutSubgroups) {
  Caps caps = claimed();
  if (!caps.subgroup_shuffle || caps.subgroup_size >= 64) GTEST_SKIP() << "it is no lie";
  caps.subgroup_size = 64;
  auto verdict = run_self_test(*device_, caps);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_THAT(verdict->off, ElementsAre("subgroup_shuffle"));
  EXPECT_EQ(verdict->failure, "");
}

TEST_F(SelfTestOnDevice, LeavesNoTraceInAModelsStatistics) {
  ProgramBuilder builder = one_step();
  EXPECT_EQ(load(builder.program(), builder.shaders())->stats().glsl_compiled, 1);
}

}  // namespace
}  // namespace tuff
