// StableHLO in. The two steps are apart so that a tool can show the module, and a
// bytecode reader can share the import.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "frontend/session/reader.h"
#include "frontend/stablehlo/module.h"
#include "ir/graph.h"
#include "ir/spmd/partition.h"

namespace tuff {

// A whole model: text, a portable artifact (bytecode of the VHLO dialect), or what jax.export
// serializes, which has one inside. `file_name` is for messages. Errors: kBadInput with
// "file:line:column", the source line and a caret, or with "file: byte N";
// kUnsupported with the operation and its place in the model's source.
// Open sizes must follow from `shapes`; see import_module.
Result<Graph> read_stablehlo(std::string_view bytes, const std::string& file_name,
                             const ArgumentShapes& shapes = {});

// The same for a program for several devices, as JAX writes it: one program over whole
// tensors with Shardy's annotations. Errors besides: kUnsupported for meshes and
// shardings that import does not know.
Result<WholeProgram> read_whole_program(std::string_view bytes, const std::string& file_name);
// With meshes of other extents than the module's (resize_meshes).
Result<WholeProgram> read_whole_program(std::string_view bytes, const std::string& file_name,
                                        std::span<const int64_t> mesh_extents);

namespace stablehlo {

// The reader of all forms (readers.def).
ReadModel read_model;

// True iff the bytes begin as an MLIR bytecode file does.
bool is_bytecode(std::string_view bytes);
// Text, bytecode or an export with bytecode inside, whichever the bytes are.
Result<Module> read_module(std::string_view bytes, const std::string& file_name);
Result<Module> read_text(std::string_view text, const std::string& file_name);
// The Module of the same program's text, but for the names of values. What a newer
// VHLO has and this reader lacks is kUnsupported, with the file's version. A byte is
// a column of line 1 where an operation has no place in the model's source.
Result<Module> read_bytecode(std::string_view bytes, const std::string& file_name);
// Some argument of `main` has an open size.
bool has_open_arguments(const Module& module);
// The Graph of `main` (or of the only public function), calls inlined, and which of its arguments
// and results are complex. Every open size
// becomes a number that follows from the arguments' shapes; `shape_option` is as in AskShapes.
// Errors besides the reader's:
// kUnsupported for an open size that nothing makes a number, kUsage for a shape that
// does not fit or whose argument is not there, kBadInput for shapes that the module's
// own assertions refuse.
Result<Model> import_module(const Module& module, const ArgumentShapes& shapes = {},
                            std::string_view shape_option = "");
Result<WholeProgram> import_whole_program(const Module& module);

}  // namespace stablehlo
}  // namespace tuff
