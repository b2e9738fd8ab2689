// From a path or bytes to a Model: opened, recognised (readers.def), read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "frontend/session/reader.h"
#include "frontend/session/shapes.h"
#include "ir/spmd/partition.h"

namespace tuff {

// All formats that tuff knows, in the order in which they are tried.
std::span<const ModelFormat> model_formats();
// The first format whose sign the bytes have; null: none.
const ModelFormat* recognise(const ModelBytes& file);

// A file, mapped, or a directory. Errors: kBadInput for what is neither.
Result<ModelBytes> open_model(const std::string& path);

// By the reader of the bytes' format. Errors: the reader's; kUnsupported with advice for a
// format that tuff knows and does not read, kBadInput for bytes of no known format, kUsage for
// shapes given to a model that leaves none open.
Result<Model> read_model(const ModelBytes& bytes, const AskShapes& shapes);

// The same of what a path names.
Result<Model> import_model(const std::string& path, const ShapeSources& shapes = {});

// Of bytes that the caller keeps; `name` stands for a path in messages. Sizes must be fixed.
Result<Model> import_bytes(std::string_view bytes, const std::string& name);

// The results of a run as its user sees them: counted ones cut to what counts, without the counts,
// and complex and small ones where the graph has parts.
std::vector<Literal> user_results(const Model& model, std::vector<Literal> outputs);

// A program for several devices, as JAX writes it: StableHLO over whole tensors with Shardy's
// annotations. Errors besides: kUnsupported for meshes and shardings that import does not know.
Result<WholeProgram> import_whole_program(std::string_view bytes, const std::string& name);

// The same of a file or a bundle, for a mesh whose axes have these extents instead of the model's
// own. Errors besides: kUsage where the model has no mesh of so many axes.
Result<WholeProgram> import_for_mesh(const std::string& path, std::span<const int64_t> extents);

}  // namespace tuff
