#include "backend/plan/join_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "backend/plan/loop_estimate.h"
#include "backend/plan/ranges.h"
#include "ir/passes/group/group_table.h"
#include "shaders/kernel/join_kernels.h"
#include "shaders/kernel/kernel_text.h"
#include "shaders/kernel/kernel_walk.h"
#include "shaders/kernel/renumber.h"
#include "shaders/schedule/schedule_rules.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

// Software drivers: each access of memory is a loop over lanes, and splitting the coroutine that
// a kernel is takes a time that grows much faster than its loops (79: 1 s, 116: 5 s, 153: 20 s).
constexpr int64_t kMaxSoftwareAccesses = 64;

// Writes the kernel of a loop.
class LoopKernel {
 public:
  LoopKernel(const Program& program, const Caps& caps, int64_t lanes)
      : program_(program), caps_(caps), joiner_(lanes) {}

  // False where one of the steps has no place in a kernel.
  bool write(const Step& loop) {
    joiner_.begin_loop(joiner_.add_param());
    bool well = round(loop);
    joiner_.end();
    return well;
  }

  std::vector<Range> take_bindings() { return std::move(bindings_); }
  Kernel finish() {
    mark_aliases();
    return joiner_.finish("steps");
  }

 private:
  bool round(const Step& loop) {
    if (loop.trip_count) return steps(loop.blocks[1]);
    if (!steps(loop.blocks[0])) return false;
    joiner_.add_barrier();
    joiner_.leave_unless(buffer({.dtype = DType::kBool}, loop.bindings[0]));
    return steps(loop.blocks[1]);
  }

  bool steps(const Steps& all) {
    return std::all_of(all.begin(), all.end(), [&](const Step& step) {
      if (step.barrier) joiner_.add_barrier();
      switch (step.kind) {
        case Step::Kind::kDispatch: return dispatch(step);
        case Step::Kind::kCopy: return copy(step);
        case Step::Kind::kWhile: return loop(step);
        case Step::Kind::kCase: return branches(step);
        default: return false;
      }
    });
  }

  bool dispatch(const Step& step) {
    const Kernel& kernel = program_.kernels[step.kernel];
    if (step.workgroups <= 0) return true;
    std::vector<uint32_t> buffers;
    for (size_t i = 0; i < kernel.buffers.size(); ++i) {
      if (kernel.buffers[i].by_address) return false;
      buffers.push_back(buffer(kernel.buffers[i], step.bindings[i]));
    }
    joiner_.add_kernel(kernel, step.params, buffers);
    return true;
  }

  bool copy(const Step& step) {
    int64_t bytes = step.bindings[0].size_bytes;
    bool words = bytes % 4 == 0;
    if (!words && !caps_.storage_8bit) return false;
    DType dtype = words ? DType::kU32 : DType::kU8;
    uint32_t from = buffer({.dtype = dtype}, step.bindings[0]);
    uint32_t to = buffer({.dtype = dtype, .access = Access::kWrite}, step.bindings[1]);
    joiner_.add_copy(from, to, words ? bytes / 4 : bytes);
    return true;
  }

  // One that only its predicate ends goes on for 2^31 rounds, which is hours.
  bool loop(const Step& step) {
    int64_t rounds = step.trip_count.value_or(INT32_MAX);
    if (rounds > INT32_MAX) return false;
    joiner_.begin_loop(Operand::i32(rounds));
    bool well = round(step);
    joiner_.end();
    return well;
  }

  // What decides may be overwritten in a branch, which begins with a barrier.
  bool branches(const Step& step) {
    DType dtype = step.bindings[0].size_bytes == 4 ? DType::kI32 : DType::kU8;
    Operand index = joiner_.load_index(buffer({.dtype = dtype}, step.bindings[0]));
    std::vector<Operand> conditions;
    for (size_t i = 0; i + 1 < step.blocks.size(); ++i)
      conditions.push_back(joiner_.is_equal(index, static_cast<int64_t>(i)));
    conditions.push_back(joiner_.is_none(conditions));
    for (size_t i = 0; i < step.blocks.size(); ++i) {
      joiner_.begin_if(conditions[i]);
      bool well = steps(step.blocks[i]);
      joiner_.end();
      if (!well) return false;
    }
    return true;
  }

  // One for each range and each way of seeing it.
  uint32_t buffer(const BufferDecl& wanted, const Range& range) {
    for (size_t i = 0; i < bindings_.size(); ++i) {
      const BufferDecl& is = joiner_.buffers()[i];
      if (bindings_[i] == range && is.dtype == wanted.dtype && is.access == wanted.access &&
          is.per_word == wanted.per_word)
        return static_cast<uint32_t>(i);
    }
    bindings_.push_back(range);
    return joiner_.add_buffer(wanted);
  }

