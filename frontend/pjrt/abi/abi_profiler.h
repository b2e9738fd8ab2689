// The structs of the profiler's C API, which a plugin's table leads to by an extension.
#pragma once

#include "frontend/pjrt/abi/abi_types.h"

namespace tuff::pjrt {

struct ProfilerHandle;
struct ProfilerError;

inline constexpr uint32_t kProfilerExtension = 1;

// clang-format off
struct Profiler_Create_Args { size_t struct_size; const char* options; size_t options_size; ProfilerHandle* profiler; };
struct Profiler_Args { size_t struct_size; ProfilerHandle* profiler; };  // of Destroy, Start and Stop
struct Profiler_CollectData_Args { size_t struct_size; ProfilerHandle* profiler; uint8_t* buffer; size_t buffer_size_in_bytes; };
struct ProfilerError_Destroy_Args { size_t struct_size; void* priv; ProfilerError* error; };
struct ProfilerError_Message_Args { size_t struct_size; void* priv; const ProfilerError* error; const char* message; size_t message_size; };
struct ProfilerError_GetCode_Args { size_t struct_size; void* priv; const ProfilerError* error; int32_t code; };
// clang-format on

struct ProfilerApi {
  size_t struct_size;
  void* priv;
  void (*error_destroy)(ProfilerError_Destroy_Args*);
  void (*error_message)(ProfilerError_Message_Args*);
  ProfilerError* (*error_get_code)(ProfilerError_GetCode_Args*);
  ProfilerError* (*create)(Profiler_Create_Args*);
  ProfilerError* (*destroy)(Profiler_Args*);
  ProfilerError* (*start)(Profiler_Args*);
  ProfilerError* (*stop)(Profiler_Args*);
  ProfilerError* (*collect_data)(Profiler_CollectData_Args*);
};

struct ProfilerExtension {
  size_t struct_size;
  uint32_t type;
  void* next;
  const ProfilerApi* api;
  int64_t context_id;  // of no use in a plugin's table
};

TUFF_PJRT_LAYOUT(Profiler_Create_Args, profiler, 24, 32);
TUFF_PJRT_LAYOUT(Profiler_CollectData_Args, buffer_size_in_bytes, 24, 32);
TUFF_PJRT_LAYOUT(ProfilerApi, collect_data, 72, 80);
TUFF_PJRT_LAYOUT(ProfilerExtension, context_id, 32, 40);

}  // namespace tuff::pjrt
