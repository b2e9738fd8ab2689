// Many contexts, each with a device and a program that runs, made and ended: lifecycle DEVICE
// COUNT. After the first tenth the process must not grow any more. (EMULATED=1 says that its memory
// is an emulator's, too: qemu keeps some of each thread.)
#include <tuff.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr char kModel[] =
    "func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {\n"
    "  %0 = stablehlo.exponential %x : tensor<16xf32>\n  return %0 : tensor<16xf32>\n}\n";
// What libraries below keep in their own tables for a while: a few pages, however many rounds.
constexpr long kSlackBytes = 2 << 20;
constexpr int kNoDevice = 77;  // a test that skips

long resident_bytes() {
  long pages = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::abort();
  std::fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

void check(tuff_status status) {
  if (status == TUFF_OK) return;
  std::printf("%s: %s\n", tuff_status_name(status), tuff_last_error());
  std::exit(status == TUFF_NO_DEVICE ? kNoDevice : status);
}

void live(const char* id) {
  tuff_context* context = nullptr;
  tuff_device* device = nullptr;
  tuff_program* program = nullptr;
  tuff_buffer *x = nullptr, *y = nullptr;
  check(tuff_context_create(nullptr, &context));
  check(tuff_device_open(context, id, &device));
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.bytes = kModel, options.num_bytes = sizeof kModel - 1;
  check(tuff_program_compile(device, &options, &program));
  int64_t shape = 16;
  tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
  type.dtype = TUFF_F32, type.rank = 1, type.shape = &shape;
  check(tuff_buffer_create(device, &type, nullptr, &x));
  check(tuff_program_run(program, nullptr, &x, 1, &y, 1));
  tuff_buffer_destroy(x);
  tuff_buffer_destroy(y);
  tuff_program_destroy(program);
  tuff_device_destroy(device);
  tuff_context_destroy(context);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return TUFF_INVALID_ARGUMENT;
  int count = std::atoi(argv[2]);
  for (int i = 0; i < count / 10; ++i) live(argv[1]);
  long early = resident_bytes();
  for (int i = count / 10; i < count; ++i) live(argv[1]);
  long late = resident_bytes();
  std::printf("%d contexts on %s: %ld KiB after the first tenth, %ld KiB at the end\n", count,
              argv[1], early >> 10, late >> 10);
  if (std::getenv("EMULATED") != nullptr) return 0;
  return late - early > kSlackBytes ? 1 : 0;
}
