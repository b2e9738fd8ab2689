// Times and sizes, measured and in words.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tuff {

// Measures from its construction on.
class Timer {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// "1.5 GiB", "12.0 KiB", "17 bytes".
std::string format_bytes(int64_t bytes);
// "2.31 ms", "1.84 s".
std::string format_ms(double ms);

}  // namespace tuff
