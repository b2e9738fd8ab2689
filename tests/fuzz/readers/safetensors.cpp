#include "frontend/weights/safetensors.h"

#include "tests/fuzz/readers/memory_file.h"
#include "tests/fuzz/readers/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tuff;
  fuzz::MemoryFile file(data, size);
  Result<Safetensors> tensors = Safetensors::open(file.path());
  if (!tensors.ok()) return 0;
  uint64_t sum = 0;
  for (const SafetensorsEntry& entry : tensors->entries()) {
    Result<Literal> literal = tensors->tensor(entry.name);
    if (!literal.ok()) continue;
    sum += literal->hash();  // reads every byte of the view
  }
  [[maybe_unused]] volatile uint64_t kept = sum;  // or the reads would be left out
  return 0;
}
