/* An application with a Vulkan device of its own, whose buffers tuff reads and writes: share_buffer
 *
 * The application fills a buffer on the GPU, tuff computes y = 2 x + 1 of it into another one, and
 * the application copies that. Semaphores order the three; no byte comes to the host in between. */
#include <stdio.h>
#include <stdlib.h>
#include <tuff.h>
#include <vulkan/vulkan.h>

enum { kCount = 1000, kBytes = kCount * sizeof(float) };
static const char kModel[] =
    "func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {\n"
    "  %one = stablehlo.constant dense<1.0> : tensor<1000xf32>\n"
    "  %0 = stablehlo.add %x, %x : tensor<1000xf32>\n"
    "  %1 = stablehlo.add %0, %one : tensor<1000xf32>\n"
    "  return %1 : tensor<1000xf32>\n"
    "}\n";

static void check(tuff_status status, const char* what) {
  if (status == TUFF_OK) return;
  fprintf(stderr, "share_buffer: %s: %s\n", what, tuff_last_error());
  exit(status);
}
static void check_vulkan(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "share_buffer: %s: VkResult %d\n", what, result);
  exit(TUFF_NO_DEVICE);
}

/* ---- The application's own Vulkan ---- */

typedef struct {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queue;
  uint32_t family;
  VkCommandPool pool;
} application;

static uint32_t family_that_computes(VkPhysicalDevice physical) {
  VkQueueFamilyProperties families[16];
  uint32_t count = 16;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
  for (uint32_t i = 0; i < count; ++i)
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) return i;
  fprintf(stderr, "share_buffer: the device does not compute\n");
  exit(TUFF_NO_DEVICE);
}

/* Opens the first device and tells tuff about it. */
static tuff_device* open_device(application* app, tuff_context* context) {
  VkApplicationInfo about = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .apiVersion = VK_API_VERSION_1_2};
  VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                   .pApplicationInfo = &about};
  check_vulkan(vkCreateInstance(&instance, NULL, &app->instance), "instance");
  uint32_t count = 1;
  VkResult listed = vkEnumeratePhysicalDevices(app->instance, &count, &app->physical);
  if (listed < 0 || count == 0) check_vulkan(VK_ERROR_INITIALIZATION_FAILED, "devices");
  app->family = family_that_computes(app->physical);

  float priority = 1;
  VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                   .queueFamilyIndex = app->family,
                                   .queueCount = 1,
                                   .pQueuePriorities = &priority};
  VkDeviceCreateInfo made = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                             .queueCreateInfoCount = 1,
                             .pQueueCreateInfos = &queue};
  check_vulkan(vkCreateDevice(app->physical, &made, NULL, &app->device), "device");
  vkGetDeviceQueue(app->device, app->family, 0, &app->queue);
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .queueFamilyIndex = app->family};
  check_vulkan(vkCreateCommandPool(app->device, &pool, NULL, &app->pool), "command pool");

  tuff_vulkan_device given = TUFF_INIT(tuff_vulkan_device);
  given.instance = app->instance, given.physical_device = app->physical;
  given.device = app->device, given.queue = app->queue, given.queue_family = app->family;
  given.api_version = about.apiVersion;
  given.create_info = &made; /* which features are on: here none */
  tuff_device* device = NULL;
  check(tuff_device_adopt_vulkan(context, &given, &device), "adopt");
  return device;
}

typedef struct {
  VkBuffer buffer;
  VkDeviceMemory memory;
} block;

static block make_block(const application* app) {
  block made;
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                             .size = kBytes,
                             .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  check_vulkan(vkCreateBuffer(app->device, &info, NULL, &made.buffer), "buffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(app->device, made.buffer, &needs);
  VkPhysicalDeviceMemoryProperties has;
  vkGetPhysicalDeviceMemoryProperties(app->physical, &has);
  const VkMemoryPropertyFlags mapped =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t type = 0;
  while (!(needs.memoryTypeBits >> type & 1) ||
         (has.memoryTypes[type].propertyFlags & mapped) != mapped)
    ++type; /* Vulkan promises that there is one */
  VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = needs.size,
                                 .memoryTypeIndex = type};
  check_vulkan(vkAllocateMemory(app->device, &memory, NULL, &made.memory), "memory");
  check_vulkan(vkBindBufferMemory(app->device, made.buffer, made.memory, 0), "memory");
  return made;
}

static VkSemaphore make_semaphore(const application* app) {
  VkSemaphore semaphore;
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  check_vulkan(vkCreateSemaphore(app->device, &info, NULL, &semaphore), "semaphore");
  return semaphore;
}

static VkCommandBuffer begin(const application* app) {
  VkCommandBuffer commands;
  VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                      .commandPool = app->pool,
                                      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                      .commandBufferCount = 1};
  VkCommandBufferBeginInfo how = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check_vulkan(vkAllocateCommandBuffers(app->device, &info, &commands), "commands");
  check_vulkan(vkBeginCommandBuffer(commands, &how), "commands");
  return commands;
}

