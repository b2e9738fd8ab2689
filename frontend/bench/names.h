// What workloads are called where several are told apart.
#pragma once

#include <string>
#include <vector>

#include "frontend/bench/worker.h"

namespace tuff::bench {

// Of models' paths, each by its file's name: "mlp". Where two have the same, with their endings and
// as many of their folders as it takes: "a/mlp.onnx" and "b/mlp.onnx". A file that is given again
// is numbered: "mlp (2)".
std::vector<std::string> model_names(const std::vector<std::string>& paths);

// Of one of results' workloads: its name and its sizes.
std::string sized_name(const Json& workload);

// Of all of them: names, with sizes where one name was measured at several.
std::vector<std::string> workload_titles(const Json& workloads);

}  // namespace tuff::bench
