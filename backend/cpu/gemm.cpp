#include "backend/cpu/gemm.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "backend/cpu/converted_gemm.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/scratchpad.h"
#include "backend/cpu/strided_copy.h"

namespace tuff::cpu {

namespace {

using dnnl::memory;

// One matrix, or a batch of them: [batch.., rows, cols] with strides, all in elements.
struct Matrix {
  memory::dims sizes, strides;
  int64_t offset = 0;
  DType dtype = DType::kF32;
  bool stable = false;

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
  Matrix operand{batch, batch_strides, offset, dtype};
  operand.sizes.insert(operand.sizes.end(), {rows, cols});
  operand.strides.insert(operand.strides.end(), {row_stride, col_stride});
  return operand;
}

// C = A x B, brought into the form that oneDNN does fast.
struct Product {
  Matrix a, b, c;
  bool swapped = false;  // a is the call's B transposed, b its A
  PostOpList post_ops;

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

// oneDNN wants a broadcast dimension to have size 1, and reads layouts with one
// unit stride fast; the stride of a dimension of size 1 means nothing, so it is
// chosen to help. False: the operand must be copied first.
bool make_plain(Matrix& operand) {
  for (size_t dim = 0; dim + 2 < operand.sizes.size(); ++dim) {
    if (operand.strides[dim] == 0) operand.sizes[dim] = 1;
    if (operand.sizes[dim] == 1) operand.strides[dim] = operand.rows() * operand.cols();
    if (operand.strides[dim] < 0) return false;
  }
  if (operand.rows() == 1) operand.row_stride() = operand.col_stride() == 1 ? operand.cols() : 1;
  if (operand.cols() == 1) operand.col_stride() = operand.row_stride() == 1 ? operand.rows() : 1;
  return (operand.col_stride() == 1 && operand.row_stride() >= operand.cols()) ||
         (operand.row_stride() == 1 && operand.col_stride() >= operand.rows());
}

// A contiguous copy of an operand that oneDNN cannot read where it is.
class Copy {
 public:
  Status create(Matrix& operand, const LaneTable& table) {
    table_ = &table;
    from_ = operand;
    for (size_t dim = 0; dim + 2 < operand.sizes.size(); ++dim)
      if (operand.strides[dim] == 0) from_.sizes[dim] = operand.sizes[dim] = 1;
    int64_t elements = 1;
    for (size_t dim = operand.sizes.size(); dim-- > 0; elements *= operand.sizes[dim])
      operand.strides[dim] = elements;
    operand.offset = 0;
    to_strides_ = operand.strides;
    int64_t size_bytes = elements * dtype_size(operand.dtype);
    memory_ = allocate_aligned(size_bytes);
    if (memory_ == nullptr)
      return Error{ErrorCode::kOutOfMemory,
                   "The packed operand of a matmul (" + std::to_string(size_bytes) +
                       " bytes) does not fit in the machine's memory.",
                   ""};
    return {};
  }

  std::byte* data() const { return memory_.get(); }
  void gather(const CallOperand& source) {
    if (source.version != 0 && source.version == version_) return;
    strided_copy(from_.sizes, from_.in(source), copied(), *table_);
    version_ = source.version;
  }
  void scatter(const CallOperand& target) const {
    strided_copy(from_.sizes, copied(), from_.in(target), *table_);
  }

 private:
  StridedArray copied() const { return {data(), to_strides_, from_.dtype}; }

  const LaneTable* table_ = nullptr;
  Matrix from_;
  memory::dims to_strides_;
  AlignedBytes memory_;
  uint64_t version_ = 0;
};

class Matmul : public LibraryCall {
 public:
  explicit Matmul(Product product) : product_(std::move(product)), stream_(onednn_engine()) {}

  // Errors: kUnsupported where oneDNN has no fast code for the types.
  Status create(const LaneTable& table) {
    Matrix* operands[] = {&product_.a, &product_.b, &product_.c};
    for (int i = 0; i < 3; ++i)
      if (!make_plain(*operands[i]))
        TUFF_RETURN_IF_ERROR(copies_[i].emplace().create(*operands[i], table));
    try {
      ThreadsFor threads(product_.flops());
      post_ops_.emplace(product_.post_ops, desc(product_.c), product_.c.sizes.size() - 1);
      memory::desc b = desc(product_.b);
      auto plain = primitive(b);
      TUFF_RETURN_IF_ERROR(check_fast(plain.impl_info_str(), product_.a.dtype));
      plain_ = dnnl::matmul(plain);
      plain_scratchpad_ = Scratchpad(plain.scratchpad_desc());
      if (!product_.b.stable) return {};
      memory::desc any(product_.b.sizes, onednn_type(product_.b.dtype), memory::format_tag::any);
      auto packed = primitive(any);
      packed_ = dnnl::matmul(packed);
      packed_scratchpad_ = Scratchpad(packed.scratchpad_desc());
      weights_.emplace(b, packed.weights_desc());
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
      if (copies_[i] && i < 2) copies_[i]->gather(given[i]);
      data[i] = copies_[i] ? copies_[i]->data() : sides[i]->in(given[i]).data;
    }
    try {
      post_ops_->bind(operands.subspan(2), arguments_);
      execute(data, given[1].version);
    } catch (const dnnl::error& error) {
      return onednn_error(error, "matmul");
    }
    if (copies_[2]) copies_[2]->scatter(given[2]);
    return {};
  }

