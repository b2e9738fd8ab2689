#include "backend/cpu/scratchpad.h"

#include "backend/cpu/execute_kernel.h"
#include "backend/cpu/onednn.h"

namespace tuff::cpu {

namespace {

// Of the running thread; as large as the largest asked for.
std::byte* thread_memory(size_t size_bytes) {
  thread_local AlignedBytes memory;
  thread_local size_t there_bytes = 0;
  if (size_bytes <= there_bytes) return memory.get();
  there_bytes = 0;
  memory = allocate_aligned(static_cast<int64_t>(size_bytes));
  if (memory == nullptr)
    throw dnnl::error(dnnl_out_of_memory, "no memory for intermediate results");
  there_bytes = size_bytes;
  return memory.get();
}

}  // namespace

Scratchpad::Scratchpad(const dnnl::memory::desc& desc)
    : memory_(desc, onednn_engine(), nullptr), size_bytes_(desc.get_size()) {}

void Scratchpad::bind(PrimitiveArguments& arguments) {
  if (size_bytes_ == 0) return;
  memory_.set_data_handle(thread_memory(size_bytes_));
  arguments[DNNL_ARG_SCRATCHPAD] = memory_;
}

}  // namespace tuff::cpu
