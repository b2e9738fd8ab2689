// Running a loaded executable. A call returns at once: its outputs are promised, and
// the device's queue keeps the promise, or breaks it with the error that says why.
#include "frontend/pjrt/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <unordered_map>

#include "frontend/pjrt/abi/abi_execute.h"
#include "frontend/pjrt/abi/table.h"
#include "frontend/pjrt/log.h"
#include "frontend/pjrt/spread.h"
#include "frontend/pjrt/trace.h"
#include "frontend/session/measure.h"
#include "frontend/session/tensor_io.h"
#include "shaders/storage.h"

namespace tuff::pjrt {

namespace {

// The programs that this thread runs, the outermost first: a callback may run others.
thread_local std::vector<const Loaded*> running;

struct Running {
  explicit Running(const Loaded& program) { running.push_back(&program); }
  ~Running() { running.pop_back(); }
};

}  // namespace

Result<std::vector<BufferPtr>> run_program(Runtime& runtime, const Loaded& program,
                                           const std::vector<BufferPtr>& arguments,
                                           std::vector<BufferPtr> outputs) {
  if (std::find(running.begin(), running.end(), &program) != running.end())
    return Error{ErrorCode::kUsage, "The program is run by a callback of its own.", ""};
  Running under_way(program);
  const std::vector<TensorType>& types = program.compiled->program->outputs;
  outputs.resize(types.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) continue;
    TUFF_ASSIGN(outputs[i], runtime.allocate(types[i].num_elements() *
                                             storage_size(types[i].dtype, runtime.device->caps())));
  }
  Timer clock;
  if (std::shared_ptr<Trace> trace = current_trace())
    TUFF_RETURN_IF_ERROR(trace->run(runtime, program, arguments, outputs));
  else
    TUFF_RETURN_IF_ERROR(runtime.device->run(*program.loaded, arguments, outputs, nullptr));
  log_run(program, clock);
  return outputs;
}

void finish_run(DeviceRun& run, Status status) {
  run.arguments.clear();
  CompletionPtr done = std::move(run.done);
  run.outputs.clear();
  done->complete(std::move(status));
}

