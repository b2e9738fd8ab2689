// Runs, on the caller's thread or behind each other on the device's queue, and their ends.
#include <algorithm>
#include <unordered_map>

#include "backend/storage_convert.h"
#include "backend/verify/validate_device.h"
#include "frontend/c/call.h"
#include "frontend/c/objects.h"
#include "frontend/session/tensor_io.h"

namespace tuff::c {

namespace {

// One run, from what it was asked with until its results are there.
struct Run {
  std::shared_ptr<ProgramState> program;
  std::vector<StoragePtr> arguments, results;
  std::vector<std::shared_ptr<BufferState>> buffers;  // of the arguments
  std::vector<bool> donated;                          // by argument
  // By result: the caller's buffer that it goes to and what that holds now, or null.
  std::vector<std::shared_ptr<BufferState>> outputs;
  std::vector<StoragePtr> output_storage;
  std::vector<VulkanSemaphore> wait, signal;
  CompletionPtr done = std::make_shared<Completion>();
};

const std::shared_ptr<BufferState>& argument_of(const ProgramState& program,
                                                tuff_buffer* const* given, size_t i) {
  return given && given[i] ? given[i]->state : program.bound[i];
}

Status take_argument(Run& run, tuff_buffer* const* given, size_t i) {
  const ProgramState& program = *run.program;
  const std::shared_ptr<BufferState>& buffer = argument_of(program, given, i);
  if (!buffer)
    return invalid(fmt::format("The argument {} ({}) has no buffer and is not bound.", i,
                               program.arguments[i].name));
  TUFF_RETURN_IF_ERROR(check_argument(program, i, *buffer));
  Result<StoragePtr> storage = buffer->storage();
  if (!storage)
    return invalid(
        fmt::format("Argument {} ({}): {}", i, program.arguments[i].name, storage.error().message));
  run.arguments.push_back(*storage);
  run.buffers.push_back(buffer);
  return {};
}

// Which arguments the run uses up. Errors: kUsage where such a buffer is needed otherwise, too.
Status take_donations(Run& run, const tuff_run_options& known, tuff_buffer* const* given) {
  const ProgramState& program = *run.program;
  run.donated.resize(program.arguments.size());
  if (known.num_donated > 0) TUFF_RETURN_IF_ERROR(need(known.donated, "options.donated"));
  std::unordered_map<const BufferState*, size_t> uses;
  for (size_t i = 0; i < program.arguments.size(); ++i)
    ++uses[argument_of(program, given, i).get()];
  for (size_t k = 0; k < known.num_donated; ++k) {
    size_t i = known.donated[k];
    if (i >= program.arguments.size())
      return invalid(fmt::format("There is no argument ({}) to donate.", i));
    const BufferState& buffer = *argument_of(program, given, i);
    if (uses[&buffer] > 1 || buffer.bindings > 0)
      return invalid(
          fmt::format("The argument {} ({}) is donated, but its buffer is another "
                      "argument, too, or bound to a program.",
                      i, program.arguments[i].name));
    run.donated[i] = true;
  }
  return {};
}

// A buffer that a result goes to. Errors: kUsage where it is not free to be written.
Status take_output(Run& run, size_t result, const std::shared_ptr<BufferState>& buffer) {
  const NamedType& wanted = run.program->results[result];
  auto wrong = [&](std::string_view what) {
    return invalid(fmt::format("The output for result {} ({}) {}.", result, wanted.name, what));
  };
  if (buffer->type != wanted.type)
    return wrong(
        fmt::format("has type ({}), not ({})", buffer->type.to_string(), wanted.type.to_string()));
  if (buffer->device != run.program->device) return wrong("is not on the program's device");
  if (buffer->bindings > 0) return wrong("is bound to a program");
  TUFF_ASSIGN(StoragePtr storage, buffer->storage());
  if (storage->borrowed) return wrong("is memory of the caller's, which is not written");
  auto holds = [&](const std::vector<StoragePtr>& list) {
    return std::find(list.begin(), list.end(), storage) != list.end();
  };
  if (holds(run.arguments) || holds(run.output_storage))
    return wrong("is an argument of the run, or the output for another result");
  run.outputs[result] = buffer;
  run.output_storage[result] = std::move(storage);
  return {};
}

Result<std::vector<VulkanSemaphore>> semaphores_of(const ProgramState& program,
                                                   const tuff_vulkan_semaphore* given,
                                                   size_t count) {
  if (count == 0) return std::vector<VulkanSemaphore>();
  TUFF_RETURN_IF_ERROR(need(given, "options.wait or options.signal"));
  if (is_host(program.device->device().caps()))
    return invalid("The run has semaphores, and its device is no Vulkan device.");
  std::vector<VulkanSemaphore> semaphores;
  for (size_t i = 0; i < count; ++i) semaphores.push_back({given[i].semaphore, given[i].value});
  return semaphores;
}

Status take_options(Run& run, const tuff_run_options* options, tuff_buffer* const* given) {
  tuff_run_options known{};
  if (options) {
    TUFF_ASSIGN(known, read_struct(options, "options"));
  }
  TUFF_RETURN_IF_ERROR(take_donations(run, known, given));
  size_t results = run.program->results.size();
  run.outputs.resize(results), run.output_storage.resize(results);
  for (size_t i = 0; known.outputs && i < results; ++i)
    if (known.outputs[i]) TUFF_RETURN_IF_ERROR(take_output(run, i, known.outputs[i]->state));
  TUFF_ASSIGN(run.wait, semaphores_of(*run.program, known.wait, known.num_wait));
  TUFF_ASSIGN(run.signal, semaphores_of(*run.program, known.signal, known.num_signal));
  return {};
}

Result<std::shared_ptr<Run>> make_run(tuff_program* handle, const tuff_run_options* options,
                                      tuff_buffer* const* arguments, size_t num_arguments,
                                      tuff_buffer** results, size_t num_results) {
  TUFF_RETURN_IF_ERROR(need(handle, "program"));
  const ProgramState& program = *handle->state;
  if (num_arguments > 0) TUFF_RETURN_IF_ERROR(need(arguments, "arguments"));
  if (num_results > 0) TUFF_RETURN_IF_ERROR(need(results, "results"));
  bool all_bound = num_arguments == 0;
  if ((!all_bound && num_arguments != program.arguments.size()) ||
      num_results != program.results.size())
    return invalid(fmt::format(
        "The program takes ({}) arguments and gives ({}) results; the call has ({}) and ({}).",
        program.arguments.size(), program.results.size(), num_arguments, num_results));
  auto run = std::make_shared<Run>();
  run->program = handle->state;
  for (size_t i = 0; i < program.arguments.size(); ++i)
    TUFF_RETURN_IF_ERROR(take_argument(*run, all_bound ? nullptr : arguments, i));
  TUFF_RETURN_IF_ERROR(take_options(*run, options, all_bound ? nullptr : arguments));
  return run;
}

// Handles of the results, which the run's end fills, null where the caller has given a buffer; and
// what is donated leaves its buffers.
std::vector<std::unique_ptr<tuff_buffer>> promise(Run& run, tuff_buffer* const* arguments) {
  std::vector<std::unique_ptr<tuff_buffer>> handles;
  for (size_t i = 0; i < run.program->results.size(); ++i) {
    auto storage = std::make_shared<Storage>();
    storage->ready = run.done;
    run.results.push_back(storage);
    handles.emplace_back();
    if (run.outputs[i]) continue;
    handles.back() = std::make_unique<tuff_buffer>();
    handles.back()->state = std::make_shared<BufferState>(
        run.program->device, run.program->results[i].type, std::move(storage));
  }
  for (size_t i = 0; i < run.outputs.size(); ++i)
    if (run.outputs[i]) run.outputs[i]->replace(run.results[i]);
  for (size_t i = 0; i < run.donated.size(); ++i)
    if (run.donated[i]) arguments[i]->state->release();
  return handles;
}

Status compute(Run& run) {
  const ProgramState& program = *run.program;
  Device& device = program.device->device();
  for (const StoragePtr& argument : run.arguments) TUFF_RETURN_IF_ERROR(argument->ready->wait());
  for (const StoragePtr& output : run.output_storage)
    if (output) TUFF_RETURN_IF_ERROR(output->ready->wait());
  for (const std::shared_ptr<BufferState>& output : run.outputs)
    if (output) output->wait_for_readers();
  std::vector<BufferPtr> outputs = donated_memory(*program.program, run.arguments, run.donated);
  std::vector<BufferPtr> arguments;
  for (const StoragePtr& argument : run.arguments) arguments.push_back(argument->memory);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (run.output_storage[i]) outputs[i] = run.output_storage[i]->memory;
    if (outputs[i]) continue;
    TUFF_ASSIGN(outputs[i],
                device.allocate(stored_type(program.results[i].type, device.caps()).size_bytes()));
  }
  TUFF_RETURN_IF_ERROR(device.run(*program.loaded, arguments, outputs, nullptr));
  for (size_t i = 0; i < outputs.size(); ++i) run.results[i]->memory = std::move(outputs[i]);
  return {};
}

// Between the application's semaphores: those at the end are signalled whatever happens, so that
// nobody waits for ever.
Status perform(Run& run) {
  Device& device = watched_device(run.program->device->device());
  if (!run.wait.empty()) TUFF_RETURN_IF_ERROR(submit_semaphores(device, run.wait, {}));
  Status status = guarded_status([&run] { return compute(run); });
  if (run.signal.empty()) return status;
  Status signalled = submit_semaphores(device, {}, run.signal);
  return status.ok() ? signalled : status;
}

// What was donated is free before anybody hears of the end.
Status finish(Run& run) {
  Status status = guarded_status([&run] { return perform(run); });
  run.arguments.clear();
  run.outputs.clear(), run.output_storage.clear();
  CompletionPtr done = std::move(run.done);
  run.results.clear();
  done->complete(status);
  return status;
}

void give(std::vector<std::unique_ptr<tuff_buffer>> handles, tuff_buffer** results) {
  for (size_t i = 0; i < handles.size(); ++i) results[i] = handles[i].release();
}

}  // namespace

}  // namespace tuff::c

