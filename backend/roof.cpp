#include "backend/roof.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "backend/compile.h"
#include "backend/executable.h"

namespace tuff {

namespace {

constexpr const char* kCacheKind = "roof";
// Measured sizes grow until a run takes this long, so that overheads do not count.
constexpr double kLongRunMs = 40;
constexpr int kRuns = 5;
constexpr int64_t kLargestMatmul = 2048;
constexpr int64_t kCopyBytes = int64_t{128} << 20;
constexpr int64_t kChain = 200;

// The fastest of several runs after a first one, wall time.
Result<double> best_run_ms(Device& device, const Graph& graph, std::set<std::string> disabled) {
  CompileOptions options;
  options.disabled = std::move(disabled);
  TUFF_ASSIGN(auto program, compile(graph, device.caps(), options, nullptr));
  TUFF_ASSIGN(Executable executable, Executable::create(device, program, {}));
  for (uint32_t i = 0; i < program->arguments.size(); ++i)
    TUFF_RETURN_IF_ERROR(executable.set_argument(i, Literal(program->arguments[i])));
  TUFF_RETURN_IF_ERROR(executable.run(nullptr));
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    RunStats stats;
    TUFF_RETURN_IF_ERROR(executable.run(&stats));
    best = run == 0 ? stats.wall_ms : std::min(best, stats.wall_ms);
  }
  return best;
}

Graph matmul_graph(int64_t n, DType dtype) {
  Graph graph;
  TensorType type{dtype, {n, n}};
  Value a = graph.add_parameter(type), b = graph.add_parameter(type);
  DotGeneralAttrs attrs{.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {0}};
  graph.set_outputs({add_op(graph, Op::kDotGeneral, {a, b}, type, std::move(attrs))});
  return graph;
}

Result<double> matmul_gflops(Device& device, DType dtype) {
  double best = 0;
  for (int64_t n = 256; n <= kLargestMatmul; n *= 2) {
    TUFF_ASSIGN(double ms, best_run_ms(device, matmul_graph(n, dtype), {}));
    auto size = static_cast<double>(n);
    best = std::max(best, 2 * size * size * size / (1e6 * ms));
    if (ms > kLongRunMs) break;
  }
  return best;
}

// An output that is an argument is a copy.
Result<double> copy_gbps(Device& device) {
  int64_t bytes = std::min(kCopyBytes, device.caps().max_storage_buffer_range);
  Graph graph;
  graph.set_outputs({graph.add_parameter({DType::kF32, {bytes / 4}})});
  TUFF_ASSIGN(double ms, best_run_ms(device, graph, {}));
  return 2 * static_cast<double>(bytes) / (1e6 * ms);
}

// A chain of steps that each wait for the one before.
Graph chain_graph(int64_t length) {
  Graph graph;
  TensorType type{DType::kF32, {16}};
  Value value = graph.add_parameter(type);
  for (int64_t i = 0; i < length; ++i)
    value = add_op(graph, i % 2 == 0 ? Op::kSine : Op::kCosine, {value}, type);
  graph.set_outputs({value});
  return graph;
}

}  // namespace

Result<Roof> measure_roof(Device& device, std::string date) {
  Roof roof;
  roof.device = device.description();
  roof.date = std::move(date);
  TUFF_ASSIGN(roof.f32_gflops, matmul_gflops(device, DType::kF32));
  // Not every device has kernels for 16 bits; that is no failure of the measurement.
  if (Result<double> f16 = matmul_gflops(device, DType::kF16); f16.ok()) roof.f16_gflops = *f16;
  TUFF_ASSIGN(roof.copy_gbps, copy_gbps(device));
  TUFF_ASSIGN(double one_ms, best_run_ms(device, chain_graph(1), {"group"}));
  TUFF_ASSIGN(double chain_ms, best_run_ms(device, chain_graph(kChain), {"group"}));
  roof.submit_us = 1e3 * one_ms;
  roof.dispatch_us = std::max(0.0, 1e3 * (chain_ms - one_ms) / static_cast<double>(kChain - 1));
  return roof;
}

std::optional<Roof> load_roof(DiskCache& cache, const std::string& device) {
  auto bytes = cache.get(kCacheKind, device);
  if (!bytes) return std::nullopt;
  std::istringstream text(std::string(bytes->begin(), bytes->end()));
  Roof roof;
  roof.device = device;
  text >> roof.date >> roof.f32_gflops >> roof.f16_gflops >> roof.copy_gbps >> roof.dispatch_us >>
      roof.submit_us;
  if (!text) return std::nullopt;
  return roof;
}

void store_roof(DiskCache& cache, const Roof& roof) {
  std::string text = fmt::format("{} {} {} {} {} {}\n", roof.date, roof.f32_gflops, roof.f16_gflops,
                                 roof.copy_gbps, roof.dispatch_us, roof.submit_us);
  cache.put(kCacheKind, roof.device, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace tuff
