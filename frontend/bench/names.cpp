#include "frontend/bench/names.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

namespace tuff::bench {

namespace {

namespace fs = std::filesystem;

std::map<std::string, int> count(const std::vector<std::string>& names) {
  std::map<std::string, int> counts;
  for (const std::string& name : names) ++counts[name];
  return counts;
}

fs::path whole_path(const std::string& path) {
  std::error_code ignored;
  fs::path whole = fs::absolute(path, ignored).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

// A file's name without its ending, then with it, then with more and more folders.
class Name {
 public:
  explicit Name(const fs::path& path)
      : text_(path.stem().string()), file_(path.filename().string()), rest_(path.parent_path()) {}
  const std::string& text() const { return text_; }
  // False where there is nothing to add.
  bool lengthen() {
    if (text_ != file_ && !text_.ends_with("/" + file_)) {
      text_ = file_;
      return true;
    }
    if (!rest_.has_filename()) return false;
    text_ = rest_.filename().string() + "/" + text_;
    rest_ = rest_.parent_path();
    return true;
  }

 private:
  std::string text_, file_;
  fs::path rest_;
};

// As short as they can be for no two to be equal.
std::map<fs::path, Name> different_names(const std::vector<std::string>& paths) {
  std::map<fs::path, Name> names;
  for (const std::string& path : paths) names.emplace(whole_path(path), Name(whole_path(path)));
  for (bool again = true; again;) {
    again = false;
    std::vector<std::string> texts;
    for (const auto& [path, name] : names) texts.push_back(name.text());
    std::map<std::string, int> counts = count(texts);
    for (auto& [path, name] : names)
      if (counts[name.text()] > 1) again |= name.lengthen();
  }
  return names;
}

}  // namespace

std::vector<std::string> model_names(const std::vector<std::string>& paths) {
  std::map<fs::path, Name> different = different_names(paths);
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (const std::string& path : paths) {
    names.push_back(different.at(whole_path(path)).text());
    if (int times = ++seen[names.back()]; times > 1) names.back() += fmt::format(" ({})", times);
  }
  return names;
}

std::string sized_name(const Json& workload) {
  std::string name = workload.value("name", "?");
  for (const char* size : {"batch", "seq"})
    if (workload.contains(size)) name += fmt::format(" {} {}", size, workload.value(size, 0));
  return name;
}

std::vector<std::string> workload_titles(const Json& workloads) {
  std::vector<std::string> titles;
  for (const Json& workload : workloads) titles.push_back(workload.value("name", "?"));
  std::map<std::string, int> counts = count(titles);
  for (size_t i = 0; i < titles.size(); ++i)
    if (counts[titles[i]] > 1) titles[i] = sized_name(workloads[i]);
  return titles;
}

}  // namespace tuff::bench
