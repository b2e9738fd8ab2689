#include "frontend/weights/seeded.h"

#include <cstring>

namespace tuff {

namespace {

uint32_t crc32(std::string_view text) {
  uint32_t crc = 0xffffffffu;
  for (char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

// Element `i` of the stream that starts at `start`: splitmix64's output function.
uint64_t stream_bits(uint64_t start, int64_t i) {
  uint64_t z = start + static_cast<uint64_t>(i) + 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

uint64_t stream_start(std::string_view name) { return uint64_t{crc32(name)} << 32; }

}  // namespace

Literal seeded_floats(std::string_view name, const TensorType& type, SeededInit init) {
  TUFF_CHECK(is_float(type.dtype), "seeded_floats makes floats only");
  Literal result(type);
  uint64_t start = stream_start(name);
  auto scale = static_cast<float>(init.scale), mean = static_cast<float>(init.mean);
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    float unit = static_cast<float>(stream_bits(start, i) >> 40) * 0x1p-23f - 1.0f;
    float value = mean + scale * unit;
    if (type.dtype == DType::kF32)
      result.mutable_data<float>()[i] = value;
    else
      result.set_double(i, static_cast<double>(value));
  }
  return result;
}

Literal seeded_argument(std::string_view name, const TensorType& type) {
  if (is_float(type.dtype)) return seeded_floats(name, type, {});
  Literal result(type);
  uint64_t start = stream_start(name), range = type.dtype == DType::kBool ? 2 : 16;
  for (int64_t i = 0; i < result.num_elements(); ++i)
    result.set_int(i, static_cast<int64_t>((stream_bits(start, i) >> 40) % range));
  return result;
}

}  // namespace tuff
