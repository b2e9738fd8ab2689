// StableHLO in. The two steps are apart so that a tool can show the module, and a
// bytecode reader can share the import.
#pragma once

#include <string>
#include <string_view>

#include "frontend/stablehlo/module.h"
#include "ir/graph.h"

namespace tuff {

// A whole model, text or a portable artifact (bytecode of the VHLO dialect, as
// jax.export writes it). `file_name` is for messages. Errors: kBadInput with
// "file:line:column", the source line and a caret, or with "file: byte N";
// kUnsupported with the operation and its place in the model's source.
Result<Graph> read_stablehlo(std::string_view bytes, const std::string& file_name);

namespace stablehlo {

// True iff the bytes begin as an MLIR bytecode file does.
bool is_bytecode(std::string_view bytes);
Result<Module> read_text(std::string_view text, const std::string& file_name);
// The Module of the same program's text, but for the names of values. What a newer
// VHLO has and this reader lacks is kUnsupported, with the file's version. A byte is
// a column of line 1 where an operation has no place in the model's source.
Result<Module> read_bytecode(std::string_view bytes, const std::string& file_name);
// The Graph of `main` (or of the only public function), calls inlined.
Result<Graph> import_module(const Module& module);

}  // namespace stablehlo
}  // namespace tuff
