// What the functions of the PJRT C API take, for the functions this plugin fills:
// errors, events, clients, devices and memories.
// Written from the API's layout; every size and last offset is checked below.
#pragma once

#include "frontend/pjrt/abi/abi_types.h"

namespace tuff::pjrt {

// clang-format off
struct Error_Destroy_Args { TUFF_PJRT_HEAD; ErrorHandle* error; };
struct Error_Message_Args { TUFF_PJRT_HEAD; ErrorHandle* error; const char* message; size_t
    message_size; };
struct Error_GetCode_Args { TUFF_PJRT_HEAD; ErrorHandle* error; uint32_t code; };
struct Error_ForEachPayload_Args { TUFF_PJRT_HEAD; ErrorHandle* error; void* visitor; void*
    user_arg; };
struct Plugin_Initialize_Args { TUFF_PJRT_HEAD; };
struct Plugin_Attributes_Args { TUFF_PJRT_HEAD; const NamedValue* attributes; size_t num_attributes;
    };
struct Event_Destroy_Args { TUFF_PJRT_HEAD; EventHandle* event; };
struct Event_IsReady_Args { TUFF_PJRT_HEAD; EventHandle* event; bool is_ready; };
struct Event_Error_Args { TUFF_PJRT_HEAD; EventHandle* event; };
struct Event_Await_Args { TUFF_PJRT_HEAD; EventHandle* event; };
struct Event_OnReady_Args { TUFF_PJRT_HEAD; EventHandle* event; void (*callback)(ErrorHandle*,
    void*); void* user_arg; };
// How the caller of a callback that fails gets its error made.
using CallbackError = ErrorHandle* (*)(uint32_t code, const char* message, size_t message_size);
struct KeyValueGetCallback_Args { TUFF_PJRT_HEAD; const char* key; size_t key_size; int timeout_in_ms;
    CallbackError* callback_error; void* user_arg; char* value; size_t value_size; void (*
    value_deleter)(char*); };
struct KeyValuePutCallback_Args { TUFF_PJRT_HEAD; const char* key; size_t key_size; const char* value; size_t
    value_size; CallbackError* callback_error; void* user_arg; };
using KeyValueGet = ErrorHandle* (*)(KeyValueGetCallback_Args*);
using KeyValuePut = ErrorHandle* (*)(KeyValuePutCallback_Args*);
struct Client_Create_Args { TUFF_PJRT_HEAD; const NamedValue* create_options; size_t num_options;
    KeyValueGet kv_get_callback; void* kv_get_user_arg; KeyValuePut kv_put_callback; void*
    kv_put_user_arg; ClientHandle* client; void* kv_try_get_callback; void* kv_try_get_user_arg; };
struct Client_Destroy_Args { TUFF_PJRT_HEAD; ClientHandle* client; };
struct Client_PlatformName_Args { TUFF_PJRT_HEAD; ClientHandle* client; const char* platform_name;
    size_t platform_name_size; };
struct Client_ProcessIndex_Args { TUFF_PJRT_HEAD; ClientHandle* client; int32_t process_index; };
struct Client_PlatformVersion_Args { TUFF_PJRT_HEAD; ClientHandle* client; const char*
    platform_version; size_t platform_version_size; };
struct Client_Devices_Args { TUFF_PJRT_HEAD; ClientHandle* client; DeviceHandle* const* devices;
    size_t num_devices; };
struct Client_AddressableDevices_Args { TUFF_PJRT_HEAD; ClientHandle* client; DeviceHandle* const*
    addressable_devices; size_t num_addressable_devices; };
struct Client_LookupDevice_Args { TUFF_PJRT_HEAD; ClientHandle* client; int32_t id; DeviceHandle*
    device; };
struct Client_LookupAddressableDevice_Args { TUFF_PJRT_HEAD; ClientHandle* client; int32_t
    local_hardware_id; DeviceHandle* addressable_device; };
struct Client_AddressableMemories_Args { TUFF_PJRT_HEAD; ClientHandle* client; MemoryHandle* const*
    addressable_memories; size_t num_addressable_memories; };
struct Client_Compile_Args { TUFF_PJRT_HEAD; ClientHandle* client; const ProgramText* program; const
    char* compile_options; size_t compile_options_size; LoadedHandle* executable; };
struct Client_DefaultDeviceAssignment_Args { TUFF_PJRT_HEAD; ClientHandle* client; int32_t
    num_replicas, num_partitions; size_t default_assignment_size; int* default_assignment; };
struct Client_BufferFromHostBuffer_Args { TUFF_PJRT_HEAD; ClientHandle* client; const void* data;
    ElementType type; const int64_t* dims; size_t num_dims; const int64_t* byte_strides; size_t
    num_byte_strides; uint32_t host_buffer_semantics; DeviceHandle* device; MemoryHandle* memory;
    const MemoryLayout* device_layout; EventHandle* done_with_host_buffer; BufferHandle* buffer; };
struct Client_UpdateGlobalProcessInfo_Args { TUFF_PJRT_HEAD; ClientHandle* client; void*
    process_infos; size_t num_process_infos; };
struct Client_TopologyDescription_Args { TUFF_PJRT_HEAD; ClientHandle* client; TopologyHandle*
    topology; };
struct TopologyDescription_PlatformName_Args { TUFF_PJRT_HEAD; TopologyHandle* topology; const char*
    platform_name; size_t platform_name_size; };
struct TopologyDescription_PlatformVersion_Args { TUFF_PJRT_HEAD; TopologyHandle* topology; const
    char* platform_version; size_t platform_version_size; };
struct TopologyDescription_GetDeviceDescriptions_Args { TUFF_PJRT_HEAD; TopologyHandle* topology;
    DescriptionHandle* const* descriptions; size_t num_descriptions; };
struct TopologyDescription_Attributes_Args { TUFF_PJRT_HEAD; TopologyHandle* topology; const
    NamedValue* attributes; size_t num_attributes; };
struct DeviceDescription_Id_Args { TUFF_PJRT_HEAD; DescriptionHandle* device_description; int32_t
    id; };
struct DeviceDescription_ProcessIndex_Args { TUFF_PJRT_HEAD; DescriptionHandle* device_description;
    int32_t process_index; };
struct DeviceDescription_Attributes_Args { TUFF_PJRT_HEAD; DescriptionHandle* device_description;
    size_t num_attributes; const NamedValue* attributes; };
struct DeviceDescription_Kind_Args { TUFF_PJRT_HEAD; DescriptionHandle* device_description; const
    char* device_kind; size_t device_kind_size; };
struct DeviceDescription_DebugString_Args { TUFF_PJRT_HEAD; DescriptionHandle* device_description;
    const char* debug_string; size_t debug_string_size; };
struct DeviceDescription_ToString_Args { TUFF_PJRT_HEAD; DescriptionHandle* device_description;
    const char* to_string; size_t to_string_size; };
struct Device_GetDescription_Args { TUFF_PJRT_HEAD; DeviceHandle* device; DescriptionHandle*
    device_description; };
struct Device_IsAddressable_Args { TUFF_PJRT_HEAD; DeviceHandle* device; bool is_addressable; };
struct Device_LocalHardwareId_Args { TUFF_PJRT_HEAD; DeviceHandle* device; int32_t
    local_hardware_id; };
struct Device_AddressableMemories_Args { TUFF_PJRT_HEAD; DeviceHandle* device; MemoryHandle* const*
    memories; size_t num_memories; };
struct Device_DefaultMemory_Args { TUFF_PJRT_HEAD; DeviceHandle* device; MemoryHandle* memory; };
struct Device_MemoryStats_Args { TUFF_PJRT_HEAD; DeviceHandle* device; int64_t bytes_in_use,
    peak_bytes_in_use; bool peak_bytes_in_use_is_set; int64_t num_allocs; bool num_allocs_is_set;
    int64_t largest_alloc_size; bool largest_alloc_size_is_set; int64_t bytes_limit; bool
    bytes_limit_is_set; int64_t bytes_reserved; bool bytes_reserved_is_set; int64_t
    peak_bytes_reserved; bool peak_bytes_reserved_is_set; int64_t bytes_reservable_limit; bool
    bytes_reservable_limit_is_set; int64_t largest_free_block_bytes; bool
    largest_free_block_bytes_is_set; int64_t pool_bytes; bool pool_bytes_is_set; int64_t
    peak_pool_bytes; bool peak_pool_bytes_is_set; int64_t peak_allocated_bytes; bool
    peak_allocated_bytes_is_set; };
struct Device_GetAttributes_Args { TUFF_PJRT_HEAD; DeviceHandle* device; const NamedValue*
    attributes; size_t num_attributes; void* device_attributes; void (*attributes_deleter)(void*);
    };
struct Memory_Id_Args { TUFF_PJRT_HEAD; MemoryHandle* memory; int32_t id; };
struct Memory_Kind_Args { TUFF_PJRT_HEAD; MemoryHandle* memory; const char* kind; size_t kind_size;
    };
struct Memory_Kind_Id_Args { TUFF_PJRT_HEAD; MemoryHandle* memory; int32_t kind_id; };
struct Memory_DebugString_Args { TUFF_PJRT_HEAD; MemoryHandle* memory; const char* debug_string;
    size_t debug_string_size; };
struct Memory_ToString_Args { TUFF_PJRT_HEAD; MemoryHandle* memory; const char* to_string; size_t
    to_string_size; };
struct Memory_AddressableByDevices_Args { TUFF_PJRT_HEAD; MemoryHandle* memory; DeviceHandle* const*
    devices; size_t num_devices; };
// clang-format on

TUFF_PJRT_LAYOUT(Error_Destroy_Args, error, 16, 24);
TUFF_PJRT_LAYOUT(Error_Message_Args, message_size, 32, 40);
TUFF_PJRT_LAYOUT(Error_GetCode_Args, code, 24, 32);
TUFF_PJRT_LAYOUT(Error_ForEachPayload_Args, user_arg, 32, 40);
static_assert(sizeof(Plugin_Initialize_Args) == 16);
TUFF_PJRT_LAYOUT(Plugin_Attributes_Args, num_attributes, 24, 32);
TUFF_PJRT_LAYOUT(Event_Destroy_Args, event, 16, 24);
TUFF_PJRT_LAYOUT(Event_IsReady_Args, is_ready, 24, 32);
TUFF_PJRT_LAYOUT(Event_Error_Args, event, 16, 24);
TUFF_PJRT_LAYOUT(Event_Await_Args, event, 16, 24);
TUFF_PJRT_LAYOUT(Event_OnReady_Args, user_arg, 32, 40);
TUFF_PJRT_LAYOUT(KeyValueGetCallback_Args, value_deleter, 72, 80);
TUFF_PJRT_LAYOUT(KeyValuePutCallback_Args, user_arg, 56, 64);
TUFF_PJRT_LAYOUT(Client_Create_Args, kv_try_get_user_arg, 80, 88);
TUFF_PJRT_LAYOUT(Client_Destroy_Args, client, 16, 24);
TUFF_PJRT_LAYOUT(Client_PlatformName_Args, platform_name_size, 32, 40);
TUFF_PJRT_LAYOUT(Client_ProcessIndex_Args, process_index, 24, 32);
TUFF_PJRT_LAYOUT(Client_PlatformVersion_Args, platform_version_size, 32, 40);
TUFF_PJRT_LAYOUT(Client_Devices_Args, num_devices, 32, 40);
TUFF_PJRT_LAYOUT(Client_AddressableDevices_Args, num_addressable_devices, 32, 40);
TUFF_PJRT_LAYOUT(Client_LookupDevice_Args, device, 32, 40);
TUFF_PJRT_LAYOUT(Client_LookupAddressableDevice_Args, addressable_device, 32, 40);
TUFF_PJRT_LAYOUT(Client_AddressableMemories_Args, num_addressable_memories, 32, 40);
TUFF_PJRT_LAYOUT(Client_Compile_Args, executable, 48, 56);
TUFF_PJRT_LAYOUT(Client_DefaultDeviceAssignment_Args, default_assignment, 40, 48);
TUFF_PJRT_LAYOUT(Client_BufferFromHostBuffer_Args, buffer, 112, 120);
TUFF_PJRT_LAYOUT(Client_UpdateGlobalProcessInfo_Args, num_process_infos, 32, 40);
TUFF_PJRT_LAYOUT(Client_TopologyDescription_Args, topology, 24, 32);
TUFF_PJRT_LAYOUT(TopologyDescription_PlatformName_Args, platform_name_size, 32, 40);
TUFF_PJRT_LAYOUT(TopologyDescription_PlatformVersion_Args, platform_version_size, 32, 40);
TUFF_PJRT_LAYOUT(TopologyDescription_GetDeviceDescriptions_Args, num_descriptions, 32, 40);
TUFF_PJRT_LAYOUT(TopologyDescription_Attributes_Args, num_attributes, 32, 40);
TUFF_PJRT_LAYOUT(DeviceDescription_Id_Args, id, 24, 32);
TUFF_PJRT_LAYOUT(DeviceDescription_ProcessIndex_Args, process_index, 24, 32);
TUFF_PJRT_LAYOUT(DeviceDescription_Attributes_Args, attributes, 32, 40);
TUFF_PJRT_LAYOUT(DeviceDescription_Kind_Args, device_kind_size, 32, 40);
TUFF_PJRT_LAYOUT(DeviceDescription_DebugString_Args, debug_string_size, 32, 40);
TUFF_PJRT_LAYOUT(DeviceDescription_ToString_Args, to_string_size, 32, 40);
TUFF_PJRT_LAYOUT(Device_GetDescription_Args, device_description, 24, 32);
TUFF_PJRT_LAYOUT(Device_IsAddressable_Args, is_addressable, 24, 32);
TUFF_PJRT_LAYOUT(Device_LocalHardwareId_Args, local_hardware_id, 24, 32);
TUFF_PJRT_LAYOUT(Device_AddressableMemories_Args, num_memories, 32, 40);
TUFF_PJRT_LAYOUT(Device_DefaultMemory_Args, memory, 24, 32);
TUFF_PJRT_LAYOUT(Device_MemoryStats_Args, peak_allocated_bytes_is_set, 200, 208);
TUFF_PJRT_LAYOUT(Device_GetAttributes_Args, attributes_deleter, 48, 56);
TUFF_PJRT_LAYOUT(Memory_Id_Args, id, 24, 32);
TUFF_PJRT_LAYOUT(Memory_Kind_Args, kind_size, 32, 40);
TUFF_PJRT_LAYOUT(Memory_Kind_Id_Args, kind_id, 24, 32);
TUFF_PJRT_LAYOUT(Memory_DebugString_Args, debug_string_size, 32, 40);
TUFF_PJRT_LAYOUT(Memory_ToString_Args, to_string_size, 32, 40);
TUFF_PJRT_LAYOUT(Memory_AddressableByDevices_Args, num_devices, 32, 40);

}  // namespace tuff::pjrt
