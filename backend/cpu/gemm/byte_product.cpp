#include "backend/cpu/gemm/byte_product.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "backend/cpu/gemm/byte_rows.h"
#include "backend/cpu/gemm/byte_store.h"
#include "backend/cpu/gemm/bytes.h"
#include "backend/cpu/thread_memory.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

constexpr uint8_t kFlip = 0x80;  // from i8 to u8 and back: 128 more, or less

int32_t wrapped(int64_t value) { return static_cast<int32_t>(static_cast<uint64_t>(value)); }

class ByteProduct : public LibraryCall {
 public:
  ByteProduct(const ByteProductCall& call, bool stable_b, const LaneTable& table,
              DerivedOwner& owner)
      : call_(call), table_(table), rows_(call) {
    const bool shares_b = std::all_of(call.b_batch_strides.begin(), call.b_batch_strides.end(),
                                      [](int64_t stride) { return stride == 0; });
    batches_ = num_elements(call.batch);
    matrices_ = shares_b ? 1 : batches_;
    blocks_ = (rows_.steps() + kByteDepth - 1) / kByteDepth;
    panels_ = (call.columns + kByteColumns - 1) / kByteColumns;
    a_flip_ = call.a_type == DType::kI8 && !table.multiplies_i8 ? kFlip : 0;
    b_flip_ = call.b_type == DType::kU8 ? kFlip : 0;
    copies_ = !rows_.lie_ready() || a_flip_ != 0;
    if (stable_b) kept_.emplace(owner, DerivedKind::kBytePanels, packed_bytes());
    shifts_.resize(static_cast<size_t>(matrices_ * panels_ * kByteColumns));
    choose_tasks();
  }

  Status create(native::FunctionCache* functions) {
    if (!call_.store) return {};
    TUFF_ASSIGN(store_, ByteStore::create(call_, table_, functions));
    return {};
  }

  Status run(std::span<const CallOperand> operands) override {
    read_zeros(operands);
    DerivedOperand::Use kept;
    if (kept_) kept = kept_->use(operands[1].version);
    AlignedBytes own;
    std::byte* packed = kept.bytes;
    if (packed == nullptr) {
      own = allocate_aligned(packed_bytes());
      packed = own.get();
      if (packed == nullptr) return no_memory_for_part(packed_bytes());
    }
    if (kept.bytes == nullptr || !kept_->holds(operands[1].version)) {
      pack(operands[1], packed);
      if (kept.bytes != nullptr) kept_->set(operands[1].version);
    }
    find_shifts(packed);
    if (store_) store_->begin_run();
    const size_t inputs = 2 + (call_.a_zero.is_operand ? 1 : 0) + (call_.b_zero.is_operand ? 1 : 0);
    Run run{reinterpret_cast<const uint8_t*>(operands[0].data) + call_.a_offset,
            reinterpret_cast<const int8_t*>(packed), operands.back().data,
            operands.subspan(inputs, operands.size() - inputs - 1)};
    return by_columns_ ? run_by_columns(run) : run_by_rows(run);
  }

 private:
  struct Run {
    const uint8_t* a;
    const int8_t* panels;
    std::byte* c;
    std::span<const CallOperand> inputs;  // of what follows the sums
  };

  int64_t matrix_bytes() const { return panels_ * blocks_ * kByteBlock; }
  // All panels, then the sums of their columns.
  int64_t packed_bytes() const { return matrices_ * (matrix_bytes() + sum_bytes()); }
  int64_t sum_bytes() const { return panels_ * kByteColumns * 4; }
  int64_t copied_row() const { return blocks_ * kByteDepth; }
  int32_t* sums_of_b(std::byte* packed, int64_t matrix) const {
    return reinterpret_cast<int32_t*>(packed + matrices_ * matrix_bytes() + matrix * sum_bytes());
  }

