// Builds a graph, differentiates it and trains: an MLP learns whether two points lie on the same
// side of a circle. train_mlp [DEVICE]
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <tuff_gradients.hpp>
#include <vector>

namespace {

using tuff::DType;
using tuff::Tensor;

constexpr int64_t kBatch = 256, kHidden = 64;
constexpr double kRate = 0.3;
constexpr int kSteps = 1000, kReported = 100;  // steps; those of each line that is printed

struct Layer {
  tuff::Shape weight, bias;
};
const std::vector<Layer> kLayers = {
    {{4, kHidden}, {kHidden}}, {{kHidden, kHidden}, {kHidden}}, {{kHidden, 2}, {2}}};

// One step: the parameters less the rate times their gradients, in place, then the loss.
std::string training_step() {
  tuff::Graph graph;
  std::vector<Tensor> parameters;
  for (const Layer& layer : kLayers) {
    parameters.push_back(graph.input("weight", {DType::kF32, layer.weight}));
    parameters.push_back(graph.input("bias", {DType::kF32, layer.bias}));
  }
  Tensor x = graph.input("points", {DType::kF32, {kBatch, 4}});
  Tensor labels = graph.input("labels", {DType::kI32, {kBatch}});
  for (size_t i = 0; i < kLayers.size(); ++i) {
    x = matmul(x, parameters[2 * i]) + parameters[2 * i + 1];
    if (i + 1 < kLayers.size()) x = relu(x);
  }
  Tensor loss = cross_entropy(x, labels);
  std::vector<Tensor> gradients = tuff::gradients(loss, parameters);
  for (size_t i = 0; i < parameters.size(); ++i)
    graph.donate(parameters[i], graph.output("parameter", parameters[i] - gradients[i] * kRate));
  graph.output("loss", loss);
  return graph.stablehlo();
}

std::vector<float> normal(const tuff::Shape& shape, double scale, std::mt19937& random) {
  std::normal_distribution<double> distribution(0, scale);
  std::vector<float> values(
      static_cast<size_t>(tuff::TensorType{DType::kF32, shape}.num_elements()));
  for (float& value : values) value = static_cast<float>(distribution(random));
  return values;
}

}  // namespace

int main(int argc, char** argv) try {
  tuff::Device device = tuff::Context().open(argc > 1 ? argv[1] : "auto");
  std::printf("training on %s\n", device.info().name.c_str());
  tuff::Program step = device.compile_bytes(training_step());

  std::mt19937 random(0);
  std::vector<tuff::Buffer> state;
  std::vector<size_t> donated;
  for (const Layer& layer : kLayers) {
    state.push_back(device.buffer(
        layer.weight,
        normal(layer.weight, std::sqrt(2.0 / static_cast<double>(layer.weight[0])), random)));
    state.push_back(device.buffer({DType::kF32, layer.bias}, nullptr));
  }
  for (size_t i = 0; i < state.size(); ++i) donated.push_back(i);

  double loss = 0;  // mean of the last steps
  for (int i = 1; i <= kSteps; ++i) {
    std::vector<float> points = normal({kBatch, 4}, 1, random);
    std::vector<int32_t> labels;
    for (size_t p = 0; p < points.size(); p += 4)
      labels.push_back((std::hypot(points[p], points[p + 1]) > 1) ==
                       (std::hypot(points[p + 2], points[p + 3]) > 1));
    tuff::Buffer x = device.buffer({kBatch, 4}, points), y = device.buffer({kBatch}, labels);
    std::vector<tuff_buffer*> arguments;
    for (const tuff::Buffer& parameter : state) arguments.push_back(parameter.get());
    arguments.push_back(x.get()), arguments.push_back(y.get());
    std::vector<tuff::Buffer> results = step.run(arguments, donated);
    if (i % kReported == 1) loss = 0;
    loss += static_cast<double>(results.back().read<float>()[0]) / kReported;
    results.pop_back();
    state = std::move(results);
    if (i % kReported == 0) std::printf("step %4d  loss %.3f\n", i, loss);
  }
  return loss < 0.4 ? 0 : 1;
} catch (const tuff::Error& error) {
  std::fprintf(stderr, "train_mlp: %s\n", error.what());
  return error.status();
}
