#include "frontend/cli/driver_manifests.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "frontend/weights/file.h"

namespace tuff::cli {

namespace {

namespace fs = std::filesystem;

std::string variable(const char* name, const std::string& missing = {}) {
  const char* value = std::getenv(name);
  return value && *value ? value : missing;
}

std::vector<std::string> split_paths(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ':');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

// The loader's order: the user's configuration, the system's, the user's data, the
// system's data.
std::vector<std::string> standard_folders() {
  std::string home = variable("HOME");
  std::string list = variable("XDG_CONFIG_HOME", home + "/.config") + ":" +
                     variable("XDG_CONFIG_DIRS", "/etc/xdg") +
                     ":/etc:" + variable("XDG_DATA_HOME", home + "/.local/share") + ":" +
                     variable("XDG_DATA_DIRS", "/usr/local/share:/usr/share");
  std::vector<std::string> folders;
  for (const std::string& root : split_paths(list)) {
    std::string folder = root + "/vulkan/icd.d";
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  }
  return folders;
}

DriverManifest examine(const std::string& path) {
  DriverManifest manifest{path, "", ""};
  Result<std::string> text = read_file(path);
  if (!text.ok()) {
    manifest.trouble = text.error().message;
    return manifest;
  }
  auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  auto icd = json.is_object() ? json.find("ICD") : json.end();
  if (!json.is_object() || icd == json.end() || !icd->is_object() ||
      !icd->contains("library_path") || !(*icd)["library_path"].is_string()) {
    manifest.trouble = "The manifest names no driver library.";
    return manifest;
  }
  manifest.library = (*icd)["library_path"].get<std::string>();
  // With a slash it is a path from the manifest; without one the system looks for it.
  bool relative = manifest.library.find('/') != std::string::npos && manifest.library[0] != '/';
  manifest.trouble = library_trouble(
      relative ? (fs::path(path).parent_path() / manifest.library).string() : manifest.library);
  return manifest;
}

// A manifest, or all manifests of a folder in the order of their names.
void add_manifests(const std::string& path, DriverSearch& search) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    search.manifests.push_back(examine(path));
    return;
  }
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path, error))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) search.manifests.push_back(examine(file));
}

}  // namespace

std::string library_trouble(const std::string& library) {
  // Left open: drivers do not like to be unloaded, and tuff may need it next.
  if (::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL)) return "";
  const char* reason = ::dlerror();
  return fmt::format("The library does not open ({}).", reason ? reason : "no reason given");
}

DriverSearch find_driver_manifests() {
  DriverSearch search;
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) {
    if (variable(name).empty()) continue;
    search.override_variable = name;
    search.folders = split_paths(variable(name));
    break;
  }
  bool overridden = !search.override_variable.empty();
  if (!overridden) {
    search.folders = standard_folders();
    for (const std::string& extra : split_paths(variable("VK_ADD_DRIVER_FILES")))
      search.folders.insert(search.folders.begin(), extra);
  }
  std::error_code ignored;
  for (const std::string& place : search.folders)
    if (overridden || fs::exists(place, ignored)) add_manifests(place, search);
  return search;
}

}  // namespace tuff::cli
