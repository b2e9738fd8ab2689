// Blocks of lines side by side: a row is one cache line and holds an element of each line.
#pragma once

#include <cstdint>

namespace tuff::cpu {

template <typename T>
inline constexpr int64_t kBlockColumns = 64 / static_cast<int64_t>(sizeof(T));

}  // namespace tuff::cpu
