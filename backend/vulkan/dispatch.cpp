#include "backend/vulkan/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backend/plan/plan.h"
#include "backend/plan/ranges.h"

namespace tuff {

namespace {

Error unsupported(const std::string& message) { return {ErrorCode::kUnsupported, message, ""}; }
Error malformed(const std::string& message) { return {ErrorCode::kRunFailed, message, ""}; }

// Bytes a range may use, or -1 for an index the program does not have.
int64_t space_bytes(const Program& program, const Range& range) {
  auto size = [&](const auto& list, auto bytes) -> int64_t {
    return range.index < list.size() ? bytes(list[range.index]) : -1;
  };
  switch (range.space) {
    case Range::Space::kArena: return program.arena_bytes;
    case Range::Space::kConstants:
      return size(program.constants, [](const Literal& l) { return l.size_bytes(); });
    // Narrow types may lie widened, so the size of the host is a lower bound only.
    case Range::Space::kArgument: return size(program.arguments, [](auto&) { return INT64_MAX; });
    case Range::Space::kOutput: return size(program.outputs, [](auto&) { return INT64_MAX; });
  }
  return -1;
}

int64_t offset_of(const Range& range) {
  return range.space == Range::Space::kArena ? range.offset_bytes : 0;
}

Status check_memory(const Program& program, const Range& range, const Caps& caps,
                    const std::string& label) {
  int64_t space = space_bytes(program, range), offset = offset_of(range);
  if (space < 0 || range.size_bytes <= 0 || offset < 0 || range.size_bytes > space - offset)
    return malformed(
        fmt::format("A step ({}) binds a range outside its memory ({} bytes at {} of {}).", label,
                    range.size_bytes, offset, space));
  if (range.space != Range::Space::kArena) return {};
  int64_t segment = arena_segment_bytes(caps);
  if (range.size_bytes > segment)
    return unsupported(
        fmt::format("A step ({}) has a temporary of {} bytes, and the device ({}) holds {} in one "
                    "allocation (maxMemoryAllocationSize). Use smaller batches or another device.",
                    label, range.size_bytes, caps.name, caps.max_allocation_bytes));
  if (offset / segment != (offset + range.size_bytes - 1) / segment)
    return malformed(fmt::format("A step ({}) has a temporary in two allocations ({} bytes at {}).",
                                 label, range.size_bytes, offset));
  return {};
}

Status check_binding(const Range& range, const BufferDecl& buffer, const Caps& caps,
                     const std::string& label) {
  if (buffer.by_address) {
    if (caps.buffer_device_address) return {};
    return unsupported(
        fmt::format("A step ({}) reaches a buffer of {} bytes by address, and the "
                    "device ({}) has no bufferDeviceAddress; use another device.",
                    label, range.size_bytes, caps.name));
  }
  if (range.size_bytes > caps.max_storage_buffer_range)
    return unsupported(
        fmt::format("A step ({}) binds {} bytes, above the device's "
                    "maxStorageBufferRange ({}); use another device.",
                    label, range.size_bytes, caps.max_storage_buffer_range));
  if (offset_of(range) % caps.min_storage_offset_alignment != 0)
    return malformed(
        fmt::format("A step ({}) binds the arena at {}, which is no multiple of "
                    "minStorageBufferOffsetAlignment ({}).",
                    label, offset_of(range), caps.min_storage_offset_alignment));
  return {};
}

// Steps that bind no kernel: the ranges they name.
Status check_plain_step(const Step& step) {
  if (step.kind == Step::Kind::kHost) {
    auto full = [](const TensorType& type) { return type.num_elements() > 0; };
    if (step.host &&
        static_cast<std::ptrdiff_t>(step.bindings.size()) ==
            std::count_if(step.host->arguments.begin(), step.host->arguments.end(), full) +
                std::count_if(step.host->outputs.begin(), step.host->outputs.end(), full))
      return {};
    return malformed(fmt::format("A step ({}) lacks its program or ranges.", step.label));
  }
  bool loop = step.kind == Step::Kind::kWhile, counted = loop && step.trip_count;
  size_t bindings = step.kind == Step::Kind::kCopy ? 2 : counted ? 0 : 1;
  bool blocks = loop                             ? step.blocks.size() == 2
                : step.kind == Step::Kind::kCase ? !step.blocks.empty()
                                                 : step.blocks.empty();
  if (step.bindings.size() != bindings || !blocks)
    return malformed(fmt::format("A step ({}) lacks ranges or blocks.", step.label));
  if (bindings == 2 && step.bindings[0].size_bytes != step.bindings[1].size_bytes)
    return malformed(fmt::format("A copy ({}) is from {} bytes to {}.", step.label,
                                 step.bindings[0].size_bytes, step.bindings[1].size_bytes));
  return {};
}

Status check_step(const Program& program, const Step& step, const std::vector<GlslShader>& shaders,
                  const Caps& caps) {
  for (const Range& range : step.bindings)
    TUFF_RETURN_IF_ERROR(check_memory(program, range, caps, step.label));
  bool plain = step.kind == Step::Kind::kCopy || step.kind == Step::Kind::kHost;
  if (plain || is_control(step.kind)) return check_plain_step(step);
  if (step.kind != Step::Kind::kDispatch)
    return unsupported(
        fmt::format("A step ({}) is a library call, which only the CPU has; compile "
                    "the program for this device ({}).",
                    step.label, caps.name));
  if (step.kernel >= program.kernels.size())
    return malformed(fmt::format("A step ({}) names kernel {}, and the program has {}.", step.label,
                                 step.kernel, program.kernels.size()));
  const Kernel& kernel = program.kernels[step.kernel];
  const GlslShader& shader = shaders[step.kernel];
  if (step.bindings.size() != kernel.buffers.size() || step.params.size() != kernel.num_params ||
      shader.num_descriptors + shader.num_addresses != kernel.buffers.size() ||
      shader.push_constant_bytes != 8 * shader.num_addresses + 4 + 4 * kernel.num_params)
    return malformed(
        fmt::format("A step ({}) has {} bindings and {} parameters, and its kernel "
                    "takes {} and {}.",
                    step.label, step.bindings.size(), step.params.size(), kernel.buffers.size(),
                    kernel.num_params));
  if (shader.num_descriptors > caps.max_storage_buffers)
    return unsupported(
        fmt::format("A step ({}) binds {} buffers, above the device's "
                    "maxPerStageDescriptorStorageBuffers ({}).",
                    step.label, shader.num_descriptors, caps.max_storage_buffers));
  if (shader.push_constant_bytes > caps.max_push_constant_bytes)
    return unsupported(
        fmt::format("A step ({}) takes {} bytes of push constants, above the "
                    "device's maxPushConstantsSize ({}).",
                    step.label, shader.push_constant_bytes, caps.max_push_constant_bytes));
  if (step.workgroups > 0) {
    auto grid = fold_grid(step.workgroups, caps);
    if (!grid) return grid.take_error();
  }
  for (size_t i = 0; i < step.bindings.size(); ++i)
    TUFF_RETURN_IF_ERROR(check_binding(step.bindings[i], kernel.buffers[i], caps, step.label));
  return {};
}

}  // namespace

Result<std::pair<uint32_t, uint32_t>> fold_grid(int64_t workgroups, const Caps& caps) {
  int64_t y = (workgroups + caps.max_group_count - 1) / caps.max_group_count;
  // The kernel counts groups in 32 bits, spare ones included.
  if (y > caps.max_group_count || workgroups + y > int64_t{UINT32_MAX})
    return unsupported(
        fmt::format("A step takes {} workgroups, above what the device ({}) runs in "
                    "one dispatch (maxComputeWorkGroupCount = {} in each dimension).",
                    workgroups, caps.name, caps.max_group_count));
  int64_t x = (workgroups + y - 1) / y;
  return std::pair{static_cast<uint32_t>(x), static_cast<uint32_t>(y)};
}

std::vector<uint32_t> pack_push_constants(const std::vector<uint64_t>& addresses,
                                          int64_t workgroups, const std::vector<int32_t>& params) {
  std::vector<uint32_t> words;
  for (uint64_t address : addresses) {
    words.push_back(static_cast<uint32_t>(address));
    words.push_back(static_cast<uint32_t>(address >> 32));
  }
  words.push_back(static_cast<uint32_t>(workgroups));
  for (int32_t param : params) words.push_back(static_cast<uint32_t>(param));
  return words;
}

Status check_program(const Program& program, const std::vector<GlslShader>& shaders,
                     const Caps& caps) {
  if (shaders.size() != program.kernels.size())
    return malformed(fmt::format("A program of {} kernels has {} shaders.", program.kernels.size(),
                                 shaders.size()));
  Status status;
  for_each_step(program.steps, [&](const Step& step, int) {
    if (status.ok()) status = check_step(program, step, shaders, caps);
  });
  return status;
}

}  // namespace tuff
