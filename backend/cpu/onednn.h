// What matmul and convolution share of oneDNN. Its exceptions stop in their files.
#pragma once

#include <dnnl.hpp>
#include <unordered_map>

#include "backend/cpu/library_call.h"

namespace tuff::cpu {

const dnnl::engine& onednn_engine();

// The error for an exception of oneDNN while doing `what`.
Error onednn_error(const dnnl::error& error, const char* what);

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
  int before_ = 0;
};

// Weights in the layout a primitive likes best, kept for as long as the contents
// they were made of stay the same.
class PackedWeights {
 public:
  // `plain` describes the weights as they come, `packed` as they shall be.
  PackedWeights(dnnl::memory::desc plain, dnnl::memory::desc packed)
      : plain_(std::move(plain)), packed_(std::move(packed)) {}

  // True iff a copy of these contents pays: they are here for the second time.
  bool worth_packing(uint64_t version);
  // The packed copy, made unless it is there already. Throws dnnl::error.
  const dnnl::memory& pack(const CallOperand& weights, dnnl::stream& stream);

 private:
  dnnl::memory::desc plain_, packed_;
  dnnl::memory memory_;
  uint64_t packed_version_ = 0, seen_version_ = 0;
};

}  // namespace tuff::cpu
