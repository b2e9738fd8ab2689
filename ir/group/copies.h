// Results that a library puts together of pieces, on devices that have one (Caps::library_calls).
#pragma once

#include <cstdint>

namespace tuff {

// Results of fewer elements are as well off in kernels, which loops and fused work may take in.
inline constexpr int64_t kMinCopyElements = 8192;

}  // namespace tuff
