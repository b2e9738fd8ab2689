// Branches and loops. What is known beforehand leaves no trace of them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "frontend/onnx/build/subgraph.h"
#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

std::vector<Tensor> tensors_of(const Items& items) {
  std::vector<Tensor> tensors;
  for (const Item& item : items) {
    if (item.kind != Item::Kind::kTensor || !item.tensor)
      refuse_unsupported(
          "Sequences in loops and branches need a constant number of rounds, or a "
          "constant condition.");
    if (item.bound)
      refuse_unsupported(
          "Tensors whose length is known only when the model runs are not carried "
          "through loops and branches.");
    tensors.push_back(item.tensor);
  }
  return tensors;
}

Items items_of(const std::vector<Tensor>& tensors) { return Items(tensors.begin(), tensors.end()); }

// How many tensors each output of a branch is: one, or those of a sequence.
struct Outputs {
  std::vector<Item> items;  // without their tensors
  std::vector<size_t> counts;
  bool operator==(const Outputs& other) const {
    auto same = [](const Item& a, const Item& b) { return a.kind == b.kind; };
    return counts == other.counts &&
           std::equal(items.begin(), items.end(), other.items.begin(), other.items.end(), same);
  }
};

// The tensors of a branch's outputs, one after another.
std::vector<Tensor> flatten(const Items& items, Outputs* outputs) {
  std::vector<Tensor> tensors;
  for (const Item& item : items) {
    if (item.kind == Item::Kind::kTensor) {
      tensors.push_back(tensors_of({item})[0]);
    } else {
      tensors.insert(tensors.end(), item.sequence.begin(), item.sequence.end());
    }
    Item kind;
    kind.kind = item.kind;
    outputs->items.push_back(kind);
    outputs->counts.push_back(item.kind == Item::Kind::kTensor ? 1 : item.sequence.size());
  }
  return tensors;
}

// Both branches on the device; nothing where they give different types.
std::optional<Items> device_branch(const Call& call, const Tensor& condition,
                                   const proto::Graph& on_true, const proto::Graph& on_false) {
  Captures captures = call.around->captures({&on_true, &on_false});
  std::vector<Tensor> captured = captured_tensors(captures);
  // A branch may read nothing from outside: it then has a parameter that it does not read.
  if (captured.empty()) captured.push_back(condition);
  std::vector<TensorType> types;
  std::vector<Value> operands{condition.value()};
  for (const Tensor& t : captured) {
    types.push_back(t.type());
    operands.push_back(t.value());
  }
  auto region = [&](const proto::Graph& graph, Outputs* outputs) {
    return region_with_emitter(
        types, call.emitter->location(),
        [&](Emitter& emitter, const std::vector<Tensor>& parameters) {
          return flatten(call.around->import_region(graph, {}, captures, parameters, emitter),
                         outputs);
        });
  };
  Outputs outputs, others;
  GraphPtr first = region(on_true, &outputs), second = region(on_false, &others);
  if (!(outputs == others)) return std::nullopt;
  std::vector<TensorType> results;
  for (size_t i = 0; i < first->outputs().size(); ++i) {
    results.push_back(first->type(first->outputs()[i]));
    if (second->type(second->outputs()[i]) != results[i]) return std::nullopt;
  }
  std::vector<Value> values;
  if (!results.empty()) values = call.emitter->add(Op::kIf, operands, results, {}, {first, second});
  auto next = values.begin();
  for (size_t i = 0; i < outputs.items.size(); ++i) {
    Item& item = outputs.items[i];
    if (item.kind == Item::Kind::kTensor) item = Tensor(*call.emitter, *next++);
    while (item.kind == Item::Kind::kSequence && item.sequence.size() < outputs.counts[i])
      item.sequence.emplace_back(*call.emitter, *next++);
  }
  return outputs.items;
}

// Branches that the device cannot choose from (their results differ in type) need a condition that
// is known beforehand; a model's input has the value that the user gives.
Items branch(const Call& call) {
  Tensor condition = call.need(0).reshape({});
  const proto::Graph &on_true = call.graph("then_branch"), &on_false = call.graph("else_branch");
  auto chosen = [&](const Literal& known) {
    return call.around->inline_graph(known.get_int(0) ? on_true : on_false, {});
  };
  if (auto known = condition.known()) return chosen(*known);
  std::optional<Refusal> why;
  try {
    if (auto items = device_branch(call, condition, on_true, on_false)) return *items;
  } catch (const Refusal& refusal) {
    why = refusal;
  }
  if (auto known = call.around->known(condition)) return chosen(*known);
  if (why) throw Refusal(*why);
  refuse_unsupported(
      "The branches give different types, so the condition must be known when the model is "
      "compiled; make it a constant, or an input of the model whose value is given.");
}

// --- Loop

constexpr int64_t kMaxUnrolled = 1024;

