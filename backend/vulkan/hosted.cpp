// Steps that the device's host runs: what they take comes down, what they give goes up.
#include "backend/storage_convert.h"
#include "backend/vulkan/program.h"
#include "shaders/storage.h"

namespace tuff {

Status VulkanProgram::load_hosted() {
  Status status;
  for_each_step(program_->steps, [&](const Step& step, int) {
    if (!status.ok() || step.kind != Step::Kind::kHost) return;
    if (services_.host == nullptr) {
      status = Error{ErrorCode::kUnsupported,
                     "The program has steps for a host, and this device was opened without one (" +
                         step.label + ").",
                     ""};
      return;
    }
    Result<Executable> executable = Executable::create(*services_.host, step.host, {});
    if (executable.ok())
      hosted_.emplace(&step, std::move(executable).value());
    else
      status = executable.take_error();
  });
  return status;
}

// The value of a range as the host has it.
Result<Literal> VulkanProgram::take(const Range& range, const TensorType& type, Run& run) {
  Literal stored(TensorType{storage_dtype(type.dtype, services_.context.caps()), type.shape});
  Bound from = bound(range, run.arguments, run.outputs);
  TUFF_RETURN_IF_ERROR(
      services_.transfer.read(*from.buffer, from.offset_bytes,
                              {stored.mutable_bytes(), static_cast<size_t>(stored.size_bytes())}));
  ++run.stats.readbacks;
  run.stats.copied_bytes += stored.size_bytes();
  return from_storage(stored, type);
}

Status VulkanProgram::run_hosted(const Step& step, Run& run) {
  Executable& executable = hosted_.at(&step);
  const Program& program = *step.host;
  size_t next = 0;
  for (uint32_t i = 0; i < program.arguments.size(); ++i) {
    const TensorType& type = program.arguments[i];
    if (type.num_elements() == 0) {
      TUFF_RETURN_IF_ERROR(executable.set_argument(i, Literal(type)));
      continue;
    }
    TUFF_ASSIGN(Literal value, take(step.bindings[next++], type, run));
    TUFF_RETURN_IF_ERROR(executable.set_argument(i, value));
  }
  TUFF_RETURN_IF_ERROR(executable.run(nullptr));
  for (uint32_t i = 0; i < program.outputs.size(); ++i) {
    if (program.outputs[i].num_elements() == 0) continue;
    TUFF_ASSIGN(Literal value, executable.output(i));
    Literal stored = to_storage(value, services_.context.caps());
    Bound to = bound(step.bindings[next++], run.arguments, run.outputs);
    TUFF_RETURN_IF_ERROR(services_.transfer.write(
        *to.buffer, to.offset_bytes, {stored.bytes(), static_cast<size_t>(stored.size_bytes())}));
    run.stats.copied_bytes += stored.size_bytes();
  }
  run.stats.cpu_ops += static_cast<int64_t>(step.ops.size());
  return {};
}

}  // namespace tuff