using namespace tuff;     // NOLINT: the functions of tuff.h have no namespace
using namespace tuff::c;  // NOLINT

tuff_status tuff_program_run(tuff_program* program, const tuff_run_options* options,
                             tuff_buffer* const* arguments, size_t num_arguments,
                             tuff_buffer** results, size_t num_results) {
  return call([&]() -> Status {
    TUFF_ASSIGN(auto run,
                make_run(program, options, arguments, num_arguments, results, num_results));
    auto handles = promise(*run, arguments);
    TUFF_RETURN_IF_ERROR(finish(*run));
    give(std::move(handles), results);
    return {};
  });
}

tuff_status tuff_program_run_async(tuff_program* program, const tuff_run_options* options,
                                   tuff_buffer* const* arguments, size_t num_arguments,
                                   tuff_buffer** results, size_t num_results, tuff_event** event) {
  return call([&]() -> Status {
    TUFF_ASSIGN(auto run,
                make_run(program, options, arguments, num_arguments, results, num_results));
    CompletionPtr done = run->done;
    auto read = std::move(run->buffers);
    auto handle = std::make_unique<tuff_event>(tuff_event{done});
    auto handles = promise(*run, arguments);
    Queue& queue = run->program->device->queue;
    queue.submit([run = std::move(run)]() mutable {
      (void)finish(*run);  // told by the completion
      run.reset();
    });
    for (const std::shared_ptr<BufferState>& buffer : read) buffer->read_by(done);
    give(std::move(handles), results);
    if (event) *event = handle.release();
    return {};
  });
}

tuff_status tuff_event_wait(tuff_event* event, uint64_t timeout_ns) {
  std::optional<Status> ended;
  tuff_status asked = call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(event, "event"));
    // Longer than any clock can count is for ever.
    constexpr uint64_t kLongest = uint64_t{1} << 60;
    if (timeout_ns >= kLongest)
      ended = event->completion->wait();
    else
      ended = event->completion->wait_for(std::chrono::nanoseconds(timeout_ns));
    return ended ? *ended : Status();
  });
  return asked == TUFF_OK && !ended ? TUFF_TIMEOUT : asked;
}

tuff_status tuff_event_on_done(tuff_event* event, void (*callback)(void* user, tuff_status status),
                               void* user) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(event, "event"));
    if (!callback) return invalid("The argument (callback) is NULL.");
    event->completion->on_ready([callback, user](const Status& status) {
      callback(user, status.ok() ? TUFF_OK : static_cast<tuff_status>(status.error().code));
    });
    return {};
  });
}

void tuff_event_destroy(tuff_event* event) { delete event; }
