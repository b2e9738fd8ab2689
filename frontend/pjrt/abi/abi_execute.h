// What the functions of the PJRT C API take, for the functions this plugin fills:
// executables and buffers.
// Written from the API's layout; every size and last offset is checked below.
#pragma once

#include "frontend/pjrt/abi/abi_types.h"

namespace tuff::pjrt {

// clang-format off
struct Executable_Destroy_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; };
struct Executable_Name_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; const char*
    executable_name; size_t executable_name_size; };
struct Executable_NumReplicas_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; size_t
    num_replicas; };
struct Executable_NumPartitions_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; size_t
    num_partitions; };
struct Executable_NumOutputs_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; size_t
    num_outputs; };
struct Executable_SizeOfGeneratedCodeInBytes_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable;
    int64_t size_in_bytes; };
struct Executable_OutputMemoryKinds_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; size_t
    num_outputs; const char* const* memory_kinds; const size_t* memory_kind_sizes; };
struct Executable_ParameterMemoryKinds_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; size_t
    num_parameters; const char* const* memory_kinds; const size_t* memory_kind_sizes; };
struct Executable_GetCostAnalysis_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; size_t
    num_properties; const NamedValue* properties; };
struct Executable_OptimizedProgram_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; ProgramText*
    program; };
struct Executable_Serialize_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; const char*
    serialized_bytes; size_t serialized_bytes_size; void* serialized_executable; void
    (*serialized_executable_deleter)(void*); };
struct Executable_DeserializeAndLoad_Args { TUFF_PJRT_HEAD; ClientHandle* client; const char*
    serialized_executable; size_t serialized_executable_size; LoadedHandle* loaded_executable; const
    char* overridden_serialized_compile_options; size_t overridden_serialized_compile_options_size;
    const char* load_options; };
struct Executable_OutputElementTypes_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; const
    ElementType* output_types; size_t num_output_types; };
struct Executable_OutputDimensions_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; size_t
    num_outputs; const int64_t* dims; const size_t* dim_sizes; };
struct Executable_Fingerprint_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable; const char*
    executable_fingerprint; size_t executable_fingerprint_size; };
struct Executable_GetCompiledMemoryStats_Args { TUFF_PJRT_HEAD; ExecutableHandle* executable;
    int64_t generated_code_size_in_bytes, argument_size_in_bytes, output_size_in_bytes,
    alias_size_in_bytes, temp_size_in_bytes, host_generated_code_size_in_bytes,
    host_argument_size_in_bytes, host_output_size_in_bytes, host_alias_size_in_bytes,
    host_temp_size_in_bytes, peak_memory_in_bytes, total_size_in_bytes, total_allocation_bytes,
    indefinite_allocations, peak_unpadded_heap_bytes; };
struct LoadedExecutable_Destroy_Args { TUFF_PJRT_HEAD; LoadedHandle* executable; };
struct LoadedExecutable_GetExecutable_Args { TUFF_PJRT_HEAD; LoadedHandle* loaded_executable;
    ExecutableHandle* executable; };
struct LoadedExecutable_AddressableDevices_Args { TUFF_PJRT_HEAD; LoadedHandle* executable;
    DeviceHandle* const* addressable_devices; size_t num_addressable_devices; };
struct LoadedExecutable_Delete_Args { TUFF_PJRT_HEAD; LoadedHandle* executable; };
struct LoadedExecutable_IsDeleted_Args { TUFF_PJRT_HEAD; LoadedHandle* executable; bool is_deleted;
    };
struct LoadedExecutable_Execute_Args { TUFF_PJRT_HEAD; LoadedHandle* executable; const
    ExecuteOptions* options; BufferHandle* const* const* argument_lists; size_t num_devices,
    num_args; BufferHandle** const* output_lists; EventHandle** device_complete_events;
    DeviceHandle* execute_device; };
struct LoadedExecutable_Fingerprint_Args { TUFF_PJRT_HEAD; LoadedHandle* executable; const char*
    executable_fingerprint; size_t executable_fingerprint_size; };
