// Opening devices.
#include "frontend/c/call.h"
#include "frontend/c/objects.h"

namespace tuff::c {

namespace {

Result<std::shared_ptr<DeviceState>> open(const std::shared_ptr<ContextState>& context,
                                          const std::string& id) {
  Result<DeviceSpec> spec = parse_device(id);
  if (!spec)
    return invalid(
        fmt::format("The device ({}) is not known; use auto, vulkan, vulkan:N or cpu.", id));
  if (spec->kind == DeviceSpec::Kind::kReference)
    return invalid("The reference evaluator is no device; use auto, vulkan, vulkan:N or cpu.");
  TUFF_ASSIGN(Session session, Session::open(*spec, session_options(context)));
  std::string own = session.choice().kind == DeviceSpec::Kind::kCpu
                        ? "cpu"
                        : fmt::format("vulkan:{}", session.choice().index);
  auto state = std::make_shared<DeviceState>(context, std::move(session));
  TUFF_ASSIGN(const auto* devices, list_devices(*context));
  for (const DeviceDescription& device : *devices)
    if (device.id == own) state->description = device;
  context->tell(
      fmt::format("device {} ({}): {}", own, state->description.name, state->session.choice().why));
  return state;
}

}  // namespace

}  // namespace tuff::c

using namespace tuff;     // NOLINT: the functions of tuff.h have no namespace
using namespace tuff::c;  // NOLINT

tuff_status tuff_device_open(tuff_context* context, const char* id, tuff_device** device) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(context, "context"));
    TUFF_RETURN_IF_ERROR(need(device, "device"));
    TUFF_ASSIGN(std::shared_ptr<DeviceState> state, c::open(context->state, id ? id : "auto"));
    *device = new tuff_device{std::move(state)};
    return {};
  });
}

void tuff_device_destroy(tuff_device* device) { delete device; }

tuff_status tuff_device_get_info(tuff_device* device, tuff_device_info* info) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(device, "device"));
    tuff_device_info known{};
    device->state->description.fill(&known);
    return write_struct(info, known, "info");
  });
}
