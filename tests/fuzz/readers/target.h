// What every reader's fuzz target shares. A target is one function over bytes: it
// may accept them or say why not; it may not crash, hang, allocate without bound,
// or accept what its own checks find wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "frontend/session/reader.h"
#include "ir/graph.h"
#include "ir/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tuff::fuzz {

inline std::string_view as_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the process, which is how a target says that it has found something.
[[noreturn]] inline void found(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

// An accepted module is a valid graph.
inline void check_accepted(const Result<Graph>& graph) {
  if (!graph.ok()) {
    if (graph.error().message.empty()) found("An error without a sentence.");
    return;
  }
  if (Status valid = verify(*graph); !valid.ok())
    found("The reader accepts an invalid graph: " + valid.error().to_string());
}

inline void check_accepted(const Result<Model>& model) {
  check_accepted(model.ok() ? Result<Graph>(model->graph) : Result<Graph>(model.error()));
}

}  // namespace tuff::fuzz