struct LoadedExecutable_GetDeviceAssignment_Args { TUFF_PJRT_HEAD; LoadedHandle* executable; const
    char* serialized_bytes; size_t serialized_bytes_size; void* serialized_device_assignment; void
    (*serialized_device_assignment_deleter)(void*); };
struct LoadedExecutable_AddressableDeviceLogicalIds_Args { TUFF_PJRT_HEAD; LoadedHandle* executable;
    const LogicalDeviceIds* addressable_device_logical_ids; size_t
    num_addressable_device_logical_ids; };
struct Buffer_Destroy_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; };
struct Buffer_ElementType_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; ElementType type; };
struct Buffer_Dimensions_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; const int64_t* dims; size_t
    num_dims; };
struct Buffer_UnpaddedDimensions_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; const int64_t*
    unpadded_dims; size_t num_dims; };
struct Buffer_DynamicDimensionIndices_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; const size_t*
    dynamic_dim_indices; size_t num_dynamic_dims; };
struct Buffer_GetMemoryLayout_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; MemoryLayout layout; };
struct Buffer_OnDeviceSizeInBytes_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; size_t
    on_device_size_in_bytes; };
struct Buffer_Device_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; DeviceHandle* device; };
struct Buffer_Memory_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; MemoryHandle* memory; };
struct Buffer_Delete_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; };
struct Buffer_IsDeleted_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; bool is_deleted; };
struct Buffer_CopyToDevice_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; DeviceHandle* dst_device;
    BufferHandle* dst_buffer; };
struct Buffer_CopyToMemory_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; MemoryHandle* dst_memory;
    BufferHandle* dst_buffer; };
struct Buffer_ToHostBuffer_Args { TUFF_PJRT_HEAD; BufferHandle* src; const MemoryLayout*
    host_layout; void* dst; size_t dst_size; EventHandle* event; };
struct Buffer_IsOnCpu_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; bool is_on_cpu; };
struct Buffer_ReadyEvent_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; EventHandle* event; };
struct Buffer_UnsafePointer_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; size_t buffer_pointer; };
struct Buffer_OpaqueDeviceMemoryDataPointer_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; void*
    device_memory_ptr; };
struct Buffer_IncreaseExternalReferenceCount_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; };
struct Buffer_DecreaseExternalReferenceCount_Args { TUFF_PJRT_HEAD; BufferHandle* buffer; };
// clang-format on

TUFF_PJRT_LAYOUT(Executable_Destroy_Args, executable, 16, 24);
TUFF_PJRT_LAYOUT(Executable_Name_Args, executable_name_size, 32, 40);
TUFF_PJRT_LAYOUT(Executable_NumReplicas_Args, num_replicas, 24, 32);
TUFF_PJRT_LAYOUT(Executable_NumPartitions_Args, num_partitions, 24, 32);
TUFF_PJRT_LAYOUT(Executable_NumOutputs_Args, num_outputs, 24, 32);
TUFF_PJRT_LAYOUT(Executable_SizeOfGeneratedCodeInBytes_Args, size_in_bytes, 24, 32);
TUFF_PJRT_LAYOUT(Executable_OutputMemoryKinds_Args, memory_kind_sizes, 40, 48);
TUFF_PJRT_LAYOUT(Executable_ParameterMemoryKinds_Args, memory_kind_sizes, 40, 48);
TUFF_PJRT_LAYOUT(Executable_GetCostAnalysis_Args, properties, 32, 40);
TUFF_PJRT_LAYOUT(Executable_OptimizedProgram_Args, program, 24, 32);
TUFF_PJRT_LAYOUT(Executable_Serialize_Args, serialized_executable_deleter, 48, 56);
TUFF_PJRT_LAYOUT(Executable_DeserializeAndLoad_Args, load_options, 64, 72);
TUFF_PJRT_LAYOUT(Executable_OutputElementTypes_Args, num_output_types, 32, 40);
TUFF_PJRT_LAYOUT(Executable_OutputDimensions_Args, dim_sizes, 40, 48);
TUFF_PJRT_LAYOUT(Executable_Fingerprint_Args, executable_fingerprint_size, 32, 40);
TUFF_PJRT_LAYOUT(Executable_GetCompiledMemoryStats_Args, peak_unpadded_heap_bytes, 136, 144);
TUFF_PJRT_LAYOUT(LoadedExecutable_Destroy_Args, executable, 16, 24);
TUFF_PJRT_LAYOUT(LoadedExecutable_GetExecutable_Args, executable, 24, 32);
TUFF_PJRT_LAYOUT(LoadedExecutable_AddressableDevices_Args, num_addressable_devices, 32, 40);
TUFF_PJRT_LAYOUT(LoadedExecutable_Delete_Args, executable, 16, 24);
TUFF_PJRT_LAYOUT(LoadedExecutable_IsDeleted_Args, is_deleted, 24, 32);
TUFF_PJRT_LAYOUT(LoadedExecutable_Execute_Args, execute_device, 72, 80);
TUFF_PJRT_LAYOUT(LoadedExecutable_Fingerprint_Args, executable_fingerprint_size, 32, 40);
TUFF_PJRT_LAYOUT(LoadedExecutable_GetDeviceAssignment_Args, serialized_device_assignment_deleter,
                 48, 56);
