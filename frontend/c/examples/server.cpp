// One program, many threads: eight workers answer requests with one model, as a server's do. server
// [DEVICE]
#include <atomic>
#include <cstdio>
#include <thread>
#include <tuff_graph.hpp>
#include <vector>

namespace {

constexpr int kWorkers = 8, kRequests = 1000;
constexpr int64_t kFeatures = 32;

std::string model() {
  tuff::Graph graph;
  tuff::Tensor x = graph.input("x", {tuff::DType::kF32, {1, kFeatures}});
  std::vector<float> weights(kFeatures * kFeatures);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7) / 7;
  tuff::Tensor w = graph.constant({kFeatures, kFeatures}, weights);
  graph.output("y", softmax(matmul(x, w), 1));
  return graph.stablehlo();
}

std::vector<float> request(int worker) {
  std::vector<float> x(kFeatures);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((static_cast<size_t>(worker) + i) % 5);
  return x;
}

}  // namespace

int main(int argc, char** argv) try {
  tuff::Device device = tuff::Context().open(argc > 1 ? argv[1] : "auto");
  tuff::Program program = device.compile_bytes(model());
  std::atomic<int> answered{0}, wrong{0};
  std::vector<std::thread> workers;
  for (int worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      try {
        std::vector<float> expected;
        for (int i = 0; i < kRequests; ++i) {
          tuff::Buffer x = device.buffer({1, kFeatures}, request(worker));
          std::vector<float> y = program(x)[0].read<float>();
          if (expected.empty()) expected = y;
          if (y != expected) ++wrong;
          ++answered;
        }
      } catch (const tuff::Error& error) {
        std::fprintf(stderr, "server: %s\n", error.what());
        ++wrong;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::printf("%s: %d requests answered, %d wrong\n", device.info().name.c_str(), answered.load(),
              wrong.load());
  return wrong == 0 && answered == kWorkers * kRequests ? 0 : 1;
} catch (const tuff::Error& error) {
  std::fprintf(stderr, "server: %s\n", error.what());
  return error.status();
}
