// Cases of a manifest on a device, in worker processes: one that crashes or hangs costs that
// case and no other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/conformance/run_manifest.h"
#include "frontend/conformance/worker_pool.h"
#include "frontend/session/session.h"

namespace tuff::conformance {

struct RunCasesOptions {
  DeviceChoice choice;     // each process opens it at its first case
  SessionOptions session;  // its check ends everything
  Form form = Form::kText;
  WorkerPoolOptions pool;
};

// How a case ended.
struct CaseEnd {
  std::string status;   // pass_strict, pass_tolerant, mismatch, unsupported, error or timeout
  std::string message;  // empty where there is nothing to say
};

// Calls `done` for each case, in order. A case that dispatches nothing though it has something
// to compute does not pass.
Status run_cases(const Manifest& manifest, const std::vector<const Case*>& cases,
                 const RunCasesOptions& options,
                 const std::function<void(const Case&, const CaseEnd&)>& done);

}  // namespace tuff::conformance
