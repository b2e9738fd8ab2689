#include "backend/cpu/loaded_program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#ifdef TUFF_HAS_ONEDNN
#include "backend/cpu/convolution.h"
#include "backend/cpu/gemm.h"
#endif

namespace tuff::cpu {

namespace {

Error broken(const Step& step, const std::string& what) {
  return Error{ErrorCode::kRunFailed, "The program is not valid: " + what + ".", step.label};
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
  if (step.kind == Step::Kind::kDispatch) {
    if (step.kernel >= program.kernels.size()) return broken(step, "it has no such kernel");
    const Kernel& kernel = program.kernels[step.kernel];
    if (step.bindings.size() != kernel.buffers.size() || step.params.size() != kernel.num_params)
      return broken(step, "the bindings or parameters are not those of the kernel");
    return {};
  }
  bool described =
      step.kind == Step::Kind::kMatmul ? step.matmul.has_value() : step.convolution.has_value();
  if (!described || step.bindings.size() != 3)
    return broken(step, "a library call lacks its description or operands");
  return {};
}

const CpuBuffer& as_cpu(const BufferPtr& buffer) { return static_cast<const CpuBuffer&>(*buffer); }

}  // namespace

Result<std::unique_ptr<CpuLoadedProgram>> CpuLoadedProgram::create(
    std::shared_ptr<const Program> program, const LaneTable& table, bool checked,
    const LoadOptions& options) {
  auto loaded = std::make_unique<CpuLoadedProgram>();
  loaded->program_ = program;
  loaded->checked_ = checked;
  loaded->stats_.kernels = static_cast<int64_t>(program->kernels.size());
  size_t max_bindings = 0;
  for (const Step& step : program->steps) {
    TUFF_RETURN_IF_ERROR(check_step(*program, step));
    max_bindings = std::max(max_bindings, step.bindings.size());
  }
  loaded->views_.resize(max_bindings);
  loaded->time_steps_ = options.time_steps;
  Stopwatch emit(options.timeline, "phase", phase::kEmit);
  for (const Kernel& kernel : program->kernels) {
    Stopwatch one(options.timeline, phase::kEmit,
                  "kernel " + std::to_string(loaded->kernels_.size()));
    if (checked) TUFF_RETURN_IF_ERROR(verify_kernel(kernel));
    TUFF_ASSIGN(KernelProgram prepared, prepare_kernel(kernel, table));
    TUFF_RETURN_IF_ERROR(loaded->scratch_.reserve(prepared));
    loaded->kernels_.push_back(std::move(prepared));
    loaded->stats_.by_kernel.push_back({.emit_ms = one.stop()});
    if (options.progress)
      options.progress(static_cast<int64_t>(loaded->kernels_.size()), loaded->stats_.kernels);
  }
  loaded->stats_.emit_ms = emit.stop();
  Stopwatch calls(options.timeline, "phase", phase::kPipelines);
  TUFF_RETURN_IF_ERROR(loaded->create_calls());
  loaded->stats_.pipeline_ms = calls.stop("library calls");
  Stopwatch prepare(options.timeline, "phase", phase::kPrepare);
  TUFF_RETURN_IF_ERROR(loaded->place_constants());
  loaded->arena_ = allocate_aligned(program->arena_bytes);
  if (loaded->arena_ == nullptr)
    return Error{ErrorCode::kOutOfMemory,
                 "The arena (" + std::to_string(program->arena_bytes) +
                     " bytes) does not fit in the machine's memory; use a smaller batch.",
                 ""};
  loaded->stats_.prepare_ms = prepare.stop("arena, constants");
  return loaded;
}

Status CpuLoadedProgram::create_calls() {
  calls_.resize(program_->steps.size());
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Step& step = program_->steps[i];
    if (step.kind == Step::Kind::kDispatch) continue;
#ifdef TUFF_HAS_ONEDNN
    auto stable = [&](size_t operand) {
      Range::Space space = step.bindings[operand].space;
      return space == Range::Space::kArgument || space == Range::Space::kConstants;
    };
    auto call = step.kind == Step::Kind::kMatmul ? create_matmul(*step.matmul, stable(0), stable(1))
                                                 : create_convolution(*step.convolution);
    if (!call.ok()) {
      Error error = call.take_error();
      error.where = step.label;
      return error;
    }
    calls_[i] = std::move(call).value();
#else
    return broken(step, "it calls a library that this build does not have");
#endif
  }
  return {};
}

