#include "frontend/pjrt/ranks/far_exchange.h"

#include "ir/support/hash.h"

namespace tuff::pjrt {

namespace {

bool in_round(const Exchange& exchange, bool shares) {
  return !shares || exchange.op == SpmdOp::kAllReduce;
}

}  // namespace

Literal FarExchange::part(const Exchange& exchange, size_t index, Round round, int64_t giver,
                          int64_t taker) {
  auto from = static_cast<size_t>(giver);
  if (round == Round::kShares) return shares_[from][index];
  return given_part(exchange, given_[from][index], taker);
}

Result<FarExchange::Parts> FarExchange::trade(std::span<const Exchange> exchanges, size_t at,
                                              Round round, size_t device) {
  auto self = static_cast<int64_t>(device);
  bool shares = round == Round::kShares;
  Parts taken(exchanges.size());
  std::vector<Literal> sent;
  std::vector<Parcel> sends, receives;
  for (size_t i = 0; i < exchanges.size(); ++i) {
    const Exchange& exchange = exchanges[i];
    if (!in_round(exchange, shares)) continue;
    auto slot = [&](int64_t giver, int64_t taker, int64_t size) {
      uint64_t hash = run_.number;
      for (uint64_t value : {static_cast<uint64_t>(at), static_cast<uint64_t>(round),
                             static_cast<uint64_t>(i), static_cast<uint64_t>(giver),
                             static_cast<uint64_t>(taker), static_cast<uint64_t>(size)})
        hash = hash_mix(hash, value);
      return hash;
    };
    for (int64_t taker : takers(exchange, self)) {
      if (!is_far(taker)) continue;
      Literal part = this->part(exchange, i, round, self, taker);
      if (part.size_bytes() == 0) continue;
      sends.push_back({rank_of_[static_cast<size_t>(taker)], slot(self, taker, part.size_bytes()),
                       const_cast<std::byte*>(part.bytes()),
                       static_cast<size_t>(part.size_bytes())});
      sent.push_back(std::move(part));
    }
    for (int64_t giver : givers(exchange, self)) {
      if (!is_far(giver)) {
        taken[i].push_back(part(exchange, i, round, giver, self));
        continue;
      }
      Literal part(given_type(exchange, shares ? giver : self));
      if (part.size_bytes() > 0)
        receives.push_back({rank_of_[static_cast<size_t>(giver)],
                            slot(giver, self, part.size_bytes()), part.mutable_bytes(),
                            static_cast<size_t>(part.size_bytes())});
      taken[i].push_back(std::move(part));
    }
  }
  TUFF_RETURN_IF_ERROR(ranks_->transfer(run_, sends, receives));
  return taken;
}

Result<std::vector<Literal>> FarExchange::exchange(std::span<const Exchange> exchanges, size_t at,
                                                   size_t device, std::vector<Literal> operands,
                                                   Meeting& here) {
  given_[device] = std::move(operands);
  TUFF_RETURN_IF_ERROR(here.arrive());
  TUFF_ASSIGN(Parts parts, trade(exchanges, at, Round::kParts, device));
  std::vector<Literal> results;
  bool reduces = false;
  for (size_t i = 0; i < exchanges.size(); ++i) {
    results.push_back(take_parts(exchanges[i], parts[i]));
    reduces = reduces || exchanges[i].op == SpmdOp::kAllReduce;
  }
  if (reduces) {
    shares_[device] = results;
    TUFF_RETURN_IF_ERROR(here.arrive());
    TUFF_ASSIGN(parts, trade(exchanges, at, Round::kShares, device));
    for (size_t i = 0; i < exchanges.size(); ++i)
      if (exchanges[i].op == SpmdOp::kAllReduce) results[i] = join_shares(exchanges[i], parts[i]);
  }
  // Nobody reads what was given once all are here.
  TUFF_RETURN_IF_ERROR(here.arrive());
  given_[device].clear();
  shares_[device].clear();
  return results;
}

}  // namespace tuff::pjrt
