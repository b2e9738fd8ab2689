#include "frontend/stablehlo/read.h"

namespace tuff {

bool stablehlo::is_bytecode(std::string_view bytes) { return bytes.starts_with("ML\xEFR"); }

Result<Graph> read_stablehlo(std::string_view bytes, const std::string& file_name) {
  auto read = stablehlo::is_bytecode(bytes) ? stablehlo::read_bytecode : stablehlo::read_text;
  TUFF_ASSIGN(stablehlo::Module module, read(bytes, file_name));
  return stablehlo::import_module(module);
}

}  // namespace tuff
