// The Vulkan drivers that the loader would look at: manifest files, found as the
// loader finds them, each with what is wrong with it. Uses no Vulkan.
#pragma once

#include <string>
#include <vector>

namespace tuff::cli {

struct DriverManifest {
  std::string path;
  std::string library;  // as the manifest names it
  std::string trouble;  // why the driver cannot be loaded; empty iff its library opens
};

struct DriverSearch {
  std::string override_variable;     // VK_DRIVER_FILES or VK_ICD_FILENAMES, if one is set
  std::vector<std::string> folders;  // where manifests are looked for
  std::vector<DriverManifest> manifests;
};

DriverSearch find_driver_manifests();

// The error of opening a shared library; empty if it opens.
std::string library_trouble(const std::string& library);

}  // namespace tuff::cli
