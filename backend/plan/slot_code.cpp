#include "backend/plan/slot_code.h"

#include <algorithm>
#include <map>

#include "backend/plan/carry_order.h"
#include "backend/storage_convert.h"
#include "ir/ops/trip_count.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

using SlotId = uint32_t;

class Coder {
 public:
  Coder(const LoweredGraph& lowered, const Caps& caps, Program& program)
      : lowered_(lowered), caps_(caps), program_(program) {}

  SlotProgram run() {
    const Graph& graph = *lowered_.main.graph;
    std::vector<SlotId> parameters;
    for (uint32_t i = 0; i < graph.num_parameters(); ++i) parameters.push_back(add_argument(i));
    std::vector<SlotId> outputs = write_block(lowered_.main, parameters, result_.code);
    for (uint32_t i = 0; i < outputs.size(); ++i) add_copy(outputs[i], add_output(i), result_.code);
    number(result_.code);
    return std::move(result_);
  }

 private:
  int64_t device_bytes(const TensorType& type) const { return storage_bytes(type, caps_); }

  SlotId add_slot(const TensorType& type, std::string owner) {
    int64_t bytes = device_bytes(type);
    // Kernels of several outputs may name an empty one; it gets bytes nobody reads.
    constexpr int64_t kLeastBytes = 16;
    result_.slots.push_back(
        {bytes > 0 ? bytes : kLeastBytes, bytes == 0, std::nullopt, std::move(owner)});
    return static_cast<SlotId>(result_.slots.size() - 1);
  }

  SlotId add_fixed(const TensorType& type, Range::Space space, size_t index) {
    SlotId slot = add_slot(type, type.to_string());
    result_.slots[slot].fixed = {space, static_cast<uint32_t>(index), 0, device_bytes(type)};
    return slot;
  }

  SlotId add_argument(uint32_t i) {
    const Graph& graph = *lowered_.main.graph;
    program_.arguments.push_back(graph.node(i).types[0]);
    program_.argument_names.push_back(graph.parameter_name(i));
    return add_fixed(program_.arguments.back(), Range::Space::kArgument, i);
  }

  SlotId add_output(uint32_t i) {
    const Graph& graph = *lowered_.main.graph;
    program_.outputs.push_back(graph.type(graph.outputs()[i]));
    program_.output_names.push_back(graph.output_names()[i]);
    return add_fixed(program_.outputs.back(), Range::Space::kOutput, i);
  }

  SlotId add_constant(const Node& node) {
    const auto& value = node.attrs.as<ConstantAttrs>().value;
    SlotId slot = add_fixed(value.type(), Range::Space::kConstants, program_.constants.size());
    program_.constants.push_back(to_storage(value, caps_));
    return slot;
  }

  void add_copy(SlotId from, SlotId to, Code& code) {
    if (from == to || result_.slots[to].empty) return;
    Instr copy;
    copy.kind = Instr::Kind::kCopy;
    copy.operands = copy.reads = {from};
    copy.results = copy.writes = {to};
    code.push_back(std::move(copy));
  }

  std::vector<SlotId> write_block(const LoweredBlock& block, const std::vector<SlotId>& parameters,
                                  Code& code) {
    std::vector<const LoweredBlock::Item*> items;
    for (const LoweredBlock::Item& item : block.items) items.push_back(&item);
    return write_items(block, items, parameters, code);
  }

  // Appends the block's instructions and gives the slots of the graph's outputs.
  std::vector<SlotId> write_items(const LoweredBlock& block,
                                  const std::vector<const LoweredBlock::Item*>& items,
                                  const std::vector<SlotId>& parameters, Code& code) {
    std::map<Value, SlotId> slots;
    for (uint32_t i = 0; i < parameters.size(); ++i) slots[{i, 0}] = parameters[i];
    for (uint32_t id = 0; id < block.graph->nodes().size(); ++id)
      if (block.graph->node(id).op == Op::kConstant)
        slots[{id, 0}] = add_constant(block.graph->node(id));
    for (const LoweredBlock::Item* item : items) {
      Instr instr;
      instr.graph = block.graph;
      instr.item = item;
      for (Value v : block.graph->node(item->node).operands) instr.operands.push_back(slots.at(v));
      std::vector<SlotId> results = write_item(std::move(instr), code);
      for (uint32_t r = 0; r < results.size(); ++r) slots[{item->node, r}] = results[r];
    }
    std::vector<SlotId> outputs;
    for (Value v : block.graph->outputs()) outputs.push_back(slots.at(v));
    return outputs;
  }

  std::vector<SlotId> write_item(Instr instr, Code& code) {
    switch (instr.graph->node(instr.item->node).op) {
      case Op::kWhile: return write_while(std::move(instr), code);
      case Op::kIf:
      case Op::kCase: return write_case(std::move(instr), code);
      case Op::kHosted:
      case Op::kHostCall: return write_hosted(std::move(instr), code);
      default: return write_group(std::move(instr), code);
    }
  }

  void add_results(Instr& instr) {
    const Node& node = instr.graph->node(instr.item->node);
    for (const TensorType& type : node.types)
      instr.results.push_back(add_slot(type, type.to_string() + " at " + node.loc));
  }

