#include "backend/cpu/gemm/onednn.h"

#include <algorithm>
#include <string>

#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
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
    default: break;
  }
  return dnnl::memory::data_type::undef;
}

Status check_fast(const std::string& implementation, DType operand_type) {
  if (operand_type == DType::kF32 || !implementation.starts_with("ref")) return {};
  return Error{ErrorCode::kUnsupported, "oneDNN has only reference code.", ""};
}

ThreadsFor::ThreadsFor(double flops) {
  if (flops < 2e6) before_ = set_thread_limit(1);
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
    case PostOp::Kind::kMaximum: break;  // not what oneDNN is given: it loses NaN
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

PostOps::PostOps(const PostOpList& post_ops, const dnnl::memory::desc& result, size_t column_dim,
                 std::optional<size_t> in_result) {
  size_t rank = result.dims().size(), given = 0;
  dnnl::memory::desc element = result;
  element.data.data_type = dnnl_f32;  // whatever the result is rounded to
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
      list.append_eltwise(1, algorithm, 0, 0);
      continue;
    }
    dnnl::memory::desc desc = op.with == PostOp::With::kElement ? element
                              : op.with == PostOp::With::kColumn
                                  ? repeated(rank, column_dim, result.dims()[column_dim])
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

bool PackedWeights::worth_packing(uint64_t version) {
  if (plain_ == packed_) return false;
  bool worth = version_.worth_packing(version, static_cast<int64_t>(packed_.get_size()));
  if (!worth && !version_.kept()) memory_ = {};
  return worth;
}

const dnnl::memory& PackedWeights::pack(const CallOperand& weights, dnnl::stream& stream) {
  if (version_.is(weights.version)) return memory_;
  if (!memory_) memory_ = dnnl::memory(packed_, onednn_engine());
  version_.set(0);
  dnnl::memory plain(plain_, onednn_engine(), weights.data);
  Reorder(plain, memory_).run(stream);
  version_.set(weights.version);
  return memory_;
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

}  // namespace

Status PlacedTensor::create(const StridedTensor& place, const dnnl::memory::desc& wanted,
                            DType wanted_type, const LaneTable& table) {
  table_ = &table;
  place_ = place;
  type_ = wanted_type;
  dnnl::memory::dims strides = place.strides;
  if (!has_name(place) || place.dtype != wanted_type) {
    strides = gathered_strides_ = row_major_strides(place.sizes);
    int64_t size_bytes = num_elements(place.sizes) * dtype_size(wanted_type);
    gathered_ = allocate_aligned(size_bytes);
    if (gathered_ == nullptr)
      return Error{ErrorCode::kOutOfMemory,
                   "The packed operand of a convolution (" + std::to_string(size_bytes) +
                       " bytes) does not fit in the machine's memory.",
                   ""};
  }
  // The stride of a dimension of size 1 means nothing; equal descriptions should be
  // seen as equal.
  std::vector<int64_t> like =
      wanted.data.format_kind == dnnl_blocked
          ? std::vector<int64_t>(wanted.data.format_desc.blocking.strides,
                                 wanted.data.format_desc.blocking.strides + wanted.data.ndims)
          : row_major_strides(place.sizes);
  for (size_t d = 0; d < strides.size(); ++d)
    if (place.sizes[d] == 1) strides[d] = like[d];
  dnnl::memory::desc placed(place.sizes, onednn_type(wanted_type), strides);
  copies_ = placed != wanted;
  placed_ = dnnl::memory(placed, onednn_engine(), nullptr);
  if (copies_) wanted_ = dnnl::memory(wanted, onednn_engine());
  return {};
}

StridedArray PlacedTensor::at(const CallOperand& operand) const {
  return {operand.data + place_.offset * dtype_size(place_.dtype), place_.strides, place_.dtype};
}

const dnnl::memory& PlacedTensor::read(const CallOperand& operand, dnnl::stream& stream) {
  bool current = operand.version != 0 && operand.version == version_;
  version_ = operand.version;
  if (gathered_ && !current) strided_copy(place_.sizes, at(operand), gathered(), *table_);
  placed_.set_data_handle(gathered_ ? gathered_.get() : at(operand).data);
  if (!copies_) return placed_;
  if (!reorder_) reorder_ = Reorder(placed_, wanted_);
  if (!current) reorder_.run(stream);
  return wanted_;
}

const dnnl::memory& PlacedTensor::write(const CallOperand& operand) {
  placed_.set_data_handle(gathered_ ? gathered_.get() : at(operand).data);
  return copies_ ? wanted_ : placed_;
}

void PlacedTensor::finish_write(const CallOperand& operand, dnnl::stream& stream) {
  if (copies_) {
    if (!reorder_) reorder_ = Reorder(wanted_, placed_);
    reorder_.run(stream);
  }
  if (gathered_) strided_copy(place_.sizes, gathered(), at(operand), *table_);
}

}  // namespace tuff::cpu
