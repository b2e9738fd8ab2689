// What tuning does with the times that a device tells: a device whose times are made up.
#include "backend/tune.h"

#include <gtest/gtest.h>

#include <map>

#include "backend/cpu/device.h"
#include "ir/text/parse.h"

namespace tuff {
namespace {

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

// Two equal products, one of which is scaled, and one of another shape.
const char* const kGraph =
    "graph main(%a: f32[40,64], %b: f32[64,64], %c: f32[64,8], %s: f32[40,64]) {\n"
    "  %d = dot_general(%a, %b) {lhs_batching_dimensions = [], lhs_contracting_dimensions = [1], "
    "rhs_batching_dimensions = [], rhs_contracting_dimensions = [0]} : f32[40,64]\n"
    "  %e = dot_general(%d, %b) {lhs_batching_dimensions = [], lhs_contracting_dimensions = [1], "
    "rhs_batching_dimensions = [], rhs_contracting_dimensions = [0]} : f32[40,64]\n"
    "  %f = multiply(%e, %s) : f32[40,64]\n"
    "  %g = dot_general(%f, %c) {lhs_batching_dimensions = [], lhs_contracting_dimensions = [1], "
    "rhs_batching_dimensions = [], rhs_contracting_dimensions = [0]} : f32[40,8]\n"
    "  return %g\n}\n";
const char* const kSquare = "f32 f32 f32 1x40x64x64 a_along_k";

// The CPU, which takes itself for a software rasteriser and says how long each kernel took.
class FakeDevice final : public Device {
 public:
  using TimeUs = std::function<double(const Program& program, const Step& step)>;

  explicit FakeDevice(TimeUs time_us) : time_us_(std::move(time_us)) {
    cpu_ = std::move(create_cpu_device()).value();
    caps_ = cpu_->caps();
    caps_.library_calls = false;
    caps_.device_class = DeviceClass::kSoftwareRasteriser;
    caps_.subgroup_size = 8;
    caps_.subgroup_shuffle = true;
    caps_.max_group_invocations = 256;
    caps_.max_shared_bytes = 32 << 10;
  }

  Caps& mutable_caps() { return caps_; }
  // Runs of programs for which this is true leave zeros.
  std::function<bool(const Program& program)> is_wrong = [](const Program&) { return false; };

  const Caps& caps() const override { return caps_; }
  std::string description() const override { return "fake"; }
  Result<BufferPtr> allocate(int64_t bytes) override { return cpu_->allocate(bytes); }
  Status write(Buffer& buffer, int64_t offset, std::span<const std::byte> data) override {
    return cpu_->write(buffer, offset, data);
  }
  Status read(const Buffer& buffer, int64_t offset, std::span<std::byte> data) override {
    return cpu_->read(buffer, offset, data);
  }
  Result<std::unique_ptr<LoadedProgram>> load(std::shared_ptr<const Program> program,
                                              const LoadOptions& options) override {
    TUFF_ASSIGN(auto loaded, cpu_->load(program, options));
    programs_[loaded.get()] = std::move(program);
    return loaded;
  }
  Status run(LoadedProgram& loaded, std::span<const BufferPtr> arguments,
             std::span<const BufferPtr> outputs, RunStats* stats) override {
    TUFF_RETURN_IF_ERROR(cpu_->run(loaded, arguments, outputs, stats));
    const Program& program = *programs_.at(&loaded);
    if (is_wrong(program))
      for (const BufferPtr& output : outputs) {
        std::vector<std::byte> zeros(static_cast<size_t>(output->size_bytes()));
        TUFF_RETURN_IF_ERROR(cpu_->write(*output, 0, zeros));
      }
    if (stats != nullptr)
      for (StepTime& time : stats->steps)
        time.end_us = time.start_us + time_us_(program, *time.step);
    return {};
  }

