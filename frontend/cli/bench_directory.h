// Where the workloads are and the peers' scripts: a file of its own, since its path is built in.
#pragma once

#include <string>

namespace tuff::cli {

// Beside an installed tuff, else the folder that this one was built from.
std::string bench_directory();

}  // namespace tuff::cli
