#include "backend/verify/verify_program.h"

#include <algorithm>

#include "backend/plan/ranges.h"
#include "backend/verify/rules.h"

namespace tuff {

namespace {

// The host takes the step's first bindings and gives the others.
size_t count_host_arguments(const Step& step) {
  const std::vector<TensorType>& arguments = host_arguments(step);
  return static_cast<size_t>(
      std::count_if(arguments.begin(), arguments.end(),
                    [](const TensorType& type) { return type.num_elements() > 0; }));
}

bool writes(const Step& step, size_t binding, const Program& program) {
  switch (step.kind) {
    case Step::Kind::kDispatch:
      return program.kernels[step.kernel].buffers[binding].access != Access::kRead;
    case Step::Kind::kCall: return is_result(step.call, binding, step.bindings.size());
    case Step::Kind::kCopy: return binding + 1 == step.bindings.size();
    case Step::Kind::kHost: return binding >= count_host_arguments(step);
    case Step::Kind::kWhile:
    case Step::Kind::kCase: break;
  }
  return false;
}

Status verify_kernels(const Program& program) {
  for (size_t i = 0; i < program.kernels.size(); ++i)
    if (Status status = verify_kernel(program.kernels[i]); !status.ok()) {
      Error error = status.take_error();
      return Error{ErrorCode::kRunFailed,
                   "A kernel is not valid, a bug in tuff: " + error.to_string(),
                   "kernel " + std::to_string(i) + " (" + program.kernels[i].family + ")"};
    }
  return {};
}

}  // namespace

Error plan_error(const Step& step, const std::string& message) {
  return {ErrorCode::kRunFailed, "The program is not valid, a bug in tuff: " + message, step.label};
}

std::vector<StepAccess> accesses_of(const Step& step, const Program& program,
                                    const std::vector<Donation>& donations) {
  std::vector<StepAccess> accesses;
  for (size_t i = 0; i < step.bindings.size(); ++i) {
    bool among_steps =
        step.kind == Step::Kind::kDispatch && program.kernels[step.kernel].buffers[i].aliased;
    accesses.push_back(
        {shared_range(step.bindings[i], donations), writes(step, i, program), among_steps});
  }
  return accesses;
}

Status verify_program(const Program& program, const Caps& caps) {
  TUFF_RETURN_IF_ERROR(verify_kernels(program));
  TUFF_RETURN_IF_ERROR(verify_steps(program, caps));
  // A caller may keep the arguments that it could give up.
  for (const auto& donations : {std::vector<Donation>(), program.donations}) {
    TUFF_RETURN_IF_ERROR(verify_flow(program, caps, donations));
    TUFF_RETURN_IF_ERROR(verify_hazards(program, donations));
  }
  return {};
}

}  // namespace tuff
