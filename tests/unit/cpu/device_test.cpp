// The device: buffers, loading, steps, in-place arguments, errors.
#include "backend/cpu/device.h"

#include <numeric>

#include "tests/unit/cpu/run_kernel.h"

namespace tuff::test {
namespace {

std::unique_ptr<Device> device() {
  auto created = create_cpu_device({.checked = true});
  EXPECT_TRUE(created.ok());
  return std::move(created).value();
}

std::span<const std::byte> as_bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

BufferPtr upload(Device& device, const std::vector<float>& values) {
  auto buffer = device.allocate(static_cast<int64_t>(values.size() * sizeof(float)));
  EXPECT_TRUE(buffer.ok());
  EXPECT_TRUE(device.write(**buffer, 0, as_bytes(values)).ok());
  return *buffer;
}

std::vector<float> download(Device& device, const Buffer& buffer) {
  std::vector<float> values(static_cast<size_t>(buffer.size_bytes()) / sizeof(float));
  EXPECT_TRUE(device.read(buffer, 0, std::as_writable_bytes(std::span(values))).ok());
  return values;
}

// out = (x + constant) * 2 over 600 elements in two dispatches with the arena between.
std::shared_ptr<Program> two_steps() {
  auto program = std::make_shared<Program>();
  program->kernels = {parse(R"(kernel sum lanes 300 params 0 {
    buffer b0: f32 read
    buffer b1: f32 read
    buffer b2: f32 write
    grid %0 < 2 {
      lane %1 < 300 {
        %2 = i32 multiply %0, 300
        %3 = i32 add %2, %1
        %4 = f32 load b0[%3]
        %5 = f32 load b1[%3]
        %6 = f32 add %4, %5
        store b2[%3] = %6
      }
    }
  })"),
                      parse(R"(kernel twice lanes 512 params 1 {
    buffer b0: f32 read
    buffer b1: f32 write
    grid %0 < 2 {
      lane %1 < 512 {
        %2 = i32 multiply %0, 512
        %3 = i32 add %2, %1
        %4 = i1 lt %3, p0
        %5 = f32 load b0[%3] if %4 else 0.0
        %6 = f32 multiply %5, 2.0
        store b1[%3] = %6 if %4
      }
    }
  })")};
  TensorType type{DType::kF32, {600}};
  program->arguments = program->outputs = {type};
  program->constants = {Literal::splat(type, 3)};
  program->arena_bytes = 64 + 2400;
  Range argument{Range::Space::kArgument, 0, 0, 2400},
      constant{Range::Space::kConstants, 0, 0, 2400};
  Range temporary{Range::Space::kArena, 0, 64, 2400}, output{Range::Space::kOutput, 0, 0, 2400};
  Step first, second;
  first.bindings = {argument, constant, temporary};
  second.kernel = 1;
  second.params = {600};
  second.bindings = {temporary, output};
  program->steps = {first, second};
  return program;
}

TEST(CpuDevice, RunsStepsInOrder) {
  auto cpu = device();
  auto loaded = cpu->load(two_steps(), {});
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_EQ((*loaded)->stats().kernels, 2);
  std::vector<float> x(600), want(600);
  std::iota(x.begin(), x.end(), 0.0f);
  for (size_t i = 0; i < 600; ++i) want[i] = (x[i] + 3) * 2;
  BufferPtr in = upload(*cpu, x), out = upload(*cpu, x);
  for (int run = 0; run < 2; ++run) {
    RunStats stats;
    ASSERT_TRUE(cpu->run(**loaded, {&in, 1}, {&out, 1}, &stats).ok());
    EXPECT_EQ(stats.dispatches, 2);
    EXPECT_EQ(download(*cpu, *out), want);
  }
  // A donated argument: the output is the argument's buffer.
  ASSERT_TRUE(cpu->run(**loaded, {&in, 1}, {&in, 1}, nullptr).ok());
  EXPECT_EQ(download(*cpu, *in), want);
}

TEST(CpuDevice, TimesItsSteps) {
  auto cpu = device();
  Timeline timeline;
  LoadOptions options;
  options.time_steps = true;
  options.timeline = &timeline;
  auto program = two_steps();
  auto loaded = cpu->load(program, options);
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_EQ((*loaded)->stats().by_kernel.size(), 2u);
  BufferPtr in = upload(*cpu, std::vector<float>(600)), out = upload(*cpu, std::vector<float>(600));
  RunStats stats;
  ASSERT_TRUE(cpu->run(**loaded, {&in, 1}, {&out, 1}, &stats).ok());
  EXPECT_TRUE(stats.steps.empty()) << "only a run that asks for it is timed";
  stats.time_steps = true;
  ASSERT_TRUE(cpu->run(**loaded, {&in, 1}, {&out, 1}, &stats).ok());
  ASSERT_EQ(stats.steps.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(stats.steps[i].step, &program->steps[i]);
  EXPECT_GE(stats.steps[1].start_us, stats.steps[0].end_us);
  EXPECT_LE(stats.steps[1].end_us, 1e3 * stats.wall_ms);
  EXPECT_EQ(timeline.spans().back().name, phase::kPrepare);
}

TEST(CpuDevice, WrappedMemoryIsAnArgumentOnly) {
  auto cpu = device();
  auto loaded = cpu->load(two_steps(), {});
  ASSERT_TRUE(loaded.ok());
  auto values = std::make_shared<std::vector<float>>(600, 1.5f);
  auto* bytes = reinterpret_cast<const std::byte*>(values->data());
  auto wrapped = wrap_host_memory(bytes, 2400, values);
  ASSERT_TRUE(wrapped.ok());
  BufferPtr out = upload(*cpu, *values);
  ASSERT_TRUE(cpu->run(**loaded, {&*wrapped, 1}, {&out, 1}, nullptr).ok());
  EXPECT_EQ(download(*cpu, *out), std::vector<float>(600, 9.0f));
  EXPECT_FALSE(cpu->run(**loaded, {&out, 1}, {&*wrapped, 1}, nullptr).ok());
  EXPECT_FALSE(cpu->write(**wrapped, 0, as_bytes(*values)).ok());
  // Memory that is not aligned is copied.
  std::vector<std::byte> odd(2401);
  std::memcpy(odd.data() + 1, bytes, 2400);
  auto copied = wrap_host_memory(odd.data() + 1, 2400, nullptr);
  ASSERT_TRUE(copied.ok());
  EXPECT_EQ(download(*cpu, **copied), *values);
}

TEST(CpuDevice, RangesOfCopiesAreChecked) {
  auto cpu = device();
  BufferPtr buffer = upload(*cpu, {1, 2, 3, 4});
  std::vector<float> two(2);
  EXPECT_TRUE(cpu->read(*buffer, 8, std::as_writable_bytes(std::span(two))).ok());
  EXPECT_EQ(two, (std::vector<float>{3, 4}));
  EXPECT_FALSE(cpu->read(*buffer, 12, std::as_writable_bytes(std::span(two))).ok());
  EXPECT_FALSE(cpu->write(*buffer, -4, as_bytes(two)).ok());
  auto empty = cpu->allocate(0);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(cpu->write(**empty, 0, {}).ok());
}

TEST(CpuDevice, ErrorsHaveCodes) {
  auto cpu = device();
  auto huge = cpu->allocate(int64_t{1} << 60);
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code, ErrorCode::kOutOfMemory);

  auto loaded = cpu->load(two_steps(), {});
  ASSERT_TRUE(loaded.ok());
  BufferPtr small = upload(*cpu, {1});
  EXPECT_FALSE(cpu->run(**loaded, {&small, 1}, {&small, 1}, nullptr).ok());
  EXPECT_FALSE(cpu->run(**loaded, {}, {&small, 1}, nullptr).ok());

  auto broken = two_steps();
  broken->steps[0].bindings[2].offset_bytes = 128;
  EXPECT_FALSE(cpu->load(broken, {}).ok());
  broken = two_steps();
  broken->steps[1].params.clear();
  EXPECT_FALSE(cpu->load(broken, {}).ok());
}

#ifdef TUFF_HAS_ONEDNN
// Weights are packed at their first use; a write must not leave the old ones in use.
TEST(CpuDevice, NewWeightsAreSeen) {
  auto cpu = device();
  EXPECT_TRUE(cpu->caps().library_calls);
  auto program = std::make_shared<Program>();
  MatmulCall call;
  call.m = 3, call.n = 40, call.k = 50;
  call.a_row = 50, call.a_col = 1, call.b_row = 40, call.b_col = 1, call.c_row = 40, call.c_col = 1;
  Step step;
  step.kind = Step::Kind::kCall;
  step.call = call;
  step.bindings = {{Range::Space::kArgument, 0, 0, 600},
                   {Range::Space::kArgument, 1, 0, 8000},
                   {Range::Space::kOutput, 0, 0, 480}};
  program->steps = {step};
  program->arguments = {{DType::kF32, {3, 50}}, {DType::kF32, {50, 40}}};
  program->outputs = {{DType::kF32, {3, 40}}};
  auto loaded = cpu->load(program, {});
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  BufferPtr arguments[] = {upload(*cpu, std::vector<float>(150, 1)),
                           upload(*cpu, std::vector<float>(2000, 2))};
  BufferPtr out = upload(*cpu, std::vector<float>(120));
  for (float weight : {2.0f, 3.0f, 4.0f}) {
    ASSERT_TRUE(cpu->write(*arguments[1], 0, as_bytes(std::vector<float>(2000, weight))).ok());
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(cpu->run(**loaded, arguments, {&out, 1}, nullptr).ok());
      ASSERT_EQ(download(*cpu, *out), std::vector<float>(120, 50 * weight));
    }
  }
}
#endif

TEST(CpuDevice, DescribesItself) {
  EXPECT_TRUE(device()->description().starts_with("cpu ")) << device()->description();
}

}  // namespace
}  // namespace tuff::test