 private:
  static memory::desc desc(const Matrix& operand) {
    return {operand.sizes, onednn_type(operand.dtype), operand.strides};
  }

  dnnl::matmul::primitive_desc primitive(const memory::desc& weights) const {
    return {dnnl::matmul::desc(desc(product_.a), weights, desc(product_.c)),
            post_ops_->attributes(), onednn_engine()};
  }

  void execute(std::byte* const (&data)[3], uint64_t weights_version) {
    ThreadsFor threads(product_.flops());
    if (!plain_weights_) {
      arguments_[DNNL_ARG_SRC] = memory(desc(product_.a), onednn_engine(), data[0]);
      arguments_[DNNL_ARG_DST] = memory(desc(product_.c), onednn_engine(), data[2]);
      plain_weights_ = memory(desc(product_.b), onednn_engine(), data[1]);
    }
    arguments_[DNNL_ARG_SRC].set_data_handle(data[0]);
    arguments_[DNNL_ARG_DST].set_data_handle(data[2]);
    bool packed = weights_ && weights_->worth_packing(weights_version);
    if (packed) {
      CallOperand weights{data[1], weights_version};
      arguments_[DNNL_ARG_WEIGHTS] = weights_->pack(weights, stream_);
    } else {
      plain_weights_.set_data_handle(data[1]);
      arguments_[DNNL_ARG_WEIGHTS] = plain_weights_;
    }
    (packed ? packed_scratchpad_ : plain_scratchpad_).bind(arguments_);
    arguments_.execute(packed ? packed_ : plain_, stream_);
    stream_.wait();
  }

  Product product_;
  std::optional<Copy> copies_[3];
  std::optional<PostOps> post_ops_;
  dnnl::stream stream_;
  dnnl::matmul plain_, packed_;
  Scratchpad plain_scratchpad_, packed_scratchpad_;
  memory plain_weights_;
  std::optional<PackedWeights> weights_;
  PrimitiveArguments arguments_;
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

Result<LibraryCallPtr> create_product(const MatmulCall& call, bool stable_a, bool stable_b,
                                      const LaneTable& table) {
  Product p;
  p.a = make_matrix(call.batch, call.a_batch_strides, call.m, call.k, call.a_row, call.a_col,
                    call.a_offset, call.operand_type);
  p.b = make_matrix(call.batch, call.b_batch_strides, call.k, call.n, call.b_row, call.b_col,
                    call.b_offset, call.operand_type);
  p.c = make_matrix(call.batch, call.c_batch_strides, call.m, call.n, call.c_row, call.c_col,
                    call.c_offset, call.result_type);
  p.post_ops = call.post_ops;
  p.a.stable = stable_a;
  p.b.stable = stable_b;
  if (call.k == 0) return LibraryCallPtr(std::make_unique<ZeroFill>(p.c, table));
  // oneDNN writes rows; a C of columns is the transposed product.
  if (call.c_col != 1 && call.c_row == 1) {
    std::swap(p.a, p.b);
    for (Matrix* operand : {&p.a, &p.b, &p.c}) operand->transpose();
    p.swapped = true;
  }
  merge_batch_into_rows(p);
  auto matmul = std::make_unique<Matmul>(std::move(p));
  TUFF_RETURN_IF_ERROR(matmul->create(table));
  return LibraryCallPtr(std::move(matmul));
}

}  // namespace

Result<LibraryCallPtr> create_matmul(const MatmulCall& call, bool stable_a, bool stable_b,
                                     const LaneTable& table) {
  Result<LibraryCallPtr> product = create_product(call, stable_a, stable_b, table);
  bool unknown_types = !product.ok() && product.error().code == ErrorCode::kUnsupported;
  if (!unknown_types || call.operand_type == DType::kF32) return product;
  return create_converted_matmul(call, table);
}

}  // namespace tuff::cpu
