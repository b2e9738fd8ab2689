// The CPU as a Device: kernels run over arrays of lanes, matmul and convolution by
// oneDNN where the build has it.
#pragma once

#include <optional>

#include "backend/cpu/host_allocator.h"
#include "backend/device.h"

namespace tuff {

struct CpuDeviceOptions {
  // Compares every index of every kernel with the size of what it indexes; for tests.
  bool checked = false;
  // Rounds of a loop of small kernels before it becomes native code, which gives the same numbers.
  // 0: kernels, too, are native from their first run on, else once that pays; kInterpreted: nothing
  // is. Where nothing is said, TUFF_CPU_CODE says it: native (0) or interpreted; else it is
  // some 20.
  std::optional<int64_t> interpreted_rounds = {};
  static constexpr int64_t kInterpreted = -1;
  // What copies of operands in other layouts may take together. Where nothing is said,
  // TUFF_PACKED_MEMORY says it ("512MiB"; see parse_memory_size), else it is what the machine has
  // free, with room left. Without room calls do the same work while they load the operands.
  std::optional<int64_t> packed_memory_bytes = {};
  HostAllocatorPtr allocator = {};
};

// Uses the threads of thread_pool.h (OMP_NUM_THREADS) and the best the processor has, or
// what TUFF_CPU_ISA limits it to. Errors: kUsage where a variable has none of its values.
//
// Kernels for this device want many lanes along a contiguous axis, since each
// statement costs some 5 ns per block of up to 512 lanes: 256 or 512. Indices that
// are affine in the lane make contiguous or strided accesses; a quotient or
// remainder by a number of at least some lanes is cheap too, other indices gather.
Result<std::unique_ptr<Device>> create_cpu_device(CpuDeviceOptions options = {});

// A buffer of the CPU device that is this memory, without a copy if it is aligned to
// 8 bytes. Only for arguments: it cannot be written. `owner` keeps the memory alive.
Result<BufferPtr> wrap_host_memory(const std::byte* data, int64_t size_bytes,
                                   std::shared_ptr<const void> owner);

// Where a buffer of the CPU device lies; null iff it is empty.
const std::byte* host_memory(const Buffer& buffer);

}  // namespace tuff
