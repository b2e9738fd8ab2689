#include "frontend/weights/signature.h"

#include "tests/fuzz/readers/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)tuff::parse_signature(tuff::fuzz::as_text(data, size), "signature.json");
  return 0;
}
