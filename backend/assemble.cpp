#include "backend/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "backend/plan.h"
#include "backend/storage_convert.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

// Gives each value of the grouped graph a place in memory and writes the steps.
class Assembler {
 public:
  Assembler(const Graph& graph, LoweredGraph lowered, const Caps& caps, CompileReport& report)
      : graph_(graph), lowered_(std::move(lowered)), caps_(caps), report_(report) {}

  std::shared_ptr<const Program> assemble() {
    describe_signature();
    find_lifetimes();
    plan_ = plan_arena(lifetimes_, caps_.min_storage_offset_alignment);
    for (const LoweredGraph::Group& group : lowered_.groups) write_steps(group);
    program_.kernels = std::move(lowered_.kernels);
    program_.kernel_keys = std::move(lowered_.kernel_keys);
    place_barriers(program_.steps, program_.kernels);
    program_.arena_bytes = plan_.arena_bytes;
    fill_report();
    return std::make_shared<const Program>(std::move(program_));
  }

 private:
  int64_t device_bytes(const TensorType& type) const {
    return type.num_elements() * storage_size(type.dtype, caps_);
  }

  void describe_signature() {
    for (uint32_t i = 0; i < graph_.num_parameters(); ++i) {
      program_.arguments.push_back(graph_.node(i).types[0]);
      program_.argument_names.push_back(graph_.parameter_name(i));
      places_[{i, 0}] = {Range::Space::kArgument, i, 0, device_bytes(graph_.node(i).types[0])};
    }
    for (uint32_t i = 0; i < graph_.outputs().size(); ++i) {
      Value v = graph_.outputs()[i];
      program_.outputs.push_back(graph_.type(v));
      program_.output_names.push_back(graph_.output_names()[i]);
      places_[v] = {Range::Space::kOutput, i, 0, device_bytes(graph_.type(v))};
    }
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.op != Op::kConstant) continue;
      const auto& value = std::get<Literal>(*node.attrs.find("value"));
      places_[{id, 0}] = {Range::Space::kConstants,
                          static_cast<uint32_t>(program_.constants.size()), 0,
                          device_bytes(value.type())};
      program_.constants.push_back(to_storage(value, caps_));
    }
  }

  // One temporary per group result that is no output, one per group's scratch.
  // Time is counted in groups.
  void find_lifetimes() {
    for (size_t g = 0; g < lowered_.groups.size(); ++g) {
      const Node& node = graph_.node(lowered_.groups[g].node);
      auto now = static_cast<int64_t>(g);
      for (uint32_t r = 0; r < node.types.size(); ++r)
        if (!places_.count({lowered_.groups[g].node, r}))
          add_temporary({lowered_.groups[g].node, r}, node.types[r], now);
      for (Value v : node.operands)
        if (auto it = temporaries_.find(v); it != temporaries_.end())
          lifetimes_[it->second].last = now;
      if (int64_t bytes = lowered_.groups[g].lowered->scratch_bytes; bytes > 0) {
        scratch_[g] = lifetimes_.size();
        lifetimes_.push_back({bytes, now, now});
        owners_.push_back("scratch of " + node.attrs.get_string("kind"));
      }
    }
  }

  // Empty tensors get a few bytes nobody reads: a kernel of several outputs may
  // name one, and no binding may be empty.
  void add_temporary(Value v, const TensorType& type, int64_t now) {
    temporaries_[v] = lifetimes_.size();
    lifetimes_.push_back({std::max<int64_t>(device_bytes(type), 16), now, now});
    owners_.push_back(type.to_string() + " at " + graph_.node(v).loc);
  }

  Range place_of(Value v) const {
    if (auto it = places_.find(v); it != places_.end()) return it->second;
    return arena_range(temporaries_.at(v));
  }
  Range arena_range(size_t temporary) const {
    return {Range::Space::kArena, 0, plan_.offsets[temporary], lifetimes_[temporary].size_bytes};
  }

  void write_steps(const LoweredGraph::Group& group) {
    const Node& node = graph_.node(group.node);
    auto g = static_cast<size_t>(&group - lowered_.groups.data());
    for (size_t s = 0; s < group.lowered->steps.size(); ++s) {
      const LoweredStep& lowered = group.lowered->steps[s];
      Step step;
      step.kind = lowered.kernel   ? Step::Kind::kDispatch
                  : lowered.matmul ? Step::Kind::kMatmul
                                   : Step::Kind::kConvolution;
      step.kernel = group.kernels[s];
      step.params = lowered.params;
      step.workgroups = lowered.workgroups;
      step.matmul = lowered.matmul;
      step.convolution = lowered.convolution;
      for (const GroupBuffer& b : lowered.bindings)
        step.bindings.push_back(
            b.kind == GroupBuffer::Kind::kInput    ? place_of(node.operands[b.index])
            : b.kind == GroupBuffer::Kind::kOutput ? place_of({group.node, b.index})
                                                   : arena_range(scratch_.at(g)));
      describe(node, lowered, step);
      program_.steps.push_back(std::move(step));
    }
  }

  void describe(const Node& node, const LoweredStep& lowered, Step& step) const {
    for (const Node& member : node.regions[0]->nodes())
      if (member.op != Op::kParameter && member.op != Op::kConstant)
        step.ops.push_back(op_name(member.op));
    step.label = lowered.kernel   ? lowered.kernel->family
                 : lowered.matmul ? "library matmul"
                                  : "library convolution";
    if (!node.loc.empty()) step.label += " (" + node.loc + ")";
  }

  void fill_report() {
    for (const TensorType& type : program_.arguments) report_.arguments_bytes += device_bytes(type);
    for (const TensorType& type : program_.outputs) report_.outputs_bytes += device_bytes(type);
    for (const Literal& constant : program_.constants)
      report_.constants_bytes += constant.size_bytes();
    report_.arena_bytes = plan_.arena_bytes;
    report_.liveness_bytes = plan_.liveness_bytes;
    int64_t largest = 0;
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      bool at_peak =
          lifetimes_[i].first <= plan_.peak_step && plan_.peak_step <= lifetimes_[i].last;
      if (!at_peak || lifetimes_[i].size_bytes <= largest) continue;
      largest = lifetimes_[i].size_bytes;
      report_.arena_owner = owners_[i];
    }
  }

  const Graph& graph_;
  LoweredGraph lowered_;
  const Caps& caps_;
  CompileReport& report_;
  Program program_;
  ArenaPlan plan_;
  std::map<Value, Range> places_;
  std::map<Value, size_t> temporaries_;
  std::map<size_t, size_t> scratch_;  // group -> lifetime
  std::vector<Lifetime> lifetimes_;
  std::vector<std::string> owners_;
};

std::string range_text(const Range& r) {
  constexpr const char* kSpaces[] = {"arena", "argument", "output", "constant"};
  if (r.space == Range::Space::kArena)
    return fmt::format("arena[{}+{}]", r.offset_bytes, r.size_bytes);
  return fmt::format("{} {}", kSpaces[static_cast<int>(r.space)], r.index);
}

}  // namespace

std::shared_ptr<const Program> assemble_program(const Graph& grouped, LoweredGraph lowered,
                                                const Caps& caps, CompileReport& report) {
  return Assembler(grouped, std::move(lowered), caps, report).assemble();
}

std::string print_plan(const Program& program) {
  std::string text = fmt::format("arena {} bytes, {} steps, {} kernels\n", program.arena_bytes,
                                 program.steps.size(), program.kernels.size());
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    std::vector<std::string> ranges;
    for (const Range& r : step.bindings) ranges.push_back(range_text(r));
    text += fmt::format("{:4} {}{} [{}] ({})\n", i, step.barrier ? "| " : "  ", step.label,
                        fmt::join(ranges, ", "), fmt::join(step.ops, " "));
  }
  return text;
}

}  // namespace tuff
