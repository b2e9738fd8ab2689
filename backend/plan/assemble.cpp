#include "backend/plan/assemble.h"

#include <algorithm>
#include <numeric>

#include "backend/cost.h"
#include "backend/plan/join_loops.h"
#include "backend/plan/phases.h"
#include "backend/plan/plan.h"
#include "backend/plan/ranges.h"
#include "backend/plan/slot_code.h"
#include "backend/verify/verify_program.h"
#include "backend/verify/verify_values.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

// Gives each slot a place in memory and writes the steps.
class Assembler {
 public:
  Assembler(LoweredGraph lowered, const Caps& caps, CompileReport& report)
      : lowered_(std::move(lowered)), caps_(caps), report_(report) {}

  Result<std::shared_ptr<const Program>> assemble(bool verify) {
    code_ = make_slot_code(lowered_, caps_, program_);
    std::vector<std::vector<LiveRange>> ranges = find_live_ranges(code_);
    Coalesced coalesced = coalesce(code_, lowered_, ranges);
    homes_ = std::move(coalesced.homes);
    program_.donations = std::move(coalesced.donations);
    place_slots(ranges);
    if (verify) TUFF_RETURN_IF_ERROR(verify_values(code_, places(), program_.donations));
    program_.steps = write_steps(code_.code);
    if (phases_) sort_by_phase(program_.steps);
    program_.kernels = std::move(lowered_.kernels);
    program_.kernel_keys = std::move(lowered_.kernel_keys);
    place_barriers(program_.steps, program_.kernels, program_.donations);
    program_.arena_bytes = plan_.arena_bytes;
    if (verify) TUFF_RETURN_IF_ERROR(verify_program(program_, caps_));
    if (caps_.device_class != DeviceClass::kCpu && join_loops(program_, caps_) && verify)
      TUFF_RETURN_IF_ERROR(verify_program(program_, caps_));
    fill_report();
    return std::make_shared<const Program>(std::move(program_));
  }

 private:
  void place_slots(const std::vector<std::vector<LiveRange>>& ranges) {
    for (uint32_t slot = 0; slot < code_.slots.size(); ++slot) {
      bool needs_memory = homes_[slot] == slot && !code_.slots[slot].fixed && !ranges[slot].empty();
      temporary_.push_back(needs_memory ? lifetimes_.size() : SIZE_MAX);
      if (!needs_memory) continue;
      lifetimes_.push_back({code_.slots[slot].size_bytes,
                            std::max<int64_t>(ranges[slot].front().first, 0),
                            ranges[slot].back().last});
      owners_.push_back(code_.slots[slot].owner);
    }
    plan_ = plan_at(lifetimes_);
    if (is_gpu(caps_)) save_barriers();
  }

  ArenaPlan plan_at(const std::vector<Lifetime>& lifetimes) const {
    return plan_arena(lifetimes, caps_.min_storage_offset_alignment, arena_segment_bytes(caps_));
  }

  // A barrier empties a GPU. Where some more memory is all it takes, none stands only because what
  // was read is overwritten, and steps that need nothing of each other run side by side.
  void save_barriers() {
    constexpr int64_t kShare = 8, kLittle = 8 << 20;
    std::optional<Phases> phases = find_phases(code_, homes_, lowered_.kernels, program_.donations);
    if (!phases) return;
    std::vector<Lifetime> lifetimes = lifetimes_;
    for (uint32_t slot = 0; slot < temporary_.size(); ++slot) {
      if (temporary_[slot] == SIZE_MAX) continue;
      Lifetime& life = lifetimes[temporary_[slot]];
      auto touched = phases->of_homes.find(slot);
      bool known = touched != phases->of_homes.end();
      life.first = known ? touched->second.first : 0;
      life.last = known ? touched->second.last : phases->last;
    }
    ArenaPlan apart = plan_at(lifetimes);
    int64_t most = plan_.arena_bytes + std::max(plan_.arena_bytes / kShare, kLittle);
    if (apart.arena_bytes > most) return;
    plan_.offsets = std::move(apart.offsets);
    plan_.arena_bytes = apart.arena_bytes;
    phases_ = std::move(phases);
  }

