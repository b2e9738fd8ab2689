#include "backend/cpu/linear_algebra/doubles.h"

#include <cstring>

namespace tuff::cpu {

namespace {

template <typename Storage, typename Widen>
void load_as(const std::byte* data, int64_t count, double* values, const Widen& widen) {
  for (int64_t i = 0; i < count; ++i) {
    Storage x;
    std::memcpy(&x, data + i * static_cast<int64_t>(sizeof x), sizeof x);
    values[i] = widen(x);
  }
}

template <typename Storage, typename Narrow>
void store_as(const double* values, int64_t count, std::byte* data, const Narrow& narrow) {
  for (int64_t i = 0; i < count; ++i) {
    Storage x = narrow(values[i]);
    std::memcpy(data + i * static_cast<int64_t>(sizeof x), &x, sizeof x);
  }
}

}  // namespace

void load_doubles(DType dtype, const std::byte* data, int64_t count, double* values) {
  auto same = [](auto x) { return static_cast<double>(x); };
  if (dtype == DType::kF64) return load_as<double>(data, count, values, same);
  if (dtype == DType::kF32) return load_as<float>(data, count, values, same);
  if (dtype == DType::kF16)
    return load_as<uint16_t>(data, count, values, [](uint16_t x) { return f16_to_f32(x); });
  load_as<uint16_t>(data, count, values, [](uint16_t x) { return bf16_to_f32(x); });
}

void store_doubles(DType dtype, const double* values, int64_t count, std::byte* data) {
  if (dtype == DType::kF64)
    return store_as<double>(values, count, data, [](double x) { return x; });
  if (dtype == DType::kF32)
    return store_as<float>(values, count, data, [](double x) { return static_cast<float>(x); });
  if (dtype == DType::kF16) return store_as<uint16_t>(values, count, data, f64_to_f16);
  store_as<uint16_t>(values, count, data, f64_to_bf16);
}

}  // namespace tuff::cpu
