#include "frontend/pjrt/ranks/transport_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace tuff::pjrt {

namespace {

// The folder of the file that this code is in, with a slash; empty where nobody knows.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&open_transport_library), &info) == 0 ||
      info.dli_fname == nullptr)
    return "";
  std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

struct Opened {
  std::string path;
  void* library = nullptr;
  std::string error;
};

Opened open(const std::string& name) {
  Opened opened;
  bool is_path = name.find('/') != std::string::npos;
  opened.path = is_path ? name : fmt::format("{}libtuff_{}.so", own_folder(), name);
  // Never closed: engines leave threads behind.
  opened.library = dlopen(opened.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened.library) opened.error = dlerror();
  return opened;
}

}  // namespace

Result<const TransportApi*> open_transport_library() {
  const char* variable = std::getenv("TUFF_TRANSPORT");
  Opened opened = open(variable && *variable ? variable : "gloo");
  if (!opened.library && !(variable && *variable))
    if (Opened other = open("ucx"); other.library) opened = other;
  if (!opened.library)
    return Error{
        ErrorCode::kNoDevice,
        fmt::format("Programs of several processes need a library that carries their data, "
                    "and it does not open ({}). Install Gloo or UCX (Debian: libgloo0, libucx0; to "
                    "build tuff's part, libgloo-dev, libucx-dev), or let TUFF_TRANSPORT name the "
                    "library.",
                    opened.error),
        ""};
  auto function = reinterpret_cast<TransportFunction>(dlsym(opened.library, kTransportSymbol));
  const TransportApi* api = function ? function() : nullptr;
  if (!api || api->version != kTransportVersion)
    return Error{ErrorCode::kNoDevice,
                 fmt::format("The library ({}) is none that carries data for this version of tuff; "
                             "install both from one build.",
                             opened.path),
                 ""};
  return api;
}

}  // namespace tuff::pjrt
