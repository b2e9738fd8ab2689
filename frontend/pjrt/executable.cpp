// Compiling, and what is asked about executables. Running them is in execute.cpp.
#include <algorithm>
#include <cstring>

#include "frontend/pjrt/abi/abi_client.h"
#include "frontend/pjrt/abi/abi_execute.h"
#include "frontend/pjrt/abi/table.h"
#include "frontend/pjrt/compile.h"
#include "frontend/pjrt/spread.h"

namespace tuff::pjrt {

namespace {

// Says which bytes are a serialized executable: the source, compiled again on loading.
constexpr std::string_view kSerialMagic = "tuff executable 1\n";

Status client_compile(Client_Compile_Args& args) {
  const ProgramText& text = *args.program;
  std::string_view format(text.format, text.format_size);
  if (format != "mlir")
    return Error{ErrorCode::kUnsupported,
                 "The program has format (" + std::string(format) + "); tuff reads (mlir).", ""};
  TUFF_ASSIGN(DeviceAssignment assignment,
              parse_compile_options({args.compile_options, args.compile_options_size}));
  TUFF_ASSIGN(args.executable,
              compile_source(args.client, {text.code, text.code_size}, std::move(assignment)));
  return {};
}

Status executable_destroy(Executable_Destroy_Args& args) {
  delete args.executable;
  return {};
}

Status executable_name(Executable_Name_Args& args) {
  args.executable_name = args.executable->info->name.c_str();
  args.executable_name_size = args.executable->info->name.size();
  return {};
}

Status executable_num_replicas(Executable_NumReplicas_Args& args) {
  args.num_replicas = static_cast<size_t>(args.executable->info->assignment.num_replicas);
  return {};
}

Status executable_num_partitions(Executable_NumPartitions_Args& args) {
  args.num_partitions = static_cast<size_t>(args.executable->info->assignment.num_partitions);
  return {};
}

Status executable_num_outputs(Executable_NumOutputs_Args& args) {
  args.num_outputs = args.executable->info->output_types.size();
  return {};
}

// The text of the kernels: what they become is the driver's secret.
Status executable_code_size(Executable_SizeOfGeneratedCodeInBytes_Args& args) {
  args.size_in_bytes = 0;
  for (const auto& compiled : args.executable->info->compiled) {
    if (!compiled) continue;
    for (const std::string& key : compiled->program->kernel_keys)
      args.size_in_bytes += static_cast<int64_t>(key.size());
  }
  return {};
}

Status executable_output_kinds(Executable_OutputMemoryKinds_Args& args) {
  const ExecutableInfo& info = *args.executable->info;
  args.num_outputs = info.output_kinds.size();
  args.memory_kinds = info.output_kinds.data();
  args.memory_kind_sizes = info.output_kind_sizes.data();
  return {};
}

Status executable_parameter_kinds(Executable_ParameterMemoryKinds_Args& args) {
  const ExecutableInfo& info = *args.executable->info;
  args.num_parameters = info.parameter_kinds.size();
  args.memory_kinds = info.parameter_kinds.data();
  args.memory_kind_sizes = info.parameter_kind_sizes.data();
  return {};
}

Status executable_output_types(Executable_OutputElementTypes_Args& args) {
  const ExecutableInfo& info = *args.executable->info;
  args.output_types = info.output_types.data();
  args.num_output_types = info.output_types.size();
  return {};
}

Status executable_output_dimensions(Executable_OutputDimensions_Args& args) {
  const ExecutableInfo& info = *args.executable->info;
  args.num_outputs = info.output_ranks.size();
  args.dims = info.output_dims.data();
  args.dim_sizes = info.output_ranks.data();
  return {};
}

Status executable_fingerprint(Executable_Fingerprint_Args& args) {
  args.executable_fingerprint = args.executable->info->fingerprint.c_str();
  args.executable_fingerprint_size = args.executable->info->fingerprint.size();
  return {};
}

Status executable_costs(Executable_GetCostAnalysis_Args& args) {
  args.properties = args.executable->info->costs.data();
  args.num_properties = args.executable->info->costs.size();
  return {};
}

int64_t total_bytes(const std::vector<TensorType>& types) {
  int64_t bytes = 0;
  for (const TensorType& type : types) bytes += type.size_bytes();
  return bytes;
}

// Callers older than a field do not have it in their struct.
Status executable_memory_stats(Executable_GetCompiledMemoryStats_Args& args) {
  const ExecutableInfo& info = *args.executable->info;
  int64_t arguments = total_bytes(info.arguments), outputs = total_bytes(info.outputs);
  int64_t constants = 0, arena = 0, in_place = 0;  // each segment keeps its own
  for (const auto& compiled : info.compiled) {
    if (!compiled) continue;
    constants += compiled->report.constants_bytes;
    arena += compiled->report.arena_bytes;
    if (!info.spread) in_place += compiled->report.in_place_bytes;
  }
  size_t head = offsetof(Executable_GetCompiledMemoryStats_Args, generated_code_size_in_bytes);
  if (args.struct_size > head)
    std::memset(reinterpret_cast<char*>(&args) + head, 0,
                std::min(args.struct_size, sizeof args) - head);
  args.generated_code_size_in_bytes = constants;
  args.argument_size_in_bytes = arguments;
  args.output_size_in_bytes = outputs;
  args.temp_size_in_bytes = arena;
  args.alias_size_in_bytes = in_place;
  size_t peak_end = offsetof(Executable_GetCompiledMemoryStats_Args, total_size_in_bytes);
  if (args.struct_size >= peak_end)
    args.peak_memory_in_bytes = arguments + outputs - in_place + arena;
  return {};
}

// Callers ask twice, the first time for the size. They read from it where the arguments
// and results of a program over several devices are.
Status executable_program(Executable_OptimizedProgram_Args& args) {
  static constexpr std::string_view kFormat = "mlir";
  const ExecutableInfo& info = *args.executable->info;
  if (!info.spread)
    return Error{ErrorCode::kUnsupported, "A program for one device has no text to show.", ""};
  const std::string& text = info.spread->description;
  if (args.program->code)  // theirs to be written here, and ours to be read elsewhere
    std::memcpy(const_cast<char*>(args.program->code), text.data(), text.size());
  args.program->code_size = text.size();
  args.program->format = kFormat.data();
  args.program->format_size = kFormat.size();
  return {};
}

Status executable_serialize(Executable_Serialize_Args& args) {
  auto bytes = std::make_unique<std::string>(kSerialMagic);
  bytes->append(args.executable->info->source);
  args.serialized_bytes = bytes->data();
  args.serialized_bytes_size = bytes->size();
  args.serialized_executable = bytes.release();
  args.serialized_executable_deleter = [](void* owner) { delete static_cast<std::string*>(owner); };
  return {};
}

// For the devices of the options given, else for the client's first.
Status executable_deserialize(Executable_DeserializeAndLoad_Args& args) {
  std::string_view bytes(args.serialized_executable, args.serialized_executable_size);
  if (!bytes.starts_with(kSerialMagic))
    return Error{ErrorCode::kBadInput, "The bytes are no executable that tuff serialized.", ""};
  bytes.remove_prefix(kSerialMagic.size());
  TUFF_ASSIGN(DeviceAssignment assignment,
              parse_compile_options({args.overridden_serialized_compile_options,
                                     args.overridden_serialized_compile_options_size}));
  TUFF_ASSIGN(args.loaded_executable, compile_source(args.client, bytes, std::move(assignment)));
  return {};
}

}  // namespace

void add_executable_functions(Api& api) {
  TUFF_PJRT_SET(api, Client_Compile, client_compile, InFork::kRefused);
  TUFF_PJRT_SET(api, Executable_Destroy, executable_destroy, InFork::kLeft);
  TUFF_PJRT_SET(api, Executable_Name, executable_name);
  TUFF_PJRT_SET(api, Executable_NumReplicas, executable_num_replicas);
  TUFF_PJRT_SET(api, Executable_NumPartitions, executable_num_partitions);
  TUFF_PJRT_SET(api, Executable_NumOutputs, executable_num_outputs);
  TUFF_PJRT_SET(api, Executable_SizeOfGeneratedCodeInBytes, executable_code_size);
  TUFF_PJRT_SET(api, Executable_OutputMemoryKinds, executable_output_kinds);
  TUFF_PJRT_SET(api, Executable_ParameterMemoryKinds, executable_parameter_kinds);
  TUFF_PJRT_SET(api, Executable_OutputElementTypes, executable_output_types);
  TUFF_PJRT_SET(api, Executable_OutputDimensions, executable_output_dimensions);
  TUFF_PJRT_SET(api, Executable_Fingerprint, executable_fingerprint);
  TUFF_PJRT_SET(api, Executable_GetCostAnalysis, executable_costs);
  TUFF_PJRT_SET(api, Executable_GetCompiledMemoryStats, executable_memory_stats);
  TUFF_PJRT_SET(api, Executable_OptimizedProgram, executable_program);
  TUFF_PJRT_SET(api, Executable_Serialize, executable_serialize);
  TUFF_PJRT_SET(api, Executable_DeserializeAndLoad, executable_deserialize, InFork::kRefused);
}

}  // namespace tuff::pjrt
