// A Vulkan loader in front of the real one, which does all but one thing. TUFF_TEST_HANG_AT: drivers hang in the submission
// that it counts to. TEST_LOADER: "empty" has no devices, "old" has devices of Vulkan 1.0, "pci" tells where they sit.
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

static PFN_vkGetInstanceProcAddr real_instance_proc;
static PFN_vkGetDeviceProcAddr real_device_proc;
static PFN_vkGetPhysicalDeviceProperties real_properties;
static PFN_vkGetPhysicalDeviceProperties2 real_properties2;
static PFN_vkEnumerateDeviceExtensionProperties real_extensions;
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

static VKAPI_ATTR VkResult VKAPI_CALL no_devices(VkInstance instance, uint32_t* count, VkPhysicalDevice* devices) {
  (void)instance, (void)devices;
  *count = 0;
  return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL old_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* properties) {
  real_properties(device, properties);
  properties->apiVersion = VK_API_VERSION_1_0;
}

static VKAPI_ATTR void VKAPI_CALL old_properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
  real_properties2(device, properties);
  properties->properties.apiVersion = VK_API_VERSION_1_0;
}

static VKAPI_ATTR VkResult VKAPI_CALL pci_extensions(VkPhysicalDevice device, const char* layer, uint32_t* count,
                                                     VkExtensionProperties* properties) {
  uint32_t room = *count;
  VkResult result = real_extensions(device, layer, count, properties);
  if (result != VK_SUCCESS) return result;
  if (properties != NULL && *count < room) strcpy(properties[*count].extensionName, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
  ++*count;
  return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL pci_properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
  real_properties2(device, properties);
  for (VkBaseOutStructure* more = properties->pNext; more != NULL; more = more->pNext) {
    VkPhysicalDevicePCIBusInfoPropertiesEXT* pci = (VkPhysicalDevicePCIBusInfoPropertiesEXT*)more;
    if (more->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT) continue;
    pci->pciDomain = 1, pci->pciBus = 0x65, pci->pciDevice = 0x10, pci->pciFunction = 3;
  }
}

// What stands in for a function of the instance, or NULL.
static PFN_vkVoidFunction instead_of(const char* name, PFN_vkVoidFunction function) {
  const char* kind = getenv("TEST_LOADER");
  if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
    real_device_proc = (PFN_vkGetDeviceProcAddr)function;
    return (PFN_vkVoidFunction)device_proc;
  }
  if (kind == NULL) return NULL;
  if (strcmp(kind, "empty") == 0 && strcmp(name, "vkEnumeratePhysicalDevices") == 0)
    return (PFN_vkVoidFunction)no_devices;
  if (strcmp(kind, "pci") == 0 && strcmp(name, "vkEnumerateDeviceExtensionProperties") == 0) {
    real_extensions = (PFN_vkEnumerateDeviceExtensionProperties)function;
    return (PFN_vkVoidFunction)pci_extensions;
  }
  if (strcmp(kind, "pci") == 0 && strcmp(name, "vkGetPhysicalDeviceProperties2") == 0) {
    real_properties2 = (PFN_vkGetPhysicalDeviceProperties2)function;
    return (PFN_vkVoidFunction)pci_properties2;
  }
  if (strcmp(kind, "old") != 0) return NULL;
  if (strcmp(name, "vkGetPhysicalDeviceProperties") == 0) {
    real_properties = (PFN_vkGetPhysicalDeviceProperties)function;
    return (PFN_vkVoidFunction)old_properties;
  }
  if (strcmp(name, "vkGetPhysicalDeviceProperties2") == 0) {
    real_properties2 = (PFN_vkGetPhysicalDeviceProperties2)function;
    return (PFN_vkVoidFunction)old_properties2;
  }
  return NULL;
}

__attribute__((visibility("default"))) VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance,
                                                                                            const char* name) {
  if (real_instance_proc == NULL) {
    void* library = dlopen(TUFF_REAL_LOADER, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return NULL;
    real_instance_proc = (PFN_vkGetInstanceProcAddr)dlsym(library, "vkGetInstanceProcAddr");
  }
  PFN_vkVoidFunction function = real_instance_proc(instance, name);
  PFN_vkVoidFunction instead = function != NULL ? instead_of(name, function) : NULL;
  return instead != NULL ? instead : function;
}
