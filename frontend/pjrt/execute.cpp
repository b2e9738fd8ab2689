// Running a loaded executable. A call returns at once: its outputs are promised, and
// the device's queue keeps the promise, or breaks it with the error that says why.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/pjrt/abi_execute.h"
#include "frontend/pjrt/handles.h"
#include "frontend/pjrt/log.h"
#include "frontend/pjrt/table.h"
#include "shaders/storage.h"

namespace tuff::pjrt {

namespace {

// One run of a program on one device, as its queue does it.
struct Run {
  std::shared_ptr<const Loaded> program;
  std::vector<StoragePtr> arguments, outputs;
  CompletionPtr done = std::make_shared<Completion>();
};

Status run_now(Runtime& runtime, Run& run) {
  std::vector<BufferPtr> arguments, outputs;
  for (StoragePtr& argument : run.arguments) {
    TUFF_RETURN_IF_ERROR(argument->ready->wait());
    arguments.push_back(argument->memory);
  }
  const Program& program = *run.program->compiled->program;
  for (const TensorType& type : program.outputs) {
    TUFF_ASSIGN(
        BufferPtr memory,
        runtime.allocate(type.num_elements() * storage_size(type.dtype, runtime.device->caps())));
    outputs.push_back(std::move(memory));
  }
  LogClock clock;
  TUFF_RETURN_IF_ERROR(runtime.device->run(*run.program->loaded, arguments, outputs, nullptr));
  log_run(*run.program, clock);
  for (size_t i = 0; i < outputs.size(); ++i) run.outputs[i]->memory = std::move(outputs[i]);
  return {};
}

// Completes the run, whatever happens.
void do_run(Runtime& runtime, Run& run) {
  Status status = guarded_status([&] { return run_now(runtime, run); });
  run.arguments.clear();  // what was donated is free before anybody hears of the end
  CompletionPtr done = std::move(run.done);
  run.outputs.clear();
  done->complete(std::move(status));
}

Result<std::vector<StoragePtr>> collect_arguments(std::span<BufferHandle* const> handles,
                                                  const DeviceHandle& device,
                                                  const Program& program) {
  if (handles.size() != program.arguments.size())
    return Error{ErrorCode::kUsage,
                 fmt::format("The program takes ({}) arguments, not ({}).",
                             program.arguments.size(), handles.size()),
                 ""};
  std::vector<StoragePtr> storages;
  for (size_t i = 0; i < handles.size(); ++i) {
    const BufferHandle& handle = *handles[i];
    if (handle.type != program.arguments[i])
      return Error{ErrorCode::kUsage,
                   fmt::format("Argument ({}) must have type ({}), not ({}).", i,
                               program.arguments[i].to_string(), handle.type.to_string()),
                   ""};
    if (handle.runtime != device.runtime)
      return Error{ErrorCode::kUsage,
                   fmt::format("Argument ({}) is on another device than the program ({}).", i,
                               device.description.text),
                   ""};
    storages.push_back(handle.storage());
    if (!storages.back())
      return Error{ErrorCode::kUsage, fmt::format("Argument ({}) was deleted or donated.", i), ""};
  }
  return storages;
}

void release_donated(std::span<BufferHandle* const> handles, const ExecuteOptions* options,
                     const ExecutableInfo& info) {
  std::span<const int64_t> kept;
  if (options)
    kept = {options->non_donatable_input_indices, options->num_non_donatable_input_indices};
  for (uint32_t index : info.donated)
    if (std::find(kept.begin(), kept.end(), int64_t{index}) == kept.end())
      handles[index]->release();
}

// Promises the outputs of one device and queues the run that makes them.
Result<CompletionPtr> start_run(const LoadedHandle& loaded, size_t place,
                                std::span<BufferHandle* const> arguments,
                                const ExecuteOptions* options, BufferHandle** outputs) {
  DeviceHandle& device = *loaded.devices[place];
  const Program& program = *loaded.info->compiled->program;
  auto run = std::make_shared<Run>();
  run->program = loaded.programs[place];
  TUFF_ASSIGN(run->arguments, collect_arguments(arguments, device, program));
  std::vector<std::unique_ptr<BufferHandle>> handles;
  for (const TensorType& type : program.outputs) {
    auto storage = std::make_shared<Storage>();
    storage->ready = run->done;
    run->outputs.push_back(storage);
    handles.push_back(std::make_unique<BufferHandle>(&device, type, std::move(storage)));
  }
  release_donated(arguments, options, *loaded.info);
  for (size_t i = 0; i < handles.size(); ++i) outputs[i] = handles[i].release();
  CompletionPtr done = run->done;
  device.runtime->queue.submit(
      [runtime = device.runtime.get(), run = std::move(run)] { do_run(*runtime, *run); });
  return done;
}

Status execute(LoadedExecutable_Execute_Args& args) {
  const LoadedHandle& loaded = *args.executable;
  if (loaded.deleted) return Error{ErrorCode::kUsage, "The executable was deleted.", ""};
  if (args.num_devices != loaded.devices.size())
    return Error{ErrorCode::kUsage,
                 fmt::format("The program runs on ({}) devices, not on ({}).",
                             loaded.devices.size(), args.num_devices),
                 ""};
  for (size_t place = 0; place < args.num_devices; ++place) {
    TUFF_ASSIGN(CompletionPtr done,
                start_run(loaded, place, {args.argument_lists[place], args.num_args}, args.options,
                          args.output_lists[place]));
    if (args.device_complete_events)
      args.device_complete_events[place] = new EventHandle{nullptr, std::move(done)};
  }
  return {};
}

Status loaded_destroy(LoadedExecutable_Destroy_Args& args) {
  delete args.executable;
  return {};
}

Status loaded_get_executable(LoadedExecutable_GetExecutable_Args& args) {
  args.executable = new ExecutableHandle{nullptr, args.loaded_executable->info};
  return {};
}

Status loaded_devices(LoadedExecutable_AddressableDevices_Args& args) {
  args.addressable_devices = args.executable->devices.data();
  args.num_addressable_devices = args.executable->devices.size();
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
  args.serialized_bytes = args.executable->assignment.data();
  args.serialized_bytes_size = args.executable->assignment.size();
  args.serialized_device_assignment = nullptr;
  args.serialized_device_assignment_deleter = [](void*) {};
  return {};
}

Status loaded_logical_ids(LoadedExecutable_AddressableDeviceLogicalIds_Args& args) {
  args.addressable_device_logical_ids = args.executable->logical_ids.data();
  args.num_addressable_device_logical_ids = args.executable->logical_ids.size();
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
