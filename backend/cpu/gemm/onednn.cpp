#include "backend/cpu/gemm/onednn.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "backend/cpu/openmp_calls.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine = [] {
    // A oneDNN that asks for threads otherwise is used as it is.
    answer_openmp_calls(reinterpret_cast<const void*>(&dnnl_version));
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

Error onednn_error(const dnnl::error& error, const char* what) {
  ErrorCode code = error.status == dnnl_out_of_memory   ? ErrorCode::kOutOfMemory
                   : error.status == dnnl_unimplemented ? ErrorCode::kUnsupported
                                                        : ErrorCode::kRunFailed;
  return Error{code, std::string("oneDNN fails at a ") + what + " (" + error.what() + ").", ""};
}

dnnl::memory::data_type onednn_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return dnnl::memory::data_type::f32;
    case DType::kBF16: return dnnl::memory::data_type::bf16;
    case DType::kF16: return dnnl::memory::data_type::f16;
    case DType::kI8: return dnnl::memory::data_type::s8;
    case DType::kI32: return dnnl::memory::data_type::s32;
    default: break;
  }
  return dnnl::memory::data_type::undef;
}

Status check_fast(const std::string& implementation, DType operand_type) {
  if (operand_type == DType::kF32 || !implementation.starts_with("ref")) return {};
  return Error{ErrorCode::kUnsupported, "oneDNN has only reference code.", ""};
}

ThreadsFor::ThreadsFor(double flops) {
  if (flops < kMinParallelFlops) before_ = set_thread_limit(1);
}

ThreadsFor::~ThreadsFor() {
  if (before_ >= 0) set_thread_limit(before_);
}

namespace {

dnnl::algorithm algorithm_of(PostOp::Kind kind) {
  switch (kind) {
    case PostOp::Kind::kAdd: return dnnl::algorithm::binary_add;
    case PostOp::Kind::kSubtract: return dnnl::algorithm::binary_sub;
    case PostOp::Kind::kMultiply: return dnnl::algorithm::binary_mul;
    case PostOp::Kind::kDivide: return dnnl::algorithm::binary_div;
    case PostOp::Kind::kGeluErf: return dnnl::algorithm::eltwise_gelu_erf;
    case PostOp::Kind::kGeluTanh: return dnnl::algorithm::eltwise_gelu_tanh;
    case PostOp::Kind::kMaximum:  // not what oneDNN is given: it loses NaN
    case PostOp::Kind::kMinimum:
    case PostOp::Kind::kSilu:
    case PostOp::Kind::kHardSwish: break;
  }
  return dnnl::algorithm::undef;
}

// [1, .., columns, .., 1]: repeated over every other dimension.
dnnl::memory::desc repeated(size_t rank, size_t column_dim, int64_t columns) {
  dnnl::memory::dims row(rank, 1), steps(rank, 1);
  row[column_dim] = columns;
  for (size_t d = 0; d < column_dim; ++d) steps[d] = columns;
  return {row, dnnl::memory::data_type::f32, steps};
}

}  // namespace

PostOps::PostOps(const PostOpList& post_ops, const dnnl::memory::dims& sizes,
                 const dnnl::memory::dims& strides, size_t column_dim,
                 std::optional<size_t> in_result) {
  size_t rank = sizes.size(), given = 0;
  // f32, whatever the result is rounded to.
  dnnl::memory::desc element(sizes, dnnl::memory::data_type::f32, strides);
  dnnl::post_ops list;
  for (size_t i = 0; i < post_ops.size(); ++i) {
    const PostOp& op = post_ops[i];
    size_t index = given;
    given += op.has_operand();
    if (i == in_result) {
      list.append_sum(op.kind == PostOp::Kind::kSubtract ? -1.0f : 1.0f);
      continue;
    }
    dnnl::algorithm algorithm = algorithm_of(op.kind);
    if (op.with == PostOp::With::kNothing) {
      append_eltwise(list, algorithm);
      continue;
    }
    dnnl::memory::desc desc = op.with == PostOp::With::kElement ? element
                              : op.with == PostOp::With::kColumn
                                  ? repeated(rank, column_dim, sizes[column_dim])
                                  : repeated(rank, column_dim, 1);
    int argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(list.len()) | DNNL_ARG_SRC_1;
    list.append_binary(algorithm, desc);
    if (op.has_operand()) {
      operands_.push_back(
          {dnnl::memory(desc, onednn_engine(), nullptr), index, argument, op.offset});
    } else {
      dnnl::memory value(desc, onednn_engine());
      *static_cast<float*>(value.get_data_handle()) = op.value;
      values_.emplace_back(argument, std::move(value));
    }
  }
  attributes_.set_post_ops(list);
  attributes_.set_scratchpad_mode(dnnl::scratchpad_mode::user);
}

