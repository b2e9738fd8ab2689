// Many threads on one program: c_threads DEVICE RUNS. Eight run it so many times each, all results
// are the same bits; meanwhile two more compile, load and run other programs, one in a context of
// its own. Built with SANITIZE=thread, every access to shared memory is looked at, too.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <tuff.hpp>
#include <vector>

#if defined(__SANITIZE_THREAD__)
// Into drivers, and what they compile, it does not see.
extern "C" const char* __tsan_default_suppressions() { return "race:libvulkan_\nrace:libLLVM\n"; }
#endif

namespace {

constexpr int kWorkers = 8;
constexpr int kNoDevice = 77;  // a test that skips
constexpr const char* kOther =
    "func.func @main(%x: tensor<64x3xf32>) -> tensor<64x3xf32> {\n"
    "  %0 = \"stablehlo.sort\"(%x) ({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  }) {dimension = 0 : i64} : (tensor<64x3xf32>) -> tensor<64x3xf32>\n"
    "  %1 = stablehlo.tanh %0 : tensor<64x3xf32>\n  return %1 : tensor<64x3xf32>\n}\n";

using Bytes = std::vector<uint8_t>;

std::vector<tuff::Buffer> inputs_of(const tuff::Device& device, const tuff::Program& program) {
  std::vector<tuff::Buffer> inputs;
  for (size_t i = 0; i < program.info().num_arguments; ++i)
    if (!program.argument(i).is_bound)
      inputs.push_back(device.buffer(program.argument(i).type, nullptr));
  return inputs;
}

Bytes run(const tuff::Device& device, tuff::Program& program) {
  std::vector<tuff::Buffer> inputs = inputs_of(device, program);
  std::vector<tuff_buffer*> all;
  for (size_t i = 0, next = 0; i < program.info().num_arguments; ++i)
    all.push_back(program.argument(i).is_bound ? nullptr : inputs[next++].get());
  return program.run(all)[0].read<uint8_t>();
}

// Runs until `stop`, with everything made anew: the sum of what others do at the same time.
void make_and_end(const std::string& id, const tuff::Device* shared, const std::string& model,
                  const std::atomic<bool>& stop, std::atomic<int>& wrong) {
  std::string file =
      std::filesystem::temp_directory_path() / ("tuff_threads_" + std::to_string(getpid()));
  for (int i = 0; !stop; ++i) {
    tuff::Device own = shared ? tuff::Device() : tuff::Context().open(id);
    const tuff::Device& device = shared ? *shared : own;
    tuff::Program program = i % 2 ? device.compile(model) : device.compile_bytes(kOther);
    Bytes first = run(device, program);
    if (!shared) {
      program.save(file);
      program = device.compile(file);
    }
    if (run(device, program) != first) ++wrong;
  }
  if (!shared) std::filesystem::remove(file);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return TUFF_INVALID_ARGUMENT;
  const std::string id = argv[1], model = TUFF_TEST_DATA "/models/gpt2_tiny";
  const int runs = std::atoi(argv[2]);
  tuff::Device device = tuff::Context().open(id);
  tuff::Program program = device.compile(model);
  const Bytes expected = run(device, program);
  std::atomic<int> done{0}, wrong{0};
  std::atomic<bool> stop{false};
  auto guarded = [&wrong](auto work) {
    return std::thread([&wrong, work] {
      try {
        work();
      } catch (const tuff::Error& error) {
        std::printf("%s\n", error.what());
        ++wrong;
      }
    });
  };
  std::vector<std::thread> workers, others;
  for (const tuff::Device* shared :
       {static_cast<const tuff::Device*>(&device), static_cast<const tuff::Device*>(nullptr)})
    others.push_back(guarded([&, shared] { make_and_end(id, shared, model, stop, wrong); }));
  for (int worker = 0; worker < kWorkers; ++worker)
    workers.push_back(guarded([&] {
      for (int i = 0; i < runs; ++i, ++done)
        if (run(device, program) != expected) ++wrong;
    }));
  for (std::thread& worker : workers) worker.join();
  stop = true;
  for (std::thread& other : others) other.join();
  std::printf("%s: %d runs, %d wrong\n", id.c_str(), done.load(), wrong.load());
  return wrong == 0 && done == kWorkers * runs ? 0 : 1;
} catch (const tuff::Error& error) {
  std::printf("%s\n", error.what());
  return error.status() == TUFF_NO_DEVICE ? kNoDevice : error.status();
}
