#include "frontend/report/driver_json.h"

#include <optional>
#include <utility>

namespace tuff {

nlohmann::ordered_json json_of_resources(const KernelResources& r) {
  const std::pair<const char*, std::optional<double>> kFields[] = {
      {"registers", r.registers},         {"spills", r.spills},
      {"scratch_bytes", r.scratch_bytes}, {"shared_bytes", r.shared_bytes},
      {"occupancy", r.occupancy},         {"code_bytes", r.code_bytes},
      {"instructions", r.instructions}};
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : kFields)
    if (value) json[name] = *value;
  return json;
}

}  // namespace tuff