  // A task is a block of rows of one batch element with all columns. Where B is larger than A,
  // tasks are rather columns with all rows, so that B is read once.
  void choose_tasks() {
    constexpr int64_t kTaskBytes = 192 << 10, kLeastRows = 32, kTasksPerThread = 4;
    const int64_t rows = rows_.count(), columns = call_.columns;
    const double flops = 2.0 * static_cast<double>(batches_ * rows) * static_cast<double>(columns) *
                         static_cast<double>(rows_.steps());
    threads_ = flops < kMinParallelFlops ? 1 : max_threads();
    int64_t block = kTaskBytes / (columns * 4 + (copies_ ? copied_row() : 0));
    const int64_t share = batches_ * rows / (threads_ * kTasksPerThread);
    block = std::max(std::min(block, share), kLeastRows);
    block_rows_ = std::min(round_up(block, call_.store_rows), rows);
    row_blocks_ = (rows + block_rows_ - 1) / block_rows_;
    constexpr int64_t kMostSums = int64_t{1} << 20;
    by_columns_ =
        batches_ == 1 && panels_ >= 2 * threads_ && columns > rows && rows * columns <= kMostSums;
  }

  int32_t zero_at(const ByteProductCall::Zero& zero, const CallOperand* operand,
                  int64_t column) const {
    if (!zero.is_operand) return zero.value;
    const int64_t at = zero.offset + column * zero.col;
    switch (zero.dtype) {
      case DType::kI8: return reinterpret_cast<const int8_t*>(operand->data)[at];
      case DType::kU8: return reinterpret_cast<const uint8_t*>(operand->data)[at];
      default: return reinterpret_cast<const int32_t*>(operand->data)[at];
    }
  }

  // What is subtracted from the bytes as they are multiplied.
  void read_zeros(std::span<const CallOperand> operands) {
    const CallOperand* next = &operands[2];
    const int32_t zero = zero_at(call_.a_zero, next, 0);
    if (call_.a_zero.is_operand) ++next;
    pad_ = static_cast<uint8_t>(zero);
    a_zero_ = zero + (a_flip_ != 0 ? 128 : 0);
    const bool one = call_.b_zero.col == 0;
    b_zeros_.assign(static_cast<size_t>(call_.columns), 0);
    for (size_t j = 0; j < b_zeros_.size(); ++j)
      b_zeros_[j] = one && j > 0 ? b_zeros_[0]
                                 : zero_at(call_.b_zero, next, static_cast<int64_t>(j)) -
                                       (b_flip_ != 0 ? 128 : 0);
    has_b_zeros_ = std::any_of(b_zeros_.begin(), b_zeros_.end(), [](int32_t z) { return z != 0; });
  }

  int64_t batch_offset(const std::vector<int64_t>& strides, int64_t element) const {
    int64_t offset = 0;
    for (size_t d = call_.batch.size(); d-- > 0; element /= call_.batch[d])
      offset += element % call_.batch[d] * strides[d];
    return offset;
  }

  void pack(const CallOperand& b, std::byte* packed) {
    const auto* from = reinterpret_cast<const uint8_t*>(b.data) + call_.b_offset;
    const int64_t work = matrices_ * matrix_bytes();
    constexpr int64_t kLeastWork = 1 << 16;
    SharedRange range(matrices_ * panels_, 1);
    in_parallel(work >= kLeastWork ? max_threads() : 1, [&](int) {
      for (int64_t i, last; range.take(i, last);) {
        const int64_t matrix = i / panels_, panel = i % panels_;
        pack_panel(from + batch_offset(call_.b_batch_strides, matrix), panel,
                   reinterpret_cast<int8_t*>(packed) + matrix * matrix_bytes() +
                       panel * blocks_ * kByteBlock,
                   sums_of_b(packed, matrix) + panel * kByteColumns);
      }
    });
  }

