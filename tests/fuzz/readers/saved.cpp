// As the bytes are, and with a digest that is right: what stands behind it is looked at, too.
#include "frontend/session/reader.h"
#include "tests/fuzz/readers/sealed.h"
#include "tests/fuzz/readers/target.h"

namespace tuff::saved {
ReadModel read_model;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tuff;
  AskShapes ask([] { return Result<ArgumentShapes>(ArgumentShapes()); });
  std::string_view given = fuzz::as_text(data, size);
  std::string right = fuzz::sealed(given);
  for (std::string_view bytes : {given, std::string_view(right)})
    fuzz::check_accepted(saved::read_model({"/nowhere/fuzz.tuff", bytes, nullptr, false}, ask));
  return 0;
}
