// Two values spread by gaps of one, each where the other has none, and put together by an
// operation: they take turns in the result. Prefix scans are written so. Devices with calls put
// pieces together by one; on others a kernel that looks for its place takes fewer steps.
#include "ir/passes/decompose/decompose_rules.h"

namespace tuff::decomposition {

namespace {

// A pad whose only padding is a gap between the elements of one dimension, and at most one element
// before and behind them.
struct Spread {
  Value elements, filler;
  size_t dim = 0;
  int64_t before = 0, behind = 0;
};

std::optional<Spread> spread_of(const RewriteSite& site, size_t operand) {
  const Node& node = site.operand(operand);
  if (node.op != Op::kPad) return std::nullopt;
  const auto& pad = node.attrs.as<PadAttrs>();
  const size_t rank = node.types[0].shape.size();
  const std::vector<int64_t> lows = list_or(pad.edge_padding_low, rank, 0);
  const std::vector<int64_t> highs = list_or(pad.edge_padding_high, rank, 0);
  const std::vector<int64_t> gaps = list_or(pad.interior_padding, rank, 0);
  std::optional<Spread> found;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t low = lows[d], high = highs[d], gap = gaps[d];
    if (gap == 0 && low == 0 && high == 0) continue;
    if (found || gap != 1 || low < 0 || low > 1 || high < 0 || high > 1) return std::nullopt;
    found = Spread{node.operands[0], node.operands[1], d, low, high};
  }
  return found;
}

// The spread's elements by what the other one has in its gaps.
Value combined(const RewriteSite& site, const Spread& own, Value filler, bool own_is_first) {
  const TensorType type = site.out.type(own.elements);
  Value other = site.add(Op::kBroadcastInDim, {filler}, type, BroadcastInDimAttrs{});
  if (own_is_first) return site.add(site.node.op, {own.elements, other}, type, site.node.attrs);
  return site.add(site.node.op, {other, own.elements}, type, site.node.attrs);
}

}  // namespace

Values interleaved(const RewriteSite& site, const Caps& caps) {
  if (!caps.library_calls) return std::nullopt;
  const auto a = spread_of(site, 0), b = spread_of(site, 1);
  if (!a || !b || a->dim != b->dim || a->before == b->before) return std::nullopt;
  const size_t d = a->dim;
  const TensorType type = site.node.types[0];
  const int64_t size = type.shape[d], pairs = (size + 1) / 2;
  if (size < 2) return std::nullopt;
  Value even = combined(site, *a, b->filler, true), odd = combined(site, *b, a->filler, false);
  if (a->before == 1) std::swap(even, odd);
  Shape one = type.shape;
  one[d] = pairs;
  if (site.out.type(odd).shape[d] < pairs) {  // the last one has no partner
    PadAttrs last;
    last.edge_padding_low.assign(one.size(), 0);
    last.edge_padding_high = last.interior_padding = last.edge_padding_low;
    last.edge_padding_high[d] = 1;
    odd = site.add(Op::kPad, {odd, a->filler}, {type.dtype, one}, std::move(last));
  }
  one.insert(one.begin() + static_cast<long>(d) + 1, 1);
  Shape both = one, whole = type.shape;
  both[d + 1] = 2;
  whole[d] = 2 * pairs;
  Value turns = site.add(Op::kConcatenate, {reshape(site, even, one), reshape(site, odd, one)},
                         {type.dtype, both}, ConcatenateAttrs{static_cast<int64_t>(d) + 1});
  turns = reshape(site, turns, whole);
  return std::vector<Value>{whole == type.shape ? turns : slice(site, turns, d, 0, size)};
}

}  // namespace tuff::decomposition