  void pack_panel(const uint8_t* b, int64_t panel, int8_t* to, int32_t* sums) const {
    std::memset(to, 0, static_cast<size_t>(blocks_ * kByteBlock));
    std::fill_n(sums, kByteColumns, 0);
    ByteColumns part{b + panel * kByteColumns * call_.b_col, call_.depth};
    part.columns = std::min(kByteColumns, call_.columns - panel * kByteColumns);
    part.row = call_.b_row, part.col = call_.b_col, part.flip = b_flip_;
    part.to = to, part.sums = sums;
    const uint8_t* from = part.from;
    for (int64_t tap = 0; part.first < rows_.steps(); ++tap, part.first += call_.depth) {
      int64_t rest = tap, offset = 0;
      for (size_t d = call_.windows.size(); d-- > 0; rest /= call_.windows[d].size)
        offset += rest % call_.windows[d].size * call_.windows[d].b;
      part.from = from + offset;
      table_.pack_bytes(part);
    }
  }

  // What is added to the sums of a column: -za * sum(b) + k * za * zb.
  void find_shifts(std::byte* packed) {
    for (int64_t matrix = 0; matrix < matrices_; ++matrix) {
      const int32_t* sums = sums_of_b(packed, matrix);
      int32_t* shifts = shifts_.data() + matrix * panels_ * kByteColumns;
      for (int64_t j = 0; j < call_.columns; ++j)
        shifts[j] = wrapped(a_zero_ * (rows_.steps() * b_zeros_[static_cast<size_t>(j)] - sums[j]));
    }
  }

  BytePanels panels_of(const Run& run, int64_t element) const {
    const int64_t matrix = matrices_ == 1 ? 0 : element;
    BytePanels product;
    product.columns = call_.columns, product.blocks = blocks_;
    product.a_signed = call_.a_type == DType::kI8 && a_flip_ == 0;
    product.b = run.panels + matrix * matrix_bytes();
    product.c_row = call_.columns;
    product.shifts = shifts_.data() + matrix * panels_ * kByteColumns;
    return product;
  }

  // `rows` rows from `first` on, in `copy` where they must be.
  void take_rows(const uint8_t* a, int64_t first, int64_t rows, uint8_t* copy,
                 BytePanels& product) const {
    product.rows = rows;
    product.a = a + first * rows_.distance(), product.a_row = rows_.distance();
    if (!copies_) return;
    rows_.copy(a, first, rows, pad_, a_flip_, copy, copied_row());
    product.a = copy, product.a_row = copied_row();
  }

  // -zb * sum(a), by row.
  void subtract_row_sums(const BytePanels& product) const {
    if (!has_b_zeros_) return;
    for (int64_t r = 0; r < product.rows; ++r) {
      const uint8_t* a = product.a + r * product.a_row;
      int32_t sum = 0;
      for (int64_t k = 0; k < rows_.steps(); ++k)
        sum += product.a_signed ? int32_t{static_cast<int8_t>(a[k])} : int32_t{a[k]};
      int32_t* c = product.c + r * product.c_row;
      for (int64_t j = 0; j < call_.columns; ++j)
        c[j] = wrapped(int64_t{c[j]} - int64_t{b_zeros_[static_cast<size_t>(j)]} * sum);
    }
  }

  Status run_by_rows(const Run& run) {
    const int64_t tasks = batches_ * row_blocks_;
    const int64_t sums = store_ ? round_up(block_rows_ * call_.columns * 4, 64) : 0;
    const int64_t copies = copies_ ? round_up(block_rows_ * copied_row(), 64) : 0;
    const int64_t bytes = sums + copies + (store_ ? store_->thread_bytes() : 0);
    std::atomic<bool> failed = false;
    SharedRange range(tasks, 1);
    in_parallel(static_cast<int>(std::min<int64_t>(threads_, tasks)), [&](int) {
      std::byte* memory = thread_memory(static_cast<size_t>(std::max<int64_t>(bytes, 64)));
      if (memory == nullptr) {
        failed = true;
        return;
      }
      for (int64_t task, last; range.take(task, last);) {
        const int64_t element = task / row_blocks_, first = task % row_blocks_ * block_rows_;
        const int64_t row = element * rows_.count() + first;
        BytePanels product = panels_of(run, element);
        take_rows(run.a + batch_offset(call_.a_batch_strides, element), first,
                  std::min(block_rows_, rows_.count() - first),
                  reinterpret_cast<uint8_t*>(memory + sums), product);
        product.c = store_ ? reinterpret_cast<int32_t*>(memory)
                           : reinterpret_cast<int32_t*>(run.c) + row * call_.columns;
        table_.multiply_bytes(product);
        subtract_row_sums(product);
        if (store_)
          store_->run(product.c, row, product.rows, {run.c, run.inputs, memory + sums + copies});
      }
    });
    return failed ? Status(no_memory_for_part(bytes)) : Status();
  }