// Rounds one after another in the graph: what is carried may change its shape, scanned outputs are
// put together in the end.
Items unrolled_loop(const Call& call, const proto::Graph& body, int64_t trips, bool more) {
  size_t carried_count = call.inputs.size() - 2;
  Items carried(call.inputs.begin() + 2, call.inputs.end());
  std::vector<std::vector<Tensor>> scanned(call.wanted.size() -
                                           std::min(call.wanted.size(), carried_count));
  for (int64_t i = 0; i < trips && more; ++i) {
    Items inputs{Tensor(*call.emitter, call.emitter->scalar(DType::kI64, static_cast<double>(i))),
                 Tensor(*call.emitter, call.emitter->scalar(DType::kBool, 1))};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    Items results = call.around->inline_graph(body, inputs);
    if (results.size() < carried_count + 1 + scanned.size())
      refuse_input("The loop's body gives too few outputs.");
    auto known = call.around->known(tensors_of({results[0]})[0]);
    if (!known || known->num_elements() != 1)
      refuse_unsupported("The condition of a loop that is unrolled must be known.");
    more = known->get_int(0) != 0;
    carried.assign(results.begin() + 1,
                   results.begin() + 1 + static_cast<ptrdiff_t>(carried_count));
    for (size_t k = 0; k < scanned.size(); ++k)
      scanned[k].push_back(tensors_of({results[1 + carried_count + k]})[0].unsqueeze({0}));
  }
  for (const std::vector<Tensor>& parts : scanned) {
    if (parts.empty())
      refuse_unsupported("A loop without rounds has scanned outputs of unknown shape.");
    carried.emplace_back(concatenate(parts, 0));
  }
  return carried;
}

// A loop on the device. Scanned outputs need a known number of rounds, and are written where they
// belong.
Items device_loop(const Call& call, const proto::Graph& body, const Tensor& trips,
                  const Tensor& condition, const std::vector<Tensor>& start,
                  const std::vector<Tensor>& scanned) {
  Captures captures = call.around->captures({&body});
  std::vector<Tensor> carried{condition};
  carried.insert(carried.end(), start.begin(), start.end());
  carried.insert(carried.end(), scanned.begin(), scanned.end());
  std::vector<Tensor> ends = run_loop(
      *call.emitter, trips, true, carried, captured_tensors(captures),
      [&](const Tensor& t, const std::vector<Tensor>& now, const std::vector<Tensor>& read) {
        Items inputs{t};
        for (size_t i = 0; i <= start.size(); ++i) inputs.emplace_back(now[i]);
        std::vector<Tensor> results =
            tensors_of(call.around->import_region(body, inputs, captures, read, t.emitter()));
        if (results.size() < 1 + start.size())
          refuse_input("The loop's body gives too few outputs.");
        results[0] = results[0].reshape({});
        // Where a carried tensor changes its type, nothing is known of scanned ones, and the loop
        // is refused for the former.
        results.resize(std::min(results.size(), now.size()));
        for (size_t i = 1 + start.size(); i < results.size(); ++i)
          results[i] = with_element(now[i], results[i], t, 0);
        return results;
      });
  ends.erase(ends.begin());
  return items_of(ends);
}

Items loop(const Call& call) {
  const proto::Graph& body = call.graph("body");
  if (call.inputs.size() < 2) refuse_input("A loop has a number of rounds and a condition.");
  Emitter& emitter = *call.emitter;
  Tensor trips = call.in(0) ? call.in(0).reshape({}).convert(DType::kI64)
                            : call.constant(Literal::from_ints(DType::kI64, {}, {INT64_MAX}));
  Tensor condition =
      call.in(1) ? call.in(1).reshape({}) : Tensor(emitter, emitter.scalar(DType::kBool, 1));
  bool has_sequences = std::any_of(call.inputs.begin(), call.inputs.end(), [](const Item& item) {
    return item.kind != Item::Kind::kTensor;
  });
  auto known_trips = call.around->known(trips);
  auto known_start = has_sequences ? call.around->known(condition) : condition.known();
  bool starts = known_start && known_start->get_int(0) != 0;
  int64_t count = known_trips ? known_trips->get_int(0) : INT64_MAX;
  bool counts = known_trips && count <= kMaxUnrolled;
  if (counts && known_start && (has_sequences || !starts || count <= 0))
    return unrolled_loop(call, body, count, starts);

  std::vector<Tensor> start = tensors_of(Items(call.inputs.begin() + 2, call.inputs.end()));
  std::vector<TensorType> types{{DType::kI64, {}}, {DType::kBool, {}}};
  for (const Tensor& t : start) types.push_back(t.type());
  std::optional<Round> round = try_round(call, body, types, call.around->captures({&body}));
  bool keeps = round && round->types.size() > start.size();
  for (size_t i = 0; keeps && i < start.size(); ++i) keeps = round->types[1 + i] == start[i].type();
  if (!keeps && counts) {
    known_start = call.around->known(condition);
    if (known_start) return unrolled_loop(call, body, count, known_start->get_int(0) != 0);
  }
  std::vector<Tensor> scanned;
  for (size_t i = 1 + start.size(); keeps && i < round->types.size(); ++i) {
    if (!known_trips || !starts || !round->goes_on)
      refuse_unsupported(
          "A loop whose number of rounds is not constant has scanned outputs of "
          "unknown length; carry a tensor of fixed size instead.");
    TensorType type = round->types[i];
    type.shape.insert(type.shape.begin(), count);
    scanned.push_back(call.zeros(type));
  }
  return device_loop(call, body, trips, condition, start, scanned);
}

