// Kernel -> GLSL compute shader text. The printer is dumb on purpose: legality
// (types the device can store, lanes it can run) is settled before.
#pragma once

#include <string>
#include <vector>

#include "ir/caps.h"
#include "shaders/kernel/kernel.h"

namespace tuff {

// What the backend must know to make and feed a pipeline of the text.
//   * descriptor set 0, binding i = the i-th buffer that is not by_address, in order;
//   * push constants: the addresses (uvec2 each) of by_address buffers first, in
//     order, then the total number of workgroups (uint), then the kernel's int
//     parameters; push_constant_bytes in all;
//   * workgroups: linear id = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
//     ids past the total return at once, so any 2-d grid that covers it will do.
struct GlslShader {
  std::string text;
  uint32_t num_descriptors = 0;
  uint32_t num_addresses = 0;
  uint32_t push_constant_bytes = 0;
  // Where not 0: all subgroups must have so many invocations, and be full.
  uint32_t subgroup_size = 0;
};

Result<GlslShader> emit_glsl(const Kernel& kernel, const Caps& caps);

}  // namespace tuff
