// com.microsoft: operators that exporters and optimisers of ONNX Runtime write.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/onnx/ops/attention.h"

namespace tuff::onnx {

namespace {

Tensor plus(const Tensor& x, const Tensor& more) { return more ? x + more : x; }

Items gelu_by_erf(const Call& call) { return {gelu(call.need(0), false)}; }
Items fast_gelu(const Call& call) { return {gelu(plus(call.need(0), call.in(1)), true)}; }
Items bias_gelu(const Call& call) { return {gelu(call.need(0) + call.need(1), false)}; }
Items quick_gelu(const Call& call) {
  Tensor x = call.need(0), wide = x.wide();
  return {(wide * (wide * call.f("alpha", 1.702)).sigmoid()).convert(x.dtype())};
}

// The sum of input, skip and bias is the fourth output.
Items skip_layer_normalization(const Call& call) {
  Tensor sum = plus(call.need(0) + call.need(1), call.in(4));
  Tensor y = layer_norm(sum, call.need(2), call.in(3), -1, call.f("epsilon", 1e-5));
  return {y, {}, {}, sum};
}
Items skip_simplified_layer_normalization(const Call& call) {
  Tensor sum = plus(call.need(0) + call.need(1), call.in(3));
  return {rms_norm(sum, call.need(2), -1, call.f("epsilon", 1e-5)), {}, {}, sum};
}

Items embed_layer_normalization(const Call& call) {
  Tensor ids = call.need(0), segments = call.in(1), word = call.need(2), position = call.need(3),
         segment = call.in(4);
  Tensor sum = word.take(ids, 0);
  sum = sum + (call.in(8) ? position.take(call.in(8), 0) : position.slice(0, 0, ids.dim(1)));
  if (segments && segment) sum = sum + segment.take(segments, 0);
  Tensor y = layer_norm(sum, call.need(5), call.need(6), -1, call.f("epsilon", 1e-12));
  Tensor lengths = call.in(7) ? call.in(7).convert(DType::kI32).sum({1})
                              : call.zeros({DType::kI32, {ids.dim(0)}});
  return {y, lengths, sum};
}

// alpha * A * B, either transposed; transBatchA and transBatchB move the first dimension before
// the last.
Items fused_mat_mul(const Call& call) {
  auto arranged = [&](Tensor x, const char* transposes, const char* batch) {
    if (call.flag(batch)) {
      Ints permutation = range(1, x.rank() - 1);
      permutation.push_back(0), permutation.push_back(x.rank() - 1);
      x = x.transpose(std::move(permutation));
    }
    return call.flag(transposes) && x.rank() > 1 ? x.transposed() : x;
  };
  Tensor y = matmul(arranged(call.need(0), "transA", "transBatchA"),
                    arranged(call.need(1), "transB", "transBatchB"));
  double alpha = call.f("alpha", 1);
  return {alpha == 1 ? y : y * alpha};
}

// Masks of ONNX Runtime: 1 where a key counts, [batch, keys], [batch, rows, keys] or of rank 4;
// or how many keys of each batch count, [batch].
Tensor allowed_keys(const Tensor& mask, const Tensor& q, int64_t keys) {
  Tensor on = not_equal(mask, mask.scalar(0));
  int64_t batch = q.dim(0);
  if (mask.rank() == 1 && mask.dim(0) == batch)
    return q.iota({1, 1, 1, keys}, 3) < mask.convert(DType::kI64).reshape({batch, 1, 1, 1});
  if (mask.rank() == 2) return on.reshape({mask.dim(0), 1, 1, mask.dim(1)});
  if (mask.rank() == 3) return on.unsqueeze({1});
  if (mask.rank() == 4) return on;
  refuse_unsupported(fmt::format("A mask ({}) is not supported.", words(mask.type())));
}

// Keys up to each row's own place, of which `past` stand before the first.
Tensor up_to_row(const Tensor& q, int64_t keys, int64_t past) {
  Shape shape{1, 1, q.dim(2), keys};
  return q.iota(shape, 3) <= q.iota(shape, 2) + static_cast<double>(past);
}

void restrict_to(const Tensor& more, Tensor* allowed) {
  *allowed = *allowed ? *allowed & more : more;
}

double scale_of(const Call& call, const Tensor& q) {
  double scale = call.f("scale", 0);
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(q.dim(3)));
}

// x, weights [in, 3 * hidden], bias, mask, past [2, batch, heads, length, size], scores' bias.
Items contrib_attention(const Call& call) {
  Tensor x = call.need(0), mask = call.in(3), past = call.in(4);
  int64_t heads = call.required_i("num_heads");
  Tensor all = plus(matmul(x, call.need(1)), call.in(2));
  int64_t width = all.dim(2);
  Ints sizes = call.ints("qkv_hidden_sizes", {width / 3, width / 3, width / 3});
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != width)
    refuse_input("The weights do not divide into queries, keys and values.");
  if (call.flag("do_rotary")) refuse_unsupported("The attribute do_rotary is not supported.");
  Tensor q = split_heads(all.slice(2, 0, sizes[0]), heads);
  Tensor k = split_heads(all.slice(2, sizes[0], sizes[0] + sizes[1]), heads);
  Tensor v = split_heads(all.slice(2, sizes[0] + sizes[1], width), heads);
  int64_t before = 0;
  if (past) {
    before = past.dim(3);
    k = concatenate({past.slice(0, 0, 1).squeeze({0}), k}, 2);
    v = concatenate({past.slice(0, 1, 2).squeeze({0}), v}, 2);
  }
  AttentionInputs in{q, k, v, scale_of(call, q), 0, call.in(5), {}};
  if (mask) in.allowed = allowed_keys(mask, q, k.dim(2));
  if (call.flag("unidirectional")) restrict_to(up_to_row(q, k.dim(2), before), &in.allowed);
  Items results{merge_heads(attend(in).y)};
  if (call.wants(1)) results.emplace_back(concatenate({k.unsqueeze({0}), v.unsqueeze({0})}, 0));
  return results;
}

