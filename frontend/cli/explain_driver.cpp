#include "frontend/cli/explain_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "backend/roof.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/report/driver_json.h"
#include "frontend/weights/file.h"

namespace tuff::cli {

namespace {

// A kernel, and all dispatches of it in a run.
struct KernelRow {
  std::string family;
  int64_t lanes = 0, groups = 0;  // groups: of the largest dispatch
  int64_t dispatches = 0;
  StepCost cost;
  DriverKernel driver;
};

std::vector<KernelRow> rows_of(const Program& program, std::vector<DriverKernel> kernels) {
  std::vector<KernelRow> rows(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    rows[i].family = program.kernels[i].family;
    rows[i].lanes = program.kernels[i].lanes;
    rows[i].driver = std::move(kernels[i]);
  }
  for_each_step(program.steps, [&](const Step& step, int) {
    if (step.kind != Step::Kind::kDispatch) return;
    KernelRow& row = rows[step.kernel];
    row.groups = std::max(row.groups, step.workgroups);
    ++row.dispatches;
    row.cost.flops += step.cost.flops;
    row.cost.read_bytes += step.cost.read_bytes;
    row.cost.written_bytes += step.cost.written_bytes;
  });
  return rows;
}

// Of all dispatches.
double bytes_of(const KernelRow& row) {
  return static_cast<double>(row.cost.read_bytes + row.cost.written_bytes);
}

// All dispatches at the device's best: what no schedule gets below.
std::optional<double> least_us(const KernelRow& row, const std::optional<Roof>& roof) {
  if (!roof || roof->f32_gflops <= 0 || roof->copy_gbps <= 0) return std::nullopt;
  return 1e-3 * std::max(row.cost.flops / roof->f32_gflops, bytes_of(row) / roof->copy_gbps);
}

std::string number(std::optional<double> value, int digits = 0) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

void print_table(const std::vector<KernelRow>& rows, const std::optional<Roof>& roof) {
  constexpr const char* kLine =
      "{:>6}  {:<14} {:>8} {:>5} {:>10} {:>9} {:>9} {:>6} {:>7} {:>6} {:>9} {:>7} {:>7} {:>9} "
      "{:>9} "
      "{:>9}\n";
  fmt::print(kLine, "kernel", "family", "groups", "lanes", "dispatches", "subgroup", "registers",
             "spills", "scratch", "shared", "occupancy", "code", "instr.", "MFLOP", "MB",
             "least us");
  for (size_t i = 0; i < rows.size(); ++i) {
    const KernelRow& row = rows[i];
    KernelResources r = resources_of(row.driver.statistics);
    std::string subgroup =
        row.driver.subgroup_size ? std::to_string(row.driver.subgroup_size) : "-";
    fmt::print(kLine, fmt::format("k{}", i), row.family, row.groups, row.lanes, row.dispatches,
               subgroup, number(r.registers), number(r.spills), number(r.scratch_bytes),
               number(r.shared_bytes), number(r.occupancy), number(r.code_bytes),
               number(r.instructions), number(1e-6 * row.cost.flops, 1),
               number(1e-6 * bytes_of(row), 1), number(least_us(row, roof), 1));
  }
  if (!roof)
    print_note("the column \"least us\" needs the device's roof, which `tuff roof` measures once");
}

Json json_of(const KernelRow& row, size_t index, const std::optional<Roof>& roof) {
  Json json = {{"kernel", fmt::format("k{}", index)},
               {"family", row.family},
               {"groups", row.groups},
               {"lanes", row.lanes},
               {"dispatches", row.dispatches},
               {"flops", row.cost.flops},
               {"bytes", row.cost.read_bytes + row.cost.written_bytes}};
  if (row.driver.subgroup_size != 0) json["subgroup"] = row.driver.subgroup_size;
  json["resources"] = json_of_resources(resources_of(row.driver.statistics));
  if (auto us = least_us(row, roof)) json["least_us"] = *us;
  Json statistics = Json::object();
  for (const DriverStatistic& statistic : row.driver.statistics)
    statistics[statistic.name] = statistic.value;
  json["statistics"] = std::move(statistics);
  return json;
}

Status write_isa(const std::vector<KernelRow>& rows, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  int64_t written = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].driver.isa.empty()) continue;
    TUFF_RETURN_IF_ERROR(write_file(fmt::format("{}/k{}.isa", directory, i), rows[i].driver.isa));
    ++written;
  }
  if (written == 0)
    print_warning("--isa wrote nothing: the driver shows no kernel's instructions as text.");
  return {};
}

}  // namespace

Status explain_driver(const Graph& graph, const DeviceChoice& choice,
                      const DriverOptions& options) {
  if (choice.kind != DeviceSpec::Kind::kVulkan)
    return Error{ErrorCode::kUsage,
                 "Only a Vulkan device has a driver that compiles kernels; choose one with "
                 "--device vulkan.",
                 "--after driver"};
  TUFF_ASSIGN(Caps caps, caps_of(choice));
  CompileReport report;
  TUFF_ASSIGN(auto program, compile_model(graph, caps, session_options(options.disabled), &report));
  std::shared_ptr<DiskCache> cache = DiskCache::open_default();
  std::optional<Progress> progress;
  if (!options.json) progress.emplace("compile", "kernels");
  CompileOnDriverOptions compile_options;
  compile_options.cache = cache;
  if (progress)
    compile_options.progress = [&](int64_t done, int64_t total) { progress->update(done, total); };
  auto kernels = compile_on_driver(choice.index, *program, caps, compile_options);
  progress.reset();
  if (!kernels && kernels.error().code == ErrorCode::kUnsupported) {
    if (options.json)
      print_json({{"device", caps.name}, {"why_not", kernels.error().message}});
    else
      fmt::print("{}\n", kernels.error().message);
    return {};
  }
  TUFF_RETURN_IF_ERROR(kernels);
  std::vector<KernelRow> rows = rows_of(*program, std::move(*kernels));
  if (!options.isa_directory.empty()) TUFF_RETURN_IF_ERROR(write_isa(rows, options.isa_directory));
  std::optional<Roof> roof;
  if (cache) {
    TUFF_ASSIGN(std::string description, describe_vulkan_device(choice.index));
    roof = load_roof(*cache, description);
  }
  if (!options.json) {
    print_table(rows, roof);
    return {};
  }
  Json list = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) list.push_back(json_of(rows[i], i, roof));
  print_json({{"device", caps.name}, {"kernels", std::move(list)}});
  return {};
}

}  // namespace tuff::cli
