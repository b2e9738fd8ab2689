#include "tests/unit/spmd/run_parts.h"

#include <cstring>
#include <deque>

#include "backend/exchange.h"
#include "ir/evaluate/evaluate.h"

namespace tuff {

namespace {

// Calls visit(element of the part, element of the whole) for one device.
template <typename Visit>
void for_each_element(const Literal& whole, const TensorType& part, const Sharding& sharding,
                      const Mesh& mesh, int64_t device, Visit visit) {
  std::vector<int64_t> strides = row_major_strides(whole.type().shape);
  for (int64_t i = 0; i < part.num_elements(); ++i) {
    int64_t rest = i, at = 0;
    for (size_t d = part.shape.size(); d-- > 0;) {
      int64_t begin = mesh.part_of(device, sharding.axes[d]) * part.shape[d];
      at += (begin + rest % part.shape[d]) * strides[d];
      rest /= part.shape[d];
    }
    visit(i, at);
  }
}

void copy_element(const Literal& from, int64_t at, Literal* to, int64_t to_at) {
  int64_t size = dtype_size(from.type().dtype);
  std::memcpy(to->mutable_bytes() + to_at * size, from.bytes() + at * size,
              static_cast<size_t>(size));
}

Literal element(const Literal& of, int64_t at) {
  Literal scalar(TensorType{of.type().dtype, {}});
  copy_element(of, at, &scalar, 0);
  return scalar;
}

Literal zeros(const TensorType& type) { return Literal(type); }

using Slots = std::vector<std::vector<Literal>>;  // by device

// What each device gets.
Result<std::vector<Literal>> results_of(const Exchange& exchange, const Slots& slots) {
  TUFF_RETURN_IF_ERROR(check_exchange(exchange, static_cast<int64_t>(slots.size())));
  std::vector<const Literal*> operands;
  for (const std::vector<Literal>& own : slots) operands.push_back(&own[exchange.operand]);
  std::vector<Literal> results;
  for (size_t device = 0; device < slots.size(); ++device) {
    auto id = static_cast<int64_t>(device);
    if (exchange.op != SpmdOp::kAllReduce) {
      results.push_back(exchange_result(exchange, id, operands, zeros));
      continue;
    }
    std::vector<Literal> shares;
    for (int64_t member : group_of(exchange, id)) {
      std::vector<Literal> parts;
      for (int64_t giver : givers(exchange, member))
        parts.push_back(given_part(exchange, *operands[static_cast<size_t>(giver)], member, zeros));
      shares.push_back(take_parts(exchange, parts, zeros));
    }
    results.push_back(join_shares(exchange, shares, zeros));
  }
  return results;
}

// Results of exchanges come as late as they may: when something reads them.
class LateResults {
 public:
  LateResults(const SegmentedProgram& program, Slots& slots)
      : made_by_(program.exchanged_by()), slots_(slots) {}

  void add(size_t at, uint32_t slot, std::vector<Literal> results) {
    waiting_.push_back({at, slot, std::move(results)});
  }
  void need(uint32_t slot) {
    if (made_by_[slot]) come(*made_by_[slot]);
  }
  void come(size_t last) {
    for (; !waiting_.empty() && waiting_.front().at <= last; waiting_.pop_front())
      for (size_t device = 0; device < slots_.size(); ++device)
        slots_[device][waiting_.front().slot] = waiting_.front().results[device];
  }

 private:
  struct Waiting {
    size_t at;
    uint32_t slot;
    std::vector<Literal> results;
  };
  const std::vector<std::optional<size_t>> made_by_;
  Slots& slots_;
  std::deque<Waiting> waiting_;
};

Result<Slots> run_all(const SegmentedProgram& program, Slots slots) {
  LateResults late(program, slots);
  for (size_t at = 0; at < program.segments.size(); ++at) {
    const Segment& segment = program.segments[at];
    for (uint32_t slot : segment.arguments) late.need(slot);
    for (std::vector<Literal>& own : slots) {
      std::vector<Literal> arguments;
      for (uint32_t slot : segment.arguments) arguments.push_back(own[slot]);
      TUFF_ASSIGN(std::vector<Literal> outputs, evaluate(segment.graph, arguments));
      for (size_t i = 0; i < outputs.size(); ++i) own[segment.outputs[i]] = outputs[i];
    }
    for (const Exchange& exchange : segment.exchanges) {
      late.need(exchange.operand);
      TUFF_ASSIGN(std::vector<Literal> results, results_of(exchange, slots));
      late.add(at, exchange.result, std::move(results));
    }
  }
  late.come(program.segments.size());
  return slots;
}

}  // namespace

Result<PartsRun> run_parts(const WholeProgram& whole, const std::vector<Literal>& arguments,
                           int64_t batch_bytes) {
  PartsRun run;
  TUFF_ASSIGN(run.part, partition(whole));
  run.program = cut_into_segments(run.part.graph, batch_bytes);
  std::vector<std::vector<Literal>> slots(static_cast<size_t>(whole.mesh.num_devices()));
  for (size_t device = 0; device < slots.size(); ++device) {
    slots[device].resize(run.program.slots.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      Literal part(run.program.slots[i]);
      for_each_element(arguments[i], part.type(), run.part.arguments[i], whole.mesh,
                       static_cast<int64_t>(device), [&](int64_t own, int64_t at) {
                         copy_element(arguments[i], at, &part, own);
                       });
      slots[device][i] = std::move(part);
    }
    slots[device][arguments.size()] =
        Literal::from_ints(DType::kU32, {}, {static_cast<int64_t>(device)});
  }
  TUFF_ASSIGN(slots, run_all(run.program, std::move(slots)));
  for (size_t i = 0; i < run.program.outputs.size(); ++i) {
    Literal output(whole.graph.type(whole.graph.outputs()[i]));
    std::vector<bool> filled(static_cast<size_t>(output.num_elements()));
    bool equal = true;
    for (size_t device = 0; device < slots.size(); ++device) {
      const Literal& part = slots[device][run.program.outputs[i]];
      for_each_element(output, part.type(), run.part.outputs[i], whole.mesh,
                       static_cast<int64_t>(device), [&](int64_t own, int64_t at) {
                         auto place = static_cast<size_t>(at);
                         Literal seen = element(output, at);
                         copy_element(part, own, &output, at);
                         equal = equal && (!filled[place] || seen == element(output, at));
                         filled[place] = true;
                       });
    }
    if (!equal) return Error{ErrorCode::kMismatch, "Devices hold different copies.", ""};
    run.outputs.push_back(std::move(output));
  }
  return run;
}

}  // namespace tuff