// --- Scan

Items scan(const Call& call) {
  const proto::Graph& body = call.graph("body");
  size_t first = call.opset < 9 ? 1 : 0;  // sequence_lens
  if (first == 1 && call.in(0))
    refuse_unsupported("Lengths of each batch's sequence are not supported.");
  auto scans = static_cast<size_t>(call.required_i("num_scan_inputs"));
  if (scans < 1 || first + scans > call.inputs.size())
    refuse_input("The attribute num_scan_inputs does not fit.");
  std::vector<Tensor> inputs;
  for (size_t i = first; i < call.inputs.size(); ++i) inputs.push_back(call.need(i));
  size_t carried_count = inputs.size() - scans;
  size_t outputs = call.wanted.size() - std::min(call.wanted.size(), carried_count);
  Ints axes = call.ints("scan_input_axes", Ints(scans, 0));
  Ints directions = call.ints(first == 1 ? "directions" : "scan_input_directions", Ints(scans, 0));
  Ints out_axes = call.ints("scan_output_axes", Ints(outputs, 0));
  Ints out_directions = call.ints("scan_output_directions", Ints(outputs, 0));
  if (axes.size() != scans || directions.size() != scans || out_axes.size() != outputs ||
      out_directions.size() != outputs)
    refuse_input("Axes or directions do not fit the scanned inputs and outputs.");
  if (first == 1)
    refuse_unsupported("Scan of opset 8 is not supported; export for opset 9 or later.");
  for (size_t k = 0; k < scans; ++k) {
    Tensor& x = inputs[carried_count + k];
    axes[k] = x.axis(axes[k]);
    if (directions[k]) x = x.reverse({axes[k]});
  }
  int64_t trips = inputs[carried_count].dim(axes[0]);
  Captures captures = call.around->captures({&body});
  std::vector<Tensor> captured = captured_tensors(captures);
  std::vector<Tensor> carried(inputs.begin(),
                              inputs.begin() + static_cast<ptrdiff_t>(carried_count));
  std::vector<TensorType> one_round;
  for (const Tensor& t : carried) one_round.push_back(t.type());
  for (size_t k = 0; k < scans; ++k) {
    TensorType type = inputs[carried_count + k].type();
    if (type.shape[static_cast<size_t>(axes[k])] != trips)
      refuse_input("The scanned inputs have different lengths.");
    type.shape.erase(type.shape.begin() + axes[k]);
    one_round.push_back(type);
  }
  std::optional<Round> round = try_round(call, body, one_round, captures);
  if (!round || round->types.size() < carried_count + outputs)
    refuse_unsupported(
        "The body of the scan is not supported: it gives no tensors of known shape.");
  const std::vector<TensorType>& types = round->types;
  std::vector<Tensor> all = carried;
  for (size_t k = 0; k < outputs; ++k) {
    TensorType type = types[carried_count + k];
    type.shape.insert(type.shape.begin(), trips);
    all.push_back(call.zeros(type));
  }
  std::vector<Tensor> read(inputs.begin() + static_cast<ptrdiff_t>(carried_count), inputs.end());
  read.insert(read.end(), captured.begin(), captured.end());
  Tensor limit(*call.emitter, call.emitter->scalar(DType::kI64, static_cast<double>(trips)));
  std::vector<Tensor> ends = run_loop(
      *call.emitter, limit, false, all, read,
      [&](const Tensor& t, const std::vector<Tensor>& now, const std::vector<Tensor>& seen) {
        Items round(now.begin(), now.begin() + static_cast<ptrdiff_t>(carried_count));
        for (size_t k = 0; k < scans; ++k) round.emplace_back(element_at(seen[k], t, axes[k]));
        std::vector<Tensor> bound(seen.begin() + static_cast<ptrdiff_t>(scans), seen.end());
        std::vector<Tensor> results =
            tensors_of(call.around->import_region(body, round, captures, bound, t.emitter()));
        for (size_t k = 0; k < outputs; ++k) {
          size_t i = carried_count + k;
          results[i] = with_element(now[i], results[i], t, 0);
        }
        return results;
      });
  for (size_t k = 0; k < outputs; ++k) {
    Tensor& y = ends[carried_count + k];
    if (out_directions[k]) y = y.reverse({0});
    int64_t axis = y.axis(out_axes[k]);
    Ints permutation = range(1, y.rank());
    permutation.insert(permutation.begin() + axis, 0);
    y = y.transpose(std::move(permutation));
  }
  return items_of(ends);
}

constexpr OpRow kControlRows[] = {
    {"If", branch, "Branches of one type, or a condition that is known."},
    {"Loop", loop,
     "What it carries keeps its type, or the number of rounds is constant; scanned "
     "outputs need a constant number of rounds."},
    {"Scan", scan, "From opset 9 on."},
};

}  // namespace

std::span<const OpRow> control_ops() { return kControlRows; }

}  // namespace tuff::onnx
