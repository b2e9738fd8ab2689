// RNN, GRU and LSTM: the products with the inputs of all steps at once, then a loop of steps.
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

// One activation with its two numbers.
struct Activation {
  std::string name;
  double alpha = 0, beta = 0;

  Tensor operator()(const Tensor& x) const {
    if (name == "Sigmoid") return x.sigmoid();
    if (name == "Tanh") return x.tanh();
    if (name == "Relu") return x.max(0.0);
    if (name == "Affine") return x * alpha + beta;
    if (name == "LeakyRelu") return (x >= 0.0).select(x, x * alpha);
    if (name == "ThresholdedRelu") return (x >= alpha).select(x, x.scalar(0));
    if (name == "ScaledTanh") return (x * beta).tanh() * alpha;
    if (name == "HardSigmoid") return (x * alpha + beta).max(0.0).min(1.0);
    if (name == "Elu") return (x >= 0.0).select(x, x.unary(Op::kExponentialMinusOne) * alpha);
    if (name == "Softsign") return x / (1.0 + x.abs());
    if (name == "Softplus") return x.max(0.0) + (-x.abs()).exp().log1p();
    refuse_input(fmt::format("The activation ({}) is not known.", name));
  }
};

struct ActivationDefault {
  const char* name;
  double alpha, beta;
};
constexpr ActivationDefault kDefaults[] = {
    {"LeakyRelu", 0.01, 0}, {"ThresholdedRelu", 1, 0}, {"HardSigmoid", 0.2, 0.5},
    {"Elu", 1, 0},          {"Affine", 1, 0},          {"ScaledTanh", 1, 1},
};

// What one direction computes with.
struct Cell {
  int64_t hidden = 0;
  double clip = 0;
  bool linear_before_reset = false, input_forget = false;
  std::vector<Activation> activations;
  // Of one direction: [gates * hidden, ...]; biases and peepholes may be none.
  Tensor w, r, input_bias, hidden_bias, peephole;

  Tensor clipped(const Tensor& x) const { return clip > 0 ? x.max(-clip).min(clip) : x; }
  Tensor gate(const Tensor& x, int64_t i) const {
    return x.slice(-1, i * hidden, (i + 1) * hidden);
  }
};

// The tensors that a step reads besides what it carries.
struct StepInputs {
  Tensor projected;  // of this step: [batch, gates * hidden]
  Tensor r, hidden_bias, peephole;
};

using State = std::vector<Tensor>;  // h, and c of an LSTM
using Step = State (*)(const Cell&, const StepInputs&, const State&);

// x times the transposed rows of a matrix.
Tensor times(const Tensor& x, const Tensor& rows) {
  return dot(x, rows, {{}, {}, {x.rank() - 1}, {1}, {}});
}
Tensor plus(const Tensor& x, const Tensor& bias) { return bias ? x + bias : x; }

State rnn_step(const Cell& cell, const StepInputs& in, const State& state) {
  Tensor sum = plus(in.projected + times(state[0], in.r), in.hidden_bias);
  return {cell.activations[0](cell.clipped(sum))};
}

State gru_step(const Cell& cell, const StepInputs& in, const State& state) {
  const Tensor& h = state[0];
  int64_t n = cell.hidden;
  auto rows = [&](int64_t from, int64_t to) { return in.r.slice(0, from * n, to * n); };
  auto bias = [&](int64_t from, int64_t to) {
    return in.hidden_bias ? in.hidden_bias.slice(0, from * n, to * n) : Tensor();
  };
  Tensor both = plus(times(h, rows(0, 2)), bias(0, 2));
  Tensor z = cell.activations[0](cell.clipped(cell.gate(in.projected, 0) + cell.gate(both, 0)));
  Tensor r = cell.activations[0](cell.clipped(cell.gate(in.projected, 1) + cell.gate(both, 1)));
  Tensor candidate = cell.linear_before_reset ? r * plus(times(h, rows(2, 3)), bias(2, 3))
                                              : plus(times(r * h, rows(2, 3)), bias(2, 3));
  candidate = cell.activations[1](cell.clipped(cell.gate(in.projected, 2) + candidate));
  return {(1.0 - z) * candidate + z * h};
}

