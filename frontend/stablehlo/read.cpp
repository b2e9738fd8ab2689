#include "frontend/stablehlo/read.h"

#include "frontend/stablehlo/exported.h"
#include "frontend/stablehlo/import/sharding.h"
#include "ir/support/deep_stack.h"

namespace tuff {

bool stablehlo::is_bytecode(std::string_view bytes) { return bytes.starts_with("ML\xEFR"); }

Result<stablehlo::Module> stablehlo::read_module(std::string_view bytes,
                                                 const std::string& file_name) {
  bytes = exported_module(bytes).value_or(bytes);
  return is_bytecode(bytes) ? read_bytecode(bytes, file_name) : read_text(bytes, file_name);
}

Result<Model> stablehlo::read_model(const ModelBytes& bytes, const AskShapes& ask) {
  return on_deep_stack([&]() -> Result<Model> {
    TUFF_ASSIGN(Module module, read_module(bytes.bytes, bytes.path));
    ArgumentShapes shapes;
    if (has_open_arguments(module)) {
      TUFF_ASSIGN(shapes, ask());
    }
    return import_module(module, shapes, ask.shape_option);
  });
}

Result<Graph> read_stablehlo(std::string_view bytes, const std::string& file_name,
                             const ArgumentShapes& shapes) {
  return on_deep_stack([&]() -> Result<Graph> {
    TUFF_ASSIGN(stablehlo::Module module, stablehlo::read_module(bytes, file_name));
    TUFF_ASSIGN(Model model, stablehlo::import_module(module, shapes));
    return std::move(model.graph);
  });
}

Result<WholeProgram> read_whole_program(std::string_view bytes, const std::string& file_name) {
  return on_deep_stack([&]() -> Result<WholeProgram> {
    TUFF_ASSIGN(stablehlo::Module module, stablehlo::read_module(bytes, file_name));
    return stablehlo::import_whole_program(module);
  });
}

Result<WholeProgram> read_whole_program(std::string_view bytes, const std::string& file_name,
                                        std::span<const int64_t> mesh_extents) {
  return on_deep_stack([&]() -> Result<WholeProgram> {
    TUFF_ASSIGN(stablehlo::Module module, stablehlo::read_module(bytes, file_name));
    TUFF_ASSIGN(module.num_partitions, stablehlo::resize_meshes(mesh_extents, &module.meshes));
    return stablehlo::import_whole_program(module);
  });
}

}  // namespace tuff