  void mark_aliases() {
    std::vector<BufferDecl>& buffers = joiner_.buffers();
    for (size_t i = 0; i < buffers.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        bool written = buffers[i].access != Access::kRead || buffers[j].access != Access::kRead;
        if (written && may_overlap(bindings_[i], bindings_[j]))
          buffers[i].aliased = buffers[j].aliased = true;
      }
  }
  // An argument that its caller gives up may be an output, or not.
  bool may_overlap(const Range& a, const Range& b) const {
    return overlaps(a, b) ||
           overlaps(shared_range(a, program_.donations), shared_range(b, program_.donations));
  }

  const Program& program_;
  const Caps& caps_;
  KernelJoiner joiner_;
  std::vector<Range> bindings_;
};

class LoopJoiner {
 public:
  LoopJoiner(Program& program, const Caps& caps) : program_(program), caps_(caps) {
    for (size_t i = 0; i < program.kernel_keys.size(); ++i)
      numbers_.emplace(program.kernel_keys[i], static_cast<uint32_t>(i));
  }

  // The outermost loops that can be.
  bool join(Steps& steps) {
    bool any = false;
    Steps joined;
    for (Step& step : steps) {
      if (step.kind == Step::Kind::kWhile && join(step, joined)) {
        any = true;
        continue;
      }
      for (Steps& block : step.blocks) any |= join(block);
      joined.push_back(std::move(step));
    }
    steps = std::move(joined);
    return any;
  }

 private:
  struct Rounds {
    int64_t most = 0;  // of a dispatch
    double us = 0;
  };

  bool join(const Step& loop, Steps& out) {
    std::optional<int64_t> lanes = common_lanes(loop);
    if (!lanes) return false;
    std::optional<Rounds> rounds = worth_joining(loop);
    if (!rounds) return false;
    LoopKernel writer(program_, caps_, *lanes);
    if (!writer.write(loop)) return false;
    Kernel kernel = writer.finish();
    if (!is_gpu(caps_) && is_slow_to_compile(kernel)) return false;
    if (static_cast<int64_t>(kernel.buffers.size()) > caps_.max_storage_buffers ||
        shared_size_bytes(kernel) > caps_.max_shared_bytes)
      return false;
    renumber(kernel, {0});
    Step dispatch = describe(loop);
    dispatch.bindings = writer.take_bindings();
    dispatch.kernel = number_of(std::move(kernel));
    add_dispatches(loop, dispatch, *rounds, out);
    return true;
  }

  // Of the one kernel; nothing where there are no kernels, or one has matrices.
  std::optional<int64_t> common_lanes(const Step& loop) const {
    int64_t lanes = 0;
    bool matrices = false;
    for_each_kernel(loop, [&](const Kernel& kernel) {
      lanes = std::max(lanes, kernel.lanes);
      matrices |= kernel.matrices.has_value();
    });
    return lanes > 0 && !matrices ? std::optional(lanes) : std::nullopt;
  }

  // By a software driver, to which subgroups that wait for each other are slower still.
  bool is_slow_to_compile(const Kernel& kernel) const {
    int64_t accesses = 0;
    for_each_stmt(kernel.body, [&](const Stmt& stmt) { accesses += reaches_memory(kernel, stmt); });
    return kernel.lanes > preferred_lanes(caps_) || accesses > kMaxSoftwareAccesses;
  }

  static bool reaches_memory(const Kernel& kernel, const Stmt& stmt) {
    switch (stmt.kind) {
      case Stmt::Kind::kLoad:
      case Stmt::Kind::kLoadWord:
      case Stmt::Kind::kStore:
      case Stmt::Kind::kStoreWord: return true;
      case Stmt::Kind::kRead:
      case Stmt::Kind::kWrite: return kernel.arrays[stmt.target].scope == Scope::kShared;
      default: return false;
    }
  }

  template <typename Visit>
  void for_each_kernel(const Step& loop, const Visit& visit) const {
    for (const Steps& block : loop.blocks)
      for_each_step(block, [&](const Step& step, int) {
        if (step.kind == Step::Kind::kDispatch) visit(program_.kernels[step.kernel]);
      });
  }

  std::optional<Rounds> worth_joining(const Step& loop) const {
    bool known = true;  // whether a round's end is
    for (const Steps& block : loop.blocks)
      for_each_step(block, [&](const Step& step, int) {
        known = known && (step.kind != Step::Kind::kWhile || step.trip_count);
      });
    LoopEstimate round = estimate_round(program_, loop, caps_);
    if (round.together_us > round.apart_us || round.statements > kMaxLoopStatements)
      return std::nullopt;
    auto most = static_cast<double>(INT32_MAX);
    if (caps_.max_loop_iterations < INT32_MAX) {
      if (!known) return std::nullopt;
      most = static_cast<double>(caps_.max_loop_iterations) / (round.iterations + 1);
    }
    if (is_gpu(caps_))
      most = std::min(most, 1e3 * kMaxDispatchMs / std::max(round.together_us, 0.1));
    if (most < 2) return std::nullopt;
    return Rounds{static_cast<int64_t>(most), round.together_us};
  }

