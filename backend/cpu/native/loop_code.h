// A loop of a program, with all that is in it, as one native function.
//
// Its kernels, copies, branches and inner loops are code; library calls and kernels that there is
// no code for are called one by one. What is carried stays in memory, which small loops have in
// the first-level cache.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "backend/cpu/native/code_memory.h"
#include "backend/cpu/native/native_context.h"
#include "backend/program.h"

namespace tuff::cpu::native {

// A number of NativeContext::bases.
int64_t base_of(const Program& program, const Range& range);
int64_t num_bases(const Program& program);

// Whether this build makes native code at all.
bool has_native_code();

class LoopCode {
 public:
  // Of a kWhile, or of a kernel that is a loop. `small` says which kernels one thread runs. Nothing
  // where the processor, the build or the system have no native code, or none of the kernels has.
  static std::optional<LoopCode> compile(const Program& program, const Step& step,
                                         const std::function<bool(const Step&)>& small,
                                         int vector_lanes);

  const std::vector<const Step*>& called() const { return called_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }
  int64_t run(NativeContext& context) const { return memory_.function<NativeFunction>()(&context); }

 private:
  CodeMemory memory_;
  std::vector<const Step*> called_;
  int64_t scratch_bytes_ = 0;
};

// A kernel that would be worth a function of its own.
bool is_loop_kernel(const Kernel& kernel);

}  // namespace tuff::cpu::native
