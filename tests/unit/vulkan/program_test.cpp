// Programs of hand-written shaders on whatever Vulkan device this machine has.
#include <atomic>
#include <numeric>
#include <thread>

#include "shaders/kernel/kernel_text.h"
#include "tests/unit/vulkan/device_fixture.h"

namespace tuff {
namespace {

using ::testing::HasSubstr;

std::vector<int> iota(int n = kN, int start = 0) {
  std::vector<int> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), start);
  return values;
}

std::vector<int> affine(std::vector<int> values, int scale, int offset) {
  for (int& v : values) v = v * scale + offset;
  return values;
}

TEST_F(VulkanTest, RunsAKernel) {
  ProgramBuilder builder = one_step();
  auto program = load(builder.program(), builder.shaders());
  ASSERT_NE(program, nullptr);
  BufferPtr in = upload(iota()), out = empty(kBytes);
  RunStats stats;
  ASSERT_TRUE(device_->run(*program, std::span(&in, 1), std::span(&out, 1), &stats).ok());
  EXPECT_EQ(download<int>(*out), affine(iota(), 2, 10));
  EXPECT_EQ(stats.dispatches, 1);
  EXPECT_EQ(stats.submits, 1);
  EXPECT_EQ(stats.readbacks, 0);
  EXPECT_GT(stats.wall_ms, 0);
}

TEST_F(VulkanTest, TimesItsSteps) {
  ProgramBuilder builder = one_step();
  Timeline timeline;
  LoadOptions options;
  options.time_steps = true;
  options.timeline = &timeline;
  auto program = load(builder.program(), builder.shaders(), options);
  ASSERT_NE(program, nullptr);
  BufferPtr in = upload(iota()), out = empty(kBytes);
  for (int run = 0; run < 2; ++run) {
    RunStats stats;
    stats.time_steps = true;
    ASSERT_TRUE(device_->run(*program, std::span(&in, 1), std::span(&out, 1), &stats).ok());
    ASSERT_EQ(stats.steps.size(), 1u);
    const StepTime& step = stats.steps[0];
    EXPECT_EQ(step.step->label, "test");
    EXPECT_GT(step.end_us, step.start_us);
    EXPECT_LE(step.end_us - step.start_us, 1e3 * stats.wall_ms);
    EXPECT_EQ(stats.record_ms > 0, run == 0);
  }
  EXPECT_EQ(download<int>(*out), affine(iota(), 2, 10));

  // What the load did: both kinds of work on its one kernel, inside their phases.
  ASSERT_EQ(program->stats().by_kernel.size(), 1u);
  EXPECT_GT(program->stats().by_kernel[0].pipeline_ms, 0);
  std::vector<std::string> names;
  for (const Span& span : timeline.spans()) names.push_back(span.category + " " + span.name);
  EXPECT_THAT(names, ::testing::ElementsAre("glsl kernel 0", "phase glsl", "pipelines kernel 0",
                                            "phase pipelines", "phase prepare"));
}

// Kernels, copies, and two submissions, since the host decides on a loop in between.
TEST_F(VulkanTest, TimesOfARunAddUp) {
  ProgramBuilder builder;
  uint32_t kernel = builder.kernel(affine_shader(), 2, 3);
  Range in = builder.argument(kBytes), out = builder.output(kBytes), mid = builder.arena(kBytes);
  Range never = builder.constant(Literal::from_ints(DType::kI32, {1}, {0}));
  builder.step(kernel, {in, mid}, {kN, 2, 10}, kGroups);
  builder.loop(never);
  builder.copy(mid, out);
  LoadOptions options;
  options.time_steps = true;
  auto program = load(builder.program(), builder.shaders(), options);
  BufferPtr a = upload(iota()), x = empty(kBytes);
  for (bool timed : {true, false, true, true, false}) {
    RunStats stats;
    stats.time_steps = timed;
    ASSERT_TRUE(device_->run(*program, std::span(&a, 1), std::span(&x, 1), &stats).ok());
    EXPECT_EQ(download<int>(*x), affine(iota(), 2, 10));
    EXPECT_EQ(stats.readbacks, 1);
    ASSERT_EQ(stats.steps.size(), timed ? 2u : 0u);
    EXPECT_EQ(stats.wait_ms > 0, timed);
    EXPECT_EQ(stats.clock_ms > 0, timed);
    if (!timed) continue;
    EXPECT_EQ(stats.steps[1].step->kind, Step::Kind::kCopy);
    EXPECT_GE(stats.steps[1].start_us, stats.steps[0].end_us);
    EXPECT_GT(stats.readback_ms, 0);
    double parts_ms = stats.wait_ms + stats.readback_ms + stats.clock_ms;
    for (const StepTime& step : stats.steps) parts_ms += 1e-3 * (step.end_us - step.start_us);
    EXPECT_LE(parts_ms, stats.wall_ms) << "nothing is counted twice";
  }
  EXPECT_EQ(program->recordings(), 2) << "one with timestamps, one without";
}

