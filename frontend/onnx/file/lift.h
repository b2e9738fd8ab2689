// Takes the weights out of an ONNX file's bytes before protobuf sees them: protobuf copies all
// that it parses, and refuses more than 2 GiB.
#pragma once

#include <string>
#include <string_view>

#include "ir/support/result.h"

namespace tuff::onnx {

// The file without the raw data of the main graph's larger initializers. Instead of it these have
// lifted_offset and lifted_size: where it lies in `bytes`. Errors: kBadInput for bytes that are no
// protobuf message.
Result<std::string> lift_weights(std::string_view bytes, const std::string& path);

}  // namespace tuff::onnx
