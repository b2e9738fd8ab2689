#include "backend/vulkan/instance/instance.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include "backend/vulkan/error.h"
#include "backend/vulkan/instance/validation.h"

namespace tuff {

namespace {

// What fails before there is a device is a driver that is missing, or not in order: kNoDevice.
// Loaders say of a driver's broken manifest that memory is out; it is, where we get none either.
Error starting_error(VkResult result, const char* phrase) {
  Error error = vk_error(result, phrase);
  void* memory = error.code == ErrorCode::kOutOfMemory ? std::malloc(1 << 20) : nullptr;
  if (error.code == ErrorCode::kOutOfMemory && !memory) return error;
  std::free(memory);
  error.code = ErrorCode::kNoDevice;
  if (result != VK_ERROR_INCOMPATIBLE_DRIVER)
    error.message +=
        " A driver or its manifest is not in order, `tuff doctor` says which; or use the device "
        "cpu.";
  return error;
}

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool wants_layer() {
  std::string_view value = environment("TUFF_VALIDATION");
  return !value.empty() && value != "0";
}

// True iff some layer that validates is on, by us or by the user.
bool wants_messenger() {
  return wants_layer() ||
         environment("VK_INSTANCE_LAYERS").find("validation") != std::string_view::npos ||
         environment("VK_LOADER_LAYERS_ENABLE").find("validation") != std::string_view::npos;
}

bool has_extension(const LoaderTable& loader, const char* layer, const char* name) {
  uint32_t count = 0;
  loader.EnumerateInstanceExtensionProperties(layer, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  loader.EnumerateInstanceExtensionProperties(layer, &count, extensions.data());
  for (const VkExtensionProperties& extension : extensions)
    if (std::strcmp(extension.extensionName, name) == 0) return true;
  return false;
}

bool has_layer(const LoaderTable& loader, const char* name) {
  uint32_t count = 0;
  loader.EnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  loader.EnumerateInstanceLayerProperties(&count, layers.data());
  for (const VkLayerProperties& layer : layers)
    if (std::strcmp(layer.layerName, name) == 0) return true;
  return false;
}

std::atomic<bool> drivers_are_ending{false};

Status check_loader(const LoaderTable& loader) {
  uint32_t version = 0;
  TUFF_VK_RETURN_IF_ERROR(loader.EnumerateInstanceVersion(&version), "tell the loader's version");
  if (version < VK_API_VERSION_1_1)
    return Error{ErrorCode::kNoDevice,
                 "The Vulkan loader is older than 1.1; update it (Debian: libvulkan1).", ""};
  if (wants_layer() && !has_layer(loader, kValidationLayer))
    return Error{ErrorCode::kUsage,
                 "TUFF_VALIDATION asks for VK_LAYER_KHRONOS_validation, which is not installed "
                 "(Debian: vulkan-validationlayers); install it or unset TUFF_VALIDATION.",
                 ""};
  return {};
}

// The process's instance. It stays after its last user, since drivers that are loaded and unloaded
// again and again grow; but not into a fork, where a driver's threads are missing.
struct Kept {
  std::mutex mutex;
  std::weak_ptr<Instance> current;
  std::shared_ptr<Instance> instance;
};

Kept& kept() {
  static Kept& one = *new Kept;
  return one;
}

void drop_kept_before_fork() {
  std::unique_lock lock(kept().mutex, std::try_to_lock);
  if (lock) kept().instance.reset();
}

}  // namespace

Result<std::shared_ptr<Instance>> Instance::acquire() {
  static const int watched = pthread_atfork(drop_kept_before_fork, nullptr, nullptr);
  std::lock_guard lock(kept().mutex);
  if (std::shared_ptr<Instance> instance = kept().current.lock()) return instance;
  std::shared_ptr<Instance> instance(new Instance);
  TUFF_RETURN_IF_ERROR(instance->create());
  kept().current = instance;
  // Validation tells of leaks at its instance's end.
  if (watched == 0 && !wants_messenger()) kept().instance = instance;
  return instance;
}

Result<std::shared_ptr<Instance>> Instance::adopt(
    VkInstance handle, uint32_t api_version, PFN_vkGetInstanceProcAddr get_instance_proc_addr) {
  LoaderTable loader;
  loader.GetInstanceProcAddr = get_instance_proc_addr;
  if (get_instance_proc_addr == nullptr) {
    TUFF_ASSIGN(const LoaderTable* found, load_vulkan());
    loader = *found;
  }
  std::shared_ptr<Instance> instance(new Instance);
  instance->adopted_ = true;
  instance->handle_ = handle;
  instance->api_version_ = api_version;
  TUFF_ASSIGN(instance->table_, load_instance_table(loader, handle));
  return instance;
}

bool Instance::drivers_end() { return drivers_are_ending.load(std::memory_order_relaxed); }

Status Instance::create() {
  TUFF_ASSIGN(const LoaderTable* loader, load_vulkan());
  TUFF_RETURN_IF_ERROR(check_loader(*loader));
  std::vector<const char*> layers, extensions;
  const void* next = nullptr;

  VkDebugUtilsMessengerCreateInfoEXT messenger = validation_messenger_info();
  bool listen =
      wants_messenger() && has_extension(*loader, nullptr, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  if (listen) {
    extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    next = &messenger;  // hears vkCreateInstance and vkDestroyInstance themselves
  }
  // Without it, loaders leave out devices that are Vulkan in part, such as those of macOS.
  VkInstanceCreateFlags flags = 0;
  if (has_extension(*loader, nullptr, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
  VkValidationFeatureEnableEXT sync = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features{.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                   .pNext = next,
                                   .enabledValidationFeatureCount = 1,
                                   .pEnabledValidationFeatures = &sync};
  if (wants_layer()) {
    layers.push_back(kValidationLayer);
    if (has_extension(*loader, kValidationLayer, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME)) {
      extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
      next = &features;
    }
  }

  VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                .pApplicationName = "tuff",
                                .pEngineName = "tuff",
                                .apiVersion = VK_API_VERSION_1_3};
  VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                            .pNext = next,
                            .flags = flags,
                            .pApplicationInfo = &application,
                            .enabledLayerCount = static_cast<uint32_t>(layers.size()),
                            .ppEnabledLayerNames = layers.data(),
                            .enabledExtensionCount = static_cast<uint32_t>(extensions.size()),
                            .ppEnabledExtensionNames = extensions.data()};
  if (VkResult result = loader->CreateInstance(&info, nullptr, &handle_); result != VK_SUCCESS)
    return starting_error(result, "create an instance");
  // The drivers have been loaded by now, so this comes ahead of what they do at the end.
  std::atexit([] { drivers_are_ending = true; });
  TUFF_ASSIGN(table_, load_instance_table(*loader, handle_));
  if (listen && table_.CreateDebugUtilsMessengerEXT != nullptr)
    TUFF_VK_RETURN_IF_ERROR(
        table_.CreateDebugUtilsMessengerEXT(handle_, &messenger, nullptr, &messenger_),
        "create a debug messenger");
  return {};
}

Instance::~Instance() {
  if (drivers_end() || adopted_) return;
  if (messenger_ != VK_NULL_HANDLE)
    table_.DestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
  if (handle_ != VK_NULL_HANDLE && table_.DestroyInstance != nullptr)
    table_.DestroyInstance(handle_, nullptr);
}

Result<std::vector<VkPhysicalDevice>> Instance::physical_devices() const {
  uint32_t count = 0;
  VkResult result = table_.EnumeratePhysicalDevices(handle_, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  if (result == VK_SUCCESS)
    result = table_.EnumeratePhysicalDevices(handle_, &count, devices.data());
  if (result != VK_SUCCESS && result != VK_INCOMPLETE)
    return starting_error(result, "list the devices");
  devices.resize(count);
  if (devices.empty())
    return Error{
        ErrorCode::kNoDevice,
        "No Vulkan device is found: the loader is there, but no driver offers a device. "
        "Install a driver (Debian: mesa-vulkan-drivers); `tuff doctor` says what is there. Or use "
        "the device cpu.",
        ""};
  return devices;
}

Result<VkPhysicalDevice> Instance::physical_device(int index) const {
  TUFF_ASSIGN(auto devices, physical_devices());
  if (index < 0 || index >= static_cast<int>(devices.size()))
    return Error{ErrorCode::kNoDevice,
                 fmt::format("There is no Vulkan device {}; this machine has {} (numbered from 0). "
                             "`tuff devices` lists them.",
                             index, devices.size()),
                 ""};
  return devices[static_cast<size_t>(index)];
}

}  // namespace tuff
