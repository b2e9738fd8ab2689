// Options that several subcommands share, spelled and explained once.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <vector>

namespace tuff::cli {

inline void add_model_option(CLI::App& app, std::string& model) {
  app.add_option("MODEL", model,
                 "A .mlir file (StableHLO), what jax.export serializes, an .onnx file, a bundle "
                 "directory, or what `tuff compile` wrote; "
                 "- reads a file from the standard input")
      ->required();
}

inline void add_shape_option(CLI::App& app, std::vector<std::string>& shapes) {
  app.add_option("--shape", shapes,
                 "The shape of an argument that the model leaves open (NAME=2x64; a number is a "
                 "name too); may be repeated")
      ->type_name("NAME=SHAPE")
      ->allow_extra_args(false);
}

inline void add_device_option(CLI::App& app, std::string& device) {
  app.add_option(
         "--device", device,
         "auto, vulkan, vulkan:N, cpu or reference; auto takes hardware Vulkan, else the CPU")
      ->envname("TUFF_DEVICE")
      ->capture_default_str();
}

// Said to the device by the variable, which child processes inherit.
inline void add_packed_memory_option(CLI::App& app) {
  app.add_option_function<std::string>(
         "--packed-memory",
         [](const std::string& size) { ::setenv("TUFF_PACKED_MEMORY", size.c_str(), 1); },
         "What copies of weights in faster layouts may take on the CPU (512MiB); default: what the "
         "machine has free, less an eighth of it all")
      ->type_name("SIZE");
}

inline void add_disable_option(CLI::App& app, std::vector<std::string>& disabled) {
  app.add_option("--disable", disabled,
                 "Leave out an optional pass, or library_calls; may be repeated")
      ->type_name("PASS")
      ->allow_extra_args(false);
}

}  // namespace tuff::cli