void PostOps::bind(std::span<const CallOperand> operands, PrimitiveArguments& arguments) {
  for (const auto& [argument, value] : values_) arguments[argument] = value;
  for (Operand& to : operands_) {
    to.memory.set_data_handle(reinterpret_cast<float*>(operands[to.index].data) + to.offset);
    arguments[to.argument] = to.memory;
  }
}

std::optional<InResult> find_in_result(const PostOpList& post_ops,
                                       std::span<const CallOperand> operands,
                                       const std::byte* result) {
  size_t operand = 0;
  for (size_t i = 0; i < post_ops.size(); ++i) {
    const PostOp& op = post_ops[i];
    if (op.with == PostOp::With::kElement && operands[operand].data == result)
      return InResult{i, operand};
    operand += op.has_operand();
  }
  return std::nullopt;
}

PackedWeights::PackedWeights(const dnnl::memory::desc& plain, const dnnl::memory::desc& packed,
                             DerivedOwner& owner)
    : plain_(plain),
      packed_(packed),
      copy_(owner, DerivedKind::kLibraryLayout, static_cast<int64_t>(packed.get_size())) {}

DerivedOperand::Use PackedWeights::pack(const CallOperand& weights, dnnl::stream& stream) {
  DerivedOperand::Use use = copy_.use(weights.version);
  if (use.bytes == nullptr || copy_.holds(weights.version)) return use;
  copy_.set(0);  // of nothing, should this fail
  Reorder(dnnl::memory(plain_, onednn_engine(), weights.data),
          dnnl::memory(packed_, onednn_engine(), use.bytes))
      .run(stream);
  copy_.set(weights.version);
  return use;
}

Reorder::Reorder(const dnnl::memory& from, const dnnl::memory& to) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::reorder::primitive_desc description(from, to, attributes);
  primitive_ = dnnl::reorder(description);
  scratchpad_ = Scratchpad(description.scratchpad_desc());
  arguments_[DNNL_ARG_FROM] = from;
  arguments_[DNNL_ARG_TO] = to;
}

void Reorder::run(dnnl::stream& stream) {
  scratchpad_.bind(arguments_);
  arguments_.execute(primitive_, stream);
  stream.wait();
}

namespace {

// oneDNN names tensors by positive strides.
bool has_name(const StridedTensor& tensor) {
  for (size_t d = 0; d < tensor.sizes.size(); ++d)
    if (tensor.sizes[d] > 1 && tensor.strides[d] <= 0) return false;
  return true;
}

// Whether elements lie at the same places. The stride of a dimension of size 1 means nothing,
// so both are compared without those.
bool same_layout(const std::vector<int64_t>& sizes, const dnnl::memory::desc& a,
                 const dnnl::memory::desc& b) {
  if (a == b || num_elements(sizes) == 0) return a == b;
  dnnl::memory::dims longer;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(longer),
               [](int64_t size) { return size != 1; });
  if (longer.empty()) return a.get_size() == b.get_size();
  dnnl::memory::desc short_a = a.reshape(longer, true);
  if (is_none(short_a)) return false;
  dnnl::memory::desc short_b = b.reshape(longer, true);
  return !is_none(short_b) && short_a == short_b;
}

}  // namespace

