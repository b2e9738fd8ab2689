#include "backend/cpu/loaded_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "backend/cpu/call_choice.h"
#include "ir/support/guarded.h"

namespace tuff::cpu {

namespace {

Error broken(const Step& step, const std::string& what) {
  return Error{ErrorCode::kRunFailed, "The program is not valid: " + what + ".", step.label};
}

bool takes_bindings(std::monostate, const Step&) { return false; }
template <typename Described>
bool takes_bindings(const Described& call, const Step& step) {
  return step.bindings.size() == count_bindings(call);
}

// Everything that run_step relies on.
Status check_step(const Program& program, const Step& step) {
  for (const Range& range : step.bindings) {
    bool arena_end = range.space == Range::Space::kArena &&
                     (range.offset_bytes < 0 || range.size_bytes < 0 ||
                      range.offset_bytes > program.arena_bytes - range.size_bytes);
    size_t count = range.space == Range::Space::kArgument    ? program.arguments.size()
                   : range.space == Range::Space::kOutput    ? program.outputs.size()
                   : range.space == Range::Space::kConstants ? program.constants.size()
                                                             : range.index + 1;
    if (arena_end || range.index >= count) return broken(step, "a binding is out of range");
  }
  if (is_control(step.kind)) {
    bool loop = step.kind == Step::Kind::kWhile;
    bool counted = loop && step.trip_count;
    size_t blocks = loop ? 2 : std::max<size_t>(step.blocks.size(), 1);
    if (step.bindings.size() != (counted ? 0 : 1) || step.blocks.size() != blocks)
      return broken(step, "control flow lacks what decides it or what it runs");
    return {};
  }
  if (step.kind == Step::Kind::kHost) {
    if (!step.host_call) return broken(step, "it asks for a host, which this device is itself");
    auto full = [](const TensorType& type) { return type.num_elements() > 0; };
    const HostCall& call = *step.host_call;
    auto arguments = std::count_if(call.arguments.begin(), call.arguments.end(), full);
    auto results = std::count_if(call.results.begin(), call.results.end(), full);
    if (static_cast<std::ptrdiff_t>(step.bindings.size()) != arguments + results)
      return broken(step, "the bindings are not those of the host's function");
    return {};
  }
  if (step.kind == Step::Kind::kCopy) {
    if (step.bindings.size() != 2 || step.bindings[0].size_bytes != step.bindings[1].size_bytes)
      return broken(step, "a copy is not from one range to another of its size");
    return {};
  }
  if (step.kind == Step::Kind::kDispatch) {
    if (step.kernel >= program.kernels.size()) return broken(step, "it has no such kernel");
    const Kernel& kernel = program.kernels[step.kernel];
    if (step.bindings.size() != kernel.buffers.size() || step.params.size() != kernel.num_params)
      return broken(step, "the bindings or parameters are not those of the kernel");
    return {};
  }
  bool described =
      std::visit([&](const auto& call) { return takes_bindings(call, step); }, step.call);
  if (!described) return broken(step, "a call lacks its description or operands");
  return {};
}

const CpuBuffer& as_cpu(const BufferPtr& buffer) { return static_cast<const CpuBuffer&>(*buffer); }

}  // namespace

Result<std::unique_ptr<CpuLoadedProgram>> CpuLoadedProgram::create(
    std::shared_ptr<const Program> program, const LaneTable& table, DerivedOwner& owner,
    const CpuDeviceOptions& device, const native::NativePolicy& native,
    const LoadOptions& options) {
  auto loaded = std::make_unique<CpuLoadedProgram>(owner, native);
  loaded->program_ = program;
  loaded->allocator_ = device.allocator;
  loaded->checked_ = device.checked;
  loaded->stats_.kernels = static_cast<int64_t>(program->kernels.size());
  size_t max_bindings = 0;
  Status valid;
  for_each_step(program->steps, [&](const Step& step, int) {
    if (valid.ok()) valid = check_step(*program, step);
    max_bindings = std::max(max_bindings, step.bindings.size());
  });
  TUFF_RETURN_IF_ERROR(valid);
  loaded->views_.resize(max_bindings);
  loaded->operands_.resize(max_bindings);
  loaded->time_steps_ = options.time_steps;
  Stopwatch emit(options.timeline, "phase", phase::kEmit);
  for (const Kernel& kernel : program->kernels) {
    Stopwatch one(options.timeline, phase::kEmit,
                  "kernel " + std::to_string(loaded->kernels_.size()));
    if (device.checked) TUFF_RETURN_IF_ERROR(verify_kernel(kernel));
    TUFF_ASSIGN(KernelProgram prepared, prepare_kernel(kernel, table));
    TUFF_RETURN_IF_ERROR(loaded->scratch_.reserve(prepared));
    loaded->kernels_.push_back(std::move(prepared));
    loaded->is_loop_.push_back(native.allowed && native::is_loop_kernel(kernel));
    loaded->stats_.by_kernel.push_back({.emit_ms = one.stop()});
    if (options.progress)
      options.progress(static_cast<int64_t>(loaded->kernels_.size()), loaded->stats_.kernels);
  }
  loaded->stats_.emit_ms = emit.stop();
  Stopwatch calls(options.timeline, "phase", phase::kPipelines);
  TUFF_ASSIGN(loaded->calls_, choose_calls(*program, table, owner, &loaded->functions_));
  loaded->stats_.pipeline_ms = calls.stop("library calls");
  Stopwatch prepare(options.timeline, "phase", phase::kPrepare);
  TUFF_RETURN_IF_ERROR(loaded->place_constants());
  owner.make_room(program->arena_bytes);
  loaded->arena_ = allocate_tensor(program->arena_bytes, loaded->allocator_);
  if (loaded->arena_ == nullptr)
    return Error{ErrorCode::kOutOfMemory,
                 "The arena (" + std::to_string(program->arena_bytes) +
                     " bytes) does not fit in the machine's memory; use a smaller batch.",
                 ""};
  loaded->promise_memory();
  loaded->stats_.prepare_ms = prepare.stop("arena, constants");
  return loaded;
}

Result<LibraryCalls> choose_calls(const Program& program, const LaneTable& table,
                                  DerivedOwner& owner, native::FunctionCache* functions) {
  LibraryCalls calls;
  Status status;
  for_each_step(program.steps, [&](const Step& step, int) {
    bool is_call = step.kind == Step::Kind::kCall || step.kind == Step::Kind::kHost;
    if (!status.ok() || !is_call) return;
    Result<ChosenCall> chosen = choose_call(program, step, table, owner, functions);
    if (chosen.ok()) {
      calls[&step] = std::move(chosen->call);
      return;
    }
    Error error = chosen.take_error();
    error.where = step.label;
    status = std::move(error);
  });
  TUFF_RETURN_IF_ERROR(status);
  return calls;
}

// The arena and the outputs hold nothing before the first run has ended.
CpuLoadedProgram::~CpuLoadedProgram() { owner_.promise(-promised_bytes_); }

void CpuLoadedProgram::promise_memory() {
  promised_bytes_ = program_->arena_bytes;
  for (const TensorType& type : program_->outputs) promised_bytes_ += type.size_bytes();
  owner_.promise(promised_bytes_);
}

// Constants are used where they are, unless their bytes are not aligned.
Status CpuLoadedProgram::place_constants() {
  constants_version_ = CpuBuffer(nullptr, 0, nullptr).version();
  for (const Literal& literal : program_->constants) {
    const std::byte* bytes = literal.bytes();
    if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0) {
      TensorBytes copy = allocate_tensor(literal.size_bytes(), allocator_);
      if (copy == nullptr)
        return Error{ErrorCode::kOutOfMemory,
                     "A constant (" + std::to_string(literal.size_bytes()) +
                         " bytes) does not fit in the machine's memory.",
                     ""};
      std::memcpy(copy.get(), bytes, static_cast<size_t>(literal.size_bytes()));
      bytes = copy.get();
      constant_copies_.push_back(std::move(copy));
    }
    constants_.push_back(bytes);
  }
  return {};
}

