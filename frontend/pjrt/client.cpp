// The client: its devices, chosen by the option "device" or by TUFF_DEVICE.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "frontend/pjrt/abi/abi_client.h"
#include "frontend/pjrt/abi/table.h"
#include "frontend/pjrt/handles.h"
#include "frontend/pjrt/open_device.h"

namespace tuff::pjrt {

namespace {

constexpr std::string_view kVersion = "tuff " TUFF_VERSION;

// The string option `name`, or null.
const NamedValue* find_option(const Client_Create_Args& args, std::string_view name) {
  for (size_t i = 0; i < args.num_options; ++i) {
    const NamedValue& option = args.create_options[i];
    if (option.type == NamedValue::kString &&
        std::string_view(option.name, option.name_size) == name)
      return &option;
  }
  return nullptr;
}

std::string wanted_devices(const Client_Create_Args& args) {
  if (const NamedValue* option = find_option(args, "device"))
    return std::string(option->string_value, option->value_size);
  const char* variable = std::getenv("TUFF_DEVICE");
  return variable && *variable ? variable : "auto";
}

Result<bool> wants_zero_copy(const Client_Create_Args& args) {
  const NamedValue* option = find_option(args, "zero_copy");
  if (!option) return false;
  std::string_view value(option->string_value, option->value_size);
  if (value == "0" || value == "1") return value == "1";
  return Error{ErrorCode::kUsage,
               fmt::format("The option zero_copy is (0) or (1), not ({}).", value), ""};
}

// Adds `group`'s logical devices, which share their compiled programs.
Status add_devices(const DeviceGroup& group, ClientHandle* client) {
  TUFF_ASSIGN(DeviceChoice choice, choose_device(group.spec));
  auto programs = std::make_shared<GraphCache<Compiled>>();
  for (int i = 0; i < group.count; ++i) {
    auto device = std::make_unique<DeviceHandle>();
    device->client = client;
    device->runtime = std::make_shared<Runtime>();
    TUFF_ASSIGN(device->runtime->device, pjrt::open_device(choice));
    device->runtime->description = device->runtime->device->description();
    device->runtime->programs = programs;
    auto id = static_cast<int32_t>(client->owned.size());
    device->description.id = id;
    device->description.kind = device->runtime->description;
    device->description.text = fmt::format("TuffDevice(id={}, {})", id, device->description.kind);
    device->memory.device = device.get();
    device->memory.text = fmt::format("TuffMemory(id={}, device)", id);
    device->devices[0] = device.get();
    device->memories[0] = &device->memory;
    client->devices.push_back(device.get());
    client->memories.push_back(&device->memory);
    client->descriptions.push_back(&device->description);
    client->owned.push_back(std::move(device));
  }
  return {};
}

Status client_create(Client_Create_Args& args) {
  auto client = std::make_unique<ClientHandle>();
  client->topology.client = client.get();
  TUFF_ASSIGN(client->zero_copy, wants_zero_copy(args));
  TUFF_ASSIGN(std::vector<DeviceGroup> groups, parse_device_list(wanted_devices(args)));
  for (const DeviceGroup& group : groups) TUFF_RETURN_IF_ERROR(add_devices(group, client.get()));
  args.client = client.release();
  return {};
}

Status client_destroy(Client_Destroy_Args& args) {
  delete args.client;
  return {};
}

Status client_platform_name(Client_PlatformName_Args& args) {
  args.platform_name = kPlatformName;
  args.platform_name_size = std::string_view(kPlatformName).size();
  return {};
}

Status client_process_index(Client_ProcessIndex_Args& args) {
  args.process_index = 0;
  return {};
}

Status client_platform_version(Client_PlatformVersion_Args& args) {
  args.platform_version = kVersion.data();
  args.platform_version_size = kVersion.size();
  return {};
}

Status client_devices(Client_Devices_Args& args) {
  args.devices = args.client->devices.data();
  args.num_devices = args.client->devices.size();
  return {};
}

Status client_addressable_devices(Client_AddressableDevices_Args& args) {
  args.addressable_devices = args.client->devices.data();
  args.num_addressable_devices = args.client->devices.size();
  return {};
}

Status client_lookup_device(Client_LookupDevice_Args& args) {
  TUFF_ASSIGN(args.device, args.client->device(args.id));
  return {};
}

Status client_lookup_addressable_device(Client_LookupAddressableDevice_Args& args) {
  TUFF_ASSIGN(args.addressable_device, args.client->device(args.local_hardware_id));
  return {};
}

Status client_addressable_memories(Client_AddressableMemories_Args& args) {
  args.addressable_memories = args.client->memories.data();
  args.num_addressable_memories = args.client->memories.size();
  return {};
}

Status client_default_device_assignment(Client_DefaultDeviceAssignment_Args& args) {
  int64_t wanted = int64_t{args.num_replicas} * args.num_partitions;
  auto there = static_cast<int64_t>(args.client->devices.size());
  if (wanted < 1 || wanted > there || wanted > static_cast<int64_t>(args.default_assignment_size))
    return Error{ErrorCode::kUsage,
                 fmt::format("The program wants ({} x {}) devices; tuff has ({}). TUFF_DEVICE "
                             "chooses them.",
                             args.num_replicas, args.num_partitions, there),
                 ""};
  for (int i = 0; i < wanted; ++i) args.default_assignment[i] = i;
  return {};
}

Status client_topology(Client_TopologyDescription_Args& args) {
  args.topology = &args.client->topology;
  return {};
}

Status topology_platform_name(TopologyDescription_PlatformName_Args& args) {
  args.platform_name = kPlatformName;
  args.platform_name_size = std::string_view(kPlatformName).size();
  return {};
}

Status topology_platform_version(TopologyDescription_PlatformVersion_Args& args) {
  args.platform_version = kVersion.data();
  args.platform_version_size = kVersion.size();
  return {};
}

Status topology_descriptions(TopologyDescription_GetDeviceDescriptions_Args& args) {
  args.descriptions = args.topology->client->descriptions.data();
  args.num_descriptions = args.topology->client->descriptions.size();
  return {};
}

Status topology_attributes(TopologyDescription_Attributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  return {};
}

}  // namespace

void add_client_functions(Api& api) {
  TUFF_PJRT_SET(api, Client_Create, client_create);
  TUFF_PJRT_SET(api, Client_Destroy, client_destroy);
  TUFF_PJRT_SET(api, Client_PlatformName, client_platform_name);
  TUFF_PJRT_SET(api, Client_ProcessIndex, client_process_index);
  TUFF_PJRT_SET(api, Client_PlatformVersion, client_platform_version);
  TUFF_PJRT_SET(api, Client_Devices, client_devices);
  TUFF_PJRT_SET(api, Client_AddressableDevices, client_addressable_devices);
  TUFF_PJRT_SET(api, Client_LookupDevice, client_lookup_device);
  TUFF_PJRT_SET(api, Client_LookupAddressableDevice, client_lookup_addressable_device);
  TUFF_PJRT_SET(api, Client_AddressableMemories, client_addressable_memories);
  TUFF_PJRT_SET(api, Client_DefaultDeviceAssignment, client_default_device_assignment);
  TUFF_PJRT_SET(api, Client_TopologyDescription, client_topology);
  TUFF_PJRT_SET(api, TopologyDescription_PlatformName, topology_platform_name);
  TUFF_PJRT_SET(api, TopologyDescription_PlatformVersion, topology_platform_version);
  TUFF_PJRT_SET(api, TopologyDescription_GetDeviceDescriptions, topology_descriptions);
  TUFF_PJRT_SET(api, TopologyDescription_Attributes, topology_attributes);
}

}  // namespace tuff::pjrt
