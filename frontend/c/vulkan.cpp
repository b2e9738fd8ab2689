// Vulkan devices and buffers of the application's own.
#include "backend/storage_convert.h"
#include "backend/verify/validate_device.h"
#include "frontend/c/buffer.h"
#include "frontend/c/call.h"
#include "frontend/c/types.h"

namespace tuff::c {

namespace {

GivenDevice given_device(const tuff_vulkan_device& vulkan) {
  GivenDevice given;
  given.instance = vulkan.instance, given.physical_device = vulkan.physical_device;
  given.device = vulkan.device, given.queue = vulkan.queue;
  given.get_instance_proc_addr = reinterpret_cast<void*>(vulkan.get_instance_proc_addr);
  given.made_with = vulkan.create_info;
  given.queue_family = vulkan.queue_family, given.api_version = vulkan.api_version;
  void* user = vulkan.queue_user;
  if (auto lock = vulkan.lock_queue) given.lock = [lock, user] { lock(user); };
  if (auto unlock = vulkan.unlock_queue) given.unlock = [unlock, user] { unlock(user); };
  return given;
}

Result<std::shared_ptr<DeviceState>> adopt(const std::shared_ptr<ContextState>& context,
                                           const tuff_vulkan_device& vulkan) {
  if ((vulkan.lock_queue == nullptr) != (vulkan.unlock_queue == nullptr))
    return invalid("A queue is shared by both functions, lock_queue and unlock_queue, or neither.");
  TUFF_ASSIGN(Session session, Session::adopt(given_device(vulkan), session_options(context)));
  auto state = std::make_shared<DeviceState>(context, std::move(session));
  TUFF_ASSIGN(DeviceInfo info, vulkan_device_info(watched_device(state->device())));
  state->description = DeviceDescription::of(info);
  state->description.id = "vulkan";
  return state;
}

Result<std::shared_ptr<BufferState>> wrap_vulkan(const std::shared_ptr<DeviceState>& state,
                                                 const tuff_tensor_type* type,
                                                 const tuff_vulkan_buffer* vulkan, Release given) {
  TUFF_ASSIGN(TensorType known, c::type_of(type));
  TUFF_ASSIGN(tuff_vulkan_buffer place, read_struct(vulkan, "vulkan"));
  const Caps& caps = state->device().caps();
  if (stored_type(known, caps) != as_parts(known))
    return Error{ErrorCode::kUnsupported,
                 fmt::format("The device ({}) does not keep tensors of type ({}) as they are, so "
                             "their buffers cannot be shared.",
                             caps.name, known.to_string()),
                 ""};
  auto release = std::make_shared<Release>(given);
  TUFF_ASSIGN(BufferPtr memory,
              wrap_vulkan_buffer(watched_device(state->device()), place.buffer,
                                 static_cast<int64_t>(place.offset), known.size_bytes(), release));
  auto buffer = std::make_shared<BufferState>(state, known, stored(std::move(memory), false));
  release->armed = true;
  return buffer;
}

}  // namespace

}  // namespace tuff::c

using namespace tuff;     // NOLINT: the functions of tuff.h have no namespace
using namespace tuff::c;  // NOLINT

tuff_status tuff_device_adopt_vulkan(tuff_context* context, const tuff_vulkan_device* given,
                                     tuff_device** device) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(context, "context"));
    TUFF_RETURN_IF_ERROR(need(device, "device"));
    TUFF_ASSIGN(tuff_vulkan_device known, read_struct(given, "given"));
    auto handle = std::make_unique<tuff_device>();
    TUFF_ASSIGN(handle->state, c::adopt(context->state, known));
    *device = handle.release();
    return {};
  });
}

tuff_status tuff_buffer_wrap_vulkan(tuff_device* device, const tuff_tensor_type* type,
                                    const tuff_vulkan_buffer* vulkan, void (*release)(void* user),
                                    void* user, tuff_buffer** buffer) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(device, "device"));
    TUFF_RETURN_IF_ERROR(need(buffer, "buffer"));
    auto handle = std::make_unique<tuff_buffer>();
    TUFF_ASSIGN(handle->state, c::wrap_vulkan(device->state, type, vulkan, {release, user, false}));
    *buffer = handle.release();
    return {};
  });
}

tuff_status tuff_buffer_vulkan(const tuff_buffer* buffer, tuff_vulkan_buffer* vulkan) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(buffer, "buffer"));
    TUFF_ASSIGN(BufferPtr memory, buffer->state->ready_memory());
    tuff_vulkan_buffer known{};
    VulkanPlace place = vulkan_place(*memory);
    known.buffer = place.handle, known.offset = static_cast<uint64_t>(place.offset_bytes);
    return write_struct(vulkan, known, "vulkan");
  });
}
