// What workers are given: a bundle directory in which every argument has a value.
//   module.mlir, signature.json, weights.safetensors   as frontend/python/README.md says
//   model.onnx        instead of module.mlir and weights: a link to an ONNX model
//   inputs/NAME.npy   every argument that is not a weight; by number beside model.onnx
//   workload.json     what it is (bench/README.md)
#pragma once

#include <optional>
#include <string>

#include "frontend/bench/worker.h"
#include "frontend/session/shapes.h"

namespace tuff::bench {

struct Bundle {
  std::string directory;
  std::string other_shape;  // the same weights at another batch size; empty: there is none
  Json description;         // workload.json: keys of FORMAT.md's WORKLOAD
};

// One point of a sweep: overrides of a workload's sizes.
struct Sizes {
  std::optional<int64_t> batch, seq;
};

// The workload `name` of bench/workloads, written below `directory` by its exporter.
// Errors: kRunFailed with the exporter's words, kInterrupted.
Result<Bundle> export_workload(const std::string& name, const Sizes& sizes, const Launch& exporter,
                               const std::string& directory, const Interrupted& interrupted);

// What a model is measured with.
struct ModelShapes {
  ShapeSources given;              // inputs, as the command line has them, and open shapes
  std::vector<std::string> other;  // open shapes of the new-shape mode, as `given.shapes`; may be
                                   // empty: inputs are seeded there
};

// A model file or bundle, under a name: arguments without a value get seeded ones.
// Errors: as import_model and gather_arguments have them.
Result<Bundle> bundle_model(const std::string& path, const std::string& name,
                            const ModelShapes& shapes, const std::string& directory);

// The bundle's model, and its inputs' values to bind sizes that it leaves open.
struct BundledModel {
  std::string path;                 // for import_model
  std::vector<std::string> inputs;  // "NUMBER=FILE" or "NAME=FILE", of each that is no weight
};
// Errors: kBadInput for a signature that is not there or not JSON.
Result<BundledModel> bundled_model(const std::string& directory);

}  // namespace tuff::bench
