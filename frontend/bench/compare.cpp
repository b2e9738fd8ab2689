#include "frontend/bench/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "frontend/bench/names.h"
#include "frontend/bench/table.h"
#include "frontend/weights/file.h"
#include "frontend/weights/json.h"

namespace tuff::bench {

namespace {

constexpr const char* kFormat = "tuff-bench-1";
constexpr int kMaxResultDepth = 32;  // of results

// Systems with a steady state, by "workload sizes system".
std::map<std::string, const Json*> measured(const Json& results,
                                            std::map<std::string, std::string>* workloads) {
  std::map<std::string, const Json*> systems;
  std::vector<std::string> titles = workload_titles(results["workloads"]);
  for (size_t i = 0; i < titles.size(); ++i)
    for (const Json& system : results["workloads"][i]["systems"]) {
      if (!system.contains("steady")) continue;
      std::string key = sized_name(results["workloads"][i]) + " " + system.value("system", "?");
      systems[key] = &system;
      (*workloads)[key] = titles[i];
    }
  return systems;
}

std::optional<double> first_cold_ms(const Json& system) {
  if (!system.contains("runs")) return std::nullopt;
  for (const Json& run : system["runs"])
    if (run.value("mode", "") == "cold") return run.value("first_ms", 0.0);
  return std::nullopt;
}

bool is_list_of_objects(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_array() &&
         std::all_of(json[key].begin(), json[key].end(),
                     [](const Json& entry) { return entry.is_object(); });
}

bool is_steady(const Json& steady) {
  if (!steady.is_object() || !steady.contains("median") || !steady["median"].is_number())
    return false;
  if (!steady.contains("bursts") || !steady["bursts"].is_array() || steady["bursts"].empty())
    return false;
  for (const Json& burst : steady["bursts"]) {
    if (!burst.is_array() || burst.empty()) return false;
    for (const Json& ms : burst)
      if (!ms.is_number() || ms.get<double>() <= 0) return false;
  }
  return true;
}

// The first thing that is not as the format says; empty if all that is read here is.
std::string flaw_of(const Json& results) {
  if (!results.is_object() || !results.contains("format") || results["format"] != kFormat)
    return fmt::format("it is no JSON object of the format {}", kFormat);
  if (!is_list_of_objects(results, "workloads")) return "workloads is no list of objects";
  for (const Json& workload : results["workloads"]) {
    if (!is_list_of_objects(workload, "systems")) return "systems is no list of objects";
    for (const Json& system : workload["systems"])
      if (system.contains("steady") && !is_steady(system["steady"]))
        return "steady has no median and bursts of positive numbers";
  }
  return "";
}

Result<Compared> compare_system(const std::string& key, const std::string& workload, const Json& a,
                                const Json& b) {
  std::string precision_a = a.value("precision", ""), precision_b = b.value("precision", "");
  if (precision_a != precision_b)
    return Error{ErrorCode::kUsage,
                 fmt::format("The files compute f32 matmuls in ({}) and in ({}); runs of unequal "
                             "precision are not compared.",
                             precision_a, precision_b),
                 key};
  Compared row;
  row.workload = workload;
  row.system = a.value("system", "?");
  row.a_ms = a["steady"]["median"];
  row.b_ms = b["steady"]["median"];
  row.ratio =
      ratio_of_medians(b["steady"]["bursts"].get<Bursts>(), a["steady"]["bursts"].get<Bursts>());
  std::optional<double> first_a = first_cold_ms(a), first_b = first_cold_ms(b);
  if (first_a && first_b && *first_a > 0) row.first_ratio = *first_b / *first_a;
  return row;
}

}  // namespace

Result<Json> read_results(const std::string& path) {
  TUFF_ASSIGN(std::string text, read_file(path));
  TUFF_ASSIGN(Json results, parse_json_object<Json>(text, kMaxResultDepth, "The file", path));
  std::string flaw = flaw_of(results);
  if (flaw.empty()) return results;
  return Error{ErrorCode::kBadInput,
               fmt::format("The file holds no results of tuff bench: {}.", flaw), path};
}

Result<Comparison> compare_results(const Json& a, const Json& b) {
  std::map<std::string, std::string> workloads;
  auto systems_a = measured(a, &workloads), systems_b = measured(b, &workloads);
  Comparison comparison;
  for (const auto& [key, system] : systems_a) {
    auto other = systems_b.find(key);
    if (other == systems_b.end()) {
      comparison.only_one.push_back(key);
      continue;
    }
    TUFF_ASSIGN(Compared row, compare_system(key, workloads[key], *system, *other->second));
    comparison.rows.push_back(std::move(row));
  }
  for (const auto& [key, system] : systems_b)
    if (!systems_a.contains(key)) comparison.only_one.push_back(key);
  return comparison;
}

Result<double> parse_factor(const std::string& text) {
  std::string digits = text.ends_with("x") ? text.substr(0, text.size() - 1) : text;
  double factor = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), factor);
  if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty() &&
      factor > 0 && factor < 1e9)
    return factor;
  return Error{ErrorCode::kUsage,
               fmt::format("The factor ({}) is not a number such as 1.05x.", text), "--fail-if"};
}

std::string comparison_table(const Comparison& comparison) {
  std::string text;
  for (const Compared& row : comparison.rows)
    text += fmt::format("{:<24} {:<16} {:>9} -> {:>9}  {:.3f}x (ci {:.3f}-{:.3f}){}\n",
                        row.workload, row.system, short_ms(row.a_ms), short_ms(row.b_ms),
                        row.ratio.value, row.ratio.low, row.ratio.high,
                        row.first_ratio ? fmt::format("  first {:.2f}x", *row.first_ratio) : "");
  for (const std::string& key : comparison.only_one)
    text += fmt::format("{}: in one of the files only\n", key);
  return text;
}

Json comparison_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const Compared& row : comparison.rows) {
    rows.push_back({{"workload", row.workload},
                    {"system", row.system},
                    {"a_ms", row.a_ms},
                    {"b_ms", row.b_ms},
                    {"ratio", row.ratio.value},
                    {"low", row.ratio.low},
                    {"high", row.ratio.high}});
    if (row.first_ratio) rows.back()["first_ratio"] = *row.first_ratio;
  }
  return {{"rows", rows}, {"only_one", comparison.only_one}};
}

Status check_regression(const Comparison& comparison, double factor) {
  auto ours = [](const Compared& row) { return row.system.starts_with("tuff"); };
  bool any_ours = std::any_of(comparison.rows.begin(), comparison.rows.end(), ours);
  std::vector<std::string> slower;
  for (const Compared& row : comparison.rows)
    if ((!any_ours || ours(row)) && row.ratio.low > factor)
      slower.push_back(fmt::format("{} {} {:.3f}x", row.workload, row.system, row.ratio.value));
  if (comparison.rows.empty())
    return Error{ErrorCode::kUsage, "The files have no workload and system in common.", ""};
  if (slower.empty()) return {};
  return Error{ErrorCode::kTooSlow,
               fmt::format("Slower than {}x: {}.", factor, fmt::join(slower, ", ")), ""};
}

}  // namespace tuff::bench
