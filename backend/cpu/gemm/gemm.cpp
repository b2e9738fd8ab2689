#include "backend/cpu/gemm/gemm.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <set>

#include "backend/cpu/gemm/onednn.h"
#include "backend/cpu/gemm/scratchpad.h"
#include "backend/cpu/gemm/strided_copy.h"

namespace tuff::cpu {

namespace {

using dnnl::memory;

// One matrix, or a batch of them: [batch.., rows, cols] with strides, all in elements.
struct Matrix {
  memory::dims sizes, strides;
  int64_t offset = 0;
  DType dtype = DType::kF32;
  bool stable = false;
  std::set<size_t> repeated;  // batch dimensions of stride 0 that are copied all the same

  // One matrix for all of the batch dimension.
  bool said_once(size_t dim) const { return strides[dim] == 0 && !repeated.contains(dim); }
  int64_t& rows() { return sizes[sizes.size() - 2]; }
  int64_t& cols() { return sizes.back(); }
  int64_t& row_stride() { return strides[strides.size() - 2]; }
  int64_t& col_stride() { return strides.back(); }
  StridedArray in(const CallOperand& operand) const {
    return {operand.data + offset * dtype_size(dtype), strides, dtype};
  }
  void transpose() {
    std::swap(rows(), cols());
    std::swap(row_stride(), col_stride());
  }
  void erase(size_t dim) {
    sizes.erase(sizes.begin() + static_cast<int64_t>(dim));
    strides.erase(strides.begin() + static_cast<int64_t>(dim));
  }
};

Matrix make_matrix(const std::vector<int64_t>& batch, const std::vector<int64_t>& batch_strides,
                   int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride,
                   int64_t offset, DType dtype) {
  Matrix operand{batch, batch_strides, offset, dtype, false, {}};
  operand.sizes.insert(operand.sizes.end(), {rows, cols});
  operand.strides.insert(operand.strides.end(), {row_stride, col_stride});
  return operand;
}

// C = A x B, brought into the form that oneDNN does fast.
struct Product {
  Matrix a, b, c;
  bool swapped = false;  // a is the call's B transposed, b its A
  PostOpList post_ops;

  // C^T = B^T x A^T
  void transpose() {
    std::swap(a, b);
    for (Matrix* operand : {&a, &b, &c}) operand->transpose();
    swapped = true;
  }

