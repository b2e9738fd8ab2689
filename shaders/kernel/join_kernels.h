// Kernels one after another, in loops and branches, as one kernel of one workgroup.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/caps.h"
#include "shaders/kernel/kernel.h"

namespace tuff {

class KernelJoiner {
 public:
  // The kernel has so many lanes.
  explicit KernelJoiner(int64_t lanes);

  // The number of a buffer of the kernel.
  uint32_t add_buffer(const BufferDecl& buffer);
  std::vector<BufferDecl>& buffers() { return kernel_.buffers; }
  // A parameter of a dispatch.
  Operand add_param() { return Operand::param(kernel_.num_params++); }

  // All points of the grid of a kernel of as many lanes, or fewer, and without matrices.
  // `buffers` by the kernel's numbers.
  void add_kernel(const Kernel& kernel, std::span<const int32_t> params,
                  std::span<const uint32_t> buffers);
  // to[i] = from[i] of `count` elements.
  void add_copy(uint32_t from, uint32_t to, int64_t count);
  // All that was stored is seen by what comes.
  void add_barrier();

  // begin_ ... end() around what is added between them.
  void begin_loop(const Operand& extent);
  // Leaves the innermost loop unless element 0 of the buffer, of i1, is true.
  void leave_unless(uint32_t buffer);
  // Element 0 of a buffer of i1, an 8-bit or a 32-bit integer: as i32.
  Operand load_index(uint32_t buffer);
  Operand is_equal(const Operand& a, int64_t b);
  Operand is_none(const std::vector<Operand>& conditions);
  void begin_if(const Operand& condition);
  void end();

  Kernel finish(std::string family);

 private:
  // A loop; gives its variable.
  Operand open(Stmt::Kind kind, const Operand& extent);
  Operand open(Stmt::Kind kind, const Operand& extent, uint32_t variable);
  Operand define(Stmt stmt);
  Operand compute(Op op, const Operand& a, const Operand& b);
  Operand load(uint32_t buffer, const Operand& at);
  Block& block() { return open_.back().body; }
  // Numbers of the joined kernel in place of a kernel's own.
  void rename(Block& body, std::span<const int32_t> params, std::span<const uint32_t> buffers,
              std::span<const uint32_t> arrays, uint32_t first_value) const;

  Kernel kernel_;
  std::vector<Stmt> open_;  // the innermost last; the first is the whole body
};

}  // namespace tuff
