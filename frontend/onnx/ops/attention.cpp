#include "frontend/onnx/ops/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/onnx/file/dtypes.h"

namespace tuff::onnx {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor repeat_heads(const Tensor& x, int64_t heads) {
  if (x.dim(1) == heads) return x;
  if (x.dim(1) == 0 || heads % x.dim(1) != 0)
    refuse_input(fmt::format("({}) heads do not divide into ({}).", heads, x.dim(1)));
  int64_t each = heads / x.dim(1);
  return x.broadcast({x.dim(0), x.dim(1), each, x.dim(2), x.dim(3)}, {0, 1, 3, 4})
      .reshape({x.dim(0), heads, x.dim(2), x.dim(3)});
}

// The mask's last dimension may be shorter than the keys: what it does not name is not seen.
Tensor padded_mask(const Tensor& mask, int64_t keys) {
  int64_t missing = keys - mask.dim(-1);
  if (missing <= 0 || mask.dim(-1) == 1) return mask;
  Ints low(mask.shape().size(), 0), high = low;
  high.back() = missing;
  return mask.pad(low, high, mask.dtype() == DType::kBool ? 0 : -kInfinity);
}

// Which keys are at or before each row's own place; windows to both sides.
Tensor visible_keys(const Call& call, const Tensor& q, int64_t keys, const Tensor& offset) {
  bool causal = call.flag("is_causal");
  int64_t left = call.i("left_window_size", -1), right = call.i("right_window_size", -1);
  if (!causal && left < 0 && right < 0) return {};
  Shape shape{1, 1, q.dim(2), keys};
  Tensor row = q.iota(shape, 2), key = q.iota(shape, 3);
  if (offset) row = row + offset;
  Tensor distance = row - key, allowed;
  auto restrict_to = [&](const Tensor& more) { allowed = allowed ? allowed & more : more; };
  if (causal) restrict_to(distance >= 0.0);
  if (left >= 0) restrict_to(distance <= static_cast<double>(left));
  if (right >= 0) restrict_to(distance >= static_cast<double>(-right));
  return allowed;
}

Items attention(const Call& call) {
  Tensor q = call.need(0), k = call.need(1), v = call.need(2), mask = call.in(3);
  Tensor past_key = call.in(4), past_value = call.in(5), valid_lengths = call.in(6);
  DType dtype = q.dtype();
  bool flat = q.rank() == 3;
  if (flat) {
    q = split_heads(q, call.required_i("q_num_heads"));
    k = split_heads(k, call.required_i("kv_num_heads"));
    v = split_heads(v, call.required_i("kv_num_heads"));
  }
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
    refuse_input("Q, K and V must be of rank 3 or 4.");
  Tensor offset;
  if (past_key) {
    offset = q.ints({past_key.dim(2)}).reshape({1, 1, 1, 1});
    k = concatenate({past_key, k}, 2);
  }
  if (past_value) v = concatenate({past_value, v}, 2);
  int64_t keys = k.dim(2);
  AttentionInputs inputs{
      q,  k, v, call.f("scale", 1 / std::sqrt(static_cast<double>(q.dim(3)))), call.f("softcap", 0),
      {}, {}};
  if (valid_lengths) {
    Tensor lengths =
        valid_lengths.convert(DType::kI64).reshape({valid_lengths.num_elements(), 1, 1, 1});
    inputs.allowed = q.iota({1, 1, 1, keys}, 3) < lengths;
    offset = lengths - static_cast<double>(q.dim(2));
  }
  if (Tensor visible = visible_keys(call, q, keys, offset))
    inputs.allowed = inputs.allowed ? inputs.allowed & visible : visible;
  if (mask) {
    mask = padded_mask(mask, keys);
    if (mask.dtype() == DType::kBool)
      inputs.allowed = inputs.allowed ? inputs.allowed & mask : mask;
    else
      inputs.bias = mask;
  }
  AttentionResult result = attend(inputs);
  Items outputs{(flat ? merge_heads(result.y) : result.y).convert(dtype), k, v};
  const Tensor* stages[] = {&result.scores, &result.capped, &result.biased, &result.weights};
  int64_t stage = call.i("qk_matmul_output_mode", 0);
  if (stage < 0 || stage > 3)
    refuse_input("The attribute qk_matmul_output_mode is not one of 0 to 3.");
  if (call.wants(3)) outputs.emplace_back(stages[stage]->convert(dtype));
  return outputs;
}

// Scores and weights go through subgraphs of the model.
Items flex_attention(const Call& call) {
  Tensor q = call.need(0);
  Tensor k = repeat_heads(call.need(1), q.dim(1)), v = repeat_heads(call.need(2), q.dim(1));
  DType precision = q.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  if (call.has("softmax_precision")) precision = dtype_of(call.i("softmax_precision", 1));
  double scale = call.f("scale", 1 / std::sqrt(static_cast<double>(q.dim(3))));
  Tensor scores = (matmul(q, k.transposed()) * scale).convert(precision);
  auto modified = [&](const char* name, const Tensor& x) {
    return call.has(name) ? call.around->inline_graph(call.graph(name), {Item(x)}).at(0).tensor : x;
  };
  Tensor weights = modified("prob_mod", softmax(modified("score_mod", scores), -1));
  return {matmul(weights.convert(v.dtype()), v).convert(q.dtype())};
}

Items rotary_embedding(const Call& call) {
  Tensor x = call.need(0), cosines = call.need(1), sines = call.need(2), positions = call.in(3);
  bool flat = x.rank() == 3;
  Tensor heads = flat ? split_heads(x, call.required_i("num_heads")) : x;
  if (heads.rank() != 4) refuse_input("The input must be of rank 3 or 4.");
  if (positions) cosines = cosines.take(positions, 0), sines = sines.take(positions, 0);
  int64_t size = call.i("rotary_embedding_dim", 0);
  if (size == 0) size = heads.dim(3);
  Tensor turned = rotated(heads.slice(3, 0, size), cosines, sines, call.flag("interleaved"));
  Tensor y = concatenate({turned, heads.slice(3, size, heads.dim(3))}, 3);
  return {flat ? merge_heads(y) : y};
}

// A state that each step decays, corrects and reads: a loop over steps.
Items linear_attention(const Call& call) {
  int64_t q_heads = call.required_i("q_num_heads"), kv_heads = call.required_i("kv_num_heads");
  std::string rule = call.s("update_rule", "gated_delta");
  bool decays = rule == "gated" || rule == "gated_delta",
       corrects = rule == "delta" || rule == "gated_delta";
  if (!decays && !corrects && rule != "linear")
    refuse_input(fmt::format("The attribute update_rule ({}) is not known.", rule));
  Tensor query = call.need(0);
  DType dtype = query.dtype();
  // Steps first, for the loop: [steps, batch, heads, size].
  auto steps_first = [](const Tensor& x, int64_t heads) {
    return split_heads(x.wide(), heads).transpose({2, 0, 1, 3});
  };
  Tensor q = steps_first(query, q_heads), k = steps_first(call.need(1), kv_heads),
         v = steps_first(call.need(2), kv_heads);
  int64_t steps = q.dim(0), batch = q.dim(1), d_k = k.dim(3), d_v = v.dim(3),
          each = q_heads / kv_heads;
  double scale = call.f("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(d_k));
  std::vector<Tensor> read{q * scale, k, v};
  if (decays) {
    Tensor decay = call.need(4);
    read.push_back(steps_first(decay, kv_heads).exp());
  }
  if (corrects) {
    Tensor beta = call.need(5);
    Tensor first = beta.wide().transpose({1, 0, 2});
    read.push_back(first.unsqueeze({3}).broadcast_to({steps, batch, kv_heads, 1}));
  }
  Tensor past = call.in(3);
  Tensor state =
      past ? past.wide() : query.wide().scalar(0).broadcast_to({batch, kv_heads, d_k, d_v});
  Tensor outputs = state.scalar(0).broadcast_to({steps, batch, q_heads, d_v});
  LoopBody body = [&](const Tensor& t, const std::vector<Tensor>& now,
                      const std::vector<Tensor>& all) {
    Tensor s = now[0], q_t = element_at(all[0], t, 0), k_t = element_at(all[1], t, 0),
           v_t = element_at(all[2], t, 0);
    size_t next = 3;
    if (decays) s = s * element_at(all[next++], t, 0).unsqueeze({3});
    if (corrects) {
      Tensor told = (s * k_t.unsqueeze({3})).sum({2});  // S^T k
      v_t = element_at(all[next], t, 0) * (v_t - told);
    }
    s = s + k_t.unsqueeze({3}) * v_t.unsqueeze({2});
    Tensor groups = q_t.reshape({batch, kv_heads, each, d_k});
    Tensor o = matmul(groups, s).reshape({batch, q_heads, d_v});
    return std::vector<Tensor>{s, with_element(now[1], o, t, 0)};
  };
  Emitter& emitter = *call.emitter;
  Tensor trips(emitter, emitter.scalar(DType::kI64, static_cast<double>(steps)));
  std::vector<Tensor> ends = steps > 0
                                 ? run_loop(emitter, trips, false, {state, outputs}, read, body)
                                 : std::vector<Tensor>{state, outputs};
  Tensor y = ends[1].transpose({1, 0, 2, 3}).reshape({batch, steps, q_heads * d_v});
  DType state_type = past ? past.dtype() : dtype;
  return {y.convert(dtype), ends[0].convert(state_type)};
}

constexpr OpRow kAttentionRows[] = {
    {"Attention", attention},
    {"LinearAttention", linear_attention},
    {"RotaryEmbedding", rotary_embedding},
};

constexpr OpRow kPreviewRows[] = {
    {"FlexAttention", flex_attention},
};

}  // namespace

AttentionResult attend(const AttentionInputs& in) {
  int64_t heads = in.q.dim(1);
  Tensor k = repeat_heads(in.k, heads), v = repeat_heads(in.v, heads);
  AttentionResult result;
  // 16 bits may not hold the product: both its factors are scaled.
  bool narrow = dtype_size(in.q.dtype()) == 2;
  double root = std::sqrt(in.scale);
  Tensor scores =
      narrow ? matmul(in.q * root, (k * root).transposed()).wide() : matmul(in.q, k.transposed());
  if (!narrow && in.scale != 1) scores = scores * in.scale;
  result.scores = result.capped = scores;
  if (in.softcap > 0) result.capped = scores = (scores / in.softcap).tanh() * in.softcap;
  // Rows that see no key give zeros.
  Tensor sees;
  if (in.bias) {
    scores = scores + in.bias.wide();
    sees = in.bias.wide() > -kInfinity;
  }
  if (in.allowed) {
    scores = in.allowed.select(scores, scores.scalar(-kInfinity));
    sees = sees ? sees & in.allowed : in.allowed;
  }
  result.biased = scores;
  Tensor weights = softmax(scores, -1);
  Tensor y = matmul(weights.convert(v.dtype()), v);
  if (sees) {
    Tensor any = sees.reduce(Op::kOr, {-1}, true);
    y = any.select(y, y.scalar(0));
    weights = any.select(weights, weights.scalar(0));
  }
  result.weights = weights;
  result.y = y;
  return result;
}

Tensor split_heads(const Tensor& x, int64_t heads) {
  if (x.rank() != 3 || heads < 1 || x.dim(2) % heads != 0)
    refuse_input(
        fmt::format("A tensor ({}) does not divide into ({}) heads.", words(x.type()), heads));
  return x.reshape({x.dim(0), x.dim(1), heads, x.dim(2) / heads}).transpose({0, 2, 1, 3});
}

Tensor merge_heads(const Tensor& x) {
  return x.transpose({0, 2, 1, 3}).reshape({x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

Tensor rotated(const Tensor& x, const Tensor& cosines, const Tensor& sines, bool interleaved) {
  int64_t half = x.dim(3) / 2;
  if (cosines.dim(-1) != half || sines.dim(-1) != half)
    refuse_input(
        fmt::format("Cosines ({}) do not fit ({}).", words(cosines.type()), words(x.type())));
  Tensor c = cosines.unsqueeze({1}), s = sines.unsqueeze({1});
  Tensor a = interleaved ? x.slice(3, 0, 2 * half, 2) : x.slice(3, 0, half);
  Tensor b = interleaved ? x.slice(3, 1, 2 * half, 2) : x.slice(3, half, 2 * half);
  Tensor real = c * a - s * b, imaginary = s * a + c * b;
  if (!interleaved) return concatenate({real, imaginary}, 3);
  return concatenate({real.unsqueeze({4}), imaginary.unsqueeze({4})}, 4).reshape(x.shape());
}

std::span<const OpRow> attention_ops() { return kAttentionRows; }
std::span<const OpRow> preview_ops() { return kPreviewRows; }

}  // namespace tuff::onnx
