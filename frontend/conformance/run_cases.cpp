#include "frontend/conformance/run_cases.h"

#include <optional>

#include "ir/evaluate/evaluate.h"

namespace tuff::conformance {

namespace {

const char* status_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kStrict: return "pass_strict";
    case Outcome::kTolerant: return "pass_tolerant";
    case Outcome::kMismatch: return "mismatch";
    case Outcome::kUnsupported: return "unsupported";
    default: return "error";
  }
}

// Some operation has a result that is not empty.
bool needs_work(const Graph& graph) {
  for (Value output : graph.outputs()) {
    Op op = graph.node(output).op;
    if (op != Op::kParameter && op != Op::kConstant && graph.type(output).num_elements() > 0)
      return true;
  }
  return false;
}

// Runs cases in one worker process.
class CaseRunner {
 public:
  CaseRunner(const Manifest& manifest, const std::vector<const Case*>& cases,
             const RunCasesOptions& options)
      : manifest_(manifest), cases_(cases), options_(options) {}

  // "status\nmessage".
  std::string operator()(int64_t index) {
    CaseResult result;
    try {
      result = run_case(
          manifest_, *cases_[static_cast<size_t>(index)],
          [this](const Graph& graph, const std::vector<Literal>& inputs) {
            return run(graph, inputs);
          },
          options_.form);
    } catch (const std::exception& e) {
      result = {"", Outcome::kRunFailed, std::string("Unexpected failure: ") + e.what()};
    }
    return std::string(status_name(result.outcome)) + "\n" + result.detail;
  }

 private:
  Result<std::vector<Literal>> run(const Graph& graph, const std::vector<Literal>& inputs) {
    if (!session_) {
      TUFF_ASSIGN(session_, Session::open(options_.choice, options_.session));
    }
    if (session_->is_reference()) return evaluate(graph, inputs);
    TUFF_ASSIGN(LoadedModel model, session_->load(graph));
    if (model.program().steps.empty() && needs_work(graph))
      return Error{ErrorCode::kRunFailed, "Nothing is dispatched, so this run shows nothing.", ""};
    TUFF_RETURN_IF_ERROR(model.set_arguments(inputs));
    TUFF_RETURN_IF_ERROR(model.run(nullptr));
    return model.outputs();
  }

  const Manifest& manifest_;
  const std::vector<const Case*>& cases_;
  const RunCasesOptions& options_;
  std::optional<Session> session_;
};

CaseEnd end_of(const WorkerAnswer& answer) {
  if (answer.end == WorkerAnswer::End::kTimeout) return {"timeout", answer.text};
  if (answer.end == WorkerAnswer::End::kCrash) return {"error", answer.text};
  size_t end = answer.text.find('\n');
  return {answer.text.substr(0, end), answer.text.substr(end + 1)};
}

}  // namespace

Status run_cases(const Manifest& manifest, const std::vector<const Case*>& cases,
                 const RunCasesOptions& options,
                 const std::function<void(const Case&, const CaseEnd&)>& done) {
  // Each worker process has its own copy of the runner, and so its own device.
  CaseRunner runner(manifest, cases, options);
  return run_in_workers(
      static_cast<int64_t>(cases.size()), options.pool, [&](int64_t i) { return runner(i); },
      [&](int64_t i, const WorkerAnswer& answer) {
        done(*cases[static_cast<size_t>(i)], end_of(answer));
      },
      options.session.hooks.check);
}

}  // namespace tuff::conformance
