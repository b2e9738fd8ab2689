// tuff_types.hpp: the values of tuff.hpp, which includes this: errors, types of tensors, what is
// known of devices, arguments and steps.
#ifndef TUFF_TYPES_HPP
#define TUFF_TYPES_HPP

#include <tuff.h>

#include <algorithm>
#include <array>
#include <complex>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tuff {

// What a function of tuff.h failed with: what() is its sentence, with its place in the model.
class Error : public std::runtime_error {
 public:
  Error(tuff_status status, const std::string& message, std::string location)
      : std::runtime_error(location.empty() ? message : location + ": " + message),
        status_(status),
        location_(std::move(location)) {}

  tuff_status status() const { return status_; }
  const std::string& location() const { return location_; }

 private:
  tuff_status status_;
  std::string location_;
};

// Throws this thread's last error, unless all is well.
inline void check(tuff_status status) {
  if (status != TUFF_OK) throw Error(status, tuff_last_error(), tuff_last_error_location());
}

enum class DType : tuff_dtype {
  kBool = TUFF_BOOL,
  kI8 = TUFF_I8,
  kI16 = TUFF_I16,
  kI32 = TUFF_I32,
  kI64 = TUFF_I64,
  kU8 = TUFF_U8,
  kU16 = TUFF_U16,
  kU32 = TUFF_U32,
  kU64 = TUFF_U64,
  kF16 = TUFF_F16,
  kBF16 = TUFF_BF16,
  kF32 = TUFF_F32,
  kF64 = TUFF_F64,
  kC64 = TUFF_C64,
  kC128 = TUFF_C128,
  kF8E4M3FN = TUFF_F8E4M3FN,
  kF8E4M3FNUZ = TUFF_F8E4M3FNUZ,
  kF8E5M2 = TUFF_F8E5M2,
  kF8E5M2FNUZ = TUFF_F8E5M2FNUZ,
  kF8E8M0FNU = TUFF_F8E8M0FNU,
  kF4E2M1FN = TUFF_F4E2M1FN,
  kF8E4M3 = TUFF_F8E4M3,
  kF8E3M4 = TUFF_F8E3M4,
  kF8E4M3B11FNUZ = TUFF_F8E4M3B11FNUZ,
  kI4 = TUFF_I4,
  kI2 = TUFF_I2,
  kU4 = TUFF_U4,
  kU2 = TUFF_U2
};

// The dtype of a C++ type. f16 and bf16 have none: name those, and give their bits as uint16_t.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, std::complex<float>>) return DType::kC64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return DType::kC128;
  static_assert((std::is_arithmetic_v<T> && sizeof(T) <= 8) ||
                    std::is_same_v<T, std::complex<float>> ||
                    std::is_same_v<T, std::complex<double>>,
                "tensors have numbers");
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, double>) return DType::kF64;
  constexpr tuff_dtype kFirst = std::is_signed_v<T> ? TUFF_I8 : TUFF_U8;
  constexpr tuff_dtype kLog = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return static_cast<DType>(kFirst + kLog);
}

// Whether elements of the dtype are read and written as `T`: a float as itself, an integer as any
// integer of its size, which may also hold the bits of a type that C++ has not; all as bytes
// (uint8_t), of which there are as many as the buffer has.
template <typename T>
bool holds(DType dtype) {
  if (std::is_same_v<T, uint8_t>) return true;
  if (std::is_integral_v<T>) return sizeof(T) == tuff_dtype_size(static_cast<tuff_dtype>(dtype));
  return dtype == dtype_of<T>();
}

using Shape = std::vector<int64_t>;

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  int64_t num_elements() const {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    return count;
  }
  size_t size_bytes() const {
    return static_cast<size_t>(num_elements()) * tuff_dtype_size(static_cast<tuff_dtype>(dtype));
  }
  bool operator==(const TensorType& other) const {
    return dtype == other.dtype && shape == other.shape;
  }
  bool operator!=(const TensorType& other) const { return !(*this == other); }
  // For tuff.h; a view on this.
  tuff_tensor_type view() const {
    tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
    type.dtype = static_cast<tuff_dtype>(dtype);
    type.rank = static_cast<uint32_t>(shape.size());
    type.shape = shape.data();
    return type;
  }
};

struct DeviceInfo {
  int32_t kind = TUFF_DEVICE_CPU;  // TUFF_DEVICE_*
  bool usable = false;
  std::string id, name, driver, api_version, why_not;
  uint32_t vendor_id = 0, device_id = 0;
  std::array<uint8_t, 16> uuid{};
  int64_t memory_bytes = -1, memory_available_bytes = -1;
  int64_t max_buffer_bytes = 0, max_shared_bytes = 0;
  int32_t subgroup_size = 0;
  bool has_i64 = false, has_f64 = false;
  std::string pci_address;

  explicit DeviceInfo(const tuff_device_info& info)
      : kind(info.kind),
        usable(info.usable != 0),
        id(info.id),
        name(info.name),
        driver(info.driver),
        api_version(info.api_version),
        why_not(info.why_not),
        vendor_id(info.vendor_id),
        device_id(info.device_id),
        memory_bytes(info.memory_bytes),
        memory_available_bytes(info.memory_available_bytes),
        max_buffer_bytes(info.max_buffer_bytes),
        max_shared_bytes(info.max_shared_bytes),
        subgroup_size(info.subgroup_size),
        has_i64(info.has_i64 != 0),
        has_f64(info.has_f64 != 0),
        pci_address(info.pci_address) {
    std::copy(std::begin(info.uuid), std::end(info.uuid), uuid.begin());
  }
};

struct ValueInfo {
  std::string name;
  TensorType type;
  bool is_bound = false;
  // Of a result whose length the data says; else count_result is 0.
  uint32_t count_dimension = 0;
  size_t count_result = 0;

  explicit ValueInfo(const tuff_value_info& info)
      : name(info.name),
        type{static_cast<DType>(info.dtype), Shape(info.shape, info.shape + info.rank)},
        is_bound(info.is_bound != 0),
        count_dimension(info.count_dimension),
        count_result(info.count_result) {}
};

// What a program does, kernel by kernel and call by call.
struct StepInfo {
  std::string label, operations, kernel;
  bool on_host = false;
  int64_t workgroups = 0;
  double flops = 0;
  int64_t read_bytes = 0, written_bytes = 0;

  explicit StepInfo(const tuff_step_info& info)
      : label(info.label),
        operations(info.operations),
        kernel(info.kernel),
        on_host(info.on_host != 0),
        workgroups(info.workgroups),
        flops(info.flops),
        read_bytes(info.read_bytes),
        written_bytes(info.written_bytes) {}
};

}  // namespace tuff

#endif  // TUFF_TYPES_HPP