void PlacedTensor::create(const StridedTensor& place, const dnnl::memory::desc& wanted,
                          DType wanted_type, const LaneTable& table) {
  table_ = &table;
  place_ = place;
  type_ = wanted_type;
  dnnl::memory::dims strides = place.strides;
  gathers_ = !has_name(place) || place.dtype != wanted_type;
  if (gathers_) strides = gathered_strides_ = row_major_strides(place.sizes);
  for (size_t d = 0; d < strides.size(); ++d)
    if (place.sizes[d] == 1) strides[d] = 1;
  dnnl::memory::desc placed(place.sizes, onednn_type(wanted_type), strides);
  reorders_ = !same_layout(place.sizes, placed, wanted);
  placed_ = dnnl::memory(placed, onednn_engine(), nullptr);
  if (reorders_) wanted_ = dnnl::memory(wanted, onednn_engine(), nullptr);
  // Asked once: oneDNN 3 allocates to tell a description.
  placed_bytes_ = static_cast<int64_t>(placed.get_size());
  wanted_bytes_ = static_cast<int64_t>(wanted.get_size());
}

void PlacedTensor::keep_in(DerivedOwner& owner) {
  kept_ = std::make_unique<DerivedOperand>(owner, DerivedKind::kLibraryLayout,
                                           reorders_ ? wanted_bytes_ : placed_bytes_);
}

StridedArray PlacedTensor::at(const CallOperand& operand) const {
  return {operand.data + place_.offset * dtype_size(place_.dtype), place_.strides, place_.dtype};
}

std::byte* PlacedTensor::own(AlignedBytes& memory, int64_t size_bytes) const {
  if (memory == nullptr) memory = allocate_aligned(size_bytes);
  if (memory == nullptr) throw dnnl::error(dnnl_out_of_memory, "no memory for a packed operand");
  return memory.get();
}

const dnnl::memory& PlacedTensor::read(const CallOperand& operand, dnnl::stream& stream,
                                       const std::vector<float>& factors, const Source& source) {
  use_ = {};
  if (kept_) use_ = kept_->use(operand.version);
  bool current = kept_ ? use_.bytes != nullptr && kept_->holds(operand.version, factors)
                       : operand.version != 0 && operand.version == version_;
  std::byte* gathered_data = nullptr;
  if (gathers_ && !(current && reorders_))
    gathered_data =
        use_.bytes != nullptr && !reorders_ ? use_.bytes : own(gathered_, placed_bytes_);
  if (reorders_)
    wanted_.set_data_handle(use_.bytes != nullptr ? use_.bytes : own(reordered_, wanted_bytes_));
  if (current && copies()) {
    if (!reorders_) placed_.set_data_handle(gathered_data);
    return reorders_ ? wanted_ : placed_;
  }
  CallOperand from = source ? source() : operand;
  if (gathers_) strided_copy(place_.sizes, at(from), gathered(gathered_data), *table_);
  placed_.set_data_handle(gathers_ ? gathered_data : at(from).data);
  if (reorders_) {
    if (!reorder_) reorder_ = Reorder(placed_, wanted_);
    reorder_.run(stream);
  }
  version_ = operand.version;
  if (use_.bytes != nullptr) kept_->set(operand.version, factors);
  return reorders_ ? wanted_ : placed_;
}

const dnnl::memory& PlacedTensor::write(const CallOperand& operand) {
  placed_.set_data_handle(gathers_ ? own(gathered_, placed_bytes_) : at(operand).data);
  if (reorders_) wanted_.set_data_handle(own(reordered_, wanted_bytes_));
  return reorders_ ? wanted_ : placed_;
}

void PlacedTensor::finish_write(const CallOperand& operand, dnnl::stream& stream) {
  if (reorders_) {
    if (!reorder_) reorder_ = Reorder(wanted_, placed_);
    reorder_.run(stream);
  }
  if (gathers_) strided_copy(place_.sizes, gathered(gathered_.get()), at(operand), *table_);
}

void PlacedTensor::end() {
  use_ = {};
  if (!kept_) return;
  gathered_ = nullptr;
  reordered_ = nullptr;
}

}  // namespace tuff::cpu
