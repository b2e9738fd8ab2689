// main of a fuzz target without libFuzzer: runs it over files, and over the files
// of folders. `TARGET PATH...`; ends with the number of inputs.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/readers/target.h"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> list_inputs(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    if (!fs::exists(argv[i])) continue;  // a reader that nothing was ever found in
    for (const fs::path& path : list_inputs(argv[i])) {
      std::ifstream file(path, std::ios::binary);
      std::string bytes((std::istreambuf_iterator<char>(file)), {});
      std::fprintf(stderr, "%s\n", path.c_str());
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      ++count;
    }
  }
  std::printf("%zu inputs\n", count);
  return count == 0;
}