  Step describe(const Step& loop) const {
    Step dispatch;
    dispatch.kind = Step::Kind::kDispatch;
    dispatch.workgroups = 1;
    dispatch.barrier = true;
    int64_t kernels = 0;
    dispatch.ops = loop.ops;
    for (const Steps& block : loop.blocks)
      for_each_step(block, [&](const Step& step, int) {
        kernels += !is_control(step.kind);
        dispatch.ops.insert(dispatch.ops.end(), step.ops.begin(), step.ops.end());
      });
    dispatch.label = fmt::format("{}: {} steps in one kernel", loop.label, kernels);
    return dispatch;
  }

  uint32_t number_of(Kernel kernel) {
    std::string key = print_kernel(kernel);
    auto [it, fresh] = numbers_.emplace(key, static_cast<uint32_t>(program_.kernels.size()));
    if (fresh) {
      program_.kernels.push_back(std::move(kernel));
      program_.kernel_keys.push_back(std::move(key));
    }
    return it->second;
  }

  void add_dispatches(const Step& loop, const Step& dispatch, const Rounds& rounds,
                      Steps& out) const {
    auto of_rounds = [&](int64_t count) {
      Step some = dispatch;
      some.params = {static_cast<int32_t>(count)};
      some.cost = cost_of(loop, static_cast<double>(count));
      if (loop.trip_count) some.estimated_ms = 1e-3 * rounds.us * static_cast<double>(count);
      return some;
    };
    auto around = [&](Steps condition, Steps body, std::optional<int64_t> times) {
      Step repeated = loop;
      repeated.blocks = {std::move(condition), std::move(body)};
      repeated.trip_count = times;
      out.push_back(std::move(repeated));
    };
    if (!loop.trip_count) return around({of_rounds(rounds.most)}, {}, std::nullopt);
    int64_t whole = *loop.trip_count / rounds.most, rest = *loop.trip_count % rounds.most;
    if (whole == 1) out.push_back(of_rounds(rounds.most));
    if (whole > 1) around({}, {of_rounds(rounds.most)}, whole);
    if (rest > 0) out.push_back(of_rounds(rest));
  }

  static StepCost cost_of(const Step& loop, double rounds) {
    StepCost cost;
    if (!loop.trip_count) return cost;
    add_cost(loop.blocks[1], rounds, cost);
    return cost;
  }
  static void add_cost(const Steps& steps, double times, StepCost& cost) {
    for (const Step& step : steps) {
      cost.flops += times * step.cost.flops;
      cost.read_bytes += std::llround(times * static_cast<double>(step.cost.read_bytes));
      cost.written_bytes += std::llround(times * static_cast<double>(step.cost.written_bytes));
      for (const Steps& block : step.blocks)
        add_cost(block, times * static_cast<double>(step.trip_count.value_or(1)), cost);
    }
  }

  Program& program_;
  const Caps& caps_;
  std::unordered_map<std::string, uint32_t> numbers_;  // of kernels, by their text
};

// Kernels that no step runs any more.
void drop_unused_kernels(Program& program) {
  std::vector<bool> used(program.kernels.size());
  for_each_step(program.steps, [&](const Step& step, int) {
    if (step.kind == Step::Kind::kDispatch) used[step.kernel] = true;
  });
  std::vector<uint32_t> numbers;
  std::vector<Kernel> kernels;
  std::vector<std::string> keys;
  for (size_t i = 0; i < used.size(); ++i) {
    numbers.push_back(static_cast<uint32_t>(kernels.size()));
    if (!used[i]) continue;
    kernels.push_back(std::move(program.kernels[i]));
    keys.push_back(std::move(program.kernel_keys[i]));
  }
  program.kernels = std::move(kernels);
  program.kernel_keys = std::move(keys);
  for_each_step(program.steps, [&](Step& step, int) {
    if (step.kind == Step::Kind::kDispatch) step.kernel = numbers[step.kernel];
  });
}

}  // namespace

bool join_loops(Program& program, const Caps& caps) {
  bool loops = false;
  for_each_step(program.steps,
                [&](const Step& step, int) { loops |= step.kind == Step::Kind::kWhile; });
  if (!loops || !LoopJoiner(program, caps).join(program.steps)) return false;
  drop_unused_kernels(program);
  return true;
}

}  // namespace tuff
