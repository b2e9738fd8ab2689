// Programs into files; tuff_program_compile takes them again.
#include "frontend/session/save.h"

#include "frontend/c/call.h"
#include "frontend/c/objects.h"
#include "frontend/session/tensor_io.h"

namespace tuff::c {

namespace {

Status save(const ProgramState& program, const std::string& path, bool without_weights) {
  Device& device = program.device->device();
  Model model = program.model;
  if (without_weights) leave_values_out(&model);
  for (size_t i = 0; i < program.bound.size(); ++i) {
    if (!program.bound[i] || (without_weights && !model.arguments[i].is_fixed)) continue;
    const BufferState& buffer = *program.bound[i];
    TUFF_ASSIGN(BufferPtr memory, buffer.ready_memory());
    TUFF_ASSIGN(model.arguments[i].value, read_literal(device, memory, buffer.type));
  }
  return save_program(path, std::move(model), *program.program, device);
}

}  // namespace

}  // namespace tuff::c

using namespace tuff;     // NOLINT: the functions of tuff.h have no namespace
using namespace tuff::c;  // NOLINT

tuff_status tuff_program_save(const tuff_program* program, const char* path,
                              const tuff_save_options* options) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(program, "program"));
    TUFF_RETURN_IF_ERROR(need(path, "path"));
    tuff_save_options known{};
    if (options) {
      TUFF_ASSIGN(known, read_struct(options, "options"));
    }
    return c::save(*program->state, path, known.without_weights != 0);
  });
}
