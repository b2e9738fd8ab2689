#include "frontend/pjrt/ranks/far_exchange.h"

#include <cstring>
#include <list>
#include <mutex>

#include "ir/support/hash.h"

namespace tuff::pjrt {

namespace {

// A message takes some 50 us of two processors, whatever is in it; so long takes it to copy more
// than this.
constexpr int64_t kSmallBytes = int64_t{256} << 10;
// Of the parts in a bundle, for processors' vectors.
constexpr int64_t kAlignment = 64;
// The number of a bundle among the exchanges of a trade.
constexpr size_t kBundle = ~size_t{0};

// By part where it begins in its bundle, and at last where the bundle ends.
std::vector<int64_t> offsets_of(const std::vector<TensorType>& types) {
  std::vector<int64_t> offsets{0};
  for (const TensorType& type : types)
    offsets.push_back(offsets.back() +
                      (type.size_bytes() + kAlignment - 1) / kAlignment * kAlignment);
  return offsets;
}

}  // namespace

Literal FarExchange::part(const Trade& trade, size_t index, int64_t giver, int64_t taker) const {
  auto from = static_cast<size_t>(giver);
  if (trade.round == Round::kShares) return shares_[from][index];
  return given_part(trade.exchanges[index], given_[from][index], taker, make_);
}

int64_t FarExchange::receiver(const Trade& trade, size_t index, int64_t giver,
                              int64_t taker) const {
  const Exchange& exchange = trade.exchanges[index];
  if (trade.round == Round::kParts && exchange.op != SpmdOp::kAllGather) return taker;
  std::vector<int64_t> alike;
  for (int64_t other : takers(exchange, giver))
    if (rank_of(other) == rank_of(taker)) alike.push_back(other);
  return alike[static_cast<size_t>(giver) % alike.size()];
}

uint64_t FarExchange::slot(const Trade& trade, size_t index, int64_t giver, int64_t taker,
                           int64_t size) const {
  uint64_t hash = hash_mix(run_.number, trade.at);
  hash = hash_mix(hash_mix(hash, static_cast<uint64_t>(trade.round)), index);
  for (int64_t value : {giver, taker, size}) hash = hash_mix(hash, static_cast<uint64_t>(value));
  return hash;
}

void FarExchange::add_sends(const Trade& trade, size_t index, Parcels* parcels) const {
  for (int64_t taker : takers(trade.exchanges[index], trade.device)) {
    if (!is_far(taker) || receiver(trade, index, trade.device, taker) != taker) continue;
    Literal part = this->part(trade, index, trade.device, taker);
    int64_t size = part.size_bytes();
    if (size == 0) continue;
    if (size <= kSmallBytes) {
      Bundle& bundle = parcels->sent_small[taker];
      bundle.types.push_back(part.type());
      bundle.parts.push_back(std::move(part));
      continue;
    }
    parcels->sends.push_back({rank_of(taker), slot(trade, index, trade.device, taker, size),
                              const_cast<std::byte*>(part.bytes()), static_cast<size_t>(size)});
    parcels->sent.push_back(std::move(part));
  }
}

void FarExchange::add_receives(const Trade& trade, size_t index, Parcels* parcels) {
  const Exchange& exchange = trade.exchanges[index];
  for (int64_t giver : givers(exchange, trade.device)) {
    if (!is_far(giver) || receiver(trade, index, giver, trade.device) != trade.device) continue;
    TensorType type = given_type(exchange, trade.round == Round::kShares ? giver : trade.device);
    int64_t size = type.size_bytes();
    if (size > 0 && size <= kSmallBytes) {
      Bundle& bundle = parcels->received_small[giver];
      bundle.exchanges.push_back(index);
      bundle.types.push_back(type);
      continue;
    }
    Literal part = make_(type);
    if (size > 0)
      parcels->receives.push_back({rank_of(giver), slot(trade, index, giver, trade.device, size),
                                   part.mutable_bytes(), static_cast<size_t>(size)});
    far_[static_cast<size_t>(trade.device)][index].emplace(giver, std::move(part));
  }
}

void FarExchange::send_bundles(const Trade& trade, Parcels* parcels) const {
  for (const auto& [taker, bundle] : parcels->sent_small) {
    std::vector<int64_t> offsets = offsets_of(bundle.types);
    Literal whole = make_({DType::kU8, {offsets.back()}});
    for (size_t i = 0; i < bundle.parts.size(); ++i)
      std::memcpy(whole.mutable_bytes() + offsets[i], bundle.parts[i].bytes(),
                  static_cast<size_t>(bundle.parts[i].size_bytes()));
    parcels->sends.push_back({rank_of(taker),
                              slot(trade, kBundle, trade.device, taker, offsets.back()),
                              whole.mutable_bytes(), static_cast<size_t>(offsets.back())});
    parcels->sent.push_back(std::move(whole));
  }
}

void FarExchange::receive_bundles(const Trade& trade, Parcels* parcels) {
  for (const auto& [giver, bundle] : parcels->received_small) {
    std::vector<int64_t> offsets = offsets_of(bundle.types);
    auto whole = std::make_shared<Literal>(make_({DType::kU8, {offsets.back()}}));
    parcels->receives.push_back({rank_of(giver),
                                 slot(trade, kBundle, giver, trade.device, offsets.back()),
                                 whole->mutable_bytes(), static_cast<size_t>(offsets.back())});
    for (size_t i = 0; i < bundle.exchanges.size(); ++i)
      far_[static_cast<size_t>(trade.device)][bundle.exchanges[i]].emplace(
          giver, Literal(bundle.types[i], whole->bytes() + offsets[i], whole));
  }
}

// Other ranks may read what was to be sent, after a failure, too. This process is about to end.
void FarExchange::keep_for_good(Parcels parcels) {
  static std::mutex mutex;
  static auto* kept = new std::list<Parcels>;
  std::lock_guard lock(mutex);
  kept->push_back(std::move(parcels));
}

Result<FarExchange::Parts> FarExchange::trade(const Trade& trade, Meeting& here) {
  auto in_round = [&](size_t index) {
    return trade.round == Round::kParts || trade.exchanges[index].op == SpmdOp::kAllReduce;
  };
  Parcels parcels;
  far_[static_cast<size_t>(trade.device)].assign(trade.exchanges.size(), {});
  for (size_t i = 0; i < trade.exchanges.size(); ++i) {
    if (!in_round(i)) continue;
    add_sends(trade, i, &parcels);
    add_receives(trade, i, &parcels);
  }
  send_bundles(trade, &parcels);
  receive_bundles(trade, &parcels);
  if (Status well = ranks_->transfer(run_, parcels.sends, parcels.receives); !well) {
    keep_for_good(std::move(parcels));
    return well.error();
  }
  TUFF_RETURN_IF_ERROR(here.arrive());
  Parts taken(trade.exchanges.size());
  for (size_t i = 0; i < trade.exchanges.size(); ++i) {
    if (!in_round(i)) continue;
    for (int64_t giver : givers(trade.exchanges[i], trade.device)) {
      if (!is_far(giver)) {
        taken[i].push_back(part(trade, i, giver, trade.device));
        continue;
      }
      auto by = static_cast<size_t>(receiver(trade, i, giver, trade.device));
      taken[i].push_back(far_[by][i].at(giver));
    }
  }
  return taken;
}

Result<std::vector<Literal>> FarExchange::exchange(std::span<const Exchange> exchanges, size_t at,
                                                   size_t device, std::vector<Literal> operands,
                                                   Meeting& here) {
  auto self = static_cast<int64_t>(device);
  given_[device] = std::move(operands);
  TUFF_RETURN_IF_ERROR(here.arrive());
  TUFF_ASSIGN(Parts parts, trade({exchanges, at, Round::kParts, self}, here));
  std::vector<Literal> results;
  bool reduces = false;
  for (size_t i = 0; i < exchanges.size(); ++i) {
    results.push_back(take_parts(exchanges[i], parts[i], make_));
    reduces = reduces || exchanges[i].op == SpmdOp::kAllReduce;
  }
  if (reduces) {
    shares_[device] = results;
    TUFF_RETURN_IF_ERROR(here.arrive());
    TUFF_ASSIGN(parts, trade({exchanges, at, Round::kShares, self}, here));
    for (size_t i = 0; i < exchanges.size(); ++i)
      if (exchanges[i].op == SpmdOp::kAllReduce)
        results[i] = join_shares(exchanges[i], parts[i], make_);
  }
  // Nobody reads what was given once all are here.
  TUFF_RETURN_IF_ERROR(here.arrive());
  given_[device].clear();
  shares_[device].clear();
  far_[device].clear();
  return results;
}

}  // namespace tuff::pjrt
