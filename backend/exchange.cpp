#include "backend/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "ir/evaluate/elementwise.h"
#include "ir/spmd/rules.h"

namespace tuff {

namespace {

struct And {
  template <typename V>
  V operator()(V a, V b) const {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(a & b);
    return a;
  }
};
struct Or {
  template <typename V>
  V operator()(V a, V b) const {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(a | b);
    return a;
  }
};

// Blockwise, so that the inner loop is over one operand's contiguous elements.
template <typename T, typename Combine>
void combine(std::span<const Literal* const> operands, int64_t begin, int64_t end, Literal* out,
             Combine op) {
  constexpr int64_t kBlock = 512;
  using V = eval::Compute<T>;
  V block[kBlock];
  T* to = reinterpret_cast<T*>(out->mutable_bytes());
  for (int64_t at = begin; at < end; at += kBlock) {
    int64_t count = std::min(kBlock, end - at);
    for (size_t i = 0; i < operands.size(); ++i) {
      const T* from = reinterpret_cast<const T*>(operands[i]->bytes()) + at;
      for (int64_t k = 0; k < count; ++k)
        block[k] = i == 0 ? eval::widen(from[k]) : op(block[k], eval::widen(from[k]));
    }
    for (int64_t k = 0; k < count; ++k) to[at + k] = eval::narrow<T>(block[k]);
  }
}

// A tensor seen as rows of `extent` pieces of `piece_bytes` along one dimension.
struct Along {
  int64_t rows = 1, extent = 1, piece_bytes = 1;

  Along(const TensorType& type, size_t dimension) : piece_bytes(dtype_size(type.dtype)) {
    extent = type.shape[dimension];
    for (size_t d = 0; d < type.shape.size(); ++d) {
      if (d < dimension) rows *= type.shape[d];
      if (d > dimension) piece_bytes *= type.shape[d];
    }
  }
};

// Puts `part` into `whole` as part `index` along the dimension.
void put_part(Literal* whole, size_t dimension, int64_t index, const Literal& part) {
  if (part.size_bytes() == 0) return;
  Along to(whole->type(), dimension), from(part.type(), dimension);
  int64_t row_bytes = from.extent * from.piece_bytes;
  for (int64_t row = 0; row < to.rows; ++row)
    std::memcpy(whole->mutable_bytes() + row * to.extent * to.piece_bytes + index * row_bytes,
                part.bytes() + row * row_bytes, static_cast<size_t>(row_bytes));
}

Literal take_part(const Literal& whole, size_t dimension, int64_t index, int64_t parts,
                  const MakeLiteral& make) {
  TensorType type = whole.type();
  type.shape[dimension] /= parts;
  if (type.size_bytes() == 0) return Literal(type);
  Along from(whole.type(), dimension), to(type, dimension);
  int64_t row_bytes = to.extent * to.piece_bytes;
  if (to.rows == 1)
    return Literal(type, whole.bytes() + index * row_bytes, std::make_shared<Literal>(whole));
  Literal part = make(type);
  for (int64_t row = 0; row < to.rows; ++row)
    std::memcpy(part.mutable_bytes() + row * row_bytes,
                whole.bytes() + row * from.extent * from.piece_bytes + index * row_bytes,
                static_cast<size_t>(row_bytes));
  return part;
}

const CustomCallAttrs& attributes(const Exchange& exchange) {
  return exchange.node.attrs.as<CustomCallAttrs>();
}

// The devices at one end of a permute's pairs whose other end is `device`.
std::vector<int64_t> paired(const Exchange& exchange, int64_t device, size_t device_end) {
  const std::vector<int64_t>& pairs = attributes(exchange).source_target_pairs;
  std::vector<int64_t> others;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i + device_end] == device) others.push_back(pairs[i + 1 - device_end]);
  return others;
}

// A device's place in its group of `parts`.
struct Seat {
  int64_t at = 0, parts = 1;

  Seat(const Exchange& exchange, int64_t device) {
    std::vector<int64_t> group = group_of(exchange, device);
    at = std::find(group.begin(), group.end(), device) - group.begin();
    parts = static_cast<int64_t>(group.size());
  }
  // Of `count` elements in a row, those that are its own to combine.
  int64_t begin(int64_t count) const { return count * at / parts; }
  int64_t end(int64_t count) const { return count * (at + 1) / parts; }
};

// The dimension that is cut where the taker gets a part of the operand.
std::optional<size_t> cut_dimension(const Exchange& exchange) {
  if (exchange.op == SpmdOp::kAllToAll)
    return static_cast<size_t>(attributes(exchange).split_dimension);
  if (exchange.op == SpmdOp::kReduceScatter)
    return static_cast<size_t>(attributes(exchange).scatter_dimension);
  return std::nullopt;
}

Literal combined(const Exchange& exchange, std::span<const Literal> parts,
                 const MakeLiteral& make) {
  std::vector<const Literal*> pointers;
  for (const Literal& part : parts) pointers.push_back(&part);
  Literal result = make(parts[0].type());
  combine_operands(exchange, pointers, 0, result.num_elements(), &result);
  return result;
}

}  // namespace

std::vector<int64_t> group_of(const Exchange& exchange, int64_t device) {
  const std::vector<int64_t>& ids = attributes(exchange).replica_groups;
  auto it = std::find(ids.begin(), ids.end(), device);
  if (it == ids.end()) return {};
  int64_t size = attributes(exchange).group_size;
  auto begin = ids.begin() + (it - ids.begin()) / size * size;
  return {begin, begin + size};
}

