// The text form of kernels: what parses and verifies is printed and read back as the same text, and
// has its GLSL or a reason why not.
#include "shaders/kernel/kernel_text.h"

#include "ir/caps.h"
#include "shaders/emit/emit_glsl.h"
#include "tests/fuzz/readers/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tuff;
  Result<Kernel> kernel = parse_kernel(fuzz::as_text(data, size), "fuzz.kernel");
  if (!kernel.ok() || !verify_kernel(*kernel).ok()) return 0;
  std::string text = print_kernel(*kernel);
  Result<Kernel> again = parse_kernel(text, "printed.kernel");
  if (!again.ok()) fuzz::found("Printed text does not parse: " + again.error().to_string());
  if (print_kernel(*again) != text) fuzz::found("Printed text reads back as another:\n" + text);
  (void)emit_glsl(*kernel, Caps{});
  return 0;
}
