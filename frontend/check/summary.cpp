#include "frontend/check/summary.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "frontend/check/check.h"

namespace tuff::check {

namespace {

// Of a profile: the times, the memory, the steps without their texts.
Json summarised_profile(const Json& profile) {
  Json kept = Json::object();
  for (const char* key :
       {"environment", "ops", "first_ms", "second_ms", "upload_ms", "phases_ms", "steady_ms",
        "timed_ms", "steps_ms", "outside", "hosted", "memory", "roof", "repeatable", "check"})
    if (profile.contains(key)) kept[key] = profile[key];
  if (kept.contains("memory")) kept["memory"].erase("temporaries");
  kept["steps"] = Json::array();
  if (profile.contains("steps"))
    for (const Json& step : profile["steps"]) {
      Json row = Json::object();
      for (const char* key : {"op", "kernel", "call", "workgroups", "runs", "ms", "flops",
                              "read_bytes", "written_bytes"})
        if (step.contains(key)) row[key] = step[key];
      kept["steps"].push_back(std::move(row));
    }
  return kept;
}

std::string cell(std::optional<double> value, int digits = 1) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

}  // namespace

Json summarised(const std::string& part, const Json& object) {
  return part.starts_with("model ") || part.starts_with("product ") || part == "self-test"
             ? summarised_profile(object)
             : object;
}

const Json* find_part(const Json& check, const std::string& name) {
  for (const Json& part : check["parts"])
    if (part["name"] == name) return &part;
  return nullptr;
}

std::optional<double> number_of(const Json& check, const std::string& part, const std::string& a,
                                const std::string& b) {
  const Json* found = find_part(check, part);
  if (found == nullptr || (*found)["status"] != "passed" || !found->contains("result"))
    return std::nullopt;
  const Json& result = (*found)["result"];
  if (!result.contains(a)) return std::nullopt;
  const Json& value = b.empty() ? result[a] : result[a].value(b, Json());
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::optional<double> gflops_of(const Json& part) {
  std::string name = part["name"];
  long long m = 0, n = 0, k = 0;
  if (std::sscanf(name.c_str(), "product %lldx%lldx%lld", &m, &n, &k) != 3) return std::nullopt;
  if (part["status"] != "passed") return std::nullopt;
  double ms = part["result"]["steady_ms"].value("median", 0.0);
  if (ms <= 0) return std::nullopt;
  return 2e-6 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / ms;
}

std::string verdict_of(const Json& check) {
  std::map<std::string, int> counts;
  for (const Json& part : check["parts"]) ++counts[part["status"].get<std::string>()];
  std::string text;
  for (PartStatus status :
       {PartStatus::kPassed, PartStatus::kFailed, PartStatus::kHung, PartStatus::kSkipped})
    if (int count = counts[status_name(status)]; count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, status_name(status));
  return text;
}

// | date | device | driver | parts | f32 | f16 | copy | ResNet-50 | BERT | GPT-2 | ViT |
std::string device_row(const Json& check) {
  const Json& device = check["device"];
  std::string name = "none", driver = "-";
  if (device.is_object()) {
    name = device.value("name", "");
    driver = device.value("driver", "");
  }
  std::string row =
      fmt::format("| {} | {} | {} | {} | {} | {} | {} |", check.value("date", "").substr(0, 10),
                  name, driver, verdict_of(check), cell(number_of(check, "roof", "f32_gflops"), 0),
                  cell(number_of(check, "roof", "f16_gflops"), 0),
                  cell(number_of(check, "roof", "copy_gbps"), 0));
  for (const char* model : {"resnet50_b1", "bert_base_b2s64", "gpt2_b2s64", "vit_b16_b1"}) {
    std::string part = std::string("model ") + model;
    row += fmt::format(" {} / {} / {} |", cell(number_of(check, part, "first_ms"), 0),
                       cell(number_of(check, part, "second_ms")),
                       cell(number_of(check, part, "steady_ms", "median")));
  }
  return row;
}

}  // namespace tuff::check