void combine_operands(const Exchange& exchange, std::span<const Literal* const> operands,
                      int64_t begin, int64_t end, Literal* out) {
  Op op = *reduction_op(*exchange.node.regions[0]);
  eval::dispatch(out->type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (op) {
      case Op::kAdd: return combine<T>(operands, begin, end, out, eval::Add{});
      case Op::kMultiply: return combine<T>(operands, begin, end, out, eval::Multiply{});
      case Op::kMaximum: return combine<T>(operands, begin, end, out, eval::Maximum{});
      case Op::kMinimum: return combine<T>(operands, begin, end, out, eval::Minimum{});
      case Op::kAnd: return combine<T>(operands, begin, end, out, And{});
      default: return combine<T>(operands, begin, end, out, Or{});
    }
  });
}

Literal exchange_result(const Exchange& exchange, int64_t device,
                        std::span<const Literal* const> operands, const MakeLiteral& make) {
  std::vector<Literal> parts;
  for (int64_t giver : givers(exchange, device))
    parts.push_back(given_part(exchange, *operands[static_cast<size_t>(giver)], device, make));
  return take_parts(exchange, parts, make);
}

std::vector<int64_t> givers(const Exchange& exchange, int64_t device) {
  if (exchange.op == SpmdOp::kCollectivePermute) return paired(exchange, device, 1);
  return group_of(exchange, device);
}

std::vector<int64_t> takers(const Exchange& exchange, int64_t device) {
  if (exchange.op == SpmdOp::kCollectivePermute) return paired(exchange, device, 0);
  return group_of(exchange, device);
}

TensorType given_type(const Exchange& exchange, int64_t taker) {
  TensorType type = exchange.operand_type;
  Seat place(exchange, taker);
  if (exchange.op == SpmdOp::kAllReduce) {
    int64_t count = type.num_elements();
    type.shape = {place.end(count) - place.begin(count)};
  } else if (std::optional<size_t> cut = cut_dimension(exchange)) {
    type.shape[*cut] /= place.parts;
  }
  return type;
}

Literal given_part(const Exchange& exchange, const Literal& operand, int64_t taker,
                   const MakeLiteral& make) {
  Seat place(exchange, taker);
  if (exchange.op == SpmdOp::kAllReduce) {
    int64_t begin = place.begin(operand.num_elements()) * dtype_size(operand.type().dtype);
    return Literal(given_type(exchange, taker), operand.bytes() + begin,
                   std::make_shared<Literal>(operand));
  }
  if (std::optional<size_t> cut = cut_dimension(exchange))
    return take_part(operand, *cut, place.at, place.parts, make);
  return operand;
}

Literal take_parts(const Exchange& exchange, std::span<const Literal> parts,
                   const MakeLiteral& make) {
  switch (exchange.op) {
    case SpmdOp::kAllReduce:
    case SpmdOp::kReduceScatter: return combined(exchange, parts, make);
    case SpmdOp::kCollectivePermute:  // where nobody gives there are zeros
      return parts.empty() ? Literal(exchange.operand_type) : parts[0];
    default: break;
  }
  bool gathers = exchange.op == SpmdOp::kAllGather;
  auto dimension = static_cast<size_t>(gathers ? attributes(exchange).all_gather_dim
                                               : attributes(exchange).concat_dimension);
  Literal result = make(exchange.node.types[0]);
  for (size_t i = 0; i < parts.size(); ++i)
    put_part(&result, dimension, static_cast<int64_t>(i), parts[i]);
  return result;
}

Literal join_shares(const Exchange& exchange, std::span<const Literal> shares,
                    const MakeLiteral& make) {
  Literal result = make(exchange.operand_type);
  std::byte* to = result.size_bytes() > 0 ? result.mutable_bytes() : nullptr;
  for (const Literal& share : shares) {
    if (share.size_bytes() == 0) continue;
    std::memcpy(to, share.bytes(), static_cast<size_t>(share.size_bytes()));
    to += share.size_bytes();
  }
  return result;
}

Status check_exchange(const Exchange& exchange, int64_t num_devices) {
  const Node& node = exchange.node;
  auto refuse = [&](std::string sentence) {
    std::string where = node_name(node);
    if (!node.loc.empty()) where += " at " + node.loc;
    return Error{ErrorCode::kUnsupported, std::move(sentence), where};
  };
  bool reduces = exchange.op == SpmdOp::kAllReduce || exchange.op == SpmdOp::kReduceScatter;
  if (reduces && !reduction_op(*node.regions[0]))
    return refuse("A reduction over devices is one of add, multiply, maximum, minimum, and, or.");
  const auto& attrs = node.attrs.as<CustomCallAttrs>();
  bool permutes = exchange.op == SpmdOp::kCollectivePermute;
  std::vector<int64_t> ids = permutes ? attrs.source_target_pairs : attrs.replica_groups;
  for (int64_t id : ids)
    if (id < 0 || id >= num_devices)
      return refuse(fmt::format("There is no device ({}) among ({}).", id, num_devices));
  if (permutes) return {};
  std::sort(ids.begin(), ids.end());
  bool once = std::adjacent_find(ids.begin(), ids.end()) == ids.end();
  if (!once || static_cast<int64_t>(ids.size()) != num_devices)
    return refuse("Each device must be in one group.");
  return {};
}

}  // namespace tuff
