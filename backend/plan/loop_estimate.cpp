#include "backend/plan/loop_estimate.h"

#include <algorithm>
#include <bit>

#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

// Of loops and branches that only a run tells the length of.
constexpr double kUnknownRounds = 8;

// Microseconds. One workgroup has nothing to do while it waits for its loads, of which those of a
// block are under way together. A software device runs the lanes of a subgroup at once and the
// subgroups one after another. (lavapipe on two cores: 12 to 20 a dispatch, 30 for the answer
// whether to go on.)
struct Rates {
  double dispatch, answer, barrier, wait, load, statement;
  double lanes_at_once;
};

Rates rates_of(const Caps& caps) {
  if (is_gpu(caps)) return {5, 80, 0.2, 0.25, 0.02, 0.004, 256};
  return {12, 30, 0.1, 0, 0.004, 0.0015, static_cast<double>(caps.subgroup_size)};
}

// Walks the statements of one kernel.
class KernelEstimate {
 public:
  KernelEstimate(const Kernel& kernel, const std::vector<int32_t>& params, const Rates& rates)
      : kernel_(kernel), params_(params), rates_(rates) {}

  double us = 0, iterations = 0;

  void run(double points) {
    iterations = points;
    block(kernel_.body, points, 1);
  }

 private:
  double known(const Operand& operand, double otherwise) const {
    if (operand.kind == Operand::Kind::kValue) return otherwise;
    return operand.kind == Operand::Kind::kParam ? params_[operand.id]
                                                 : static_cast<int32_t>(operand.bits);
  }

  static bool is_load(const Stmt& stmt) {
    return stmt.kind == Stmt::Kind::kLoad || stmt.kind == Stmt::Kind::kLoadWord;
  }

  // `times` in all, each by so many lots of lanes, one after another.
  void block(const Block& body, double times, double lots) {
    if (std::any_of(body.begin(), body.end(), is_load)) us += times * rates_.wait;
    for (const Stmt& stmt : body) switch (stmt.kind) {
        case Stmt::Kind::kSerial:
        case Stmt::Kind::kUnroll: {
          double inner = times * std::max(known(stmt.operands[0], kUnknownRounds), 0.0);
          iterations += inner;
          block(stmt.body, inner, lots);
          break;
        }
        case Stmt::Kind::kWhile: block(stmt.body, times * kUnknownRounds, lots); break;
        case Stmt::Kind::kLane: {
          double lanes = known(stmt.operands[0], static_cast<double>(kernel_.lanes));
          block(stmt.body, times, std::max(1.0, lanes / rates_.lanes_at_once));
          break;
        }
        case Stmt::Kind::kReduceLanes:
          us += times * rates_.barrier * std::bit_width(static_cast<uint64_t>(kernel_.lanes));
          break;
        case Stmt::Kind::kLoad:
        case Stmt::Kind::kLoadWord: us += times * lots * rates_.load; break;
        default: us += times * lots * rates_.statement;
      }
  }

  const Kernel& kernel_;
  const std::vector<int32_t>& params_;
  const Rates& rates_;
};

class RoundEstimate {
 public:
  RoundEstimate(const Program& program, const Caps& caps)
      : program_(program),
        rates_(rates_of(caps)),
        lanes_(static_cast<double>(caps.subgroup_size)) {}

  LoopEstimate of(const Step& loop) {
    for (const Steps& block : loop.blocks) add(block, 1);
    if (!loop.trip_count) all_.apart_us += rates_.answer;
    return all_;
  }

 private:
  void add(const Steps& steps, double times) {
    for (const Step& step : steps) {
      all_.together_us += times * (step.barrier ? rates_.barrier : 0);
      switch (step.kind) {
        case Step::Kind::kWhile: {
          double rounds = step.trip_count ? static_cast<double>(*step.trip_count) : kUnknownRounds;
          for (const Steps& block : step.blocks) add(block, times * rounds);
          all_.iterations += times * rounds;
          if (!step.trip_count) all_.apart_us += times * rounds * rates_.answer;
          break;
        }
        case Step::Kind::kCase:
          for (const Steps& block : step.blocks)
            add(block, times / static_cast<double>(step.blocks.size()));
          all_.apart_us += times * rates_.answer;
          break;
        case Step::Kind::kCopy: {
          double rounds = static_cast<double>(step.bindings[0].size_bytes) / 4 / lanes_ + 1;
          all_.together_us += times * rounds * (rates_.wait + rates_.load + 4 * rates_.statement);
          all_.iterations += times * rounds;
          all_.apart_us += times * rates_.dispatch;
          break;
        }
        default: add_kernel(step, times);
      }
    }
  }

  void add_kernel(const Step& step, double times) {
    const Kernel& kernel = program_.kernels[step.kernel];
    KernelEstimate estimate(kernel, step.params, rates_);
    estimate.run(static_cast<double>(step.workgroups));
    all_.together_us += times * estimate.us;
    all_.iterations += times * estimate.iterations;
    all_.apart_us += times * rates_.dispatch;
    for_each_stmt(kernel.body, [&](const Stmt&) { ++all_.statements; });
  }

  const Program& program_;
  Rates rates_;
  double lanes_;
  LoopEstimate all_;
};

}  // namespace

LoopEstimate estimate_round(const Program& program, const Step& loop, const Caps& caps) {
  return RoundEstimate(program, caps).of(loop);
}

}  // namespace tuff
