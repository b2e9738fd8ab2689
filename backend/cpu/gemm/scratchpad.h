// Memory for what oneDNN's primitives keep while they run. Left to itself, oneDNN takes it
// from the thread that made the primitive, and a run on another thread finds none.
#pragma once

#include "backend/cpu/gemm/primitive_arguments.h"

namespace tuff::cpu {

// What one primitive needs, made with dnnl::scratchpad_mode::user. The memory is the
// running thread's, and all primitives that run there share it. Throws dnnl::error.
class Scratchpad {
 public:
  Scratchpad() = default;
  explicit Scratchpad(const dnnl::memory::desc& desc);

  // Before each run: adds the memory to the arguments of the primitive.
  void bind(PrimitiveArguments& arguments);

 private:
  dnnl::memory memory_;
  size_t size_bytes_ = 0;
};

}  // namespace tuff::cpu
