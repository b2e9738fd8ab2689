#include "backend/cpu/onednn.h"

#include <omp.h>

#include <algorithm>
#include <string>

#include "backend/cpu/strided_copy.h"

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

ThreadsFor::ThreadsFor(double flops) {
  if (flops >= 2e6) return;
  before_ = omp_get_max_threads();
  omp_set_num_threads(1);
}

ThreadsFor::~ThreadsFor() {
  if (before_ > 0) omp_set_num_threads(before_);
}

PostOps::PostOps(const std::vector<PostOp>& post_ops, const dnnl::memory::desc& result,
                 size_t column_dim)
    : post_ops_(post_ops) {
  dnnl::memory::dims row(result.dims().size(), 1), steps(result.dims().size(), 1);
  row[column_dim] = result.dims()[column_dim];
  for (size_t d = 0; d < column_dim; ++d) steps[d] = row[column_dim];
  dnnl::memory::desc per_column(row, dnnl::memory::data_type::f32, steps);
  dnnl::post_ops list;
  for (const PostOp& op : post_ops) {
    const dnnl::memory::desc& desc = op.per_column ? per_column : result;
    list.append_binary(op.kind == PostOp::Kind::kAdd        ? dnnl::algorithm::binary_add
                       : op.kind == PostOp::Kind::kSubtract ? dnnl::algorithm::binary_sub
                                                            : dnnl::algorithm::binary_mul,
                       desc);
    operands_.emplace_back(desc, onednn_engine(), nullptr);
  }
  attributes_.set_post_ops(list);
  attributes_.set_scratchpad_mode(dnnl::scratchpad_mode::user);
}

void PostOps::bind(std::span<const CallOperand> operands,
                   std::unordered_map<int, dnnl::memory>& arguments) {
  for (size_t i = 0; i < operands_.size(); ++i) {
    operands_[i].set_data_handle(reinterpret_cast<float*>(operands[i].data) + post_ops_[i].offset);
    arguments[DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1] = operands_[i];
  }
}

bool PackedWeights::worth_packing(uint64_t version) {
  if (version == 0 || plain_ == packed_) return false;
  bool again = version == seen_version_;
  seen_version_ = version;
  return again;
}

const dnnl::memory& PackedWeights::pack(const CallOperand& weights, dnnl::stream& stream) {
  if (weights.version != 0 && weights.version == packed_version_) return memory_;
  if (!memory_) memory_ = dnnl::memory(packed_, onednn_engine());
  packed_version_ = 0;
  dnnl::memory plain(plain_, onednn_engine(), weights.data);
  dnnl::reorder(plain, memory_).execute(stream, plain, memory_);
  stream.wait();
  packed_version_ = weights.version;
  return memory_;
}

namespace {

// oneDNN names tensors by positive strides.
bool has_name(const StridedTensor& tensor) {
  for (size_t d = 0; d < tensor.sizes.size(); ++d)
    if (tensor.sizes[d] > 1 && tensor.strides[d] <= 0) return false;
  return true;
}

}  // namespace

Status PlacedTensor::create(const StridedTensor& place, const dnnl::memory::desc& wanted) {
  place_ = place;
  dnnl::memory::dims strides = place.strides;
  if (!has_name(place)) {
    strides = gathered_strides_ = row_major_strides(place.sizes);
    int64_t size_bytes = num_elements(place.sizes) * 4;
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
  dnnl::memory::desc placed(place.sizes, dnnl::memory::data_type::f32, strides);
  copies_ = placed != wanted;
  placed_ = dnnl::memory(placed, onednn_engine(), nullptr);
  if (copies_) wanted_ = dnnl::memory(wanted, onednn_engine());
  return {};
}

float* PlacedTensor::at(const CallOperand& operand) const {
  return reinterpret_cast<float*>(operand.data) + place_.offset;
}

const dnnl::memory& PlacedTensor::read(const CallOperand& operand, dnnl::stream& stream) {
  bool current = operand.version != 0 && operand.version == version_;
  version_ = operand.version;
  if (gathered_ && !current)
    strided_copy(place_.sizes, at(operand), place_.strides,
                 reinterpret_cast<float*>(gathered_.get()), gathered_strides_);
  placed_.set_data_handle(gathered_ ? static_cast<void*>(gathered_.get()) : at(operand));
  if (!copies_) return placed_;
  if (!current) {
    dnnl::reorder(placed_, wanted_).execute(stream, placed_, wanted_);
    stream.wait();
  }
  return wanted_;
}

const dnnl::memory& PlacedTensor::write(const CallOperand& operand) {
  placed_.set_data_handle(gathered_ ? static_cast<void*>(gathered_.get()) : at(operand));
  return copies_ ? wanted_ : placed_;
}

void PlacedTensor::finish_write(const CallOperand& operand, dnnl::stream& stream) {
  if (copies_) {
    dnnl::reorder(wanted_, placed_).execute(stream, wanted_, placed_);
    stream.wait();
  }
  if (gathered_)
    strided_copy(place_.sizes, reinterpret_cast<float*>(gathered_.get()), gathered_strides_,
                 at(operand), place_.strides);
}

}  // namespace tuff::cpu
