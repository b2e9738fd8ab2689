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

}  // namespace

Result<const TransportApi*> open_transport_library() {
  const char* variable = std::getenv("TUFF_TRANSPORT");
  std::string name = variable && *variable ? variable : "gloo";
  bool is_path = name.find('/') != std::string::npos;
  std::string path = is_path ? name : fmt::format("{}libtuff_{}.so", own_folder(), name);
  // Never closed: engines leave threads behind.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error{
        ErrorCode::kNoDevice,
        fmt::format("Programs of several processes need a library that carries their data, "
                    "and it does not open ({}). Install Gloo (Debian: libgloo0; to build "
                    "tuff's part, libgloo-dev), or let TUFF_TRANSPORT name the library.",
                    dlerror()),
        ""};
  auto function = reinterpret_cast<TransportFunction>(dlsym(library, kTransportSymbol));
  const TransportApi* api = function ? function() : nullptr;
  if (!api || api->version != kTransportVersion)
    return Error{ErrorCode::kNoDevice,
                 fmt::format("The library ({}) is none that carries data for this version of tuff; "
                             "install both from one build.",
                             path),
                 ""};
  return api;
}

}  // namespace tuff::pjrt
