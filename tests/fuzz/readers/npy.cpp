// The first byte says what element type the caller asks for; the file follows.
#include "frontend/weights/npy.h"

#include <optional>

#include "tests/fuzz/readers/memory_file.h"
#include "tests/fuzz/readers/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tuff;
  if (size == 0) return 0;
  std::optional<DType> as;
  if (data[0] < kNumDTypes) as = static_cast<DType>(data[0]);
  fuzz::MemoryFile file(data + 1, size - 1);
  Result<Literal> literal = read_npy(file.path(), as);
  if (literal.ok() && literal->size_bytes() >= static_cast<int64_t>(size))
    fuzz::found("An array is larger than its file.");
  if (literal.ok() && as && literal->type().dtype != *as)
    fuzz::found("An array has another element type than asked for.");
  return 0;
}
