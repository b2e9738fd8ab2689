// Spans, and the phases a first run is put together from.
#include <gmock/gmock.h>

#include <thread>

#include "backend/executable.h"
#include "backend/profile.h"

namespace tuff {
namespace {

TEST(Timeline, KeepsWhatEndedAndOnWhichThread) {
  Timeline timeline;
  Stopwatch outer(&timeline, "phase", "outer");
  Stopwatch inner(&timeline, "item", "inner");
  inner.stop("a sentence");
  std::thread([&] { Stopwatch(&timeline, "item", "elsewhere").stop(); }).join();
  outer.stop();
  std::vector<Span> spans = timeline.spans();
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].name, "inner");
  EXPECT_EQ(spans[0].detail, "a sentence");
  EXPECT_TRUE(spans[0].on_caller);
  EXPECT_FALSE(spans[1].on_caller);
  EXPECT_LE(spans[2].start_us, spans[0].start_us);
  EXPECT_GE(spans[2].end_us, spans[0].end_us);
}

TEST(Timeline, AStopwatchWithoutOneOnlyMeasures) {
  Stopwatch watch(nullptr, "phase", "alone");
  EXPECT_GE(watch.stop(), 0);
}

TEST(Phases, PassesThatRunTwiceAreOne) {
  CompileReport compile;
  compile.stops = {{"fold", 1}, {"group", 2}, {"fold", 4}, {phase::kPlan, 8}};
  LoadStats load;
  load.emit_ms = 16;
  load.prepare_ms = 32;
  RunStats run;
  run.wall_ms = 64 + 128;
  run.record_ms = 64;
  double total = 0;
  std::vector<std::string> names;
  for (const PhaseTime& phase : first_run_phases(compile, load, run)) {
    names.push_back(phase.name);
    total += phase.ms;
  }
  EXPECT_THAT(names, ::testing::ElementsAre("fold", "group", "plan", "emit", "glsl", "pipelines",
                                            "prepare", "record", "execute"));
  EXPECT_EQ(total, 255);
}

}  // namespace
}  // namespace tuff