TEST_F(VulkanTest, RecordsOncePerChoiceOfBuffers) {
  ProgramBuilder builder = one_step();
  auto program = load(builder.program(), builder.shaders());
  auto run = [&](BufferPtr in, BufferPtr out, int start) {
    ASSERT_TRUE(program->run(std::span(&in, 1), std::span(&out, 1), nullptr).ok());
    EXPECT_EQ(download<int>(*out), affine(iota(kN, start), 2, 10));
  };
  BufferPtr a = upload(iota()), b = upload(iota(kN, 5)), c = upload(iota(kN, 9));
  BufferPtr x = empty(kBytes), y = empty(kBytes);
  for (int i = 0; i < 3; ++i) run(a, x, 0), run(b, y, 5);
  EXPECT_EQ(program->recordings(), 2) << "both of a pair that takes turns are kept";
  std::vector<int> changed = iota(kN, 3);
  ASSERT_TRUE(device_->write(*a, 0, std::as_bytes(std::span(changed))).ok());
  run(a, x, 3);
  EXPECT_EQ(program->recordings(), 2) << "new contents are no new buffer";
  run(c, x, 9);
  run(a, x, 3);
  run(b, y, 5);
  EXPECT_EQ(program->recordings(), 4) << "the least recently used went";
}

TEST_F(VulkanTest, NewBuffersInOldMemoryAreNew) {
  ProgramBuilder builder = one_step();
  auto program = load(builder.program(), builder.shaders());
  for (int i = 0; i < 6; ++i) {  // each pair is gone before the next, often at the same address
    BufferPtr in = upload(iota(kN, i)), out = empty(kBytes);
    ASSERT_TRUE(program->run(std::span(&in, 1), std::span(&out, 1), nullptr).ok());
    EXPECT_EQ(download<int>(*out), affine(iota(kN, i), 2, 10));
  }
  EXPECT_EQ(program->recordings(), 6);
}

// in -> arena -> arena -> ... -> out, one barrier between any two.
TEST_F(VulkanTest, ChainsThroughTheArena) {
  ProgramBuilder builder;
  uint32_t kernel = builder.kernel(affine_shader(), 2, 3);
  Range in = builder.argument(kBytes), out = builder.output(kBytes);
  Range even = builder.arena(kBytes), odd = builder.arena(kBytes);
  std::vector<int> expected = iota();
  Range from = in;
  for (int i = 0; i < 50; ++i) {
    Range to = i == 49 ? out : i % 2 == 0 ? even : odd;
    builder.step(kernel, {from, to}, {kN, 3, i}, kGroups, i > 0);
    expected = affine(expected, 1, 0);
    for (int& v : expected) v = static_cast<int>(static_cast<unsigned>(v) * 3u + unsigned(i));
    from = to;
  }
  auto program = load(builder.program(), builder.shaders());
  BufferPtr a = upload(iota()), x = empty(kBytes);
  RunStats stats;
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(program->run(std::span(&a, 1), std::span(&x, 1), &stats).ok());
    EXPECT_EQ(download<int>(*x), expected);
  }
  EXPECT_EQ(stats.dispatches, 150);
  EXPECT_EQ(stats.submits, 3);
}

