// Measured schedules of one device (Caps::tuning), kept in the disk cache for its driver's
// version and this tuff.
#pragma once

#include <memory>

#include "backend/cache.h"
#include "backend/vulkan/instance/snapshot.h"
#include "ir/caps.h"

namespace tuff {

// What was kept for the device; null: nothing. `cache` may be null.
std::shared_ptr<const Tuning> find_tuning(DiskCache* cache, const DeviceSnapshot& snapshot);
// Replaces it.
void keep_tuning(DiskCache& cache, const DeviceSnapshot& snapshot, const Tuning& tuning);

// Text of a tuning, one line a problem, and back; lines that are none are left out.
std::string print_tuning(const Tuning& tuning);
Tuning parse_tuning(const std::string& text);

}  // namespace tuff
