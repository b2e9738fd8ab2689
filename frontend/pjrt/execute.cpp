// Running a loaded executable. A run is complete when Execute returns; its outputs
// are new buffers, so an argument may be an output's source without harm.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/pjrt/abi_execute.h"
#include "frontend/pjrt/handles.h"
#include "frontend/pjrt/table.h"
#include "shaders/storage.h"

namespace tuff::pjrt {

namespace {

// A DeviceAssignmentProto: 1 replica, 1 computation, on device 0.
constexpr char kAssignment[] = {0x08, 1, 0x10, 1, 0x1a, 2, 0x08, 0};
constexpr LogicalDeviceIds kLogicalIds[] = {{0, 0}};

Result<std::vector<BufferPtr>> collect_arguments(const LoadedExecutable_Execute_Args& args,
                                                 const Program& program) {
  if (args.num_args != program.arguments.size())
    return Error{ErrorCode::kUsage,
                 fmt::format("The program takes ({}) arguments, not ({}).",
                             program.arguments.size(), args.num_args),
                 ""};
  std::vector<BufferPtr> buffers;
  for (size_t i = 0; i < args.num_args; ++i) {
    const BufferHandle& handle = *args.argument_lists[0][i];
    if (handle.type != program.arguments[i])
      return Error{ErrorCode::kUsage,
                   fmt::format("Argument ({}) must have type ({}), not ({}).", i,
                               program.arguments[i].to_string(), handle.type.to_string()),
                   ""};
    buffers.push_back(handle.memory());
    if (!buffers.back())
      return Error{ErrorCode::kUsage, fmt::format("Argument ({}) was deleted or donated.", i), ""};
  }
  return buffers;
}

void release_donated(const LoadedExecutable_Execute_Args& args, const ExecutableInfo& info) {
  const int64_t* kept = args.options ? args.options->non_donatable_input_indices : nullptr;
  const int64_t* end = kept ? kept + args.options->num_non_donatable_input_indices : nullptr;
  for (uint32_t index : info.donated)
    if (std::find(kept, end, int64_t{index}) == end) args.argument_lists[0][index]->release();
}

Status execute(LoadedExecutable_Execute_Args& args) {
  LoadedHandle& loaded = *args.executable;
  if (loaded.deleted) return Error{ErrorCode::kUsage, "The executable was deleted.", ""};
  if (args.num_devices != 1)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("tuff runs a program on one device, not on ({}).", args.num_devices),
                 ""};
  const Compiled& compiled = *loaded.info->compiled;
  const Program& program = *compiled.program;
  Runtime& runtime = *loaded.runtime;
  TUFF_ASSIGN(std::vector<BufferPtr> arguments, collect_arguments(args, program));
  std::vector<BufferPtr> outputs;
  std::vector<std::unique_ptr<BufferHandle>> handles;
  for (const TensorType& type : program.outputs) {
    int64_t size = type.num_elements() * storage_size(type.dtype, runtime.device->caps());
    TUFF_ASSIGN(BufferPtr memory, runtime.allocate(size));
    auto handle = std::make_unique<BufferHandle>();
    handle->client = loaded.client;
    handle->runtime = loaded.runtime;
    handle->type = type;
    handle->set(memory);
    outputs.push_back(std::move(memory));
    handles.push_back(std::move(handle));
  }
  std::unique_ptr<EventHandle> event;
  if (args.device_complete_events) event = std::make_unique<EventHandle>();
  TUFF_RETURN_IF_ERROR(runtime.device->run(*compiled.loaded, arguments, outputs, nullptr));
  release_donated(args, *loaded.info);
  for (size_t i = 0; i < handles.size(); ++i) args.output_lists[0][i] = handles[i].release();
  if (event) args.device_complete_events[0] = event.release();
  return {};
}

Status loaded_destroy(LoadedExecutable_Destroy_Args& args) {
  delete args.executable;
  return {};
}

Status loaded_get_executable(LoadedExecutable_GetExecutable_Args& args) {
  args.executable =
      new ExecutableHandle{nullptr, args.loaded_executable->runtime, args.loaded_executable->info};
  return {};
}

Status loaded_devices(LoadedExecutable_AddressableDevices_Args& args) {
  args.addressable_devices = args.executable->client->devices;
  args.num_addressable_devices = 1;
  return {};
}

Status loaded_delete(LoadedExecutable_Delete_Args& args) {
  args.executable->deleted = true;
  return {};
}

Status loaded_is_deleted(LoadedExecutable_IsDeleted_Args& args) {
  args.is_deleted = args.executable->deleted;
  return {};
}

Status loaded_fingerprint(LoadedExecutable_Fingerprint_Args& args) {
  args.executable_fingerprint = args.executable->info->fingerprint.c_str();
  args.executable_fingerprint_size = args.executable->info->fingerprint.size();
  return {};
}

Status loaded_assignment(LoadedExecutable_GetDeviceAssignment_Args& args) {
  args.serialized_bytes = kAssignment;
  args.serialized_bytes_size = sizeof kAssignment;
  args.serialized_device_assignment = nullptr;
  args.serialized_device_assignment_deleter = [](void*) {};
  return {};
}

Status loaded_logical_ids(LoadedExecutable_AddressableDeviceLogicalIds_Args& args) {
  args.addressable_device_logical_ids = kLogicalIds;
  args.num_addressable_device_logical_ids = 1;
  return {};
}

}  // namespace

void add_execute_functions(Api& api) {
  TUFF_PJRT_SET(api, LoadedExecutable_Execute, execute);
  TUFF_PJRT_SET(api, LoadedExecutable_Destroy, loaded_destroy);
  TUFF_PJRT_SET(api, LoadedExecutable_GetExecutable, loaded_get_executable);
  TUFF_PJRT_SET(api, LoadedExecutable_AddressableDevices, loaded_devices);
  TUFF_PJRT_SET(api, LoadedExecutable_Delete, loaded_delete);
  TUFF_PJRT_SET(api, LoadedExecutable_IsDeleted, loaded_is_deleted);
  TUFF_PJRT_SET(api, LoadedExecutable_Fingerprint, loaded_fingerprint);
  TUFF_PJRT_SET(api, LoadedExecutable_GetDeviceAssignment, loaded_assignment);
  TUFF_PJRT_SET(api, LoadedExecutable_AddressableDeviceLogicalIds, loaded_logical_ids);
}

}  // namespace tuff::pjrt
