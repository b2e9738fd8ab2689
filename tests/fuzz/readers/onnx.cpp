// Sizes that a model leaves open are ones here, and values that shapes follow from are not given.
#include "frontend/session/reader.h"
#include "tests/fuzz/readers/target.h"

namespace tuff::onnx {
ReadModel read_model;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tuff;
  ModelBytes bytes{"/nowhere/fuzz.onnx", fuzz::as_text(data, size), nullptr, false};
  AskShapes ask([] { return Result<ArgumentShapes>(ArgumentShapes()); });
  fuzz::check_accepted(onnx::read_model(bytes, ask));
  return 0;
}
