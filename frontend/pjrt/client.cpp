// The client: one device, chosen by the option "device" or by TUFF_DEVICE.
#include <cstdlib>
#include <string_view>

#include "backend/cache.h"
#include "frontend/cli/device_choice.h"
#include "frontend/pjrt/abi_client.h"
#include "frontend/pjrt/handles.h"
#include "frontend/pjrt/table.h"

namespace tuff::pjrt {

namespace {

constexpr std::string_view kVersion = "tuff " TUFF_VERSION;

std::string wanted_device(const Client_Create_Args& args) {
  for (size_t i = 0; i < args.num_options; ++i) {
    const NamedValue& option = args.create_options[i];
    if (option.type == NamedValue::kString &&
        std::string_view(option.name, option.name_size) == "device")
      return std::string(option.string_value, option.value_size);
  }
  const char* variable = std::getenv("TUFF_DEVICE");
  return variable && *variable ? variable : "auto";
}

Result<RuntimePtr> open_runtime(const std::string& wanted) {
  TUFF_ASSIGN(cli::DeviceSpec spec, cli::parse_device(wanted));
  if (spec.kind == cli::DeviceSpec::Kind::kReference)
    return Error{ErrorCode::kUsage,
                 "The reference evaluator is no device of the plugin; use auto, vulkan, vulkan:N "
                 "or cpu.",
                 "TUFF_DEVICE"};
  TUFF_ASSIGN(cli::DeviceChoice choice, cli::choose_device(spec));
  auto runtime = std::make_shared<Runtime>();
  TUFF_ASSIGN(runtime->device, cli::open_device(choice));
  runtime->description = runtime->device->description();
  return runtime;
}

Status client_create(Client_Create_Args& args) {
  auto client = std::make_unique<ClientHandle>();
  TUFF_ASSIGN(client->runtime, open_runtime(wanted_device(args)));
  client->device.client = client->memory.client = client->topology.client = client.get();
  client->description.kind = client->runtime->description;
  client->description.text = "TuffDevice(id=0, " + client->runtime->description + ")";
  client->devices[0] = &client->device;
  client->memories[0] = &client->memory;
  client->descriptions[0] = &client->description;
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
  args.devices = args.client->devices;
  args.num_devices = 1;
  return {};
}

Status client_addressable_devices(Client_AddressableDevices_Args& args) {
  args.addressable_devices = args.client->devices;
  args.num_addressable_devices = 1;
  return {};
}

Result<DeviceHandle*> device_of_id(ClientHandle* client, int32_t id) {
  if (id == 0) return client->devices[0];
  return Error{ErrorCode::kUsage,
               "There is no device (" + std::to_string(id) + "); tuff has one, numbered 0.", ""};
}

Status client_lookup_device(Client_LookupDevice_Args& args) {
  TUFF_ASSIGN(args.device, device_of_id(args.client, args.id));
  return {};
}

Status client_lookup_addressable_device(Client_LookupAddressableDevice_Args& args) {
  TUFF_ASSIGN(args.addressable_device, device_of_id(args.client, args.local_hardware_id));
  return {};
}

Status client_addressable_memories(Client_AddressableMemories_Args& args) {
  args.addressable_memories = args.client->memories;
  args.num_addressable_memories = 1;
  return {};
}

Status client_default_device_assignment(Client_DefaultDeviceAssignment_Args& args) {
  if (args.num_replicas != 1 || args.num_partitions != 1 || args.default_assignment_size < 1)
    return Error{ErrorCode::kUnsupported,
                 "tuff runs a program on one device; replicas and partitions must be 1.", ""};
  args.default_assignment[0] = 0;
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
  args.descriptions = args.topology->client->descriptions;
  args.num_descriptions = 1;
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
