// The check of one Vulkan device: what it is, whether it computes right, how fast it is. Each
// part runs in a process of its own; whatever fails or hangs, the rest goes on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/check/part.h"

namespace tuff::check {

struct CheckOptions {
  std::string self;               // the command `tuff`
  std::string device;             // "vulkan" (the best one), "vulkan:1"
  std::string directory;          // where the files and the caches of the run go; exists
  std::string models;             // folder of bundles
  std::string conformance;        // folder with stablehlo/ and fuzz/, unpacked; empty: none
  std::string op_tables;          // the program of the op tables; empty: none
  std::string tables;             // folder of its tables; empty: it knows
  std::string python;             // of the peers
  std::string bench;              // folder of the peers' scripts
  std::vector<std::string> only;  // beginnings of names of parts; empty: all
  double minutes = 0;             // 0: ten, or 24 on a software device
  double part_seconds = 0;        // 0: each part's own limit
  bench::Interrupted interrupted;
  std::function<void(const std::string&)> say;
};

// The object of check.json (README.md), complete after each part: `keep` is called with it.
// Errors: kInterrupted.
Result<Json> check_device(const CheckOptions& options,
                          const std::function<Status(const Json&)>& keep);

// check.html: one page that needs nothing else.
std::string render_check(const Json& check);

// The row of backend/vulkan/DEVICES.md.
std::string device_row(const Json& check);

}  // namespace tuff::check