// Gates in the order i, o, f, c; peepholes i, o, f.
State lstm_step(const Cell& cell, const StepInputs& in, const State& state) {
  const Tensor &h = state[0], &c = state[1];
  Tensor gates = plus(in.projected + times(h, in.r), in.hidden_bias);
  auto peep = [&](int64_t i, const Tensor& from) {
    Tensor g = cell.gate(gates, i);
    return in.peephole ? g + in.peephole.slice(0, i * cell.hidden, (i + 1) * cell.hidden) * from
                       : g;
  };
  Tensor input = cell.activations[0](cell.clipped(peep(0, c)));
  Tensor forget = cell.input_forget ? 1.0 - input : cell.activations[0](cell.clipped(peep(2, c)));
  Tensor candidate = cell.activations[1](cell.clipped(cell.gate(gates, 3)));
  Tensor next = forget * c + input * candidate;
  Tensor output = cell.activations[0](cell.clipped(peep(1, next)));
  return {output * cell.activations[2](next), next};
}

// The first elements of each batch's sequence in reverse; of all of it where there are no lengths.
Tensor reversed(const Tensor& x, const Tensor& lengths) {
  if (!lengths) return x.reverse({0});
  Tensor t = x.iota(x.shape(), 0), n = lengths.broadcast(x.shape(), {1});
  return x.take_along((t < n).select(n - 1.0 - t, t), 0);
}

struct DirectionResult {
  Tensor y;  // [steps, batch, hidden]
  State last;
};

DirectionResult run_direction(const Cell& cell, Step step, const Tensor& x, const Tensor& lengths,
                              const State& initial) {
  Emitter& emitter = x.emitter();
  int64_t steps = x.dim(0);
  Tensor projected = plus(times(x, cell.w), cell.input_bias);
  Tensor zeros = x.scalar(0).broadcast_to({steps, x.dim(1), cell.hidden});
  if (steps == 0) return {zeros, initial};
  std::vector<Tensor> captured{projected, cell.r};
  for (const Tensor& t : {cell.hidden_bias, cell.peephole, lengths})
    if (t) captured.push_back(t);
  std::vector<Tensor> carried = initial;
  carried.push_back(zeros);
  LoopBody body = [&](const Tensor& t, const std::vector<Tensor>& now,
                      const std::vector<Tensor>& read) {
    size_t next_read = 2;
    StepInputs in{element_at(read[0], t, 0), read[1], {}, {}};
    if (cell.hidden_bias) in.hidden_bias = read[next_read++];
    if (cell.peephole) in.peephole = read[next_read++];
    State before(now.begin(), now.end() - 1), after = step(cell, in, before);
    Tensor y = after[0];
    if (lengths) {
      Tensor runs = (t.broadcast_to(read[next_read].shape()) < read[next_read]).unsqueeze({1});
      y = runs.select(y, y.scalar(0));
      for (size_t i = 0; i < after.size(); ++i) after[i] = runs.select(after[i], before[i]);
    }
    after.push_back(with_element(now.back(), y, t, 0));
    return after;
  };
  std::vector<Tensor> ends =
      run_loop(emitter, Tensor(emitter, emitter.scalar(DType::kI64, static_cast<double>(steps))),
               false, carried, captured, body);
  return {ends.back(), State(ends.begin(), ends.end() - 1)};
}

std::vector<Activation> read_activations(const Call& call, size_t directions,
                                         const std::vector<std::string>& defaults) {
  auto found = call.attributes.find("activations");
  std::vector<std::string> names;
  if (found != call.attributes.end()) names = found->second.strings;
  if (names.empty())
    for (size_t d = 0; d < directions; ++d)
      names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() < directions * defaults.size()) refuse_input("There are too few activations.");
  std::vector<double> alphas = call.floats("activation_alpha"),
                      betas = call.floats("activation_beta");
  std::vector<Activation> activations;
  // Names may be of any case. Each that has numbers takes the next ones.
  size_t next_alpha = 0, next_beta = 0;
  for (std::string& name : names) {
    Activation activation{name, 0, 0};
    for (const char* known : {"Sigmoid", "Tanh", "Relu", "Affine", "LeakyRelu", "ThresholdedRelu",
                              "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus"})
      if (strcasecmp(known, name.c_str()) == 0) activation.name = known;
    for (const ActivationDefault& row : kDefaults) {
      if (activation.name != row.name) continue;
      activation.alpha = next_alpha < alphas.size() ? alphas[next_alpha++] : row.alpha;
      bool has_beta = row.beta != 0 || activation.name == "Affine";
      activation.beta = has_beta && next_beta < betas.size() ? betas[next_beta++] : row.beta;
    }
    activations.push_back(activation);
  }
  return activations;
}

