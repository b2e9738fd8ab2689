// The reader of ONNX files: bytes to a Model.
#include "frontend/onnx/file/lift.h"
#include "frontend/onnx/import.h"
#include "frontend/session/reader.h"

namespace tuff::onnx {

Result<Model> read_model(const ModelBytes& file, const AskShapes& shapes) {
  TUFF_ASSIGN(std::string rest, lift_weights(file.bytes, file.path));
  proto::Model source;
  if (!source.ParseFromString(rest))
    return Error{ErrorCode::kBadInput, "The file is no ONNX model: protobuf does not read it.",
                 file.path};
  std::string().swap(rest);
  try {
    return Importer(source, file, shapes).run();
  } catch (const Refusal& refusal) {
    Error error = refusal.error;
    error.where = error.where.empty() ? file.path : file.path + ": " + error.where;
    return error;
  }
}

}  // namespace tuff::onnx
