// The client: its devices, chosen by the option "device" or by TUFF_DEVICE, and those of other
// processes, where the options "num_nodes" and "node_id" say that there are some.
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
constexpr int64_t kMaxRanks = 1 << 16;

// The option `name` of this type, or null.
const NamedValue* find_option(const Client_Create_Args& args, std::string_view name,
                              NamedValue::Type type = NamedValue::kString) {
  for (size_t i = 0; i < args.num_options; ++i) {
    const NamedValue& option = args.create_options[i];
    if (option.type == type && std::string_view(option.name, option.name_size) == name)
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

// The logical devices of each group share their compiled programs.
Result<std::vector<RuntimePtr>> open_runtimes(const std::string& wanted) {
  std::vector<RuntimePtr> runtimes;
  TUFF_ASSIGN(std::vector<DeviceGroup> groups, parse_device_list(wanted));
  for (const DeviceGroup& group : groups) {
    TUFF_ASSIGN(DeviceChoice choice, choose_device(group.spec));
    auto programs = std::make_shared<GraphCache<Compiled>>();
    for (int i = 0; i < group.count; ++i) {
      RuntimePtr runtime = runtimes.emplace_back(std::make_shared<Runtime>());
      TUFF_ASSIGN(runtime->device, pjrt::open_device(choice));
      runtime->description = runtime->device->description();
      runtime->programs = programs;
    }
  }
  return runtimes;
}

// `runtime`: null for a device of another process.
void add_device(ClientHandle* client, int process, int place, const std::string& kind,
                RuntimePtr runtime) {
  auto device = std::make_unique<DeviceHandle>();
  auto id = static_cast<int32_t>(client->owned.size());
  device->client = client;
  device->runtime = std::move(runtime);
  device->description.id = id;
  device->description.process = process;
  device->description.place = place;
  device->description.kind = kind;
  std::string of = client->ranks ? fmt::format("process={}, ", process) : "";
  device->description.text = fmt::format("TuffDevice(id={}, {}{})", id, of, kind);
  device->memory.device = device.get();
  device->memory.text = fmt::format("TuffMemory(id={}, device)", id);
  device->devices[0] = device.get();
  device->memories[0] = &device->memory;
  client->devices.push_back(device.get());
  client->descriptions.push_back(&device->description);
  if (device->runtime) {
    client->own_devices.push_back(device.get());
    client->memories.push_back(&device->memory);
  }
  client->owned.push_back(std::move(device));
}

int64_t number_option(const Client_Create_Args& args, std::string_view name, int64_t otherwise) {
  const NamedValue* option = find_option(args, name, NamedValue::kInt64);
  return option ? option->int64_value : otherwise;
}

// The processes of the program, or null where this is the only one.
Result<std::shared_ptr<Ranks>> join_ranks(const Client_Create_Args& args,
                                          const Result<std::vector<RuntimePtr>>& runtimes) {
  int64_t size = number_option(args, "num_nodes", 1), rank = number_option(args, "node_id", 0);
  if (size == 1) return std::shared_ptr<Ranks>();
  KeyValues store(args);
  if (size < 1 || size > kMaxRanks || rank < 0 || rank >= size || !store.there())
    return Error{ErrorCode::kUsage,
                 fmt::format("The caller gives this process number ({}) of ({}){}.", rank, size,
                             store.there() ? "" : ", and no store that they share"),
                 ""};
  Result<std::vector<std::string>> devices = std::vector<std::string>();
  if (!runtimes) devices = runtimes.error();
  if (runtimes)
    for (const RuntimePtr& runtime : *runtimes) devices->push_back(runtime->description);
  return Ranks::join(static_cast<int>(rank), static_cast<int>(size), store, devices);
}

// Clients that are connected with other processes.
struct Connected {
  std::mutex mutex;
  std::vector<ClientHandle*> clients;

  static Connected& all() {
    static Connected& connected = *new Connected;
    return connected;
  }
};

Status client_create(Client_Create_Args& args) {
  auto client = std::make_unique<ClientHandle>();
  client->topology.client = client.get();
  TUFF_ASSIGN(client->zero_copy, wants_zero_copy(args));
  Result<std::vector<RuntimePtr>> runtimes = open_runtimes(wanted_devices(args));
  TUFF_ASSIGN(client->ranks, join_ranks(args, runtimes));
  if (!runtimes) return runtimes.error();
  int size = client->ranks ? client->ranks->size() : 1;
  for (int process = 0; process < size; ++process) {
    if (process != client->process()) {
      int place = 0;
      for (const std::string& kind : client->ranks->info(process).devices)
        add_device(client.get(), process, place++, kind, nullptr);
      continue;
    }
    int place = 0;
    for (const RuntimePtr& runtime : *runtimes)
      add_device(client.get(), process, place++, runtime->description, runtime);
  }
  if (client->ranks) {
    std::lock_guard lock(Connected::all().mutex);
    Connected::all().clients.push_back(client.get());
  }
  args.client = client.release();
  watch_forks();
  return {};
}

// Other processes may still wait for what this one's devices have to do.
void leave_ranks(const ClientHandle& client) {
  if (!client.ranks) return;
  for (DeviceHandle* device : client.own_devices) {
    if (device->runtime->queue.inside()) continue;
    auto done = std::make_shared<Completion>();
    device->runtime->queue.submit([done] { done->complete({}); });
    (void)done->wait();
  }
  client.ranks->leave();
}

Status client_destroy(Client_Destroy_Args& args) {
  {
    std::lock_guard lock(Connected::all().mutex);
    std::erase(Connected::all().clients, args.client);
  }
  leave_ranks(*args.client);
  delete args.client;
  return {};
}

Status client_platform_name(Client_PlatformName_Args& args) {
  args.platform_name = kPlatformName;
  args.platform_name_size = std::string_view(kPlatformName).size();
  return {};
}

Status client_process_index(Client_ProcessIndex_Args& args) {
  args.process_index = args.client->process();
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
  args.addressable_devices = args.client->own_devices.data();
  args.num_addressable_devices = args.client->own_devices.size();
  return {};
}

Status client_lookup_device(Client_LookupDevice_Args& args) {
  TUFF_ASSIGN(args.device, args.client->device(args.id));
  return {};
}

Status client_lookup_addressable_device(Client_LookupAddressableDevice_Args& args) {
  const std::vector<DeviceHandle*>& own = args.client->own_devices;
  auto place = static_cast<size_t>(args.local_hardware_id);
  if (args.local_hardware_id < 0 || place >= own.size())
    return Error{ErrorCode::kUsage,
                 fmt::format("This process has no device ({}); it has ({}), numbered from 0.",
                             args.local_hardware_id, own.size()),
                 ""};
  args.addressable_device = own[place];
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
  if (wanted == 1) args.default_assignment[0] = args.client->own_devices[0]->description.id;
  return {};
}

Status client_topology(Client_TopologyDescription_Args& args) {
  args.topology = &args.client->topology;
  return {};
}

// The caller's own watch over processes, which is slower than Ranks.
Status client_update_processes(Client_UpdateGlobalProcessInfo_Args&) { return {}; }

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
  TUFF_PJRT_SET(api, Client_Create, client_create, InFork::kRefused);
  TUFF_PJRT_SET(api, Client_Destroy, client_destroy, InFork::kLeft);
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
  TUFF_PJRT_SET(api, Client_UpdateGlobalProcessInfo, client_update_processes, InFork::kRefused);
  TUFF_PJRT_SET(api, TopologyDescription_PlatformName, topology_platform_name);
  TUFF_PJRT_SET(api, TopologyDescription_PlatformVersion, topology_platform_version);
  TUFF_PJRT_SET(api, TopologyDescription_GetDeviceDescriptions, topology_descriptions);
  TUFF_PJRT_SET(api, TopologyDescription_Attributes, topology_attributes);
}

}  // namespace tuff::pjrt

// At the program's end, before anything waits for other processes in another way: nothing more
// goes to them, and none of them waits for this one.
extern "C" __attribute__((visibility("default"))) void tuff_pjrt_leave_ranks() {
  using namespace tuff::pjrt;
  if (in_fork()) return;
  Connected& connected = Connected::all();
  std::lock_guard lock(connected.mutex);
  for (const ClientHandle* client : connected.clients) leave_ranks(*client);
}
