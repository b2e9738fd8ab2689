// What the tests of this folder share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "frontend/stablehlo/read.h"
#include "ir/text/print.h"
#include "ir/verify.h"

namespace tuff::stablehlo {

// A module of one function around a body.
inline std::string function(const std::string& signature, const std::string& body) {
  return "func.func @main" + signature + " {\n" + body + "\n}\n";
}

// The graph's text after verification, or the error's.
inline std::string graph_text(const std::string& text) {
  Result<Graph> graph = read_stablehlo(text, "t.mlir");
  if (!graph.ok()) return "error: " + graph.error().to_string();
  Status status = verify(*graph);
  return status.ok() ? print(*graph) : "invalid: " + status.error().to_string();
}

inline Error error_of(const std::string& text) {
  Result<Graph> graph = read_stablehlo(text, "t.mlir");
  return graph.ok() ? Error{ErrorCode::kRunFailed, "no error", ""} : graph.error();
}

}  // namespace tuff::stablehlo