  Status run_by_columns(const Run& run) {
    const int64_t rows = rows_.count(), columns = call_.columns;
    const int64_t sums = store_ ? round_up(rows * columns * 4, 64) : 0;
    const int64_t bytes = sums + (copies_ ? rows * copied_row() : 0);
    AlignedBytes memory = allocate_aligned(std::max<int64_t>(bytes, 64));
    if (memory == nullptr) return no_memory_for_part(bytes);
    auto* copy = reinterpret_cast<uint8_t*>(memory.get() + sums);
    BytePanels all = panels_of(run, 0);
    all.rows = rows;
    all.c = reinterpret_cast<int32_t*>(store_ ? memory.get() : run.c);
    all.a = copies_ ? copy : run.a, all.a_row = copies_ ? copied_row() : rows_.distance();
    const int64_t piece = std::max<int64_t>(panels_ / (threads_ * 4), 1);
    const int64_t row_piece =
        round_up(std::max<int64_t>(rows / (threads_ * 4), 1), call_.store_rows);
    // Each phase by itself: a thread that is late is waited for in none.
    if (copies_) {
      SharedRange left(rows, row_piece);
      in_parallel(threads_, [&](int) {
        for (int64_t first, last; left.take(first, last);)
          rows_.copy(run.a, first, last - first, pad_, a_flip_, copy + first * copied_row(),
                     copied_row());
      });
    }
    SharedRange columns_left(panels_, piece);
    in_parallel(threads_, [&](int) {
      for (int64_t first, last; columns_left.take(first, last);) {
        BytePanels part = all.panel(first);
        part.columns = std::min((last - first) * kByteColumns, columns - first * kByteColumns);
        table_.multiply_bytes(part);
      }
    });
    if (!store_ && !has_b_zeros_) return {};
    SharedRange left(rows, row_piece);
    std::atomic<bool> failed = false;
    in_parallel(threads_, [&](int) {
      std::byte* own = thread_memory(static_cast<size_t>(store_ ? store_->thread_bytes() : 64));
      if (own == nullptr) {
        failed = true;
        return;
      }
      for (int64_t first, last; left.take(first, last);) {
        BytePanels part = all;
        part.rows = last - first, part.a += first * all.a_row, part.c += first * columns;
        subtract_row_sums(part);
        if (store_) store_->run(part.c, first, part.rows, {run.c, run.inputs, own});
      }
    });
    return failed ? Status(no_memory_for_part(bytes)) : Status();
  }

  const ByteProductCall call_;
  const LaneTable& table_;
  const ByteRows rows_;
  int64_t batches_ = 1, matrices_ = 1;  // of A and C; of B
  int64_t blocks_ = 0, panels_ = 0;
  int64_t block_rows_ = 1, row_blocks_ = 1;
  int threads_ = 1;
  bool by_columns_ = false, copies_ = false, has_b_zeros_ = false;
  uint8_t a_flip_ = 0, b_flip_ = 0, pad_ = 0;
  int64_t a_zero_ = 0;
  std::vector<int32_t> b_zeros_, shifts_;
  std::optional<DerivedOperand> kept_;
  std::optional<ByteStore> store_;
};

}  // namespace

Result<LibraryCallPtr> create_byte_product(const ByteProductCall& call, bool stable_b,
                                           const LaneTable& table, DerivedOwner& owner,
                                           native::FunctionCache* functions) {
  auto product = std::make_unique<ByteProduct>(call, stable_b, table, owner);
  TUFF_RETURN_IF_ERROR(product->create(functions));
  return LibraryCallPtr(std::move(product));
}

}  // namespace tuff::cpu
