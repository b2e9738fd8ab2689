// How a program's steps become submissions: what can be recorded beforehand is, and
// only what the host must decide ends a command buffer. Pure; tested without a device.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "backend/program.h"
#include "ir/caps.h"

namespace tuff {

// Dispatches and copies in the order in which one command buffer runs them. A counted
// loop is unrolled into it, so a step may stand there often.
using Segment = std::vector<const Step*>;

struct Task {
  enum class Kind : uint8_t {
    kSubmit,  // segment, `times` times
    kRepeat,  // block 0, `times` times: a counted loop around something the host decides
    kWhile,   // block 0 (body, then condition) while the step's predicate is true; the
              // condition has run once before
    kCase,    // the block that the step's index names
    kHost,    // the step, on the host
  };
  Kind kind = Kind::kSubmit;
  uint32_t segment = 0;
  int64_t times = 1;
  const Step* step = nullptr;  // kWhile, kCase, kHost
  std::vector<std::vector<Task>> blocks;
};

struct SubmitPlan {
  std::vector<Segment> segments;
  std::vector<Task> tasks;  // in order
};

// A counted loop puts at most this many steps in a command buffer; a longer one submits
// it several times.
inline constexpr int64_t kMaxUnrolledSteps = 2048;

// What one submission may take.
struct SubmitLimits {
  // Of estimated time: a card that shows a picture, too, is taken for hung after two seconds on
  // some systems, and a schedule may be far slower than the estimate.
  double most_ms = std::numeric_limits<double>::infinity();
  int64_t most_steps = std::numeric_limits<int64_t>::max();
};
SubmitLimits submit_limits(const Caps& caps);

// A cautious guess of what a step takes on devices of a kind.
double estimated_ms(const Step& step, const Caps& caps);

// The steps must outlive the plan.
SubmitPlan plan_submits(const Steps& steps, const Caps& caps, const SubmitLimits& limits);

}  // namespace tuff
