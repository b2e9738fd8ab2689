// What a step becomes on the device: pure functions, tested without one.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "backend/program.h"
#include "ir/caps.h"
#include "shaders/emit/emit_glsl.h"

namespace tuff {

// A 2-d grid that covers `workgroups` (> 0) with less than y spare groups;
// kUnsupported when the device has no such grid.
Result<std::pair<uint32_t, uint32_t>> fold_grid(int64_t workgroups, const Caps& caps);

// Push constants as emit_glsl.h lays them out: addresses, workgroups, parameters.
std::vector<uint32_t> pack_push_constants(const std::vector<uint64_t>& addresses,
                                          int64_t workgroups, const std::vector<int32_t>& params);

// Checks that every step can run on a device of these Caps, with one shader per
// kernel. Errors: kUnsupported naming the limit; kRunFailed for a step that does
// not match its kernel or leaves its memory.
Status check_program(const Program& program, const std::vector<GlslShader>& shaders,
                     const Caps& caps);

}  // namespace tuff
