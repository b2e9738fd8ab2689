// A Vulkan loader whose drivers hang in the submission that TUFF_TEST_HANG_AT counts to: the real loader in front of which
// it stands does all else.
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

static PFN_vkGetInstanceProcAddr real_instance_proc;
static PFN_vkGetDeviceProcAddr real_device_proc;
static PFN_vkQueueSubmit real_submit;
static atomic_int submits;

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  const char* at = getenv("TUFF_TEST_HANG_AT");
  if (at != NULL && ++submits >= atoi(at))
    for (;;) pause();
  return real_submit(queue, count, infos, fence);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char* name) {
  PFN_vkVoidFunction function = real_device_proc(device, name);
  if (strcmp(name, "vkQueueSubmit") != 0) return function;
  real_submit = (PFN_vkQueueSubmit)function;
  return (PFN_vkVoidFunction)submit;
}

__attribute__((visibility("default"))) VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance,
                                                                                            const char* name) {
  if (real_instance_proc == NULL) {
    void* library = dlopen(TUFF_REAL_LOADER, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return NULL;
    real_instance_proc = (PFN_vkGetInstanceProcAddr)dlsym(library, "vkGetInstanceProcAddr");
  }
  PFN_vkVoidFunction function = real_instance_proc(instance, name);
  if (strcmp(name, "vkGetDeviceProcAddr") != 0) return function;
  real_device_proc = (PFN_vkGetDeviceProcAddr)function;
  return (PFN_vkVoidFunction)device_proc;
}