// Constants are used where they are, unless their bytes are not aligned.
Status CpuLoadedProgram::place_constants() {
  constants_version_ = CpuBuffer(nullptr, 0, nullptr).version();
  for (const Literal& literal : program_->constants) {
    const std::byte* bytes = literal.bytes();
    if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0) {
      AlignedBytes copy = allocate_aligned(literal.size_bytes());
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
    std::string name = std::string("The ") + what + " (" + std::to_string(i) + ")";
    if (buffers[i] == nullptr || buffers[i]->size_bytes() != size)
      return Error{ErrorCode::kRunFailed,
                   name + " needs a buffer of (" + std::to_string(size) + ") bytes.", ""};
    if (written && as_cpu(buffers[i]).writable() == nullptr)
      return Error{ErrorCode::kRunFailed, name + " is a read-only buffer.", ""};
  }
  return {};
}

BufferView CpuLoadedProgram::view(const Range& range, std::span<const BufferPtr> arguments,
                                  std::span<const BufferPtr> outputs) const {
  // Kernels only read arguments and constants (or arguments donated to an output,
  // whose buffer is the output's own), so their constness may be dropped here.
  auto unconst = [](const std::byte* data) { return const_cast<std::byte*>(data); };
  switch (range.space) {
    case Range::Space::kArena: return {arena_.get() + range.offset_bytes, range.size_bytes};
    case Range::Space::kArgument:
      return {unconst(as_cpu(arguments[range.index]).data()), range.size_bytes};
    case Range::Space::kOutput: return {as_cpu(outputs[range.index]).writable(), range.size_bytes};
    case Range::Space::kConstants: break;
  }
  return {unconst(constants_[range.index]), range.size_bytes};
}

uint64_t CpuLoadedProgram::version(const Range& range, std::span<const BufferPtr> arguments) const {
  if (range.space == Range::Space::kArgument) return as_cpu(arguments[range.index]).version();
  return range.space == Range::Space::kConstants ? constants_version_ : 0;
}

Status CpuLoadedProgram::run_step(size_t index, std::span<const BufferPtr> arguments,
                                  std::span<const BufferPtr> outputs) {
  const Step& step = program_->steps[index];
  for (size_t i = 0; i < step.bindings.size(); ++i)
    views_[i] = view(step.bindings[i], arguments, outputs);
  if (step.kind == Step::Kind::kDispatch)
    return execute_kernel(kernels_[step.kernel], step.params,
                          std::span(views_).first(step.bindings.size()), scratch_, checked_);
  CallOperand operands[3];
  for (size_t i = 0; i < 3; ++i)
    operands[i] = {views_[i].data, version(step.bindings[i], arguments)};
  return calls_[index]->run(operands);
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
  bool timed = time_steps_ && stats != nullptr;
  auto now_us = [&] {
    return std::chrono::duration<double, std::micro>(Timeline::Clock::now() - start).count();
  };
  for (size_t i = 0; i < program_->steps.size(); ++i) {
    double start_us = timed ? now_us() : 0;
    Status status = run_step(i, arguments, outputs);
    if (timed) stats->steps.push_back({&program_->steps[i], start_us, now_us()});
    if (status.ok()) continue;
    Error error = status.take_error();
    error.where = program_->steps[i].label;
    return error;
  }
  if (stats == nullptr) return {};
  stats->dispatches = static_cast<int64_t>(program_->steps.size());
  stats->submits = 1;
  stats->readbacks = 0;
  stats->wall_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return {};
}

}  // namespace tuff::cpu