// The arena of a device whose allocations are small.
TEST_F(VulkanTest, AnArenaInSegments) {
  DevicePlan plan = device_->context().plan();
  constexpr int64_t kSegment = 1 << 20;
  plan.caps.max_allocation_bytes = kSegment + 1;
  device_->context().narrow(plan);
  ProgramBuilder builder;
  uint32_t kernel = builder.kernel(affine_shader(), 2, 3);
  Range in = builder.argument(kBytes), out = builder.output(kBytes);
  std::vector<Range> places;
  for (int i = 0; i < 5; ++i) places.push_back(builder.arena(kSegment));
  Range from = in;
  for (int i = 0; i < 6; ++i) {
    Range to = i == 5 ? out : places[static_cast<size_t>(i)];
    to.size_bytes = kBytes;
    builder.step(kernel, {from, to}, {kN, 1, 1}, kGroups, i > 0);
    from = to;
  }
  auto program = load(builder.program(), builder.shaders());
  ASSERT_NE(program, nullptr);
  BufferPtr a = upload(iota()), x = empty(kBytes);
  ASSERT_TRUE(program->run(std::span(&a, 1), std::span(&x, 1), nullptr).ok());
  EXPECT_EQ(download<int>(*x), affine(iota(), 1, 6));
}

// Others use the device's memory, too: a program that does not fit is refused before it runs.
TEST_F(VulkanTest, AsksForTheMemoryThatIsLeft) {
  ProgramBuilder builder = one_step();
  builder.arena(1 << 20);
  device_->memory().ask([](uint32_t) { return std::optional<uint64_t>(1000); });
  auto refused =
      VulkanProgram::create(device_->services(), builder.program(), builder.shaders(), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.error().message, HasSubstr("1000 bytes of memory left"));
  EXPECT_THAT(refused.error().message, HasSubstr("the temporaries need 1048576"));
  auto buffer = device_->allocate(100 << 20);
  ASSERT_FALSE(buffer.ok());
  EXPECT_THAT(buffer.error().message, HasSubstr("1000 bytes left"));
  device_->memory().ask([](uint32_t) { return std::optional<uint64_t>(); });
  EXPECT_NE(load(builder.program(), builder.shaders()), nullptr) << "a driver that does not tell";
}

// Without timestamps each step is a submission of its own when it is timed, and only then.
TEST_F(VulkanTest, TimesSubmissionsWithoutTimestamps) {
  DevicePlan plan = device_->context().plan();
  plan.timestamps = false;
  device_->context().narrow(plan);
  ProgramBuilder builder;
  uint32_t kernel = builder.kernel(affine_shader(), 2, 3);
  Range in = builder.argument(kBytes), out = builder.output(kBytes), mid = builder.arena(kBytes);
  builder.step(kernel, {in, mid}, {kN, 2, 10}, kGroups);
  builder.step(kernel, {mid, out}, {kN, 2, 10}, kGroups, true);
  LoadOptions options;
  options.time_steps = true;
  auto program = load(builder.program(), builder.shaders(), options);
  ASSERT_NE(program, nullptr);
  BufferPtr a = upload(iota()), x = empty(kBytes);
  for (bool timed : {false, true, false, true, true}) {
    RunStats stats;
    stats.time_steps = timed;
    ASSERT_TRUE(program->run(std::span(&a, 1), std::span(&x, 1), &stats).ok());
    EXPECT_EQ(download<int>(*x), affine(affine(iota(), 2, 10), 2, 10));
    EXPECT_EQ(stats.submits, timed ? 2 : 1);
    EXPECT_EQ(stats.dispatches, 2);
    ASSERT_EQ(stats.steps.size(), timed ? 2u : 0u);
    if (!timed) continue;
    EXPECT_GE(stats.steps[1].start_us, stats.steps[0].end_us);
  }
}

// Submissions of the device by number, counted through its table.
class SubmitCountTest : public VulkanTest {
 protected:
  void SetUp() override {
    open({.force_staging = true});
    if (device_ == nullptr) return;
    submit_ = device_->context().table().QueueSubmit;
    submits_ = 0;
    device_->context().table().QueueSubmit = [](VkQueue queue, uint32_t count,
                                                const VkSubmitInfo* info, VkFence fence) {
      ++submits_;
      return submit_(queue, count, info, fence);
    };
  }
  static inline PFN_vkQueueSubmit submit_;
  static inline int submits_;
};