  void sort_by_phase(Steps& steps) const {
    TUFF_CHECK(step_phases_.size() == steps.size(), "a step has no phase");
    std::vector<size_t> order(steps.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return step_phases_[a] < step_phases_[b]; });
    Steps sorted;
    for (size_t i : order) sorted.push_back(std::move(steps[i]));
    steps = std::move(sorted);
  }

  Range place_of(uint32_t slot) const {
    const Slot& own = code_.slots[slot];
    slot = homes_[slot];
    if (code_.slots[slot].fixed) {
      Range range = *code_.slots[slot].fixed;
      if (!own.fixed) range.size_bytes = own.size_bytes;  // a temporary in a larger output
      return range;
    }
    size_t temporary = temporary_[slot];
    return {Range::Space::kArena, 0, plan_.offsets[temporary], lifetimes_[temporary].size_bytes};
  }

  std::vector<Range> places() const {
    std::vector<Range> places;
    for (uint32_t slot = 0; slot < homes_.size(); ++slot) {
      bool placed = code_.slots[homes_[slot]].fixed || temporary_[homes_[slot]] != SIZE_MAX;
      places.push_back(placed ? place_of(slot) : Range{});
    }
    return places;
  }

  Steps write_steps(const Code& code) {
    Steps steps;
    for (const Instr& instr : code) {
      switch (instr.kind) {
        case Instr::Kind::kGroup: write_group(instr, steps); break;
        case Instr::Kind::kHost: write_hosted(instr, steps); break;
        case Instr::Kind::kCopy: write_copy(instr, steps); break;
        case Instr::Kind::kWhile:
        case Instr::Kind::kCase: write_control(instr, steps); break;
      }
    }
    return steps;
  }

  void write_copy(const Instr& instr, Steps& steps) {
    Step step;
    step.kind = Step::Kind::kCopy;
    step.bindings = {place_of(instr.operands[0]), place_of(instr.results[0])};
    if (step.bindings[0] == step.bindings[1]) return;
    step.label = "copy of " + code_.slots[instr.results[0]].owner;
    if (phases_) step_phases_.push_back(phases_->of_steps.at(instr.at)[0]);
    steps.push_back(std::move(step));
  }

  void write_hosted(const Instr& instr, Steps& steps) {
    const Node& node = instr.graph->node(instr.item->node);
    Step step;
    step.kind = Step::Kind::kHost;
    int64_t bytes = 0;
    for (const auto& slots : {instr.operands, instr.results})
      for (uint32_t slot : slots) {
        if (code_.slots[slot].empty) continue;
        step.bindings.push_back(place_of(slot));
        bytes += code_.slots[slot].size_bytes;
      }
    if (node.op == Op::kHostCall)
      describe_host_call(*instr.graph, node, step);
    else
      describe_hosted(*instr.item, node, bytes, step);
    steps.push_back(std::move(step));
  }

  void describe_hosted(const LoweredBlock::Item& item, const Node& node, int64_t bytes,
                       Step& step) {
    step.host = item.host;
    step.ops = member_ops(node);
    const std::string& why = node.attrs.as<HostedAttrs>().why;
    step.label = "host: " + why;
    report_.hosted.push_back({step.ops, why, node.loc, bytes});
  }

  static void describe_host_call(const Graph& graph, const Node& node, Step& step) {
    HostCall call{node.attrs.as<HostCallAttrs>(), {}, node.types};
    for (Value v : node.operands) call.arguments.push_back(graph.type(v));
    step.ops = {op_name(node.op)};
    step.label = word_of(call.function.function);
    if (!node.loc.empty()) step.label += " (" + node.loc + ")";
    step.host_call = std::make_shared<const HostCall>(std::move(call));
  }

  void write_control(const Instr& instr, Steps& steps) {
    const Node& node = instr.graph->node(instr.item->node);
    Step step;
    step.kind = instr.kind == Instr::Kind::kWhile ? Step::Kind::kWhile : Step::Kind::kCase;
    for (uint32_t slot : instr.reads) step.bindings.push_back(place_of(slot));
    for (const Code& block : instr.blocks) step.blocks.push_back(write_steps(block));
    step.trip_count = instr.trip_count;
    step.label = op_name(node.op);
    if (!node.loc.empty()) step.label += " (" + node.loc + ")";
    step.ops = {op_name(node.op)};
    steps.push_back(std::move(step));
  }

  void write_group(const Instr& instr, Steps& steps) {
    const Node& node = instr.graph->node(instr.item->node);
    for (size_t s = 0; s < instr.item->group->steps.size(); ++s) {
      const LoweredStep& lowered = instr.item->group->steps[s];
      Step step;
      step.kind = lowered.kernel ? Step::Kind::kDispatch : Step::Kind::kCall;
      step.kernel = instr.item->kernels[s];
      step.params = lowered.params;
      step.workgroups = lowered.workgroups;
      step.call = lowered.call;
      for (const GroupBuffer& b : lowered.bindings) step.bindings.push_back(place_of(instr, b));
      describe(node, lowered, step);
      step.region = node.regions[0];
      step.cost = cost_of_step(*step.region, *instr.item->group, s, caps_);
      if (phases_) step_phases_.push_back(phases_->of_steps.at(instr.at)[s]);
      steps.push_back(std::move(step));
    }
  }

  Range place_of(const Instr& instr, const GroupBuffer& buffer) const {
    if (buffer.kind == GroupBuffer::Kind::kInput) return place_of(instr.operands[buffer.index]);
    if (buffer.kind == GroupBuffer::Kind::kOutput) return place_of(instr.results[buffer.index]);
    Range range = place_of(*instr.scratch);
    if (buffer.size_bytes == 0) return range;
    range.offset_bytes += buffer.offset_bytes;
    range.size_bytes = buffer.size_bytes;
    return range;
  }

  static std::vector<std::string> member_ops(const Node& node) {
    std::vector<std::string> ops;
    for (const Node& member : node.regions[0]->nodes())
      if (member.op != Op::kParameter && member.op != Op::kConstant)
        ops.push_back(op_name(member.op));
    return ops;
  }

  void describe(const Node& node, const LoweredStep& lowered, Step& step) const {
    step.ops = member_ops(node);
    step.label = step_name(lowered);
    if (!node.loc.empty()) step.label += " (" + node.loc + ")";
  }

  void fill_report() {
    for (const Slot& slot : code_.slots) {
      if (!slot.fixed) continue;
      int64_t& total = slot.fixed->space == Range::Space::kArgument ? report_.arguments_bytes
                       : slot.fixed->space == Range::Space::kOutput ? report_.outputs_bytes
                                                                    : report_.constants_bytes;
      total += slot.fixed->size_bytes;
    }
    for (const Donation& donation : program_.donations) {
      const TensorType& type = program_.outputs[donation.output];
      if (donation.in_place) report_.in_place_bytes += storage_bytes(type, caps_);
    }
    report_.arena_bytes = plan_.arena_bytes;
    report_.liveness_bytes = plan_.liveness_bytes;
    int64_t largest = 0;
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      report_.temporaries.push_back({plan_.offsets[i], lifetimes_[i].size_bytes,
                                     lifetimes_[i].first, lifetimes_[i].last, owners_[i]});
      bool at_peak =
          lifetimes_[i].first <= plan_.peak_step && plan_.peak_step <= lifetimes_[i].last;
      if (!at_peak || lifetimes_[i].size_bytes <= largest) continue;
      largest = lifetimes_[i].size_bytes;
      report_.arena_owner = owners_[i];
    }
  }

  LoweredGraph lowered_;
  const Caps& caps_;
  CompileReport& report_;
  Program program_;
  SlotProgram code_;
  std::vector<uint32_t> homes_;
  ArenaPlan plan_;
  std::vector<size_t> temporary_;  // by slot: its lifetime
  std::vector<Lifetime> lifetimes_;
  std::vector<std::string> owners_;
  std::optional<Phases> phases_;      // where steps are to run side by side
  std::vector<int64_t> step_phases_;  // then, of the steps as they were written
};

}  // namespace

Result<std::shared_ptr<const Program>> assemble_program(LoweredGraph lowered, const Caps& caps,
                                                        CompileReport& report, bool verify) {
  return Assembler(std::move(lowered), caps, report).assemble(verify);
}

}  // namespace tuff
