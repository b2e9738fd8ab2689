// tuff plan --mesh: the same for each device of a mesh, and what their exchange costs.
#pragma once

#include <string>
#include <vector>

#include "ir/support/result.h"

namespace tuff::cli {

struct PlanMeshOptions {
  std::string model, device, mesh, link, rate, call;
  std::vector<std::string> disabled;
  double crowd = 1;
  bool measure = false, one_host = false, json = false;
};

Status plan_mesh(const PlanMeshOptions& options);

}  // namespace tuff::cli
