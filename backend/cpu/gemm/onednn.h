// What matmul and convolution share of oneDNN. Its exceptions stop in their files.
#pragma once

#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/derived_operand.h"
#include "backend/cpu/gemm/onednn_version.h"
#include "backend/cpu/gemm/scratchpad.h"
#include "backend/cpu/gemm/strided_copy.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

const dnnl::engine& onednn_engine();

// The error for an exception of oneDNN while doing `what`.
Error onednn_error(const dnnl::error& error, const char* what);

dnnl::memory::data_type onednn_type(DType dtype);

// kUnsupported where oneDNN has only its reference code for operands of a narrow type: the
// same in f32 is faster. `implementation` is a primitive's own name of it.
Status check_fast(const std::string& implementation, DType operand_type);

// Runs oneDNN with one thread while it lives, where the work is too small to share:
// waking a second thread takes longer than 2 MFLOP. Creation and execution of a
// primitive must agree on it.
class ThreadsFor {
 public:
  explicit ThreadsFor(double flops);
  ~ThreadsFor();
  ThreadsFor(const ThreadsFor&) = delete;
  ThreadsFor& operator=(const ThreadsFor&) = delete;

 private:
  int before_ = -1;  // the limit that was; -1: it stays
};

// The post-ops of a call whose result has `sizes` and `strides`, its columns in dimension
// `column_dim`; and their operands at run time. `in_result`: the post-op, an addition or
// subtraction, whose operand is what the result's memory holds before the call. All
// functions throw dnnl::error.
class PostOps {
 public:
  PostOps(const PostOpList& post_ops, const dnnl::memory::dims& sizes,
          const dnnl::memory::dims& strides, size_t column_dim,
          std::optional<size_t> in_result = std::nullopt);
  // Of a primitive that is given a Scratchpad.
  const dnnl::primitive_attr& attributes() const { return attributes_; }
  // Puts what the post-ops read into the arguments of a primitive, the same ones every
  // time; `operands`: one per post-op that has an operand.
  void bind(std::span<const CallOperand> operands, PrimitiveArguments& arguments);

 private:
  struct Operand {
    dnnl::memory memory;
    size_t index = 0;  // among the operands given to `bind`
    int argument = 0;
    int64_t offset = 0;
  };
  dnnl::primitive_attr attributes_;
  std::vector<Operand> operands_;
  std::vector<std::pair<int, dnnl::memory>> values_;  // constants
};

// The post-op whose operand lies where the result goes, if there is one; `operands` as in
// PostOps::bind.
struct InResult {
  size_t post_op = 0, operand = 0;
};
std::optional<InResult> find_in_result(const PostOpList& post_ops,
                                       std::span<const CallOperand> operands,
                                       const std::byte* result);

// A copy between two layouts. All functions throw dnnl::error.
class Reorder {
 public:
  Reorder() = default;
  // The memories may be given other data before a run.
  Reorder(const dnnl::memory& from, const dnnl::memory& to);
  explicit operator bool() const { return static_cast<bool>(primitive_); }
  void run(dnnl::stream& stream);

 private:
  dnnl::reorder primitive_;
  Scratchpad scratchpad_;
  PrimitiveArguments arguments_;
};

// Weights in the layout a primitive likes best.
class PackedWeights {
 public:
  // `plain` describes the weights as they come, `packed` as they shall be: not the same.
  PackedWeights(const dnnl::memory::desc& plain, const dnnl::memory::desc& packed,
                DerivedOwner& owner);

  // The packed copy; none where it is not kept. Throws dnnl::error.
  DerivedOperand::Use pack(const CallOperand& weights, dnnl::stream& stream);

 private:
  dnnl::memory::desc plain_, packed_;
  DerivedOperand copy_;
};

// A tensor of a call that is copied between its place in memory and the layout that
// a primitive wants, where the two differ. Copies of operands are kept for as long as
// the contents they were made of stay the same. All functions but create throw dnnl::error.
class PlacedTensor {
 public:
  // `wanted` has the sizes of `place`, and perhaps another type, `wanted_type`.
  void create(const StridedTensor& place, const dnnl::memory::desc& wanted, DType wanted_type,
              const LaneTable& table);
  // Whether what is read is a copy.
  bool copies() const { return gathers_ || reorders_; }
  // Of weights that copies(): the owner keeps the copy, not the tensor.
  void keep_in(DerivedOwner& owner);

  // The tensor's contents for the primitive to read. Where they are not the operand's own:
  // factors, which name them together with its version, and what makes them.
  using Source = std::function<CallOperand()>;
  const dnnl::memory& read(const CallOperand& operand, dnnl::stream& stream,
                           const std::vector<float>& factors = {}, const Source& source = nullptr);
  // Memory for the primitive to write to; `finish_write` brings it into place.
  const dnnl::memory& write(const CallOperand& operand);
  void finish_write(const CallOperand& operand, dnnl::stream& stream);
  // After a run.
  void end();

 private:
  StridedArray at(const CallOperand& operand) const;
  StridedArray gathered(std::byte* data) const { return {data, gathered_strides_, type_}; }
  // Memory of the tensor's own.
  std::byte* own(AlignedBytes& memory, int64_t size_bytes) const;

  const LaneTable* table_ = nullptr;
  StridedTensor place_;
  DType type_ = DType::kF32;  // of the copies
  bool gathers_ = false, reorders_ = false;
  std::vector<int64_t> gathered_strides_;  // row-major: where oneDNN cannot name place or type
  dnnl::memory placed_;                    // the tensor in place, or gathered
  dnnl::memory wanted_;
  int64_t placed_bytes_ = 0, wanted_bytes_ = 0;
  AlignedBytes gathered_, reordered_;
  Reorder reorder_;  // to what is wanted, or back from it
  std::unique_ptr<DerivedOperand> kept_;
  DerivedOperand::Use use_;
  uint64_t version_ = 0;  // of the copy, where it is the tensor's own
};

}  // namespace tuff::cpu
