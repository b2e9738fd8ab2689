#include "frontend/stablehlo/read.h"

namespace tuff {

bool stablehlo::is_bytecode(std::string_view bytes) { return bytes.starts_with("ML\xEFR"); }

Result<Graph> read_stablehlo(std::string_view bytes, const std::string& file_name) {
  if (stablehlo::is_bytecode(bytes))
    return Error{
        ErrorCode::kUnsupported,
        "The file is MLIR bytecode, which this build does not read; write the module as text "
        "(in JAX: lowered.as_text()).",
        file_name};
  TUFF_ASSIGN(stablehlo::Module module, stablehlo::read_text(bytes, file_name));
  return stablehlo::import_module(module);
}

}  // namespace tuff
