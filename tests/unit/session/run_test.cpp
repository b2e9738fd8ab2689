// From bytes to outputs, on each device; what a session says goes through its hooks alone.
#include "frontend/session/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "frontend/session/check.h"
#include "frontend/session/model.h"
#include "tests/unit/weights/files.h"

namespace tuff {
namespace {

using testing::HasSubstr;

constexpr const char* kModule =
    "func.func public @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {\n"
    "  %0 = stablehlo.add %arg0, %arg0 : tensor<3xf32>\n"
    "  %1 = stablehlo.multiply %0, %arg0 : tensor<3xf32>\n"
    "  return %0, %1 : tensor<3xf32>, tensor<3xf32>\n}\n";

class Sessions : public testing::TestWithParam<const char*> {
 protected:
  Graph graph_ = import_bytes(kModule, "m.mlir").value().graph;
  std::vector<Literal> arguments_ = {Literal::from_doubles(DType::kF32, {3}, {1, -2, 0.5})};

  // Nothing where the machine has no such device, unless it must have it.
  std::optional<Session> open(SessionOptions options = {}) {
    Result<Session> session = Session::open(*parse_device(GetParam()), std::move(options));
    if (session.ok()) return std::move(*session);
    bool may_lack = std::getenv("TUFF_TEST_REQUIRE_VULKAN") == nullptr;
    EXPECT_TRUE(may_lack && session.error().code == ErrorCode::kNoDevice)
        << session.error().to_string();
    return std::nullopt;
  }
};

// Those that load what they run.
class DeviceSessions : public Sessions {};

TEST_P(Sessions, RunAModelAndPrintNothing) {
  std::optional<Session> session = open();
  if (!session) GTEST_SKIP() << "no device";
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  auto execution = run_model(*session, graph_, arguments_, 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout(), "");
  ASSERT_TRUE(execution.ok()) << execution.error().to_string();
  ASSERT_EQ(execution->outputs.size(), 2u);
  for (int i = 0; i < 3; ++i) {
    double x = arguments_[0].get_double(i);
    EXPECT_EQ(execution->outputs[0].get_double(i), 2 * x);
    EXPECT_EQ(execution->outputs[1].get_double(i), 2 * x * x);
  }
  EXPECT_EQ(execution->ops, 2);
  EXPECT_EQ(execution->steady_ms.has_value(), !session->is_reference());
}

TEST_P(Sessions, OutputsAreComparedWithTheEvaluators) {
  std::optional<Session> session = open();
  if (!session) GTEST_SKIP() << "no device";
  std::vector<Literal> outputs = run_model(*session, graph_, arguments_)->outputs;
  EXPECT_TRUE(check_outputs(graph_, arguments_, outputs)->within);
  outputs[1] = Literal::splat({DType::kF32, {3}}, 7);
  EXPECT_FALSE(check_outputs(graph_, arguments_, outputs)->within);
}

TEST_P(DeviceSessions, LoadedModelsOutliveTheirSession) {
  std::optional<Session> session = open();
  if (!session) GTEST_SKIP() << "no device";
  LoadedModel a = session->load(graph_).value(), b = session->load(graph_).value();
  session.reset();
  for (LoadedModel* model : {&a, &b, &a}) {
    ASSERT_TRUE(model->set_arguments(arguments_).ok());
    ASSERT_TRUE(model->run(nullptr).ok());
    EXPECT_EQ((*model->outputs())[0].get_double(1), -4);
  }
}

TEST_P(DeviceSessions, TellThroughTheirHooks) {
  std::atomic<int64_t> kernels{0};
  std::vector<std::string> topics;
  int begun = 0, ended = 0;
  SessionOptions options;
  options.hooks.log = [&](const char* topic, const std::string&) { topics.push_back(topic); };
  options.hooks.progress = [&](const char* phase, const char*) -> ProgressFn {
    EXPECT_STREQ(phase, "compile");
    ++begun;
    std::shared_ptr<void> end(nullptr, [&](void*) { ++ended; });
    return [&, end](int64_t done, int64_t) { kernels = done; };
  };
  std::optional<Session> session = open(std::move(options));
  if (!session) GTEST_SKIP() << "no device";
  ASSERT_TRUE(session->load(graph_).ok());
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(ended, 1);
  EXPECT_GE(kernels, 1);
  EXPECT_THAT(topics, testing::Each("compile"));
  EXPECT_THAT(topics, testing::SizeIs(testing::Gt(3u)));
}

TEST_P(Sessions, EndWhereTheirUserWants) {
  SessionOptions options;
  options.hooks.check = [] { return Error{ErrorCode::kInterrupted, "Enough.", ""}; };
  std::optional<Session> session = open(std::move(options));
  if (!session) GTEST_SKIP() << "no device";
  EXPECT_EQ(run_model(*session, graph_, arguments_).error().code, ErrorCode::kInterrupted);
}

std::string short_name(const testing::TestParamInfo<const char*>& info) {
  return std::string(info.param).substr(0, 3);
}
INSTANTIATE_TEST_SUITE_P(All, Sessions, testing::Values("cpu", "vulkan:0", "reference"),
                         short_name);
INSTANTIATE_TEST_SUITE_P(Loading, DeviceSessions, testing::Values("cpu", "vulkan:0"), short_name);

TEST(SessionOptions, DumpsThatCannotBeWrittenAreToldOnce) {
  test::TemporaryFolder folder;
  std::vector<std::string> warnings;
  SessionOptions options;
  options.dump_directory = folder.path("stops");
  options.hooks.warn = [&](const std::string& sentence) { warnings.push_back(sentence); };
  Graph graph = import_bytes(kModule, "m.mlir").value().graph;
  Caps caps = *caps_of(*choose_device(*parse_device("cpu")));
  ASSERT_TRUE(compile_model(graph, caps, options, nullptr).ok());
  EXPECT_TRUE(std::filesystem::exists(folder.path("stops/00_import.txt")));
  EXPECT_TRUE(warnings.empty());
  options.dump_directory = folder.write("file", "x");
  ASSERT_TRUE(compile_model(graph, caps, options, nullptr).ok());
  EXPECT_THAT(warnings, testing::ElementsAre(HasSubstr("TUFF_DUMP is not written")));
}

TEST(SessionOptions, AGpuCanBeRequired) {
  SessionOptions options;
  options.require_gpu = true;
  EXPECT_EQ(Session::open(*parse_device("cpu"), options).error().code, ErrorCode::kFallbackRefused);
}

}  // namespace
}  // namespace tuff
