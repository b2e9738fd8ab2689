// A device, its description and its memory. Most of these must not fail: callers
// end the process where they do.
#include <fmt/format.h>

#include <string_view>

#include "frontend/pjrt/abi/abi_client.h"
#include "frontend/pjrt/abi/table.h"
#include "frontend/pjrt/handles.h"

namespace tuff::pjrt {

namespace {

constexpr std::string_view kMemoryKind = "device";

Status description_id(DeviceDescription_Id_Args& args) {
  args.id = args.device_description->id;
  return {};
}

Status description_process_index(DeviceDescription_ProcessIndex_Args& args) {
  args.process_index = args.device_description->process;
  return {};
}

Status description_attributes(DeviceDescription_Attributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  return {};
}

Status description_kind(DeviceDescription_Kind_Args& args) {
  args.device_kind = args.device_description->kind.c_str();
  args.device_kind_size = args.device_description->kind.size();
  return {};
}

Status description_debug_string(DeviceDescription_DebugString_Args& args) {
  args.debug_string = args.device_description->text.c_str();
  args.debug_string_size = args.device_description->text.size();
  return {};
}

Status description_to_string(DeviceDescription_ToString_Args& args) {
  args.to_string = args.device_description->text.c_str();
  args.to_string_size = args.device_description->text.size();
  return {};
}

Status device_description(Device_GetDescription_Args& args) {
  args.device_description = &args.device->description;
  return {};
}

Status device_is_addressable(Device_IsAddressable_Args& args) {
  args.is_addressable = args.device->runtime != nullptr;
  return {};
}

Status device_local_hardware_id(Device_LocalHardwareId_Args& args) {
  args.local_hardware_id = args.device->runtime ? args.device->description.place : -1;
  return {};
}

Status device_memories(Device_AddressableMemories_Args& args) {
  args.memories = args.device->memories;
  args.num_memories = args.device->runtime ? 1 : 0;
  return {};
}

Error of_another_process(const DeviceHandle& device) {
  return {
      ErrorCode::kUsage,
      fmt::format("The device ({}) belongs to process ({}); this is process ({}).",
                  device.description.text, device.description.process, device.client->process()),
      ""};
}

Status device_default_memory(Device_DefaultMemory_Args& args) {
  if (!args.device->runtime) return of_another_process(*args.device);
  args.memory = &args.device->memory;
  return {};
}

// What the plugin allocated for buffers; arenas and constants of programs are not in it.
Status device_memory_stats(Device_MemoryStats_Args& args) {
  if (!args.device->runtime) return of_another_process(*args.device);
  const MemoryCount& count = *args.device->runtime->count;
  args.bytes_in_use = count.in_use;
  args.peak_bytes_in_use = count.peak;
  args.num_allocs = count.allocations;
  args.largest_alloc_size = count.largest;
  args.peak_bytes_in_use_is_set = args.num_allocs_is_set = args.largest_alloc_size_is_set = true;
  args.bytes_limit_is_set = args.bytes_reserved_is_set = false;
  args.peak_bytes_reserved_is_set = args.bytes_reservable_limit_is_set = false;
  args.largest_free_block_bytes_is_set = args.pool_bytes_is_set = false;
  args.peak_pool_bytes_is_set = false;
  return {};
}

Status device_attributes(Device_GetAttributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  args.device_attributes = nullptr;
  args.attributes_deleter = [](auto*) {};
  return {};
}

Status memory_id(Memory_Id_Args& args) {
  args.id = args.memory->device->description.id;
  return {};
}

Status memory_kind(Memory_Kind_Args& args) {
  args.kind = kMemoryKind.data();
  args.kind_size = kMemoryKind.size();
  return {};
}

Status memory_kind_id(Memory_Kind_Id_Args& args) {
  args.kind_id = 0;
  return {};
}

Status memory_debug_string(Memory_DebugString_Args& args) {
  args.debug_string = args.memory->text.c_str();
  args.debug_string_size = args.memory->text.size();
  return {};
}

Status memory_to_string(Memory_ToString_Args& args) {
  args.to_string = args.memory->text.c_str();
  args.to_string_size = args.memory->text.size();
  return {};
}

Status memory_devices(Memory_AddressableByDevices_Args& args) {
  args.devices = args.memory->device->devices;
  args.num_devices = 1;
  return {};
}

}  // namespace

void add_device_functions(Api& api) {
  TUFF_PJRT_SET(api, DeviceDescription_Id, description_id);
  TUFF_PJRT_SET(api, DeviceDescription_ProcessIndex, description_process_index);
  TUFF_PJRT_SET(api, DeviceDescription_Attributes, description_attributes);
  TUFF_PJRT_SET(api, DeviceDescription_Kind, description_kind);
  TUFF_PJRT_SET(api, DeviceDescription_DebugString, description_debug_string);
  TUFF_PJRT_SET(api, DeviceDescription_ToString, description_to_string);
  TUFF_PJRT_SET(api, Device_GetDescription, device_description);
  TUFF_PJRT_SET(api, Device_IsAddressable, device_is_addressable);
  TUFF_PJRT_SET(api, Device_LocalHardwareId, device_local_hardware_id);
  TUFF_PJRT_SET(api, Device_AddressableMemories, device_memories);
  TUFF_PJRT_SET(api, Device_DefaultMemory, device_default_memory);
  TUFF_PJRT_SET(api, Device_MemoryStats, device_memory_stats);
  TUFF_PJRT_SET(api, Device_GetAttributes, device_attributes);
  TUFF_PJRT_SET(api, Memory_Id, memory_id);
  TUFF_PJRT_SET(api, Memory_Kind, memory_kind);
  TUFF_PJRT_SET(api, Memory_Kind_Id, memory_kind_id);
  TUFF_PJRT_SET(api, Memory_DebugString, memory_debug_string);
  TUFF_PJRT_SET(api, Memory_ToString, memory_to_string);
  TUFF_PJRT_SET(api, Memory_AddressableByDevices, memory_devices);
}

}  // namespace tuff::pjrt