 private:
  std::unique_ptr<Device> cpu_;
  Caps caps_;
  TimeUs time_us_;
  std::map<const LoadedProgram*, std::shared_ptr<const Program>> programs_;
};

TuneOptions options() {
  TuneOptions options;
  options.budget_s = 1e6;
  options.make_argument = [](uint32_t, const TensorType& type) { return Literal::splat(type, 1); };
  return options;
}

double workgroups(const Program&, const Step& step) { return static_cast<double>(step.workgroups); }

Result<TuneReport> tune_graph(Device& device, const TuneOptions& options) {
  TUFF_ASSIGN(Graph graph, parse_graph(kGraph));
  return tune(device, graph, options);
}

const TunedProblem* find(const TuneReport& report, const std::string& problem) {
  for (const TunedProblem& p : report.problems)
    if (p.problem == problem) return &p;
  return nullptr;
}

TEST(Tune, FindsWhatTakesTheLeastTime) {
  FakeDevice device(workgroups);
  auto report = tune_graph(device, options());
  ASSERT_OK(report);
  ASSERT_EQ(report->problems.size(), 2u);
  const TunedProblem* square = find(*report, kSquare);
  ASSERT_NE(square, nullptr);
  EXPECT_EQ(square, &report->problems[0]) << "most time first";
  EXPECT_EQ(square->runs, 2);
  EXPECT_GT(square->tried, 10);
  EXPECT_LT(square->best_ms, square->chosen_ms);
  EXPECT_TRUE(square->wrong.empty());
  // One workgroup of each kernel is the least there is.
  EXPECT_DOUBLE_EQ(square->best_ms, 2e-3);
  ASSERT_TRUE(report->faster.contains(kSquare));
  EXPECT_EQ(report->faster.at(kSquare), square->best);
  // With it in force there is nothing better.
  device.mutable_caps().tuning = std::make_shared<const Tuning>(report->faster);
  auto again = tune_graph(device, options());
  ASSERT_OK(again);
  EXPECT_EQ(find(*again, kSquare)->chosen, square->best);
  EXPECT_TRUE(again->faster.empty());
}

TEST(Tune, LeavesWhatIsHardlySlower) {
  FakeDevice device([](const Program&, const Step& step) {
    return 1000 + 0.1 * static_cast<double>(step.workgroups);
  });
  auto report = tune_graph(device, options());
  ASSERT_OK(report);
  EXPECT_TRUE(report->faster.empty());
  for (const TunedProblem& problem : report->problems) {
    EXPECT_EQ(problem.best, problem.chosen);
    EXPECT_EQ(problem.best_ms, problem.chosen_ms);
  }
}

TEST(Tune, GoesBackToTheRuleFromAMeasuredScheduleThatIsSlower) {
  FakeDevice device(workgroups);
  device.mutable_caps().tuning = std::make_shared<const Tuning>(
      Tuning{{kSquare, "registers lanes=1 tile_m=1 tile_n=1 k_unroll=1 k_split=1"}});
  auto report = tune_graph(device, options());
  ASSERT_OK(report);
  const TunedProblem* square = find(*report, kSquare);
  ASSERT_NE(square, nullptr);
  EXPECT_LT(square->best_ms, square->chosen_ms / 10);
  EXPECT_TRUE(report->faster.contains(kSquare));
}

TEST(Tune, DropsSchedulesThatComputeSomethingElse) {
  FakeDevice device(workgroups);
  auto right = tune_graph(device, options());
  ASSERT_OK(right);
  int64_t most = static_cast<int64_t>(find(*right, kSquare)->chosen_ms * 1000 / 2);
  device.is_wrong = [&](const Program& program) { return program.steps[0].workgroups < most; };
  auto report = tune_graph(device, options());
  ASSERT_OK(report);
  const TunedProblem* square = find(*report, kSquare);
  ASSERT_NE(square, nullptr);
  EXPECT_FALSE(square->wrong.empty());
  EXPECT_EQ(square->best, square->chosen);
  EXPECT_FALSE(report->faster.contains(kSquare));
}

TEST(Tune, EndsWithItsBudgetOrWhenItIsTold) {
  FakeDevice device(workgroups);
  TuneOptions none = options();
  none.budget_s = 0;
  auto report = tune_graph(device, none);
  ASSERT_OK(report);
  EXPECT_TRUE(report->faster.empty());
  for (const TunedProblem& problem : report->problems) EXPECT_EQ(problem.tried, 0);

  TuneOptions stopped = options();
  int trials = 0;
  stopped.before_trial = [&](double) -> Status {
    if (++trials < 6) return {};
    return Error{ErrorCode::kInterrupted, "It is stopped.", ""};
  };
  auto ended = tune_graph(device, stopped);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(trials, 6);
}

TEST(Tune, HasNothingToDoWhereALibraryMultiplies) {
  auto cpu = create_cpu_device();
  ASSERT_OK(cpu);
  if (!(*cpu)->caps().library_calls) GTEST_SKIP() << "no library in this build";
  auto report = tune_graph(**cpu, options());
  ASSERT_OK(report);
  EXPECT_TRUE(report->problems.empty());
}

}  // namespace
}  // namespace tuff
