#include "backend/cpu/gemm/scratchpad.h"

#include "backend/cpu/gemm/onednn.h"
#include "backend/cpu/thread_memory.h"

namespace tuff::cpu {

Scratchpad::Scratchpad(const dnnl::memory::desc& desc)
    : memory_(desc, onednn_engine(), nullptr), size_bytes_(desc.get_size()) {}

void Scratchpad::bind(PrimitiveArguments& arguments) {
  if (size_bytes_ == 0) return;
  std::byte* memory = thread_memory(size_bytes_);
  if (memory == nullptr)
    throw dnnl::error(dnnl_out_of_memory, "no memory for intermediate results");
  memory_.set_data_handle(memory);
  arguments[DNNL_ARG_SCRATCHPAD] = memory_;
}

}  // namespace tuff::cpu
