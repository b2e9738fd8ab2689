// Runs, on the caller's thread or behind each other on the device's queue, and their ends.
#include <unordered_map>

#include "backend/storage_convert.h"
#include "frontend/c/call.h"
#include "frontend/c/objects.h"

namespace tuff::c {

namespace {

// One run, from what it was asked with until its results are there.
struct Run {
  std::shared_ptr<ProgramState> program;
  std::vector<StoragePtr> arguments, results;
  std::vector<bool> donated;  // by argument
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
  return {};
}

// Which arguments the run uses up. Errors: kUsage where such a buffer is needed otherwise, too.
Status take_donations(Run& run, const tuff_run_options* options, tuff_buffer* const* given) {
  const ProgramState& program = *run.program;
  run.donated.resize(program.arguments.size());
  if (!options) return {};
  TUFF_ASSIGN(tuff_run_options known, read_struct(options, "options"));
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
  TUFF_RETURN_IF_ERROR(take_donations(*run, options, all_bound ? nullptr : arguments));
  return run;
}

// Handles of the results, which the run's end fills; and what is donated leaves its buffers.
std::vector<std::unique_ptr<tuff_buffer>> promise(Run& run, tuff_buffer* const* arguments) {
  std::vector<std::unique_ptr<tuff_buffer>> handles;
  for (const NamedType& result : run.program->results) {
    auto storage = std::make_shared<Storage>();
    storage->ready = run.done;
    run.results.push_back(storage);
    handles.push_back(std::make_unique<tuff_buffer>());
    handles.back()->state =
        std::make_shared<BufferState>(run.program->device, result.type, std::move(storage));
  }
  for (size_t i = 0; i < run.donated.size(); ++i)
    if (run.donated[i]) arguments[i]->state->release();
  return handles;
}

Status perform(Run& run) {
  const ProgramState& program = *run.program;
  Device& device = program.device->device();
  for (const StoragePtr& argument : run.arguments) TUFF_RETURN_IF_ERROR(argument->ready->wait());
  std::vector<BufferPtr> outputs = donated_memory(*program.program, run.arguments, run.donated);
  std::vector<BufferPtr> arguments;
  for (const StoragePtr& argument : run.arguments) arguments.push_back(argument->memory);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) continue;
    TUFF_ASSIGN(outputs[i],
                device.allocate(stored_type(program.results[i].type, device.caps()).size_bytes()));
  }
  TUFF_RETURN_IF_ERROR(device.run(*program.loaded, arguments, outputs, nullptr));
  for (size_t i = 0; i < outputs.size(); ++i) run.results[i]->memory = std::move(outputs[i]);
  return {};
}

// What was donated is free before anybody hears of the end.
Status finish(Run& run) {
  Status status = guarded_status([&run] { return perform(run); });
  run.arguments.clear();
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
    auto handle = std::make_unique<tuff_event>(tuff_event{run->done});
    auto handles = promise(*run, arguments);
    Queue& queue = run->program->device->queue;
    queue.submit([run = std::move(run)]() mutable {
      (void)finish(*run);  // told by the completion
      run.reset();
    });
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
