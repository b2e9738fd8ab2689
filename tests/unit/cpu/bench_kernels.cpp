// Time per element of maps and rows at each processor level. Set OMP_NUM_THREADS=1
// for one thread's figures.
#include <benchmark/benchmark.h>

#include <vector>

#include "backend/cpu/kernels/execute_kernel.h"
#include "shaders/kernel/kernel_text.h"

namespace tuff {
namespace {

// A map of `count` elements: loads b0 and b1, applies the statements (%10 from %8 and
// %9), stores to b2.
std::string map_text(const std::string& statements, int lanes) {
  std::string n = std::to_string(lanes);
  return "kernel bench lanes " + n +
         " params 1 {\nbuffer b0: f32 read\nbuffer b1: f32 read\nbuffer b2: f32 write\n"
         "grid %0 < p0 {\nlane %1 < " +
         n + " {\n%2 = i32 multiply %0, " + n +
         "\n%3 = i32 add %2, %1\n%8 = f32 load b0[%3]\n%9 = f32 load b1[%3]\n" + statements +
         "\nstore b2[%3] = %10\n}\n}\n}\n";
}

const char* const kStatements[] = {
    "%10 = f32 add %8, %9",
    "%10 = f32 exponential %8",
    "%10 = f32 tanh %8",
    ("%11 = f32 tanh %8\n%12 = f32 multiply %11, %9\n%13 = f32 exponential %12\n"
     "%14 = f32 add %13, 1.0\n%10 = f32 divide %8, %14"),
    // The bias of a row of 768 or 10: a remainder and a load that is not aligned to it.
    "%11 = i32 remainder %3, 768\n%12 = f32 load b1[%11]\n%10 = f32 add %8, %12",
    "%11 = i32 remainder %3, 10\n%12 = f32 load b1[%11]\n%10 = f32 add %8, %12",
};
const char* const kNames[] = {"add", "exp", "tanh", "tanh*exp/", "bias768", "bias10"};

void run_text(benchmark::State& state, const std::string& text, cpu::IsaLevel level, int points,
              int64_t elements) {
  auto kernel = parse_kernel(text, "bench");
  auto program = kernel.ok() ? cpu::prepare_kernel(*kernel, cpu::lane_table(level))
                             : Result<cpu::KernelProgram>(kernel.take_error());
  if (!program.ok()) return state.SkipWithError(program.error().to_string().c_str());
  cpu::KernelScratch scratch;
  if (!scratch.reserve(*program).ok()) return state.SkipWithError("out of memory");
  std::vector<float> a(static_cast<size_t>(elements), 0.5f), b = a, c = a;
  std::vector<cpu::BufferView> views;
  for (auto* buffer : {&a, &b, &c})
    views.push_back({reinterpret_cast<std::byte*>(buffer->data()), elements * 4});
  const int32_t params[] = {points};
  for (auto _ : state) {
    Status status = cpu::execute_kernel(*program, params, views, scratch);
    if (!status.ok()) return state.SkipWithError(status.error().message.c_str());
  }
  // Reported as time per element.
  state.counters["per_element"] = benchmark::Counter(
      static_cast<double>(elements),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void bench_map(benchmark::State& state) {
  auto level = static_cast<cpu::IsaLevel>(state.range(1));
  int lanes = static_cast<int>(state.range(2));
  if (!cpu::isa_level_available(level)) return state.SkipWithError("not on this processor");
  constexpr int kElements = 1 << 16;
  state.SetLabel(std::string(kNames[state.range(0)]) + " " + cpu::isa_level_name(level));
  run_text(state, map_text(kStatements[state.range(0)], lanes), level, kElements / lanes,
           kElements);
}
BENCHMARK(bench_map)->ArgsProduct({{0, 1, 2, 3, 4, 5}, {0, 1, 2}, {512}});
BENCHMARK(bench_map)->ArgsProduct({{0, 2}, {2}, {8, 64, 128, 256, 1024}});

// Softmax of rows of 512: three loops over the lanes, two reductions.
void bench_softmax(benchmark::State& state) {
  auto level = static_cast<cpu::IsaLevel>(state.range(0));
  if (!cpu::isa_level_available(level)) return state.SkipWithError("not on this processor");
  state.SetLabel(cpu::isa_level_name(level));
  const char* text = R"(kernel softmax lanes 512 params 1 {
    buffer b0: f32 read
    buffer b1: f32 read
    buffer b2: f32 write
    register r0: f32[1]
    register r1: f32[1]
    grid %0 < p0 {
      lane %1 < 512 {
        %2 = i32 multiply %0, 512
        %3 = i32 add %2, %1
        %4 = f32 load b0[%3]
        write r0[0] = %4
      }
      %5 = reduce_lanes r0 (%6, %7) {
        %8 = f32 maximum %6, %7
      } -> %8
      lane %9 < 512 {
        %10 = f32 read r0[0]
        %11 = f32 subtract %10, %5
        %12 = f32 exponential %11
        write r1[0] = %12
      }
      %13 = reduce_lanes r1 (%14, %15) {
        %16 = f32 add %14, %15
      } -> %16
      lane %17 < 512 {
        %18 = i32 multiply %0, 512
        %19 = i32 add %18, %17
        %20 = f32 read r1[0]
        %21 = f32 divide %20, %13
        store b2[%19] = %21
      }
    }
  })";
  run_text(state, text, level, 128, 128 * 512);
}
BENCHMARK(bench_softmax)->DenseRange(0, 2);

// 4 rows x 256 lanes of results in registers: what matmul families give the CPU.
void bench_matmul(benchmark::State& state) {
  auto level = static_cast<cpu::IsaLevel>(state.range(0));
  if (!cpu::isa_level_available(level)) return state.SkipWithError("not on this processor");
  const char* text = R"(kernel matmul lanes 256 params 1 {
    buffer b0: f32 read
    buffer b1: f32 read
    buffer b2: f32 write
    register r0: f32[4]
    grid %0 < p0 {
      %1 = i32 multiply %0, 4
      lane %2 < 256 {
        unroll %3 < 4 {
          write r0[%3] = 0.0
        }
        serial %4 < 256 {
          %5 = i32 multiply %4, 256
          %6 = i32 add %5, %2
          %7 = f32 load b1[%6]
          unroll %8 < 4 {
            %9 = i32 add %1, %8
            %10 = i32 multiply %9, 256
            %11 = i32 add %10, %4
            %12 = f32 load b0[%11]
            %13 = f32 read r0[%8]
            %14 = f32 fma %12, %7, %13
            write r0[%8] = %14
          }
        }
        unroll %15 < 4 {
          %16 = f32 read r0[%15]
          %17 = i32 add %1, %15
          %18 = i32 multiply %17, 256
          %19 = i32 add %18, %2
          store b2[%19] = %16
        }
      }
    }
  })";
  run_text(state, text, level, 64, 65536);
  state.SetLabel(cpu::isa_level_name(level));
  state.counters["flops"] =
      benchmark::Counter(2.0 * 256 * 256 * 256, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(bench_matmul)->DenseRange(0, 2);

}  // namespace
}  // namespace tuff

BENCHMARK_MAIN();
