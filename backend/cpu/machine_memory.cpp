#include "backend/cpu/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace tuff::cpu {

namespace {

// The number after `key` in a file of lines "key number".
std::optional<int64_t> number_of(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (words >> word >> number && word == key) return number;
  }
  return std::nullopt;
}

// The number that a file holds; none where it holds a word: "max".
std::optional<int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// The names of what a control group tells, in version 1 and 2 of the interface.
struct GroupFiles {
  const char *folder, *limit, *used, *files, *shared;
};
constexpr GroupFiles kVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_cache", "total_shmem"};
constexpr GroupFiles kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", "file", "shmem"};

void limit_by_group(const GroupFiles& names, const std::string& folder, MachineMemory& memory) {
  std::optional<int64_t> limit = number_in(folder + "/" + names.limit);
  std::optional<int64_t> used = number_in(folder + "/" + names.used);
  if (!limit || !used) return;
  const std::string stat = folder + "/memory.stat";
  int64_t files =
      number_of(stat, names.files).value_or(0) - number_of(stat, names.shared).value_or(0);
  int64_t available = *limit - *used + std::max<int64_t>(files, 0);
  memory.total_bytes = std::min(memory.total_bytes, *limit);
  memory.free_bytes = std::min(memory.free_bytes, std::max<int64_t>(available, 0));
}

// The groups that a line of /proc/self/cgroup names, "0::/a/b" or "4:memory:/a/b", and those
// around it. In a container the path may be one of the host's; then the root is the group.
void limit_by_line(const std::string& line, const std::string& root, MachineMemory& memory) {
  size_t first = line.find(':'), second = line.find(':', first + 1);
  if (second == std::string::npos) return;
  std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  bool is_version_2 = controllers == ",,";
  if (!is_version_2 && controllers.find(",memory,") == std::string::npos) return;
  const GroupFiles& names = is_version_2 ? kVersion2 : kVersion1;
  for (std::string path = line.substr(second + 1); !path.empty() && path != "/";
       path = path.substr(0, path.rfind('/')))
    limit_by_group(names, root + names.folder + path, memory);
  limit_by_group(names, root + names.folder, memory);
}

}  // namespace

MachineMemory machine_memory(const std::string& root) {
  constexpr int64_t kKibi = 1024;
  const std::string info = root + "/proc/meminfo";
  MachineMemory memory;
  memory.total_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (auto total = number_of(info, "MemTotal:")) memory.total_bytes = *total * kKibi;
  memory.free_bytes = memory.total_bytes / 2;
  if (auto available = number_of(info, "MemAvailable:")) memory.free_bytes = *available * kKibi;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) limit_by_line(line, root, memory);
  return memory;
}

Result<int64_t> parse_memory_size(const std::string& text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(static_cast<const char*>(end), text.data() + text.size());
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (unit.ends_with("ib"))
    unit.resize(unit.size() - 2);
  else if (unit.ends_with('b'))
    unit.pop_back();
  constexpr std::string_view kUnits = "kmgt";
  size_t power = unit.empty() ? 0 : kUnits.find(unit) + 1;  // npos + 1 is 0
  double bytes = std::ldexp(number, static_cast<int>(10 * power));
  bool known = error == std::errc() && (unit.empty() || (unit.size() == 1 && power > 0));
  if (known && bytes >= 0 && bytes < static_cast<double>(std::numeric_limits<int64_t>::max()))
    return static_cast<int64_t>(bytes);
  return Error{ErrorCode::kUsage,
               "The size (" + text + ") is not one; write 0, 512MiB or 2GiB, for example.", ""};
}

}  // namespace tuff::cpu