static void submit(const application* app, VkCommandBuffer commands, const VkSemaphore* wait,
                   const VkSemaphore* signal) {
  check_vulkan(vkEndCommandBuffer(commands), "commands");
  VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .waitSemaphoreCount = wait != NULL,
                       .pWaitSemaphores = wait,
                       .pWaitDstStageMask = &stage,
                       .commandBufferCount = 1,
                       .pCommandBuffers = &commands,
                       .signalSemaphoreCount = signal != NULL,
                       .pSignalSemaphores = signal};
  check_vulkan(vkQueueSubmit(app->queue, 1, &info, VK_NULL_HANDLE), "submit");
}

/* ---- tuff on it ---- */

static tuff_buffer* wrap(tuff_device* device, const block* shared) {
  const int64_t shape[] = {kCount};
  tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
  type.dtype = TUFF_F32, type.rank = 1, type.shape = shape;
  tuff_vulkan_buffer place = TUFF_INIT(tuff_vulkan_buffer);
  place.buffer = (uint64_t)shared->buffer;
  tuff_buffer* buffer = NULL;
  check(tuff_buffer_wrap_vulkan(device, &type, &place, NULL, NULL, &buffer), "wrap");
  return buffer;
}

/* y = 2 x + 1 between two semaphores. */
static void run(tuff_device* device, const block* x, const block* y, VkSemaphore filled,
                VkSemaphore computed) {
  tuff_compile_options model = TUFF_INIT(tuff_compile_options);
  model.bytes = kModel, model.num_bytes = sizeof kModel - 1, model.name = "model.mlir";
  tuff_program* program = NULL;
  check(tuff_program_compile(device, &model, &program), "compile");
  tuff_buffer *input = wrap(device, x), *output = wrap(device, y), *unused = NULL;
  tuff_vulkan_semaphore wait = {(uint64_t)filled, 0}, signal = {(uint64_t)computed, 0};
  tuff_run_options options = TUFF_INIT(tuff_run_options);
  options.wait = &wait, options.num_wait = 1;
  options.signal = &signal, options.num_signal = 1;
  options.outputs = &output;
  check(tuff_program_run(program, &options, &input, 1, &unused, 1), "run");
  tuff_buffer_destroy(input);
  tuff_buffer_destroy(output);
  tuff_program_destroy(program);
}

static int count_wrong(const application* app, const block* copied) {
  int wrong = 0;
  void* mapped = NULL;
  check_vulkan(vkMapMemory(app->device, copied->memory, 0, VK_WHOLE_SIZE, 0, &mapped), "map");
  for (int i = 0; i < kCount; ++i) wrong += ((const float*)mapped)[i] != 4.0f;
  return wrong;
}

int main(void) {
  application app = {0};
  tuff_context* context = NULL;
  check(tuff_context_create(NULL, &context), "context");
  tuff_device* device = open_device(&app, context);
  block x = make_block(&app), y = make_block(&app), copied = make_block(&app);
  VkSemaphore filled = make_semaphore(&app), computed = make_semaphore(&app);

  VkCommandBuffer fill = begin(&app);
  vkCmdFillBuffer(fill, x.buffer, 0, kBytes, 0x3fc00000); /* 1.5f */
  submit(&app, fill, NULL, &filled);
  run(device, &x, &y, filled, computed);
  VkCommandBuffer copy = begin(&app);
  VkBufferCopy all = {0, 0, kBytes};
  vkCmdCopyBuffer(copy, y.buffer, copied.buffer, 1, &all);
  VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                             .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(copy, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                       &to_host, 0, NULL, 0, NULL);
  submit(&app, copy, &computed, NULL);
  check_vulkan(vkQueueWaitIdle(app.queue), "wait");
  int wrong = count_wrong(&app, &copied);
  tuff_device_info info = TUFF_INIT(tuff_device_info);
  check(tuff_device_get_info(device, &info), "device");
  printf("%s (%04x:%04x, Vulkan %s)\n", info.name, info.vendor_id, info.device_id, info.api_version);
  printf("%d elements computed on the application's device, %d wrong\n", kCount, wrong);

  /* tuff's objects go first, then what they stood on. */
  tuff_device_destroy(device);
  tuff_context_destroy(context);
  const block* blocks[] = {&x, &y, &copied};
  for (int i = 0; i < 3; ++i) {
    vkDestroyBuffer(app.device, blocks[i]->buffer, NULL);
    vkFreeMemory(app.device, blocks[i]->memory, NULL);
  }
  vkDestroySemaphore(app.device, filled, NULL);
  vkDestroySemaphore(app.device, computed, NULL);
  vkDestroyCommandPool(app.device, app.pool, NULL);
  vkDestroyDevice(app.device, NULL);
  vkDestroyInstance(app.instance, NULL);
  return wrong != 0;
}
