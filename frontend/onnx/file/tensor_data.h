// The tensors of an ONNX file as literals. Large ones are views on the mapped bytes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "frontend/onnx/file/dtypes.h"
#include "frontend/onnx/file/onnx.pb.h"
#include "frontend/weights/file.h"
#include "ir/literal.h"

namespace tuff::onnx {

// Where a model's tensors are: in the file, and in files beside it.
class TensorData {
 public:
  TensorData(std::string_view file, std::shared_ptr<const void> owner, std::string path);

  // Errors: kBadInput for data that is not as long as the shape says, and for external data
  // that is not safe to read (see external_file); kUnsupported for its element type.
  Result<Literal> read(const proto::Tensor& tensor);
  // Filled with zeros where it has no values.
  Result<Literal> read(const proto::SparseTensor& tensor);

 private:
  Result<Literal> read_external(const proto::Tensor& tensor, const TensorType& type);
  // A file beside the model. What is asked of it: its path is relative and goes down only; no
  // link, symbolic or hard, is on the way; it is a regular file; it is as long as the tensor needs.
  Result<std::shared_ptr<const MappedFile>> external_file(const std::string& location);

  std::string_view file_;
  std::shared_ptr<const void> owner_;  // null: the caller keeps the bytes
  std::string path_;
  std::map<std::string, std::shared_ptr<const MappedFile>> external_;
};

}  // namespace tuff::onnx