TEST_F(SubmitCountTest, OutputsComeWithTheRun) {
  ProgramBuilder builder = one_step();
  auto program = load(builder.program(), builder.shaders());
  BufferPtr in = upload(iota()), out = empty(kBytes);
  submits_ = 0;
  ASSERT_TRUE(program->run(std::span(&in, 1), std::span(&out, 1), nullptr).ok());
  EXPECT_EQ(download<int>(*out), affine(iota(), 2, 10));
  EXPECT_EQ(submits_, 1) << "the run's own; none to fetch what it gave";
  std::vector<int> part(3);
  ASSERT_TRUE(device_->read(*out, 20, std::as_writable_bytes(std::span(part))).ok());
  EXPECT_EQ(part, (std::vector<int>{20, 22, 24}));

  std::vector<int> other = iota(kN, 7);
  ASSERT_TRUE(device_->write(*out, 0, std::as_bytes(std::span(other))).ok());
  EXPECT_EQ(download<int>(*out), other) << "written since";
  ASSERT_TRUE(program->run(std::span(&in, 1), std::span(&out, 1), nullptr).ok());
  EXPECT_EQ(download<int>(*out), affine(iota(), 2, 10));
  ASSERT_TRUE(program->run(std::span(&out, 1), std::span(&out, 1), nullptr).ok());
  EXPECT_EQ(download<int>(*out), affine(affine(iota(), 2, 10), 2, 10)) << "in place";
}

// Of a buffer that two programs write, the last one's numbers are read.
TEST_F(SubmitCountTest, AnotherProgramsOutputIsRead) {
  ProgramBuilder one = one_step(), other = one_step();
  auto first = load(one.program(), one.shaders()), second = load(other.program(), other.shaders());
  BufferPtr in = upload(iota()), more = upload(iota(kN, 3)), out = empty(kBytes);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(first->run(std::span(&in, 1), std::span(&out, 1), nullptr).ok());
    ASSERT_TRUE(second->run(std::span(&more, 1), std::span(&out, 1), nullptr).ok());
    EXPECT_EQ(download<int>(*out), affine(iota(kN, 3), 2, 10));
  }
}

// While one piece is copied the next is filled: no wait after each.
TEST_F(SubmitCountTest, UploadsOverlap) {
  static PFN_vkWaitForFences wait;
  static int submitted_before_the_first_wait;
  wait = device_->context().table().WaitForFences;
  submitted_before_the_first_wait = 0;
  device_->context().table().WaitForFences =
      [](VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all, uint64_t timeout) {
        if (submitted_before_the_first_wait == 0) submitted_before_the_first_wait = submits_;
        return wait(device, count, fences, all, timeout);
      };
  std::vector<uint8_t> bytes(80 << 20);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i % 251);
  submits_ = 0;
  BufferPtr buffer = upload(bytes);
  EXPECT_EQ(submits_, 5);
  EXPECT_GT(submitted_before_the_first_wait, 1);
  EXPECT_EQ(download<uint8_t>(*buffer), bytes);
}

TEST_F(VulkanTest, UpdatesInPlace) {
  ProgramBuilder builder = one_step();
  auto program = load(builder.program(), builder.shaders());
  BufferPtr both = upload(iota());  // donated: argument and output are one buffer
  ASSERT_TRUE(program->run(std::span(&both, 1), std::span(&both, 1), nullptr).ok());
  EXPECT_EQ(download<int>(*both), affine(iota(), 2, 10));
}