  double flops() const {
    double flops = 2.0 * static_cast<double>(a.sizes.back());
    for (int64_t size : c.sizes) flops *= static_cast<double>(size);
    return flops;
  }
};

// A batch over rows of A and C that share one B is just more rows.
void merge_batch_into_rows(Product& p) {
  for (size_t dim = p.c.sizes.size() - 2; dim-- > 0;) {
    if (p.c.rows() == 1 && p.b.strides[dim] == 0) {  // the stride of one row is free
      p.a.row_stride() = p.a.strides[dim];
      p.c.row_stride() = p.c.strides[dim];
    }
    bool shared = p.b.strides[dim] == 0 && p.a.strides[dim] == p.a.rows() * p.a.row_stride() &&
                  p.c.strides[dim] == p.c.rows() * p.c.row_stride();
    if (p.c.sizes[dim] != 1 && !shared) continue;
    int64_t rows = p.c.rows() * p.c.sizes[dim];
    for (Matrix* operand : {&p.a, &p.b, &p.c}) operand->erase(dim);
    p.a.rows() = p.c.rows() = rows;
  }
}

// oneDNN takes a batch's size from the operands: where both have one matrix for all of it, A is
// copied for each.
void repeat_where_all_share(Product& p) {
  for (size_t dim = 0; dim + 2 < p.c.sizes.size(); ++dim)
    if (p.a.strides[dim] == 0 && p.b.strides[dim] == 0 && p.c.sizes[dim] > 1)
      p.a.repeated.insert(dim);
}

// For oneDNN 3 an operand has one matrix for the whole batch, or one for each of it.
void repeat_what_some_share(Matrix& operand, const memory::dims& batch) {
  std::set<size_t> shared;
  bool all = true;
  for (size_t dim = 0; dim + 2 < batch.size(); ++dim) {
    if (batch[dim] == 1) continue;
    if (operand.said_once(dim))
      shared.insert(dim);
    else
      all = false;
  }
  if (kMatricesLieApart && !all) operand.repeated.merge(shared);
}

// Each dimension steps over all that those with smaller strides reach, or oneDNN takes the
// layout for one that overlaps: every other column of rows with an odd length, say.
bool nests(const Matrix& operand) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (size_t dim = 0; dim < operand.sizes.size(); ++dim)
    steps.emplace_back(operand.strides[dim], operand.sizes[dim]);
  std::sort(steps.begin(), steps.end());
  int64_t reach = 1;
  for (auto [stride, size] : steps) {
    if (stride < reach) return false;
    reach = stride * size;
  }
  return true;
}

// The matrices of a batch lie one behind the other, in one distance, and the elements of a vector
// side by side.
bool lie_apart(Matrix& operand) {
  if (operand.rows() == 1 && operand.cols() > 1 && operand.col_stride() != 1) return false;
  if (operand.cols() == 1 && operand.rows() > 1 && operand.row_stride() != 1) return false;
  int64_t least =
      std::max(operand.rows() * operand.row_stride(), operand.cols() * operand.col_stride());
  bool first = true;
  for (size_t dim = operand.sizes.size() - 2; dim-- > 0;) {
    int64_t size = operand.sizes[dim], stride = operand.strides[dim];
    if (size == 1) continue;
    if (first ? stride < least : stride != least) return false;
    first = false;
    least = size * stride;
  }
  return true;
}

// oneDNN wants a broadcast dimension to have size 1, and reads layouts with one
// unit stride fast; the stride of a dimension of size 1 means nothing, so it is
// chosen to help. False: the operand must be copied first.
bool make_plain(Matrix& operand) {
  if (operand.rows() == 1) operand.row_stride() = operand.col_stride() == 1 ? operand.cols() : 1;
  if (operand.cols() == 1) operand.col_stride() = operand.row_stride() == 1 ? operand.rows() : 1;
  int64_t reach = 1;
  for (size_t dim = 0; dim < operand.sizes.size(); ++dim)
    reach = std::max(reach, operand.sizes[dim] * operand.strides[dim]);
  for (size_t dim = 0; dim + 2 < operand.sizes.size(); ++dim) {
    if (operand.said_once(dim)) operand.sizes[dim] = 1;
    if (operand.sizes[dim] == 1) operand.strides[dim] = reach;
  }
  return (operand.col_stride() == 1 || operand.row_stride() == 1) && nests(operand) &&
         (!kMatricesLieApart || lie_apart(operand));
}

// oneDNN (2.6.3) finds the column of a result's element only where its dimensions lie in order: for
// others it reads the operand of a post-op anywhere. Operands of the result's shape lie as it does,
// so it is not copied where there is one.
bool takes_post_ops(const Product& p, bool copies_result) {
  auto has = [&](PostOp::With with) {
    return std::any_of(p.post_ops.begin(), p.post_ops.end(),
                       [with](const PostOp& op) { return op.with == with; });
  };
  const memory::dims& steps = p.c.strides;
  bool in_order = std::is_sorted(steps.begin(), steps.end(), std::greater<>());
  return (in_order || !has(PostOp::With::kColumn)) &&
         !(copies_result && has(PostOp::With::kElement));
}

// A contiguous copy of an operand that oneDNN cannot read where it is.
class Copy {
 public:
  void create(Matrix& operand, const LaneTable& table, DerivedOwner& owner) {
    table_ = &table;
    from_ = operand;
    for (size_t dim = 0; dim + 2 < operand.sizes.size(); ++dim)
      if (operand.said_once(dim)) from_.sizes[dim] = operand.sizes[dim] = 1;
    int64_t elements = 1;
    for (size_t dim = operand.sizes.size(); dim-- > 0; elements *= operand.sizes[dim])
      operand.strides[dim] = elements;
    operand.offset = 0;
    to_strides_ = operand.strides;
    size_bytes_ = elements * dtype_size(operand.dtype);
    if (operand.stable) kept_.emplace(owner, DerivedKind::kLibraryLayout, size_bytes_);
  }

  std::byte* data() const { return data_; }
  Status begin() { return take_memory({}); }
  Status gather(const CallOperand& source) {
    if (kept_) use_ = kept_->use(source.version);
    TUFF_RETURN_IF_ERROR(take_memory(use_));
    if (use_.bytes != nullptr && kept_->holds(source.version)) return {};
    strided_copy(from_.sizes, from_.in(source), copied(), *table_);
    if (use_.bytes != nullptr) kept_->set(source.version);
    return {};
  }
  void scatter(const CallOperand& target) const {
    strided_copy(from_.sizes, copied(), from_.in(target), *table_);
  }
  // The end of a run: what may come again is kept, or is made again.
  void end() {
    use_ = {};
    if (kept_) memory_ = nullptr;
  }

 private:
  StridedArray copied() const { return {data(), to_strides_, from_.dtype}; }
  Status take_memory(const DerivedOperand::Use& use) {
    data_ = use.bytes;
    if (data_ != nullptr) return {};
    if (memory_ == nullptr) memory_ = allocate_aligned(size_bytes_);
    data_ = memory_.get();
    if (data_ != nullptr) return {};
    return Error{ErrorCode::kOutOfMemory,
                 "The packed operand of a matmul (" + std::to_string(size_bytes_) +
                     " bytes) does not fit in the machine's memory.",
                 ""};
  }

