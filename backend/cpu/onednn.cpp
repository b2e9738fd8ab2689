#include "backend/cpu/onednn.h"

#include <omp.h>

#include <string>

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

}  // namespace tuff::cpu
