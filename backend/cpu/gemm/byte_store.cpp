#include "backend/cpu/gemm/byte_store.h"

#include <array>

namespace tuff::cpu {

namespace {

constexpr size_t kMostBuffers = 32;

}  // namespace

Result<ByteStore> ByteStore::create(const ByteProductCall& call, const LaneTable& table,
                                    native::FunctionCache* functions) {
  TUFF_CHECK(call.store->buffers.size() <= kMostBuffers, "a store has too many buffers");
  TUFF_ASSIGN(KernelProgram program, prepare_kernel(*call.store, table));
  return ByteStore(call, std::move(program), functions);
}

void ByteStore::begin_run() {
  if (functions_ == nullptr) return;
  interpreted_ns_ += estimated_ns(program_, call_->store_params);
  if (!functions_->pays(interpreted_ns_, program_.code.size())) return;
  native_ = functions_->find(*call_->store, call_->store_params);
  functions_ = nullptr;
}

int64_t ByteStore::thread_bytes() const {
  return round_up(static_cast<int64_t>(LaneInterpreter::slot_bytes(program_)), 64) +
         program_.scratch_bytes;
}

void ByteStore::run(const int32_t* sums, int64_t row, int64_t rows, const Memory& memory) const {
  const int64_t columns = call_->columns, unit = call_->store_rows;
  const int64_t first = row / unit, last = first + (rows + unit - 1) / unit;
  // The kernel sees the sums of all rows.
  auto* all = reinterpret_cast<std::byte*>(const_cast<int32_t*>(sums)) - row * columns * 4;
  const size_t buffers = program_.buffers.size();
  auto data = [&](size_t i) {
    return i == 0 ? memory.c : i == 1 ? all : memory.inputs[i - 2].data;
  };
  if (native_ != nullptr) {
    std::array<std::byte*, kMostBuffers + native::kFirstBase> bases{};
    for (size_t i = 0; i < buffers; ++i) bases[native::kFirstBase + i] = data(i);
    native_->run(bases.data(), first, last);
    return;
  }
  std::array<BufferView, kMostBuffers> views;
  for (size_t i = 0; i < buffers; ++i) views[i].data = data(i);
  const int64_t slots = round_up(static_cast<int64_t>(LaneInterpreter::slot_bytes(program_)), 64);
  LaneInterpreter interpreter(program_, call_->store_params, std::span(views).first(buffers),
                              memory.own, memory.own + slots, false);
  interpreter.run_points(first, last);
}

}  // namespace tuff::cpu