  std::vector<SlotId> write_group(Instr instr, Code& code) {
    const LoweredGroup& group = *instr.item->group;
    add_results(instr);
    for (const LoweredGroup::Update& update : group.updates) {
      add_copy(instr.operands[update.input], instr.results[update.output], code);
      instr.reads.push_back(instr.results[update.output]);
    }
    for (const LoweredStep& step : group.steps)
      for (const GroupBuffer& b : step.bindings)
        if (b.kind == GroupBuffer::Kind::kInput) instr.reads.push_back(instr.operands[b.index]);
    if (group.scratch_bytes > 0) {
      auto kind = instr.graph->node(instr.item->node).attrs.as<FusedAttrs>().kind;
      instr.scratch = static_cast<SlotId>(result_.slots.size());
      result_.slots.push_back({group.scratch_bytes, false, std::nullopt,
                               std::string("scratch of ") + (kind ? word_of(*kind) : "")});
    }
    instr.writes = instr.results;
    if (instr.scratch) instr.writes.push_back(*instr.scratch);
    std::vector<SlotId> results = instr.results;
    code.push_back(std::move(instr));
    return results;
  }

  std::vector<SlotId> write_hosted(Instr instr, Code& code) {
    instr.kind = Instr::Kind::kHost;
    add_results(instr);
    instr.reads = instr.operands;
    instr.writes = instr.results;
    std::vector<SlotId> results = instr.results;
    code.push_back(std::move(instr));
    return results;
  }

  // A carried value has one slot for the whole loop, its result's. What the body only
  // hands on is the operand's slot throughout.
  std::vector<SlotId> write_while(Instr instr, Code& code) {
    const Node& node = instr.graph->node(instr.item->node);
    const Graph& body = *node.regions[1];
    instr.kind = Instr::Kind::kWhile;
    for (uint32_t i = 0; i < node.types.size(); ++i) {
      bool invariant = body.outputs()[i] == Value{i, 0};
      instr.results.push_back(instr.operands[i]);
      if (invariant) continue;
      instr.results[i] = add_slot(node.types[i], node.types[i].to_string() + " at " + node.loc);
      instr.writes.push_back(instr.results[i]);
      add_copy(instr.operands[i], instr.results[i], code);
    }
    instr.blocks.resize(2);
    instr.trip_count = node.attrs.as<WhileAttrs>().trip_count;
    if (!instr.trip_count)
      instr.reads = write_block(instr.item->blocks[0], instr.results, instr.blocks[0]);
    const LoweredBlock& lowered_body = instr.item->blocks[1];
    std::vector<SlotId> next =
        write_items(lowered_body, order_for_carries(lowered_body), instr.results, instr.blocks[1]);
    write_carries(next, instr, instr.blocks[1]);
    std::vector<SlotId> results = instr.results;
    code.push_back(std::move(instr));
    return results;
  }

  // All carries change at once: one that takes another's old value gets it from a slot
  // between, lest it be overwritten.
  void write_carries(std::vector<SlotId> next, const Instr& loop, Code& code) {
    const std::vector<SlotId>& carries = loop.results;
    auto carried = [&](SlotId slot) {
      return std::find(loop.writes.begin(), loop.writes.end(), slot) != loop.writes.end();
    };
    for (size_t i = 0; i < next.size(); ++i) {
      if (next[i] == carries[i] || !carried(next[i])) continue;
      Slot between = result_.slots[carries[i]];
      between.fixed.reset();
      result_.slots.push_back(std::move(between));
      add_copy(next[i], static_cast<SlotId>(result_.slots.size() - 1), code);
      next[i] = static_cast<SlotId>(result_.slots.size() - 1);
    }
    for (size_t i = 0; i < next.size(); ++i) add_copy(next[i], carries[i], code);
  }

  // `if` is a case whose index is the predicate: false is 0.
  std::vector<SlotId> write_case(Instr instr, Code& code) {
    const Node& node = instr.graph->node(instr.item->node);
    instr.kind = Instr::Kind::kCase;
    instr.reads = {instr.operands[0]};
    add_results(instr);
    std::vector<SlotId> passed(instr.operands.begin() + 1, instr.operands.end());
    for (size_t b = 0; b < instr.item->blocks.size(); ++b) {
      size_t region = node.op == Op::kIf ? 1 - b : b;
      Code branch;
      std::vector<SlotId> outputs = write_block(instr.item->blocks[region], passed, branch);
      for (size_t i = 0; i < outputs.size(); ++i) add_copy(outputs[i], instr.results[i], branch);
      instr.blocks.push_back(std::move(branch));
    }
    std::vector<SlotId> results = instr.results;
    code.push_back(std::move(instr));
    return results;
  }

  void number(Code& code) {
    for (Instr& instr : code) {
      instr.at = result_.positions++;
      for (Code& block : instr.blocks) {
        number(block);
        instr.ends.push_back(result_.positions++);
      }
    }
  }

  const LoweredGraph& lowered_;
  const Caps& caps_;
  Program& program_;
  SlotProgram result_;
};

}  // namespace

SlotProgram make_slot_code(const LoweredGraph& lowered, const Caps& caps, Program& program) {
  return Coder(lowered, caps, program).run();
}

}  // namespace tuff