Status CpuLoadedProgram::check_buffers(std::span<const BufferPtr> buffers,
                                       const std::vector<TensorType>& types, const char* what,
                                       bool written) const {
  if (buffers.size() != types.size())
    return Error{ErrorCode::kRunFailed,
                 std::string("The program has ") + std::to_string(types.size()) + " " + what +
                     "s, but (" + std::to_string(buffers.size()) + ") are given.",
                 ""};
  for (size_t i = 0; i < types.size(); ++i) {
    int64_t size = types[i].size_bytes();
    if (size == 0) continue;
    auto refuse = [&](const std::string& why) {
      return Error{ErrorCode::kRunFailed, fmt::format("The {} ({}) {}.", what, i, why), ""};
    };
    if (buffers[i] == nullptr || buffers[i]->size_bytes() != size)
      return refuse("needs a buffer of (" + std::to_string(size) + ") bytes");
    if (written && as_cpu(buffers[i]).writable() == nullptr) return refuse("is a read-only buffer");
  }
  return {};
}

BufferView CpuLoadedProgram::view(const Range& range, const Run& run) const {
  // Kernels only read arguments and constants (or arguments donated to an output,
  // whose buffer is the output's own), so their constness may be dropped here.
  auto unconst = [](const std::byte* data) { return const_cast<std::byte*>(data); };
  switch (range.space) {
    case Range::Space::kArena: return {arena_.get() + range.offset_bytes, range.size_bytes};
    case Range::Space::kArgument:
      return {unconst(as_cpu(run.arguments[range.index]).data()), range.size_bytes};
    case Range::Space::kOutput:
      return {as_cpu(run.outputs[range.index]).writable(), range.size_bytes};
    case Range::Space::kConstants: break;
  }
  return {unconst(constants_[range.index]), range.size_bytes};
}