  const LaneTable* table_ = nullptr;
  Matrix from_;
  memory::dims to_strides_;
  int64_t size_bytes_ = 0;
  std::optional<DerivedOperand> kept_;
  DerivedOperand::Use use_;
  AlignedBytes memory_;
  std::byte* data_ = nullptr;
};

class Matmul : public LibraryCall {
 public:
  explicit Matmul(Product product) : product_(std::move(product)), stream_(onednn_engine()) {}

  // Errors: kUnsupported where oneDNN has no fast or no right code.
  Status create(const LaneTable& table, DerivedOwner& owner) {
    repeat_where_all_share(product_);
    repeat_what_some_share(product_.a, product_.c.sizes);
    repeat_what_some_share(product_.b, product_.c.sizes);
    Matrix* operands[] = {&product_.a, &product_.b, &product_.c};
    for (int i = 0; i < 3; ++i)
      if (!make_plain(*operands[i])) copies_[i].emplace().create(*operands[i], table, owner);
    // A result of one column lies as rows do: in the other order only slow code takes post-ops.
    if (product_.c.cols() == 1 && product_.c.row_stride() == 1) product_.c.col_stride() = 1;
    if (!takes_post_ops(product_, copies_[2].has_value()))
      return Error{ErrorCode::kUnsupported, "oneDNN misreads post-ops of this layout.", ""};
    try {
      plain_b_ = desc(product_.b);
      Variant& plain = variant(plain_b_, std::nullopt);
      TUFF_RETURN_IF_ERROR(check_fast(plain.implementation, product_.a.dtype));
      // Other implementations pack nothing, and add up in another order for another layout: a run
      // with a copy would have other bits than the one before it.
      bool packs = plain.implementation.starts_with("brg");
      if (!packs || !product_.b.stable || copies_[1]) return {};
      memory::desc any(product_.b.sizes, onednn_type(product_.b.dtype), memory::format_tag::any);
      packed_b_ = variant(any, std::nullopt).b;
      if (plain_b_ != packed_b_) weights_.emplace(plain_b_, packed_b_, owner);
    } catch (const dnnl::error& error) {
      return onednn_error(error, "matmul");
    }
    return {};
  }

  Status run(std::span<const CallOperand> operands) override {
    CallOperand given[3] = {operands[0], operands[1], operands.back()};
    if (product_.swapped) std::swap(given[0], given[1]);
    std::byte* data[3];
    const Matrix* sides[] = {&product_.a, &product_.b, &product_.c};
    for (int i = 0; i < 3; ++i) {
      if (copies_[i])
        TUFF_RETURN_IF_ERROR(i < 2 ? copies_[i]->gather(given[i]) : copies_[i]->begin());
      data[i] = copies_[i] ? copies_[i]->data() : sides[i]->in(given[i]).data;
    }
    try {
      execute(data, given[1].version, operands.subspan(2));
    } catch (const dnnl::error& error) {
      return onednn_error(error, "matmul");
    }
    if (copies_[2]) copies_[2]->scatter(given[2]);
    for (std::optional<Copy>& copy : copies_)
      if (copy) copy->end();
    return {};
  }

 private:
  // A primitive for one layout of B, `b`, with what it is given.
  struct Variant {
    memory::desc b;
    std::optional<size_t> in_result;  // see PostOps
    PostOps post_ops;
    dnnl::matmul primitive;
    std::string implementation;
    Scratchpad scratchpad;
    PrimitiveArguments arguments;
  };

  static memory::desc desc(const Matrix& operand) {
    return {operand.sizes, onednn_type(operand.dtype), operand.strides};
  }

  Variant& variant(const memory::desc& b, std::optional<size_t> in_result) {
    for (Variant& made : variants_)
      if (made.b == b && made.in_result == in_result) return made;
    memory::desc a = desc(product_.a), c = desc(product_.c);
    PostOps post_ops(product_.post_ops, product_.c.sizes, product_.c.strides,
                     product_.c.sizes.size() - 1, in_result);
    ThreadsFor threads(product_.flops());
    Description<dnnl::matmul> found(onednn_engine(), post_ops.attributes(), a, b, c);
    PrimitiveArguments arguments;
    arguments[DNNL_ARG_SRC] = memory(a, onednn_engine(), nullptr);
    arguments[DNNL_ARG_WEIGHTS] = memory(found->weights_desc(), onednn_engine(), nullptr);
    arguments[DNNL_ARG_DST] = memory(c, onednn_engine(), nullptr);
    return variants_.emplace_back(Variant{
        found->weights_desc(), in_result, std::move(post_ops), dnnl::matmul(*found),
        found->impl_info_str(), Scratchpad(found->scratchpad_desc()), std::move(arguments)});
  }