namespace {

// To wake a thread and to be woken by it takes .03 to .05 ms. A run twice as long is still better
// done by the caller: who does not wait loses what it would have done meanwhile, but only until the
// queue is busy. Who waited at once for the last run does nothing meanwhile: nothing is lost, and
// where processors have other work too, a thread that is woken waits for its turn, for milliseconds.
constexpr float kBriefMs = 0.1F, kBriefIfWantedMs = 100;
constexpr auto kAtOnce = std::chrono::microseconds(50);

bool is_brief(const Compiled& compiled) {
  if (compiled.brevity != Compiled::Brevity::kAsMeasured)
    return compiled.brevity == Compiled::Brevity::kAlways;
  return compiled.last_run_ms < (compiled.was_wanted.exchange(false) ? kBriefIfWantedMs : kBriefMs);
}

// Sees whether the caller, who is about to have it back, waits for the run at once.
void watch_caller(Completion& done, const std::shared_ptr<const Compiled>& compiled) {
  if (compiled->brevity != Compiled::Brevity::kAsMeasured) return;
  auto now = std::chrono::steady_clock::now;
  done.on_wanted([compiled, now, since = now()] {
    if (now() - since < kAtOnce) compiled->was_wanted = true;
  });
}

Status run_alone(DeviceRun& run) {
  const Loaded& loaded = *run.program->segments[0];
  for (StoragePtr& argument : run.arguments) TUFF_RETURN_IF_ERROR(argument->ready->wait());
  std::vector<BufferPtr> outputs =
                             donated_memory(*loaded.compiled->program, run.arguments, run.donated),
                         arguments;
  for (StoragePtr& argument : run.arguments) arguments.push_back(argument->memory);
  std::optional<Timer> clock;
  if (loaded.compiled->brevity == Compiled::Brevity::kAsMeasured) clock.emplace();
  TUFF_ASSIGN(outputs, run_program(*run.runtime, loaded, arguments, std::move(outputs)));
  if (clock) loaded.compiled->last_run_ms = static_cast<float>(clock->ms());
  for (size_t i = 0; i < outputs.size(); ++i) run.outputs[i]->memory = std::move(outputs[i]);
  return {};
}

Result<std::vector<StoragePtr>> collect_arguments(std::span<BufferHandle* const> handles,
                                                  const DeviceHandle& device,
                                                  const std::vector<TensorType>& types) {
  if (handles.size() != types.size())
    return Error{
        ErrorCode::kUsage,
        fmt::format("The program takes ({}) arguments, not ({}).", types.size(), handles.size()),
        ""};
  std::vector<StoragePtr> storages;
  for (size_t i = 0; i < handles.size(); ++i) {
    const BufferHandle& handle = *handles[i];
    if (handle.type != types[i])
      return Error{ErrorCode::kUsage,
                   fmt::format("Argument ({}) must have type ({}), not ({}).", i,
                               types[i].to_string(), handle.type.to_string()),
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

// Which arguments an execution uses up. Errors: kUsage where the caller gives such a buffer
// twice, since nothing would be left to be the other argument.
Result<std::vector<bool>> donated_arguments(std::span<BufferHandle* const> handles,
                                            const ExecuteOptions* options,
                                            const ExecutableInfo& info) {
  std::vector<bool> donated(handles.size());
  for (uint32_t index : info.donated) donated[index] = true;
  if (options)
    for (size_t i = 0; i < options->num_non_donatable_input_indices; ++i)
      donated.at(static_cast<size_t>(options->non_donatable_input_indices[i])) = false;
  std::unordered_map<const BufferHandle*, size_t> takers;
  for (size_t i = 0; i < handles.size(); ++i)
    if (donated[i]) takers.emplace(handles[i], i);
  for (size_t i = 0; !takers.empty() && i < handles.size(); ++i) {
    auto taker = takers.find(handles[i]);
    if (taker != takers.end() && taker->second != i)
      return Error{ErrorCode::kUsage,
                   fmt::format("Argument ({}) is donated, and the same buffer is argument ({}); "
                               "donate a copy, or donate nothing.",
                               taker->second, i),
                   ""};
  }
  return donated;
}

// The share of a run that one device has; changes nothing yet.
Result<DeviceRunPtr> make_run(const LoadedHandle& loaded, size_t place,
                              std::span<BufferHandle* const> arguments,
                              const ExecuteOptions* options) {
  const DeviceHandle& device = *loaded.devices[place];
  auto run = std::make_shared<DeviceRun>();
  run->runtime = device.runtime.get();
  run->program = loaded.programs[place];
  TUFF_ASSIGN(run->arguments, collect_arguments(arguments, device, loaded.info->arguments));
  TUFF_ASSIGN(run->donated, donated_arguments(arguments, options, *loaded.info));
  return run;
}

// Promises the outputs of one device and takes what is donated away from the caller.
void promise(const LoadedHandle& loaded, size_t place, std::span<BufferHandle* const> arguments,
             DeviceRun* run, BufferHandle** outputs) {
  const std::vector<TensorType>& types = loaded.info->outputs;
  for (size_t i = 0; i < types.size(); ++i) {
    auto storage = std::make_shared<Storage>();
    storage->ready = run->done;
    run->outputs.push_back(storage);
    outputs[i] = new BufferHandle(loaded.devices[place], types[i], std::move(storage));
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    if (run->donated[i]) arguments[i]->release();
}

bool all_ready(const std::vector<StoragePtr>& arguments) {
  return std::all_of(arguments.begin(), arguments.end(),
                     [](const StoragePtr& argument) { return argument->ready->ready(); });
}

// Brief work is done at once, unless it has to wait for something. So is what a callback runs: the
// queue goes on only after it. On the processor, what calls back ends before the call does: what it
// prints stands where its caller expects it, and nothing is gained by going on beside it. Errors:
// those of a program with callbacks that has ended.
Status queue_alone(DeviceRunPtr run) {
  Queue& queue = run->runtime->queue;
  std::shared_ptr<const Compiled> compiled = run->program->segments[0]->compiled;
  CompletionPtr done = run->done;
  bool brief = is_brief(*compiled) && queue.idle();
  bool ready = all_ready(run->arguments);
  if (queue.inside() || (brief && ready)) {
    Status status =
        ready ? guarded_status([&] { return run_alone(*run); }) : Status(waits_for_itself());
    finish_run(*run, status);
    watch_caller(*done, compiled);
    return compiled->callbacks.empty() ? Status() : status;
  }
  bool within_call = !compiled->callbacks.empty() && is_host(run->runtime->device->caps());
  queue.submit([run = std::move(run)] {
    finish_run(*run, guarded_status([&] { return run_alone(*run); }));
  });
  watch_caller(*done, compiled);
  return within_call ? done->wait() : Status();
}

// Takes back what was promised: the call fails as a whole.
void break_promise(LoadedExecutable_Execute_Args& args) {
  for (size_t i = 0; i < args.executable->info->outputs.size(); ++i) delete args.output_lists[0][i];
  if (args.device_complete_events) delete args.device_complete_events[0];
}

Status execute(LoadedExecutable_Execute_Args& args) {
  const LoadedHandle& loaded = *args.executable;
  if (loaded.deleted) return Error{ErrorCode::kUsage, "The executable was deleted.", ""};
  if (args.num_devices != loaded.devices.size())
    return Error{ErrorCode::kUsage,
                 fmt::format("The program runs on ({}) devices, not on ({}).",
                             loaded.devices.size(), args.num_devices),
                 ""};
  for (const DeviceHandle* device : loaded.devices)
    if (loaded.info->spread && device->runtime->queue.inside()) return waits_for_itself();
  std::vector<DeviceRunPtr> runs;
  for (size_t place = 0; place < args.num_devices; ++place) {
    TUFF_ASSIGN(DeviceRunPtr run,
                make_run(loaded, place, {args.argument_lists[place], args.num_args}, args.options));
    runs.push_back(std::move(run));
  }
  for (size_t place = 0; place < args.num_devices; ++place) {
    promise(loaded, place, {args.argument_lists[place], args.num_args}, runs[place].get(),
            args.output_lists[place]);
    if (args.device_complete_events)
      args.device_complete_events[place] = new EventHandle{nullptr, runs[place]->done};
  }
  if (loaded.info->spread) {
    queue_spread(loaded, runs);
    return {};
  }
  Status status = queue_alone(std::move(runs[0]));
  if (!status.ok()) break_promise(args);
  return status;
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
  TUFF_PJRT_SET(api, LoadedExecutable_Execute, execute, InFork::kRefused);
  TUFF_PJRT_SET(api, LoadedExecutable_Destroy, loaded_destroy, InFork::kLeft);
  TUFF_PJRT_SET(api, LoadedExecutable_GetExecutable, loaded_get_executable);
  TUFF_PJRT_SET(api, LoadedExecutable_AddressableDevices, loaded_devices);
  TUFF_PJRT_SET(api, LoadedExecutable_Delete, loaded_delete, InFork::kLeft);
  TUFF_PJRT_SET(api, LoadedExecutable_IsDeleted, loaded_is_deleted);
  TUFF_PJRT_SET(api, LoadedExecutable_Fingerprint, loaded_fingerprint);
  TUFF_PJRT_SET(api, LoadedExecutable_GetDeviceAssignment, loaded_assignment);
  TUFF_PJRT_SET(api, LoadedExecutable_AddressableDeviceLogicalIds, loaded_logical_ids);
}

}  // namespace tuff::pjrt