uint64_t CpuLoadedProgram::version(const Range& range, const Run& run) const {
  if (range.space == Range::Space::kArgument) return as_cpu(run.arguments[range.index]).version();
  return range.space == Range::Space::kConstants ? constants_version_ : 0;
}

// The predicate of a while, the index of a case.
int64_t CpuLoadedProgram::index_at(const Range& range, const Run& run) const {
  const std::byte* data = view(range, run).data;
  if (range.size_bytes == 1) return static_cast<int64_t>(data[0]);
  int32_t index = 0;
  std::memcpy(&index, data, sizeof index);
  return index;
}

Status CpuLoadedProgram::run_steps(const Steps& steps, Run& run) {
  for (const Step& step : steps) TUFF_RETURN_IF_ERROR(run_step(step, run));
  return {};
}

Status CpuLoadedProgram::run_step(const Step& step, Run& run) {
  switch (step.kind) {
    case Step::Kind::kWhile: return run_while(step, run);
    case Step::Kind::kCase: return run_case(step, run);
    default: break;
  }
  auto now_us = [&] {
    return std::chrono::duration<double, std::micro>(Timeline::Clock::now() - run.start).count();
  };
  double start_us = run.timed ? now_us() : 0;
  Status status =
      step.kind == Step::Kind::kCopy ? run_copy(step, run) : run_kernel_or_call(step, run);
  if (run.timed) run.times.push_back({&step, start_us, now_us()});
  if (status.ok()) return {};
  Error error = status.take_error();
  error.where = step.label;
  return error;
}

Status CpuLoadedProgram::run_while(const Step& step, Run& run) {
  NativeLoop* loop = native_.allowed && !run.timed ? &loops_[&step] : nullptr;
  for (int64_t round = 0; !step.trip_count || round < *step.trip_count; ++round) {
    if (loop != nullptr && has_native(step, *loop))
      return run_native(*loop, step.trip_count ? *step.trip_count - round : 0, run);
    if (!step.trip_count) {
      TUFF_RETURN_IF_ERROR(run_steps(step.blocks[0], run));
      if (index_at(step.bindings[0], run) == 0) return {};
    }
    TUFF_RETURN_IF_ERROR(run_steps(step.blocks[1], run));
  }
  return {};
}

Status CpuLoadedProgram::run_case(const Step& step, Run& run) {
  return run_steps(step.blocks[chosen_branch(step, index_at(step.bindings[0], run))], run);
}

bool CpuLoadedProgram::has_native(const Step& step, NativeLoop& loop) {
  bool waits = step.kind == Step::Kind::kWhile && loop.rounds++ < native_.interpreted_rounds;
  if (loop.tried || waits) return loop.code.has_value();
  loop.tried = true;
  auto is_small = [this](const Step& dispatch) {
    return is_small_kernel(kernels_[dispatch.kernel], dispatch.params, true);
  };
  loop.code = native::LoopCode::compile(*program_, step, is_small, native_.vector_lanes);
  if (!loop.code || loop.code->scratch_bytes() <= native_scratch_bytes_)
    return loop.code.has_value();
  // Other loops keep the memory they have where there is no more.
  AlignedBytes larger = allocate_aligned(loop.code->scratch_bytes());
  if (larger == nullptr) {
    loop.code.reset();
    return false;
  }
  native_scratch_ = std::move(larger);
  native_scratch_bytes_ = loop.code->scratch_bytes();
  return true;
}

