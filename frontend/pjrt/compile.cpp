#include "frontend/pjrt/compile.h"

#include <fmt/format.h>

#include "frontend/stablehlo/read.h"

namespace tuff::pjrt {

namespace {

constexpr std::string_view kMemoryKind = "device";

Result<CompiledPtr> compile_graph(Runtime& runtime, Graph graph) {
  uint64_t hash = graph.hash();
  if (CompiledPtr known = runtime.cache.find(graph, hash)) return known;
  auto compiled = std::make_shared<Compiled>();
  compiled->hash = hash;
  TUFF_ASSIGN(compiled->program, compile(graph, runtime.device->caps(), {}, &compiled->report));
  TUFF_ASSIGN(compiled->loaded, runtime.device->load(compiled->program, {}));
  runtime.cache.insert(std::move(graph), compiled);
  return CompiledPtr(std::move(compiled));
}

void describe_outputs(const Program& program, ExecutableInfo* info) {
  for (const TensorType& type : program.outputs) {
    info->output_types.push_back(element_type(type.dtype));
    info->output_dims.insert(info->output_dims.end(), type.shape.begin(), type.shape.end());
    info->output_ranks.push_back(type.shape.size());
  }
  info->output_kinds.assign(program.outputs.size(), kMemoryKind.data());
  info->output_kind_sizes.assign(program.outputs.size(), kMemoryKind.size());
  info->parameter_kinds.assign(program.arguments.size(), kMemoryKind.data());
  info->parameter_kind_sizes.assign(program.arguments.size(), kMemoryKind.size());
}

}  // namespace

Result<LoadedHandle*> compile_source(ClientHandle* client, std::string_view source) {
  TUFF_ASSIGN(Graph graph, read_stablehlo(source, "program"));
  auto info = std::make_shared<ExecutableInfo>();
  info->name = graph.name;
  info->source = std::string(source);
  for (auto [argument, output] : graph.donations) info->donated.push_back(argument);
  TUFF_ASSIGN(info->compiled, compile_graph(*client->runtime, std::move(graph)));
  info->fingerprint = fmt::format("{:016x}", info->compiled->hash);
  describe_outputs(*info->compiled->program, info.get());
  auto loaded = std::make_unique<LoadedHandle>();
  loaded->client = client;
  loaded->runtime = client->runtime;
  loaded->info = std::move(info);
  return loaded.release();
}

}  // namespace tuff::pjrt