Items recurrent(const Call& call, int64_t gates, Step step,
                const std::vector<std::string>& defaults) {
  Tensor x = call.need(0), w = call.need(1), r = call.need(2), b = call.in(3);
  Tensor lengths = call.in(4);
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3)
    refuse_input("X, W and R must be of rank 3.");
  bool batch_first = call.i("layout", 0) == 1, is_lstm = gates == 4;
  DType dtype = x.dtype();
  x = x.wide();
  if (batch_first) x = x.transpose({1, 0, 2});
  if (lengths) lengths = lengths.convert(DType::kI64);
  std::string direction = call.s("direction", "forward");
  auto directions = static_cast<size_t>(w.dim(0));
  if (directions != (direction == "bidirectional" ? 2u : 1u))
    refuse_input(
        fmt::format("W has ({}) directions, but the direction is ({}).", directions, direction));
  std::vector<Activation> activations = read_activations(call, directions, defaults);
  int64_t hidden = r.dim(2);
  std::vector<Tensor> ys;
  std::vector<std::vector<Tensor>> last(is_lstm ? 2 : 1);
  for (size_t d = 0; d < directions; ++d) {
    auto k = static_cast<int64_t>(d);
    auto one = [&](const Tensor& t) {
      return t ? t.slice(0, k, k + 1).squeeze({0}).wide() : Tensor();
    };
    Cell cell{hidden,
              call.f("clip", 0),
              call.flag("linear_before_reset"),
              call.flag("input_forget"),
              {},
              one(w),
              one(r),
              {},
              {},
              is_lstm ? one(call.in(7)) : Tensor()};
    if (b) {
      cell.input_bias = one(b).slice(0, 0, gates * hidden);
      cell.hidden_bias = one(b).slice(0, gates * hidden, 2 * gates * hidden);
    }
    auto per = static_cast<ptrdiff_t>(defaults.size());
    cell.activations.assign(activations.begin() + static_cast<ptrdiff_t>(d) * per,
                            activations.begin() + static_cast<ptrdiff_t>(d + 1) * per);
    State initial;
    for (size_t i = 0; i < last.size(); ++i) {
      Tensor given = call.in(5 + i);
      if (given && batch_first) given = given.transpose({1, 0, 2});
      initial.push_back(given ? one(given) : x.scalar(0).broadcast_to({x.dim(1), hidden}));
    }
    bool backward = direction == "reverse" || d == 1;
    DirectionResult result =
        run_direction(cell, step, backward ? reversed(x, lengths) : x, lengths, initial);
    ys.push_back((backward ? reversed(result.y, lengths) : result.y).unsqueeze({1}));
    for (size_t i = 0; i < last.size(); ++i) last[i].push_back(result.last[i].unsqueeze({0}));
  }
  Tensor y = concatenate(ys, 1);
  Items results{(batch_first ? y.transpose({2, 0, 1, 3}) : y).convert(dtype)};
  for (const std::vector<Tensor>& parts : last) {
    Tensor end = concatenate(parts, 0);
    results.emplace_back((batch_first ? end.transpose({1, 0, 2}) : end).convert(dtype));
  }
  return results;
}

Items rnn(const Call& call) { return recurrent(call, 1, rnn_step, {"Tanh"}); }
Items gru(const Call& call) { return recurrent(call, 3, gru_step, {"Sigmoid", "Tanh"}); }
Items lstm(const Call& call) { return recurrent(call, 4, lstm_step, {"Sigmoid", "Tanh", "Tanh"}); }

constexpr OpRow kRecurrentRows[] = {
    {"GRU", gru},
    {"LSTM", lstm},
    {"RNN", rnn},
};

}  // namespace

std::span<const OpRow> recurrent_ops() { return kRecurrentRows; }

}  // namespace tuff::onnx