TUFF_PJRT_LAYOUT(LoadedExecutable_AddressableDeviceLogicalIds_Args,
                 num_addressable_device_logical_ids, 32, 40);
TUFF_PJRT_LAYOUT(Buffer_Destroy_Args, buffer, 16, 24);
TUFF_PJRT_LAYOUT(Buffer_ElementType_Args, type, 24, 32);
TUFF_PJRT_LAYOUT(Buffer_Dimensions_Args, num_dims, 32, 40);
TUFF_PJRT_LAYOUT(Buffer_UnpaddedDimensions_Args, num_dims, 32, 40);
TUFF_PJRT_LAYOUT(Buffer_DynamicDimensionIndices_Args, num_dynamic_dims, 32, 40);
TUFF_PJRT_LAYOUT(Buffer_GetMemoryLayout_Args, layout, 24, 104);
TUFF_PJRT_LAYOUT(Buffer_OnDeviceSizeInBytes_Args, on_device_size_in_bytes, 24, 32);
TUFF_PJRT_LAYOUT(Buffer_Device_Args, device, 24, 32);
TUFF_PJRT_LAYOUT(Buffer_Memory_Args, memory, 24, 32);
TUFF_PJRT_LAYOUT(Buffer_Delete_Args, buffer, 16, 24);
TUFF_PJRT_LAYOUT(Buffer_IsDeleted_Args, is_deleted, 24, 32);
TUFF_PJRT_LAYOUT(Buffer_CopyToDevice_Args, dst_buffer, 32, 40);
TUFF_PJRT_LAYOUT(Buffer_CopyToMemory_Args, dst_buffer, 32, 40);
TUFF_PJRT_LAYOUT(Buffer_ToHostBuffer_Args, event, 48, 56);
TUFF_PJRT_LAYOUT(Buffer_IsOnCpu_Args, is_on_cpu, 24, 32);
TUFF_PJRT_LAYOUT(Buffer_ReadyEvent_Args, event, 24, 32);
TUFF_PJRT_LAYOUT(Buffer_UnsafePointer_Args, buffer_pointer, 24, 32);
TUFF_PJRT_LAYOUT(Buffer_OpaqueDeviceMemoryDataPointer_Args, device_memory_ptr, 24, 32);
TUFF_PJRT_LAYOUT(Buffer_IncreaseExternalReferenceCount_Args, buffer, 16, 24);
TUFF_PJRT_LAYOUT(Buffer_DecreaseExternalReferenceCount_Args, buffer, 16, 24);

}  // namespace tuff::pjrt
