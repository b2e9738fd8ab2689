// What the driver's compiler made of pipelines: VK_KHR_pipeline_executable_properties.
#pragma once

#include "backend/driver_statistics.h"
#include "backend/vulkan/pipelines/pipeline.h"

namespace tuff {

// Of a pipeline made by a context whose plan has pipeline_statistics.
Result<DriverKernel> read_driver_kernel(Context& context, const Pipeline& pipeline);

}  // namespace tuff
