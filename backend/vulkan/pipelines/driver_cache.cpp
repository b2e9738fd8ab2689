// The driver's own pipeline cache (VkPipelineCache), kept on disk between
// processes. A damaged blob is undefined behaviour in drivers. So its key is
// everything that names the driver, the disk cache checks its digest, and its
// header is compared with the device before the driver sees it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/vulkan/error.h"
#include "backend/vulkan/pipelines/pipeline.h"

namespace tuff {

namespace {

constexpr const char* kKind = "pipelines";

std::string blob_key(const DeviceSnapshot& s) {
  return fmt::format("tuff {}\n{}", TUFF_VERSION, driver_identity(s));
}

bool fits_device(std::span<const uint8_t> blob, const VkPhysicalDeviceProperties& properties) {
  VkPipelineCacheHeaderVersionOne header;
  if (blob.size() < sizeof header) return false;
  std::memcpy(&header, blob.data(), sizeof header);
  return header.headerSize >= sizeof header && header.headerSize <= blob.size() &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         header.vendorID == properties.vendorID && header.deviceID == properties.deviceID &&
         std::memcmp(header.pipelineCacheUUID, properties.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

}  // namespace

Status PipelineStore::create_driver_cache() {
  if (cache_ != nullptr) {
    auto blob = cache_->get(kKind, blob_key(context_.snapshot()));
    if (blob && fits_device(*blob, context_.snapshot().properties)) saved_blob_ = std::move(*blob);
  }
  VkPipelineCacheCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                 .initialDataSize = saved_blob_.size(),
                                 .pInitialData = saved_blob_.data()};
  TUFF_VK_RETURN_IF_ERROR(
      context_.vk().CreatePipelineCache(context_.device(), &info, nullptr, &driver_cache_),
      "create a pipeline cache");
  return {};
}

// Software drivers give a bare header, which is not worth a file. Losing the
// blob costs time only, so failures are passed over.
void PipelineStore::save_driver_cache() {
  if (cache_ == nullptr) return;
  const DeviceTable& vk = context_.vk();
  size_t size = 0;
  if (vk.GetPipelineCacheData(context_.device(), driver_cache_, &size, nullptr) != VK_SUCCESS)
    return;
  std::vector<uint8_t> blob(size);
  if (vk.GetPipelineCacheData(context_.device(), driver_cache_, &size, blob.data()) != VK_SUCCESS)
    return;
  blob.resize(size);
  if (size <= sizeof(VkPipelineCacheHeaderVersionOne) || blob == saved_blob_) return;
  cache_->put(kKind, blob_key(context_.snapshot()), blob);
  saved_blob_ = std::move(blob);
}

}  // namespace tuff
