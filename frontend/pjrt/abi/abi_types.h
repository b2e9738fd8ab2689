// The PJRT C API's shared types: plain structs whose layout is the contract, and the
// opaque objects that only the plugin looks into.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tuff::pjrt {

// The version of the API that this plugin was written against. From minor 105 on
// callers read the first word of each opaque object as a table of functions.
inline constexpr int32_t kApiMajor = 0;
inline constexpr int32_t kApiMinor = 104;

// Ours; see handles.h. All begin with a zero word.
struct ErrorHandle;
struct EventHandle;
struct ClientHandle;
struct TopologyHandle;
struct DeviceHandle;
struct DescriptionHandle;
struct MemoryHandle;
struct ExecutableHandle;
struct LoadedHandle;
struct BufferHandle;

// What every struct begins with.
#define TUFF_PJRT_HEAD \
  size_t struct_size;  \
  void* extension_start

enum class ErrorStatus : uint32_t {
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
};

enum class ElementType : uint32_t {
  kInvalid = 0,
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kBF16 = 13,
  kC64 = 14,
  kC128 = 15,
  kF8E5M2 = 16,
  kF8E4M3FN = 17,
  kF8E4M3B11FNUZ = 18,
  kF8E5M2FNUZ = 19,
  kF8E4M3FNUZ = 20,
  kS4 = 21,
  kU4 = 22,
  kS2 = 24,
  kU2 = 25,
  kF8E4M3 = 26,
  kF8E3M4 = 27,
  kF8E8M0FNU = 28,
  kF4E2M1FN = 29,
};

// clang-format off
struct ApiVersion { TUFF_PJRT_HEAD; int32_t major, minor; };

struct NamedValue {
  enum Type : uint32_t { kString = 0, kInt64 = 1, kInt64List = 2, kFloat = 3, kBool = 4 };
  TUFF_PJRT_HEAD; const char* name; size_t name_size; Type type;
  union { const char* string_value; int64_t int64_value; const int64_t* int64_array_value; float float_value; bool bool_value; };
  size_t value_size;
};

struct ProgramText { TUFF_PJRT_HEAD; const char* code; size_t code_size; const char* format; size_t format_size; };

// The tiled form; strides (type 1) put byte strides and their number in the first two words.
struct MemoryLayout {
  enum Type : uint32_t { kTiled = 0, kStrides = 1 };
  TUFF_PJRT_HEAD;
  size_t tiled_struct_size; void* tiled_extension_start;
  const int64_t* minor_to_major; size_t minor_to_major_size;
  const int64_t* tile_dims; const size_t* tile_dim_sizes; size_t num_tiles;
  Type type;
};

struct ExecuteOptions {
  TUFF_PJRT_HEAD; void* send_callbacks; void* recv_callbacks; size_t num_send_ops, num_recv_ops;
  int32_t launch_id; const int64_t* non_donatable_input_indices; size_t num_non_donatable_input_indices;
};  // later fields are not read

struct LogicalDeviceIds { int32_t replica, partition; };
// clang-format on

#define TUFF_PJRT_LAYOUT(type, last, at, size) \
  static_assert(offsetof(type, last) == (at) && sizeof(type) == (size))
TUFF_PJRT_LAYOUT(ApiVersion, minor, 20, 24);
TUFF_PJRT_LAYOUT(NamedValue, value_size, 48, 56);
TUFF_PJRT_LAYOUT(ProgramText, format_size, 40, 48);
TUFF_PJRT_LAYOUT(MemoryLayout, type, 72, 80);
static_assert(offsetof(MemoryLayout, minor_to_major) == 32);
TUFF_PJRT_LAYOUT(ExecuteOptions, num_non_donatable_input_indices, 64, 72);
TUFF_PJRT_LAYOUT(LogicalDeviceIds, partition, 4, 8);

}  // namespace tuff::pjrt