  std::span<const CallOperand> with_copy_of(std::span<const CallOperand> operands, size_t shared) {
    int64_t size_bytes = num_elements(product_.c.sizes) * dtype_size(DType::kF32);
    if (!copied_operand_) copied_operand_ = allocate_aligned(size_bytes);
    if (!copied_operand_) throw dnnl::error(dnnl_out_of_memory, "no memory for a copied operand");
    std::memcpy(copied_operand_.get(), operands[shared].data, static_cast<size_t>(size_bytes));
    operands_.assign(operands.begin(), operands.end());
    operands_[shared].data = copied_operand_.get();
    return operands_;
  }

  void execute(std::byte* const (&data)[3], uint64_t weights_version,
               std::span<const CallOperand> operands) {
    std::byte* b = data[1];
    DerivedOperand::Use packed;
    if (weights_) {
      ThreadsFor threads(product_.flops());
      packed = weights_->pack({b, weights_version}, stream_);
    }
    if (packed.bytes != nullptr) b = packed.bytes;
    const memory::desc& layout = packed.bytes != nullptr ? packed_b_ : plain_b_;
    std::optional<InResult> shared = find_in_result(product_.post_ops, operands, data[2]);
    Variant* use = &variant(layout, shared ? std::optional(shared->post_op) : std::nullopt);
    // Some processors' oneDNN has only reference code that adds to what is there.
    if (shared && use->implementation.starts_with("ref")) {
      operands = with_copy_of(operands, shared->operand);
      use = &variant(layout, std::nullopt);
    }
    ThreadsFor threads(product_.flops());
    use->arguments[DNNL_ARG_SRC].set_data_handle(data[0]);
    use->arguments[DNNL_ARG_WEIGHTS].set_data_handle(b);
    use->arguments[DNNL_ARG_DST].set_data_handle(data[2]);
    use->post_ops.bind(operands, use->arguments);
    use->scratchpad.bind(use->arguments);
    use->arguments.execute(use->primitive, stream_);
    stream_.wait();
  }

  Product product_;
  std::optional<Copy> copies_[3];
  dnnl::stream stream_;
  memory::desc plain_b_, packed_b_;
  std::deque<Variant> variants_;  // those that were needed; they stay where they are
  std::optional<PackedWeights> weights_;
  AlignedBytes copied_operand_;
  std::vector<CallOperand> operands_;  // with that copy among them
};

// A sum over nothing: C = 0.
class ZeroFill : public LibraryCall {
 public:
  ZeroFill(Matrix c, const LaneTable& table) : c_(std::move(c)), table_(table) {}
  Status run(std::span<const CallOperand> operands) override {
    float zero = 0;
    memory::dims same(c_.sizes.size(), 0);
    strided_copy(c_.sizes, {reinterpret_cast<std::byte*>(&zero), same, DType::kF32},
                 c_.in(operands.back()), table_);
    return {};
  }

 private:
  Matrix c_;
  const LaneTable& table_;
};

}  // namespace

Result<LibraryCallPtr> create_onednn_matmul(const MatmulCall& call, bool stable_a, bool stable_b,
                                            const LaneTable& table, DerivedOwner& owner) {
  Product p;
  p.a = make_matrix(call.batch, call.a_batch_strides, call.m, call.k, call.a_row, call.a_col,
                    call.a_offset, call.operand_type);
  p.b = make_matrix(call.batch, call.b_batch_strides, call.k, call.n, call.b_row, call.b_col,
                    call.b_offset, call.operand_type);
  p.c = make_matrix(call.batch, call.c_batch_strides, call.m, call.n, call.c_row, call.c_col,
                    call.c_offset, call.result_type);
  p.post_ops = call.post_ops;
  for (PostOp& op : p.post_ops)  // the only column is no column of the transposed product
    if (call.n == 1 && op.with == PostOp::With::kColumn) op.with = PostOp::With::kScalar;
  p.a.stable = stable_a;
  p.b.stable = stable_b;
  if (call.k == 0) return LibraryCallPtr(std::make_unique<ZeroFill>(p.c, table));
  bool written_by_columns = call.c_col != 1 && call.c_row == 1;
  // A matrix that lies by columns times a vector: oneDNN is 100 times as fast on a row vector
  // times a matrix that lies by rows.
  bool is_row_product = call.n == 1 && call.m > 1 && call.c_row == 1 && call.a_row == 1;
  if (written_by_columns || is_row_product) p.transpose();
  Product merged = p;
  merge_batch_into_rows(merged);
  if (takes_post_ops(merged, kMatricesLieApart && !lie_apart(merged.c))) p = std::move(merged);
  auto matmul = std::make_unique<Matmul>(std::move(p));
  TUFF_RETURN_IF_ERROR(matmul->create(table, owner));
  return LibraryCallPtr(std::move(matmul));
}

}  // namespace tuff::cpu