// query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value.
Items multi_head_attention(const Call& call) {
  Tensor q = call.need(0), k = call.in(1), v = call.in(2), bias = call.in(3), mask = call.in(4);
  int64_t heads = call.required_i("num_heads");
  auto part_of_bias = [&](int64_t from, int64_t to) { return bias.slice(0, from, to); };
  int64_t before = 0;
  if (q.rank() == 5) {  // packed: [batch, length, heads, 3, size]
    Tensor packed = q.transpose({3, 0, 2, 1, 4});
    q = packed.slice(0, 0, 1).squeeze({0}), k = packed.slice(0, 1, 2).squeeze({0});
    v = packed.slice(0, 2, 3).squeeze({0});
  } else {
    if (!k) refuse_input("The keys are left out.");
    int64_t width = q.dim(2);
    if (k.rank() == 5) {  // keys and values packed
      Tensor packed = k.transpose({3, 0, 2, 1, 4});
      k = packed.slice(0, 0, 1).squeeze({0}), v = packed.slice(0, 1, 2).squeeze({0});
    } else if (k.rank() == 3) {
      if (!v || v.rank() != 3) refuse_input("The values do not fit the keys.");
      if (bias) {
        k = k + part_of_bias(width, width + k.dim(2));
        v = v + part_of_bias(width + k.dim(2), width + k.dim(2) + v.dim(2));
      }
      k = split_heads(k, heads), v = split_heads(v, heads);
    }
    if (bias) q = q + part_of_bias(0, width);
    q = split_heads(q, heads);
  }
  if (call.in(6)) {
    before = call.in(6).dim(2);
    k = concatenate({call.in(6), k}, 2), v = concatenate({call.in(7), v}, 2);
  }
  AttentionInputs in{q, k, v, scale_of(call, q), 0, call.in(5), {}};
  if (mask) in.allowed = allowed_keys(mask, q, k.dim(2));
  if (call.flag("unidirectional")) restrict_to(up_to_row(q, k.dim(2), before), &in.allowed);
  return {merge_heads(attend(in).y), k, v};
}

// A row's place in its sequence, where all sequences have as many keys: [batch, rows].
Tensor row_places(const Tensor& q, int64_t before) {
  return q.iota({q.dim(0), q.dim(2)}, 1) + static_cast<double>(before);
}

// query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cosines, sines.
Items group_query_attention(const Call& call) {
  int64_t heads = call.required_i("num_heads"), kv_heads = call.required_i("kv_num_heads");
  Tensor q = call.need(0), k = call.in(1), v = call.in(2), past_key = call.in(3),
         past_value = call.in(4);
  if (!k) {  // packed
    int64_t size = q.dim(2) / (heads + 2 * kv_heads), width = heads * size,
            kv_width = kv_heads * size;
    k = q.slice(2, width, width + kv_width);
    v = q.slice(2, width + kv_width, width + 2 * kv_width);
    q = q.slice(2, 0, width);
  }
  q = split_heads(q, heads), k = split_heads(k, kv_heads), v = split_heads(v, kv_heads);
  int64_t before = past_key ? past_key.dim(2) : 0;
  // Keys that count, of each batch: what comes after is padding.
  Tensor counts = call.need(5).convert(DType::kI64).reshape({q.dim(0)}) + 1.0;
  if (call.flag("do_rotary")) {
    Tensor places = call.in(9) ? call.in(9) : row_places(q, before);
    Tensor cosines = call.need(7).take(places, 0), sines = call.need(8).take(places, 0);
    auto turn = [&](const Tensor& x) {
      int64_t size = 2 * cosines.dim(-1);
      Tensor turned = rotated(x.slice(3, 0, size), cosines, sines, call.flag("rotary_interleaved"));
      return concatenate({turned, x.slice(3, size, x.dim(3))}, 3);
    };
    q = turn(q), k = turn(k);
  }
  if (before > 0) k = concatenate({past_key, k}, 2), v = concatenate({past_value, v}, 2);
  AttentionInputs in{q, k, v, scale_of(call, q), call.f("softcap", 0), call.in(10), {}};
  in.allowed = up_to_row(q, k.dim(2), before);
  restrict_to(q.iota({1, 1, 1, k.dim(2)}, 3) < counts.reshape({q.dim(0), 1, 1, 1}), &in.allowed);
  int64_t window = call.i("local_window_size", -1);
  if (window > 0) {
    Shape shape{1, 1, q.dim(2), k.dim(2)};
    Tensor distance = q.iota(shape, 2) + static_cast<double>(before) - q.iota(shape, 3);
    restrict_to(distance < static_cast<double>(window), &in.allowed);
  }
  return {merge_heads(attend(in).y), k, v};
}

