// verify_program: each step by itself.
#include <fmt/format.h>

#include <algorithm>

#include "backend/plan/plan.h"
#include "backend/plan/ranges.h"
#include "backend/verify/rules.h"
#include "backend/verify/verify_program.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

class StepVerifier {
 public:
  StepVerifier(const Program& program, const Caps& caps) : program_(program), caps_(caps) {}

  Status verify(const Step& step) const {
    std::string wrong = form(step);
    for (size_t b = 0; b < step.bindings.size() && wrong.empty(); ++b)
      wrong = bounds(step.bindings[b]);
    if (!wrong.empty()) return plan_error(step, wrong);
    if (step.kind == Step::Kind::kHost && step.host && caps_.host)
      return verify_program(*step.host, *caps_.host);
    return {};
  }

 private:
  std::string form(const Step& step) const {
    size_t blocks = 0, bindings = step.bindings.size();
    switch (step.kind) {
      case Step::Kind::kDispatch:
        if (std::string wrong = dispatch_form(step); !wrong.empty()) return wrong;
        break;
      case Step::Kind::kCall: {
        auto takes = [&](const auto& call) { return takes_bindings(call, bindings); };
        if (!std::visit(takes, step.call)) return "a call lacks its description or operands.";
        break;
      }
      case Step::Kind::kCopy:
        if (bindings != 2 || step.bindings[0].size_bytes != step.bindings[1].size_bytes)
          return "a copy is not from one range to another of its size.";
        break;
      case Step::Kind::kWhile:
        blocks = 2;
        if (bindings != (step.trip_count ? 0 : 1)) return "a loop lacks what decides it.";
        if (step.trip_count.value_or(0) < 0) return "a loop has a negative count.";
        break;
      case Step::Kind::kCase:
        blocks = std::max<size_t>(step.blocks.size(), 1);
        if (bindings != 1) return "a branch lacks what decides it.";
        break;
      case Step::Kind::kHost:
        if (!step.host == !step.host_call) return "a hosted step has no program, or two.";
        if (bindings != count_elements(host_arguments(step)) + count_elements(host_results(step)))
          return "a hosted step's bindings are not those of its program.";
        break;
    }
    if (step.blocks.size() != blocks)
      return fmt::format("it has {} blocks and not {}.", step.blocks.size(), blocks);
    return "";
  }

  static bool takes_bindings(std::monostate, size_t) { return false; }
  template <typename Described>
  static bool takes_bindings(const Described& call, size_t bindings) {
    return bindings == count_bindings(call);
  }

  static size_t count_elements(const std::vector<TensorType>& types) {
    return static_cast<size_t>(std::count_if(
        types.begin(), types.end(), [](const TensorType& t) { return t.num_elements() > 0; }));
  }

  std::string dispatch_form(const Step& step) const {
    if (step.kernel >= program_.kernels.size()) return "it has no such kernel.";
    const Kernel& kernel = program_.kernels[step.kernel];
    if (step.bindings.size() != kernel.buffers.size() || step.params.size() != kernel.num_params)
      return "the bindings or parameters are not those of the kernel.";
    if (kernel.lanes > caps_.max_group_invocations)
      return fmt::format("a workgroup has {} lanes, and on the device {} at most.", kernel.lanes,
                         caps_.max_group_invocations);
    if (int64_t shared = shared_size_bytes(kernel); shared > caps_.max_shared_bytes)
      return fmt::format("a workgroup shares {} bytes, and on the device {} at most.", shared,
                         caps_.max_shared_bytes);
    int64_t workgroups = 1;
    for (const GridLoop& loop : kernel.grid)
      workgroups *= loop.extent.kind == Operand::Kind::kParam
                        ? step.params[loop.extent.id]
                        : static_cast<int32_t>(loop.extent.bits);
    if (workgroups != step.workgroups)
      return fmt::format("the kernel's grid has {} points, and {} are run.", workgroups,
                         step.workgroups);
    return descriptors(step, kernel);
  }

  std::string descriptors(const Step& step, const Kernel& kernel) const {
    int64_t described = 0;
    for (size_t b = 0; b < step.bindings.size(); ++b) {
      if (kernel.buffers[b].by_address) continue;
      ++described;
      if (step.bindings[b].size_bytes > caps_.max_storage_buffer_range)
        return fmt::format("{} is larger than what the device binds ({} bytes).",
                           range_text(step.bindings[b]), caps_.max_storage_buffer_range);
    }
    if (described > caps_.max_storage_buffers)
      return fmt::format("it binds {} buffers, and the device {} at most.", described,
                         caps_.max_storage_buffers);
    return "";
  }

  std::string bounds(const Range& range) const {
    std::optional<int64_t> size = bytes_of(range);
    if (!size) return range_text(range) + " does not exist.";
    if (range.size_bytes <= 0) return range_text(range) + " is empty.";
    if (range.offset_bytes < 0 || range.offset_bytes > *size - range.size_bytes)
      return fmt::format("{} ({} bytes) leaves its {} bytes.", range_text(range), range.size_bytes,
                         *size);
    if (range.offset_bytes % caps_.min_storage_offset_alignment != 0)
      return range_text(range) + " is not aligned.";
    int64_t segment = arena_segment_bytes(caps_);
    if (range.space == Range::Space::kArena && range.size_bytes <= segment &&
        range.offset_bytes / segment != (range.offset_bytes + range.size_bytes - 1) / segment)
      return fmt::format("{} lies in two allocations of the arena (of {} bytes each).",
                         range_text(range), segment);
    if (range.space != Range::Space::kArena && range.offset_bytes != 0)
      return range_text(range) + " does not begin where its buffer does.";
    bool whole = range.space == Range::Space::kArgument || range.space == Range::Space::kConstants;
    if (whole && range.size_bytes != *size)
      return fmt::format("{} is bound in part ({} bytes of {}).", range_text(range),
                         range.size_bytes, *size);
    return "";
  }

  // Of the memory that a range lies in; nothing where there is none.
  std::optional<int64_t> bytes_of(const Range& range) const {
    auto device_bytes = [&](const std::vector<TensorType>& types) -> std::optional<int64_t> {
      if (range.index >= types.size()) return std::nullopt;
      return types[range.index].num_elements() * storage_size(types[range.index].dtype, caps_);
    };
    switch (range.space) {
      case Range::Space::kArena: break;
      case Range::Space::kArgument: return device_bytes(program_.arguments);
      case Range::Space::kOutput: return device_bytes(program_.outputs);
      case Range::Space::kConstants:
        if (range.index >= program_.constants.size()) return std::nullopt;
        return program_.constants[range.index].size_bytes();
    }
    return program_.arena_bytes;
  }

  const Program& program_;
  const Caps& caps_;
};

}  // namespace

Status verify_steps(const Program& program, const Caps& caps) {
  StepVerifier verifier(program, caps);
  Status status;
  for_each_step(program.steps, [&](const Step& step, int) {
    if (status.ok()) status = verifier.verify(step);
  });
  return status;
}

}  // namespace tuff