TEST_F(VulkanTest, Constants) {
  ProgramBuilder builder;
  uint32_t kernel = builder.kernel(affine_shader(), 2, 3);
  Range first = builder.constant(Literal::from_ints(DType::kI32, {3}, {1, 2, 3}));
  Range second = builder.constant(Literal::from_ints(DType::kI32, {2}, {70, 80}));
  Range a = builder.output(12), b = builder.output(8);
  builder.step(kernel, {first, a}, {3, 1, 0}, 1);
  builder.step(kernel, {second, b}, {2, 1, 0}, 1);
  auto program = load(builder.program(), builder.shaders());
  std::vector<BufferPtr> outputs{empty(12), empty(8)};
  ASSERT_TRUE(program->run({}, outputs, nullptr).ok());
  EXPECT_EQ(download<int>(*outputs[0]), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(download<int>(*outputs[1]), (std::vector<int>{70, 80}));
}

TEST_F(VulkanTest, FoldsBigGrids) {
  constexpr int64_t kMany = 200001;  // groups of 64; one dimension holds 65535
  constexpr int kCount = static_cast<int>(kMany * 64 - 5);
  ProgramBuilder builder;
  uint32_t kernel = builder.kernel(affine_shader(), 2, 3);
  Range in = builder.argument(int64_t{4} * kCount), out = builder.output(int64_t{4} * kCount);
  builder.step(kernel, {in, out}, {kCount, 1, 1}, kMany);
  auto program = load(builder.program(), builder.shaders());
  BufferPtr a = upload(iota(kCount)), x = empty(int64_t{4} * kCount);
  ASSERT_TRUE(program->run(std::span(&a, 1), std::span(&x, 1), nullptr).ok());
  EXPECT_TRUE(download<int>(*x) == iota(kCount, 1));
}

TEST_F(VulkanTest, ReachesBuffersByAddress) {
  if (!device_->caps().buffer_device_address) GTEST_SKIP() << "no bufferDeviceAddress";
  std::string text =
      "#version 450\n#extension GL_EXT_buffer_reference : require\n"
      "#extension GL_EXT_buffer_reference_uvec2 : require\n"
      "layout(local_size_x = 64) in;\n"
      "layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer A { int d[]; "
      "};\n"
      "layout(buffer_reference, std430, buffer_reference_align = 4) buffer B { int d[]; };\n"
      "layout(set = 0, binding = 0, std430) readonly buffer C { int d[]; } c;\n"
      "layout(push_constant) uniform P { uvec2 a; uvec2 b; uint groups; int n; } pc;\n"
      "void main() {\n" +
      std::string(kIndex) + "  if (int(i) < pc.n) B(pc.b).d[i] = A(pc.a).d[i] + c.d[i];\n}\n";
  ProgramBuilder builder;
  uint32_t kernel = builder.kernel(text, 1, 1, 2);
  builder.arena(256);  // so that the range below is not at the start
  Range in = builder.argument(kBytes), out = builder.output(kBytes), mid = builder.arena(kBytes);
  builder.step(kernel, {in, mid, in}, {kN}, kGroups);
  builder.step(kernel, {mid, out, in}, {kN}, kGroups, true);
  auto program = load(builder.program(), builder.shaders());
  BufferPtr a = upload(iota()), x = empty(kBytes);
  ASSERT_TRUE(program->run(std::span(&a, 1), std::span(&x, 1), nullptr).ok());
  EXPECT_EQ(download<int>(*x), affine(iota(), 3, 0));
}

// What the schedules are told of this driver's loops is so.
TEST_F(VulkanTest, LoopLimitIsTrue) {
  std::string text = std::string(kHead) +
                     "layout(set = 0, binding = 0, std430) buffer A { int d[]; } a;\n"
                     "layout(push_constant) uniform P { uint groups; int n; } pc;\n"
                     "void main() {\n" +
                     kIndex +
                     "  int v = a.d[i];\n"
                     "  for (int k = 0; k < pc.n; ++k) v = v * 5 + k;\n"
                     "  for (int k = 0; k < pc.n; ++k) v = v * 5 + k;\n"
                     "  a.d[i] = v;\n}\n";
  auto matches = [&](int n) {
    ProgramBuilder builder;
    uint32_t kernel = builder.kernel(text, 1, 1);
    builder.step(kernel, {builder.output(256)}, {n}, 1);
    auto program = load(builder.program(), builder.shaders());
    BufferPtr x = empty(256);
    EXPECT_TRUE(program->run({}, std::span(&x, 1), nullptr).ok());
    unsigned v = 0;
    for (int twice = 0; twice < 2; ++twice)
      for (int k = 0; k < n; ++k) v = v * 5u + static_cast<unsigned>(k);
    return download<int>(*x)[0] == static_cast<int>(v);
  };
  EXPECT_TRUE(matches(32000));  // below 65535 in total
  bool limited = device_->caps().max_loop_iterations == 65535;
  EXPECT_EQ(matches(100000), !limited) << "see lavapipe_loop_limit in quirks.def";
}

TEST_F(VulkanTest, EmptyStepsAndProgramsRun) {
  ProgramBuilder nothing;
  auto program = load(nothing.program(), nothing.shaders());
  RunStats stats;
  EXPECT_TRUE(program->run({}, {}, &stats).ok());
  EXPECT_EQ(stats.submits, 0);
  ProgramBuilder builder;
  uint32_t kernel = builder.kernel(affine_shader(), 2, 3);
  Range in = builder.argument(4), out = builder.output(4);
  builder.step(kernel, {in, out}, {1, 1, 1}, 0);
  program = load(builder.program(), builder.shaders());
  BufferPtr a = empty(4), x = empty(4);
  EXPECT_TRUE(program->run(std::span(&a, 1), std::span(&x, 1), &stats).ok());
  EXPECT_EQ(stats.dispatches, 0);
}

TEST_F(VulkanTest, ChecksItsBuffers) {
  ProgramBuilder builder = one_step();
  auto program = load(builder.program(), builder.shaders());
  auto message = [&](std::vector<BufferPtr> in, std::vector<BufferPtr> out) {
    Status status = program->run(in, out, nullptr);
    return status.ok() ? "ok" : status.error().message;
  };
  BufferPtr good = empty(kBytes), small = empty(kBytes - 4);
  EXPECT_THAT(message({}, {good}), HasSubstr("0 argument buffers, and the program takes 1"));
  EXPECT_THAT(message({small}, {good}), HasSubstr("argument 0 has 3996 bytes"));
  EXPECT_THAT(message({good}, {nullptr}), HasSubstr("output 0 is none of this device"));
  EXPECT_EQ(message({good}, {good}), "ok");
}

TEST_F(VulkanTest, ProgramsRunFromManyThreads) {
  ProgramBuilder builder = one_step();
  auto shared = load(builder.program(), builder.shaders());
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto own =
          VulkanProgram::create(device_->services(), builder.program(), builder.shaders(), {});
      for (VulkanProgram* program : {shared.get(), own->get()})
        for (int i = 0; i < 10; ++i) {
          BufferPtr in = upload(iota(kN, t + i)), out = empty(kBytes);
          if (program->run(std::span(&in, 1), std::span(&out, 1), nullptr).ok() &&
              download<int>(*out) == affine(iota(kN, t + i), 2, 10))
            ++right;
        }
    });
  threads.clear();
  EXPECT_EQ(right, 80);
}

