#include "frontend/cli/bench_directory.h"

#include <filesystem>

namespace tuff::cli {

std::string bench_directory() {
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path installed = program.parent_path().parent_path() / "share/tuff/bench";
  if (std::filesystem::is_directory(installed, error)) return installed.string();
  return (program.parent_path() / TUFF_BENCH_DIR).lexically_normal().string();
}

}  // namespace tuff::cli
