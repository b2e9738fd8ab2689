#include "frontend/stablehlo/read.h"
#include "tests/fuzz/readers/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tuff;
  Result<stablehlo::Module> module = stablehlo::read_text(fuzz::as_text(data, size), "fuzz.mlir");
  if (module.ok()) fuzz::check_accepted(stablehlo::import_module(*module));
  return 0;
}
