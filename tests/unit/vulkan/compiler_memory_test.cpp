// Kernels are compiled while host memory ends: each allocation fails once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "backend/vulkan/pipelines/compiler.h"

namespace {

thread_local int64_t left = 0;  // allocations until one fails; 0: none does

void* allocate(std::size_t size) {
  if (left > 0 && --left == 0) return nullptr;
  return std::malloc(size);
}

}  // namespace

void* operator new(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tuff {
namespace {

constexpr const char* kShader =
    "#version 450\n"
    "layout(local_size_x = 64) in;\n"
    "layout(set = 0, binding = 0, std430) buffer B { float d[]; } b0;\n"
    "void main() { b0.d[gl_GlobalInvocationID.x] = sin(float(gl_GlobalInvocationID.y)); }\n";

// "ok", or the error's code; whatever is thrown is memory's end, too.
std::string compile_with_failure(int64_t at) {
  left = at;
  try {
    auto spirv = compile_glsl(kShader);
    Status valid = spirv.ok() ? validate_spirv(*spirv) : Status(spirv.error());
    bool reached = left == 0;
    left = 0;
    if (!reached) return "not reached";
    return valid.ok() ? "ok" : error_code_name(valid.error().code);
  } catch (const std::bad_alloc&) {
    left = 0;
    return "out of memory";
  }
}

TEST(CompilerMemory, EveryFailureIsOneAndTheNextCompileIsRight) {
  auto good = compile_glsl(kShader);
  ASSERT_TRUE(good.ok()) << good.error().message;
  int64_t tried = 0;
  for (int64_t at = 1;; at += at < 40 ? 1 : 61, ++tried) {
    std::string outcome = compile_with_failure(at);
    if (outcome == "not reached") break;
    EXPECT_TRUE(outcome == "ok" || outcome == "out of memory") << outcome << " at " << at;
    auto again = compile_glsl(kShader);
    ASSERT_TRUE(again.ok()) << again.error().message << " after " << at;
    EXPECT_EQ(*again, *good);
  }
  EXPECT_GT(tried, 40);
}

}  // namespace
}  // namespace tuff
