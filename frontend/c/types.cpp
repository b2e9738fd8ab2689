#include "frontend/c/types.h"

#include "frontend/c/call.h"

namespace tuff::c {

static_assert(static_cast<int>(DType::kBool) == TUFF_BOOL &&
              static_cast<int>(DType::kI8) == TUFF_I8 &&
              static_cast<int>(DType::kU64) == TUFF_U64 &&
              static_cast<int>(DType::kF16) == TUFF_F16 &&
              static_cast<int>(DType::kF64) == TUFF_F64 &&
              static_cast<int>(DType::kC64) == TUFF_C64 &&
              static_cast<int>(DType::kC128) == TUFF_C128 &&
              static_cast<int>(DType::kF8E4M3FN) == TUFF_F8E4M3FN &&
              static_cast<int>(DType::kF8E4M3B11FNUZ) == TUFF_F8E4M3B11FNUZ &&
              static_cast<int>(DType::kU2) == TUFF_U2 && kNumElementTypes == TUFF_U2 + 1);

Result<DType> dtype_of(tuff_dtype dtype) {
  if (dtype >= 0 && dtype < kNumElementTypes) return static_cast<DType>(dtype);
  return invalid(fmt::format("There is no dtype ({}); see tuff_dtype.", dtype));
}

Result<Shape> shape_of(const int64_t* sizes, int64_t rank, const char* name) {
  constexpr int64_t kMaxRank = 64;
  if (rank < 0 || rank > kMaxRank)
    return invalid(fmt::format("A tensor ({}) cannot have ({}) dimensions; at most ({}).", name,
                               rank, kMaxRank));
  if (rank > 0) TUFF_RETURN_IF_ERROR(need(sizes, name));
  Shape shape(sizes, sizes + rank);
  if (Result<int64_t> count = checked_num_elements(shape); !count)
    return invalid(fmt::format("({}): {}", name, count.error().message));
  return shape;
}

Result<TensorType> type_of(const tuff_tensor_type* given) {
  TUFF_ASSIGN(tuff_tensor_type known, read_struct(given, "type"));
  TensorType type;
  TUFF_ASSIGN(type.dtype, dtype_of(known.dtype));
  TUFF_ASSIGN(type.shape, shape_of(known.shape, known.rank, "type.shape"));
  return type;
}

tuff_tensor_type view_of(const TensorType& type) {
  return {sizeof(tuff_tensor_type), dtype_of(type.dtype), static_cast<uint32_t>(type.shape.size()),
          type.shape.data()};
}

}  // namespace tuff::c

size_t tuff_dtype_size(tuff_dtype dtype) {
  auto known = tuff::c::dtype_of(dtype);
  return known.ok() ? static_cast<size_t>(tuff::dtype_size(*known)) : 0;
}

const char* tuff_dtype_name(tuff_dtype dtype) {
  auto known = tuff::c::dtype_of(dtype);
  return known.ok() ? tuff::dtype_name(*known) : nullptr;
}
