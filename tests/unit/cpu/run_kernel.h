// Runs kernels given as text, at every processor level, with every index checked.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "backend/cpu/kernels/execute_kernel.h"
#include "backend/cpu/native/kernel_function.h"
#include "backend/cpu/native/loop_code.h"
#include "shaders/kernel/kernel_text.h"

namespace tuff::test {

// Bytes of exactly the size asked for, so that a sanitizer sees what leaves them.
template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

using Buffers = std::vector<std::vector<std::byte>>;

inline Kernel parse(const std::string& text) {
  Result<Kernel> kernel = parse_kernel(text, "test");
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().to_string()) << "\n" << text;
  if (!kernel.ok()) return {};
  Status status = verify_kernel(*kernel);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().to_string()) << "\n" << text;
  return std::move(kernel).value();
}

inline Status run_at(cpu::IsaLevel level, const Kernel& kernel, const std::vector<int32_t>& params,
                     Buffers& buffers) {
  auto program = cpu::prepare_kernel(kernel, cpu::lane_table(level));
  if (!program.ok()) return program.take_error();
  cpu::KernelScratch scratch;
  TUFF_RETURN_IF_ERROR(scratch.reserve(*program));
  std::vector<cpu::BufferView> views;
  for (auto& buffer : buffers)
    views.push_back({buffer.data(), static_cast<int64_t>(buffer.size())});
  return cpu::execute_kernel(*program, params, views, scratch, true);
}

// Runs the kernel as a step of a loop's native code. False where there is none for it.
inline bool run_in_loop(const Kernel& kernel, const std::vector<int32_t>& params, int vector_lanes,
                        Buffers& buffers) {
  Program program;
  program.kernels.push_back(kernel);
  Step step;
  step.params = params;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    auto size = static_cast<int64_t>(buffers[i].size());
    program.arguments.push_back({DType::kU8, {size}});
    step.bindings.push_back({Range::Space::kArgument, i, 0, size});
  }
  auto all = [](const Step&) { return true; };
  std::optional<cpu::native::LoopCode> code =
      cpu::native::LoopCode::compile(program, step, all, vector_lanes);
  if (!code || !code->called().empty()) return false;
  cpu::AlignedBytes scratch = cpu::allocate_aligned(code->scratch_bytes());
  std::vector<std::byte*> bases{nullptr, scratch.get()};
  for (auto& buffer : buffers) bases.push_back(buffer.data());
  cpu::native::NativeContext context{.bases = bases.data()};
  EXPECT_EQ(code->run(context), 0);
  EXPECT_EQ(context.dispatches, 1);
  return true;
}

// As a native function of its points, in two parts. False where there is none for it.
inline bool run_as_function(const Kernel& kernel, const std::vector<int32_t>& params,
                            int vector_lanes, Buffers& buffers) {
  auto function = cpu::native::KernelFunction::compile(kernel, params, vector_lanes);
  if (!function) return false;
  int64_t points = 1;
  for (const GridLoop& loop : kernel.grid)
    points *= loop.extent.kind == Operand::Kind::kParam ? params[loop.extent.id]
                                                        : static_cast<int32_t>(loop.extent.bits);
  std::vector<std::byte*> bases(cpu::native::kFirstBase);
  for (auto& buffer : buffers) bases.push_back(buffer.data());
  function->run(bases.data(), points / 2, points);
  function->run(bases.data(), 0, points / 2);
  return true;
}

// The buffers after the run; every level and native code must give the same bits.
inline Buffers run(const Kernel& kernel, const std::vector<int32_t>& params,
                   const Buffers& buffers) {
  Buffers first;
  for (int i = 0; i < cpu::kNumIsaLevels; ++i) {
    auto level = static_cast<cpu::IsaLevel>(i);
    if (!cpu::isa_level_available(level)) continue;
    Buffers result = buffers;
    Status status = run_at(level, kernel, params, result);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().to_string());
    if (i == 0) first = result;
    EXPECT_EQ(result, first) << cpu::isa_level_name(level);
  }
  for (int lanes : {8, 16}) {
    if (!cpu::isa_level_available(lanes == 8 ? cpu::IsaLevel::kAvx2 : cpu::IsaLevel::kAvx512))
      continue;
    for (auto* run_native : {run_in_loop, run_as_function}) {
      Buffers result = buffers;
      if (run_native(kernel, params, lanes, result)) {
        EXPECT_EQ(result, first) << "native, " << lanes << " lanes";
      }
    }
  }
  return first;
}
inline Buffers run(const std::string& text, const std::vector<int32_t>& params,
                   const Buffers& buffers) {
  return run(parse(text), params, buffers);
}

}  // namespace tuff::test
