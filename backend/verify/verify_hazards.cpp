// verify_program: barriers stand where they must.
#include <fmt/format.h>

#include "backend/plan/ranges.h"
#include "backend/verify/rules.h"

namespace tuff {

namespace {

// What ran since the last barrier, and may run still.
class HazardWalk {
 public:
  HazardWalk(const Program& program, const std::vector<Donation>& donations)
      : program_(program), donations_(donations) {}

  // `waits`: the first step has nothing to rely on but its own barrier.
  Status walk(const Steps& steps, bool waits) {
    for (const Step& step : steps) {
      if (step.barrier) running_.clear();
      if (!step.barrier && (waits || is_control(step.kind)))
        return plan_error(step, "no barrier stands where a block begins, at control or after it.");
      TUFF_RETURN_IF_ERROR(check_step(step));
      for (const Steps& block : step.blocks) TUFF_RETURN_IF_ERROR(walk(block, true));
      waits = is_control(step.kind);
    }
    return {};
  }

 private:
  struct Running {
    StepAccess access;
    const Step* step;
  };

  Status check_step(const Step& step) {
    std::vector<StepAccess> accesses = accesses_of(step, program_, donations_);
    for (const StepAccess& access : accesses)
      for (const Running& earlier : running_)
        if ((access.writes || earlier.access.writes) &&
            overlaps(access.range, earlier.access.range))
          return plan_error(
              step, fmt::format("it {} {}, which {} {}, without a barrier between.",
                                access.writes ? "writes" : "reads", range_text(access.range),
                                earlier.step->label, earlier.access.writes ? "writes" : "reads"));
    for (const StepAccess& access : accesses) running_.push_back({access, &step});
    return {};
  }

  const Program& program_;
  const std::vector<Donation>& donations_;
  std::vector<Running> running_;
};

}  // namespace

Status verify_hazards(const Program& program, const std::vector<Donation>& donations) {
  return HazardWalk(program, donations).walk(program.steps, false);
}

}  // namespace tuff