// The whole way in: a kernel, printed, compiled and run by the public interface.
TEST_F(VulkanTest, LoadsAKernel) {
  auto kernel = parse_kernel(
      "kernel rows lanes 8 params 1 {\n"
      "  buffer b0: f32 read\n"
      "  buffer b1: i32 write\n"
      "  register r0: f32[1]\n"
      "  register r1: i32[1]\n"
      "  grid %0 < p0 {\n"
      "    lane %1 < 8 {\n"
      "      %2 = i32 multiply %0, 8\n"
      "      %3 = i32 add %2, %1\n"
      "      %4 = f32 load b0[%3]\n"
      "      write r0[0] = %4\n"
      "      write r1[0] = %1\n"
      "    }\n"
      "    %5, %6 = reduce_lanes r0, r1 (%7, %8), (%9, %10) {\n"
      "      %11 = i1 eq %7, %8\n"
      "      %12 = i1 lt %9, %10\n"
      "      %13 = i1 and %11, %12\n"
      "      %14 = i1 gt %7, %8\n"
      "      %15 = i1 or %14, %13\n"
      "      %16 = f32 select %15, %7, %8\n"
      "      %17 = i32 select %15, %9, %10\n"
      "    } -> %16, %17\n"
      "    lane %18 < 1 {\n"
      "      store b1[%0] = %6\n"
      "    }\n"
      "  }\n"
      "}\n",
      "argmax");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  auto program = std::make_shared<Program>();
  program->kernels.push_back(std::move(kernel).value());
  program->arguments = {{DType::kF32, {3, 8}}};
  program->outputs = {{DType::kI32, {3}}};
  program->steps.push_back(
      {.params = {3},
       .bindings = {{Range::Space::kArgument, 0, 0, 96}, {Range::Space::kOutput, 0, 0, 12}},
       .workgroups = 3});
  Device& device = *device_;
  auto loaded = device.load(program, {});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ((*loaded)->stats().glsl_compiled, 1);
  BufferPtr in = upload(std::vector<float>{0, 1, 9, 3, 9, 5, 6, 7,  //
                                           8, 1, 2, 3, 4, 5, 6, 8,  //
                                           0, 0, 0, 0, 0, 0, 0, 1});
  BufferPtr out = empty(12);
  ASSERT_TRUE(device.run(**loaded, std::span(&in, 1), std::span(&out, 1), nullptr).ok());
  EXPECT_EQ(download<int>(*out), (std::vector<int>{2, 0, 7}));
}

}  // namespace
}  // namespace tuff
