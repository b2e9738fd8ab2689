#include "frontend/pjrt/program_cache.h"

namespace tuff::pjrt {

namespace {

// What a node of a graph and a step of a program take by themselves, roughly.
constexpr int64_t kNodeBytes = 512, kStepBytes = 1024;

int64_t bytes_of(const Graph& graph) {
  int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    bytes += kNodeBytes;
    if (node.op == Op::kConstant) bytes += node.attrs.as<ConstantAttrs>().value.size_bytes();
    for (const GraphPtr& region : node.regions) bytes += bytes_of(*region);
  }
  return bytes;
}

int64_t bytes_of(const Program& program) {
  int64_t bytes = 0;
  for_each_step(program.steps, [&](const Step&, int) { bytes += kStepBytes; });
  for (const Literal& constant : program.constants) bytes += constant.size_bytes();
  for (const std::string& text : program.kernel_keys) bytes += static_cast<int64_t>(text.size());
  return bytes;
}

}  // namespace

int64_t held_bytes(const Compiled& compiled) {
  return bytes_of(*compiled.graph) + bytes_of(*compiled.program);
}

// The device has the constants for itself, and perhaps in a faster layout as well.
int64_t held_bytes(const Loaded& loaded) {
  const Program& program = *loaded.compiled->program;
  int64_t bytes = held_bytes(*loaded.compiled) + program.arena_bytes;
  for (const Literal& constant : program.constants) bytes += 2 * constant.size_bytes();
  return bytes;
}

}  // namespace tuff::pjrt
