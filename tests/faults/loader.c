/* Has the Vulkan loader's name, so that tuff finds its functions in the program that injects
 * faults. */
typedef void (*function)(void);
typedef struct VkInstance_T* VkInstance;

function tuff_inject_vulkan(VkInstance instance, const char* name);
function vkGetInstanceProcAddr(VkInstance instance, const char* name);
function vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  return tuff_inject_vulkan(instance, name);
}
