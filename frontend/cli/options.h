// Options that several subcommands share, spelled and explained once.
#pragma once

#include <CLI/CLI.hpp>
#include <set>
#include <string>
#include <vector>

namespace tuff::cli {

inline void add_model_option(CLI::App& app, std::string& model) {
  app.add_option("MODEL", model,
                 "A .mlir file (StableHLO), a .mlirbc portable artifact, or a bundle directory")
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

inline void add_disable_option(CLI::App& app, std::vector<std::string>& disabled) {
  app.add_option("--disable", disabled,
                 "Leave out an optional pass, or library_calls; may be repeated")
      ->type_name("PASS")
      ->allow_extra_args(false);
}

inline std::set<std::string> as_set(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace tuff::cli