void CpuLoadedProgram::find_bases(Run& run) {
  bases_.assign(static_cast<size_t>(native::num_bases(*program_)), nullptr);
  bases_[native::kArenaBase] = arena_.get();
  auto set = [&](Range::Space space, const std::vector<TensorType>& types) {
    for (uint32_t i = 0; i < types.size(); ++i) {
      Range range{.space = space, .index = i, .size_bytes = types[i].size_bytes()};
      if (range.size_bytes > 0)
        bases_[static_cast<size_t>(native::base_of(*program_, range))] = view(range, run).data;
    }
  };
  set(Range::Space::kArgument, program_->arguments);
  set(Range::Space::kOutput, program_->outputs);
  for (uint32_t i = 0; i < constants_.size(); ++i) {
    Range range{.space = Range::Space::kConstants, .index = i};
    bases_[static_cast<size_t>(native::base_of(*program_, range))] = view(range, run).data;
  }
  run.has_bases = true;
}

Status CpuLoadedProgram::run_native(const NativeLoop& loop, int64_t rounds, Run& run) {
  struct Owner {
    CpuLoadedProgram* program;
    Run* run;
    const native::LoopCode* code;
    Status status;
  } owner{this, &run, &*loop.code, {}};
  if (!run.has_bases) find_bases(run);
  bases_[native::kScratchBase] = native_scratch_.get();
  native::NativeContext context{.bases = bases_.data(), .rounds = rounds, .owner = &owner};
  // Nothing is thrown through native code.
  context.run_step = [](native::NativeContext* called, int64_t number) {
    auto* from = static_cast<Owner*>(called->owner);
    const Step& step = *from->code->called()[static_cast<size_t>(number)];
    from->status = guarded_status([&] { return from->program->run_step(step, *from->run); });
    return static_cast<int64_t>(!from->status.ok());
  };
  loop.code->run(context);
  run.dispatches += context.dispatches;
  return std::move(owner.status);
}

Status CpuLoadedProgram::run_copy(const Step& step, const Run& run) {
  BufferView from = view(step.bindings[0], run), to = view(step.bindings[1], run);
  // An argument donated to the output that begins as its copy is there already.
  if (to.data != from.data) std::memcpy(to.data, from.data, static_cast<size_t>(to.size_bytes));
  return {};
}

Status CpuLoadedProgram::run_kernel_or_call(const Step& step, Run& run) {
  if (step.kind == Step::Kind::kDispatch && is_loop_[step.kernel]) {
    NativeLoop& loop = loops_[&step];
    if (has_native(step, loop)) return run_native(loop, 0, run);
  }
  ++run.dispatches;
  for (size_t i = 0; i < step.bindings.size(); ++i) views_[i] = view(step.bindings[i], run);
  if (step.kind == Step::Kind::kDispatch) {
    NativeSource native;
    if (native_.allowed) native = {&functions_, &program_->kernels[step.kernel]};
    auto [bound, fresh] =
        bound_.try_emplace(&step, kernels_[step.kernel], step.params, scratch_, checked_, native);
    return bound->second.run(std::span(views_).first(step.bindings.size()));
  }
  for (size_t i = 0; i < step.bindings.size(); ++i)
    operands_[i] = {views_[i].data, version(step.bindings[i], run)};
  return calls_.at(&step)->run(std::span(operands_).first(step.bindings.size()));
}

Status CpuLoadedProgram::run(std::span<const BufferPtr> arguments,
                             std::span<const BufferPtr> outputs, RunStats* stats) {
  std::lock_guard lock(running_);
  auto start = std::chrono::steady_clock::now();
  TUFF_RETURN_IF_ERROR(check_buffers(arguments, program_->arguments, "argument", false));
  TUFF_RETURN_IF_ERROR(check_buffers(outputs, program_->outputs, "output", true));
  // Also before the run: an output's buffer may be an argument's (donation).
  for (const BufferPtr& output : outputs)
    if (output != nullptr) static_cast<CpuBuffer&>(*output).mark_written();
  Run run{arguments, outputs, 0, start, time_steps_ && stats != nullptr && stats->time_steps,
          false,     {}};
  TUFF_RETURN_IF_ERROR(run_steps(program_->steps, run));
  owner_.promise(-std::exchange(promised_bytes_, 0));
  if (stats == nullptr) return {};
  stats->packed = packed_list(owner_.kept());
  stats->dispatches = run.dispatches;
  stats->submits = 1;
  stats->readbacks = 0;
  stats->steps = std::move(run.times);
  stats->wall_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return {};
}

}  // namespace tuff::cpu
