#include "backend/cpu/derived_operand.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "ir/support/mapped_files.h"

namespace tuff::cpu {

namespace {

constexpr const char* kKindNames[kNumDerivedKinds] = {
    "panels",         "bf16_parts",  "winograd_filters", "window_taps",
    "scaled_weights", "byte_panels", "library_layout"};
// Of the machine's memory, what copies leave to others.
constexpr int64_t kPartLeft = 8;
// Asking the system takes longer than packing a small matrix.
constexpr std::chrono::milliseconds kMeasuredFor{20};
// What is not larger fits in what is left.
constexpr int64_t kLeastToMakeRoomFor = int64_t{64} << 20;

int64_t sum(const DerivedBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

}  // namespace

PackedList packed_list(const DerivedBytes& bytes) {
  PackedList list;
  for (size_t kind = 0; kind < bytes.size(); ++kind)
    if (bytes[kind] > 0) list.push_back({kKindNames[kind], bytes[kind]});
  return list;
}

DerivedOwner::DerivedOwner(std::optional<int64_t> limit_bytes,
                           std::function<MachineMemory()> machine)
    : limit_bytes_(limit_bytes), machine_(std::move(machine)) {}

DerivedBytes DerivedOwner::planned() const {
  std::lock_guard lock(mutex_);
  DerivedBytes bytes = {};
  for (const DerivedOperand* operand : operands_)
    bytes[static_cast<size_t>(operand->kind_)] += operand->size_bytes_;
  return bytes;
}

DerivedBytes DerivedOwner::kept() const {
  std::lock_guard lock(mutex_);
  return kept_;
}

void DerivedOwner::add(DerivedOperand& operand) {
  std::lock_guard lock(mutex_);
  operands_.push_back(&operand);
}

void DerivedOwner::remove(DerivedOperand& operand) {
  std::lock_guard lock(mutex_);
  std::erase(operands_, &operand);
}

// What copies may take without what is left to others becoming less.
int64_t DerivedOwner::free_bytes() const {
  MachineMemory machine = machine_();
  return machine.free_bytes - mapped_file_bytes - promised_bytes_ - machine.total_bytes / kPartLeft;
}

int64_t DerivedOwner::room_bytes() {
  if (limit_bytes_) return *limit_bytes_ - sum(kept_);
  auto now = std::chrono::steady_clock::now();
  if (now - measured_ > kMeasuredFor) {
    measured_ = now;
    machine_room_bytes_ = free_bytes();
  }
  return machine_room_bytes_;
}

bool DerivedOwner::grant(const DerivedOperand& operand) {
  std::lock_guard lock(mutex_);
  if (operand.size_bytes_ > room_bytes()) return false;
  machine_room_bytes_ -= operand.size_bytes_;
  kept_[static_cast<size_t>(operand.kind_)] += operand.size_bytes_;
  return true;
}

void DerivedOwner::give_back(const DerivedOperand& operand) {
  std::lock_guard lock(mutex_);
  kept_[static_cast<size_t>(operand.kind_)] -= operand.size_bytes_;
}

void DerivedOwner::make_room(int64_t size_bytes) {
  if (size_bytes < kLeastToMakeRoomFor) return;
  std::lock_guard lock(mutex_);
  if (sum(kept_) == 0) return;
  int64_t lacking = size_bytes - free_bytes();
  std::vector<std::pair<uint64_t, DerivedOperand*>> unused;
  std::vector<std::unique_lock<std::mutex>> held;
  for (DerivedOperand* operand : operands_) {
    std::unique_lock lock_of_operand(operand->in_use_, std::try_to_lock);
    if (!lock_of_operand || operand->bytes_ == nullptr) continue;
    unused.emplace_back(operand->last_use_, operand);
    held.push_back(std::move(lock_of_operand));
  }
  std::sort(unused.begin(), unused.end());
  for (auto it = unused.begin(); it != unused.end() && lacking > 0; ++it) {
    DerivedOperand& operand = *it->second;
    operand.bytes_ = nullptr;
    operand.version_ = 0;
    kept_[static_cast<size_t>(operand.kind_)] -= operand.size_bytes_;
    lacking -= operand.size_bytes_;
  }
}

DerivedOperand::DerivedOperand(DerivedOwner& owner, DerivedKind kind, int64_t size_bytes)
    : owner_(owner), kind_(kind), size_bytes_(size_bytes) {
  owner_.add(*this);
}

DerivedOperand::~DerivedOperand() {
  owner_.remove(*this);
  drop();
}

bool DerivedOperand::pays(uint64_t version) {
  bool first = seen_version_ == 0, again = version == seen_version_;
  seen_version_ = version;
  return first || again;
}

DerivedOperand::Use DerivedOperand::use(uint64_t version) {
  if (version == 0) return {};
  std::unique_lock held(in_use_);
  if (!pays(version)) {
    drop();  // weights in training move on
    return {};
  }
  if (bytes_ == nullptr) allocate();
  if (bytes_ == nullptr) return {};
  last_use_ = ++owner_.uses_;
  return {bytes_.get(), std::move(held)};
}

void DerivedOperand::allocate() {
  if (!owner_.grant(*this)) return;
  bytes_ = allocate_aligned(size_bytes_);
  if (bytes_ == nullptr) owner_.give_back(*this);
}

void DerivedOperand::drop() {
  version_ = 0;
  if (bytes_ == nullptr) return;
  bytes_ = nullptr;
  owner_.give_back(*this);
}

bool DerivedOperand::holds(uint64_t version, const std::vector<float>& factors) const {
  return version_ == version && factors_ == factors;
}

void DerivedOperand::set(uint64_t version, const std::vector<float>& factors) {
  version_ = version;
  factors_ = factors;
}

}  // namespace tuff::cpu