// input, positions ([1]: of the first; [batch, rows]), cosines, sines.
Items contrib_rotary_embedding(const Call& call) {
  Tensor x = call.need(0), positions = call.need(1), cosines = call.need(2), sines = call.need(3);
  bool flat = x.rank() == 3;
  int64_t half = cosines.dim(1), heads = call.i("num_heads", 0);
  if (heads == 0 && flat) heads = x.dim(2) / (2 * half);
  Tensor split = flat ? split_heads(x, heads) : x;
  Tensor places = positions;
  if (positions.num_elements() == 1 && positions.rank() == 1)
    places = split.iota({split.dim(0), split.dim(2)}, 1, positions.dtype()) + positions.reshape({});
  Tensor turned = rotated(split.slice(3, 0, 2 * half), cosines.take(places, 0),
                          sines.take(places, 0), call.flag("interleaved"));
  Tensor y = concatenate({turned, split.slice(3, 2 * half, split.dim(3))}, 3);
  return {flat ? merge_heads(y) : y};
}

// Weights of a few bits, [rows, blocks, bytes], each block with its scale and zero point.
Items mat_mul_n_bits(const Call& call) {
  Tensor x = call.need(0), packed = call.need(1), scales = call.need(2), zeros = call.in(3);
  int64_t columns = call.required_i("K"), rows = call.required_i("N"), bits = call.i("bits", 4);
  int64_t block = call.required_i("block_size");
  if (bits != 2 && bits != 4 && bits != 8)
    refuse_unsupported(fmt::format("({}) bits are not supported.", bits));
  if (call.in(4)) refuse_unsupported("The input g_idx is not supported.");
  if (block < 16 || columns < 1 || rows < 1) refuse_input("Sizes of weights must be positive.");
  int64_t blocks = (columns + block - 1) / block, per_byte = 8 / bits;
  // The first element is in the lowest bits.
  auto unpacked = [&](const Tensor& bytes, int64_t row_bytes) {
    if (bits == 8) return bytes;
    std::vector<Tensor> parts;
    Tensor flat = bytes.reshape({rows, row_bytes, 1});
    for (int64_t i = 0; i < per_byte; ++i)
      parts.push_back(
          flat.binary(Op::kShiftRightLogical, flat.scalar(static_cast<double>(i * bits))) &
          flat.scalar(static_cast<double>((1 << bits) - 1)));
    return concatenate(parts, 2).reshape({rows, row_bytes * per_byte});
  };
  Tensor values = unpacked(packed, blocks * block * bits / 8).reshape({rows, blocks, block});
  Tensor wide = values.convert(x.dtype());
  if (zeros && is_float(zeros.dtype())) {
    wide = wide - zeros.reshape({rows, blocks, 1}).convert(x.dtype());
  } else if (zeros) {
    int64_t row_bytes = (blocks * bits + 7) / 8;
    Tensor points =
        unpacked(zeros, row_bytes).reshape({rows, row_bytes * per_byte}).slice(1, 0, blocks);
    wide = wide - points.reshape({rows, blocks, 1}).convert(x.dtype());
  } else {
    wide = wide - static_cast<double>(1 << (bits - 1));
  }
  Tensor weights = (wide * scales.reshape({rows, blocks, 1}).convert(x.dtype()))
                       .reshape({rows, blocks * block})
                       .slice(1, 0, columns);
  Tensor y = dot(x, weights, {{}, {}, {x.rank() - 1}, {1}, {}});
  return {plus(y, call.in(5))};
}

constexpr OpRow kContribRows[] = {
    {"Attention", contrib_attention, "Without do_rotary."},
    {"BiasGelu", bias_gelu},
    {"EmbedLayerNormalization", embed_layer_normalization},
    {"FastGelu", fast_gelu},
    {"FusedMatMul", fused_mat_mul},
    {"Gelu", gelu_by_erf},
    {"GroupQueryAttention", group_query_attention,
     "Caches that grow: the length of past is that of the sequences before."},
    {"MatMulNBits", mat_mul_n_bits, "2, 4 or 8 bits, without g_idx."},
    {"MultiHeadAttention", multi_head_attention},
    {"QuickGelu", quick_gelu},
    {"RotaryEmbedding", contrib_rotary_embedding},
    {"SkipLayerNormalization", skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", skip_simplified_layer_normalization},
};

}  // namespace

std::span<const OpRow> contrib_ops() { return kContribRows; }

}  // namespace tuff::onnx
