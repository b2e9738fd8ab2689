#include "tests/conformance/npy.h"

#include <cstring>
#include <fstream>
#include <iterator>

namespace tuff::conformance {

namespace {

Error bad(const std::string& path, const std::string& what) {
  return {ErrorCode::kBadInput, "The array " + what + ".", path};
}

// The numbers of "'shape': (2, 3, )," and the like.
Shape parse_shape(const std::string& header) {
  Shape shape;
  size_t at = header.find('(', header.find("'shape'")), end = header.find(')', at);
  while (at != std::string::npos && at < end) {
    at = header.find_first_of("0123456789", at);
    if (at == std::string::npos || at >= end) break;
    size_t used = 0;
    shape.push_back(std::stoll(header.substr(at, end - at), &used));
    at += used;
  }
  return shape;
}

}  // namespace

Result<Literal> read_npy(const std::string& path, DType dtype) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return bad(path, "does not open");
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.size() < 10 || bytes.compare(0, 6, "\x93NUMPY") != 0 || bytes[6] != 1)
    return bad(path, "is not .npy of format 1.0");
  size_t length = static_cast<uint8_t>(bytes[8]) | size_t{static_cast<uint8_t>(bytes[9])} << 8;
  std::string header = bytes.substr(10, length);
  if (header.find("'fortran_order': False") == std::string::npos)
    return bad(path, "is not in C order");
  TensorType type{dtype, parse_shape(header)};
  size_t start = 10 + length;
  if (bytes.size() - start != static_cast<size_t>(type.size_bytes()))
    return bad(path, "holds (" + std::to_string(bytes.size() - start) + ") bytes where (" +
                         type.to_string() + ") needs (" + std::to_string(type.size_bytes()) + ")");
  std::vector<std::byte> data(bytes.size() - start);
  if (!data.empty()) std::memcpy(data.data(), bytes.data() + start, data.size());
  return Literal(std::move(type), std::move(data));
}

}  // namespace tuff::conformance
