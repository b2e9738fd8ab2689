#include "frontend/pjrt/meeting.h"

#include <algorithm>

#include "backend/exchange.h"

namespace tuff::pjrt {

Status Meeting::arrive() {
  std::unique_lock lock(mutex_);
  if (error_) return *error_;
  size_t round = round_;
  if (++arrived_ == num_devices_) {
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
    return {};
  }
  changed_.wait(lock, [&] { return round_ != round || error_; });
  if (round_ != round) return {};
  return *error_;
}

void Meeting::fail(Error error) {
  std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  changed_.notify_all();
}

std::vector<const Literal*> Meeting::operands_of(size_t exchange) const {
  std::vector<const Literal*> operands;
  for (const std::vector<Literal>& given : operands_) operands.push_back(&given[exchange]);
  return operands;
}

void Meeting::combine_range(const Exchange& exchange, size_t at, size_t device) {
  std::vector<int64_t> group = group_of(exchange, static_cast<int64_t>(device));
  std::vector<const Literal*> operands;
  int64_t place = 0;
  for (size_t i = 0; i < group.size(); ++i) {
    auto member = static_cast<size_t>(group[i]);
    operands.push_back(&operands_[member][at]);
    if (member == device) place = static_cast<int64_t>(i);
  }
  auto parts = static_cast<int64_t>(group.size());
  Literal* result = &taken_[static_cast<size_t>(group[0])][at];
  int64_t count = result->num_elements();
  combine_operands(exchange, operands, count * place / parts, count * (place + 1) / parts, result);
}

Result<std::vector<Literal>> Meeting::exchange(std::span<const Exchange> exchanges, size_t device,
                                               std::vector<Literal> operands) {
  operands_[device] = std::move(operands);
  taken_[device].assign(exchanges.size(), Literal());
  for (size_t i = 0; i < exchanges.size(); ++i)
    if (exchanges[i].op == SpmdOp::kAllReduce &&
        group_of(exchanges[i], static_cast<int64_t>(device))[0] == static_cast<int64_t>(device))
      taken_[device][i] = memory_->make(exchanges[i].operand_type);
  TUFF_RETURN_IF_ERROR(arrive());
  std::vector<Literal> results(exchanges.size());
  for (size_t i = 0; i < exchanges.size(); ++i) {
    if (exchanges[i].op == SpmdOp::kAllReduce)
      combine_range(exchanges[i], i, device);
    else
      results[i] = exchange_result(exchanges[i], static_cast<int64_t>(device), operands_of(i),
                                   [&](const TensorType& type) { return memory_->make(type); });
  }
  TUFF_RETURN_IF_ERROR(arrive());
  for (size_t i = 0; i < exchanges.size(); ++i)
    if (exchanges[i].op == SpmdOp::kAllReduce) {
      auto first = static_cast<size_t>(group_of(exchanges[i], static_cast<int64_t>(device))[0]);
      results[i] = taken_[first][i];
    }
  // Nobody reads what was given once all are here.
  TUFF_RETURN_IF_ERROR(arrive());
  operands_[device].clear();
  return results;
}

}  // namespace tuff::pjrt
