#include "frontend/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "frontend/session/measure.h"
#include "frontend/weights/file.h"
#include "ir/pass.h"

namespace tuff {

namespace {

// Writes the stops into a directory as 00_import.txt, 01_eliminate_dead.txt ...; one that
// cannot be written is told once and does not stop the compiler.
class Dump {
 public:
  Dump(std::string directory, std::function<void(const std::string&)> warn)
      : directory_(std::move(directory)), warn_(std::move(warn)) {}

  void operator()(const std::string& stop, const std::string& text) {
    if (failed_) return;
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    Status status = write_file(fmt::format("{}/{:02}_{}.txt", directory_, count_++, stop), text);
    if (status.ok()) return;
    failed_ = true;
    if (warn_) warn_("TUFF_DUMP is not written: " + status.error().to_string());
  }

 private:
  std::string directory_;
  std::function<void(const std::string&)> warn_;
  int count_ = 0;
  bool failed_ = false;
};

// kFallbackRefused naming the first operation that the host would run, if any.
Status refuse_hosted(const CompileReport& report) {
  if (report.hosted.empty()) return {};
  const CompileReport::Hosted& first = report.hosted[0];
  return Error{ErrorCode::kFallbackRefused,
               fmt::format("({}) would run on the CPU ({}), and a GPU is required.",
                           fmt::join(first.ops, " "), first.why),
               first.where};
}

}  // namespace

std::vector<std::string> stop_names() {
  std::vector<std::string> names = {"import"};
  for (const PassStep& step : pass_order())
    if (std::find(names.begin(), names.end(), step.pass) == names.end()) names.push_back(step.pass);
  names.insert(names.end(), {"lower", "glsl", "plan"});
  return names;
}

Result<std::shared_ptr<const Program>> compile_model(const Graph& graph, const Caps& caps,
                                                     const SessionOptions& options,
                                                     CompileReport* report) {
  const SessionHooks& hooks = options.hooks;
  CompileOptions how;
  how.timeline = options.timeline;
  how.disabled = options.disabled;
  if (!options.dump_directory.empty()) {
    for (const std::string& name : stop_names()) how.dump_after.insert(name);
    if (caps.device_class == DeviceClass::kCpu) how.dump_after.erase("glsl");  // the CPU has none
    how.dump = Dump(options.dump_directory, hooks.warn);
  }
  CompileReport unused;
  CompileReport& filled = report ? *report : unused;
  std::shared_ptr<void> passes = hooks.begin("passes");
  auto program = compile(graph, caps, how, &filled);
  passes.reset();
  if (hooks.log)
    for (const auto& [stop, ms] : filled.stops)
      hooks.log("compile", fmt::format("compile {:<16} {}", stop, format_ms(ms)));
  if (hooks.check) TUFF_RETURN_IF_ERROR(hooks.check());
  if (program.ok() && options.require_gpu) TUFF_RETURN_IF_ERROR(refuse_hosted(filled));
  return program;
}

LoadedModel::LoadedModel(std::shared_ptr<Device> device, std::shared_ptr<const Program> program,
                         CompileReport report, Executable executable)
    : device_(std::move(device)),
      program_(std::move(program)),
      report_(std::move(report)),
      executable_(std::move(executable)) {}

Status LoadedModel::set_arguments(const std::vector<Literal>& values) {
  for (uint32_t i = 0; i < values.size(); ++i)
    TUFF_RETURN_IF_ERROR(executable_.set_argument(i, values[i]));
  return {};
}

Status LoadedModel::restore_arguments(const std::vector<Literal>& values) {
  for (const Donation& donation : program().donations)
    if (donation.in_place)
      TUFF_RETURN_IF_ERROR(executable_.set_argument(donation.argument, values[donation.argument]));
  return {};
}

Result<std::vector<Literal>> LoadedModel::outputs() {
  std::vector<Literal> outputs;
  for (uint32_t i = 0; i < program().outputs.size(); ++i) {
    TUFF_ASSIGN(Literal output, executable_.output(i));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Result<Session> Session::open(const DeviceSpec& spec, SessionOptions options) {
  TUFF_ASSIGN(DeviceChoice choice,
              choose_device(spec, options.require_gpu,
                            options.cache ? *options.cache : DiskCache::open_default()));
  TUFF_ASSIGN(Session session, open(choice, std::move(options)));
  session.chosen_by_user_ = spec.kind != DeviceSpec::Kind::kAuto;
  return session;
}

Result<Session> Session::open(const DeviceChoice& choice, SessionOptions options) {
  Session session;
  session.choice_ = choice;
  session.options_ = std::move(options);
  if (choice.kind == DeviceSpec::Kind::kReference) return session;
  std::shared_ptr<void> opening = session.options_.hooks.begin("opening the device");
  TUFF_ASSIGN(session.device_, open_device(choice, session.options_.open()));
  return session;
}

Result<Session> Session::adopt(const GivenDevice& given, SessionOptions options) {
  Session session;
  session.choice_ = {DeviceSpec::Kind::kVulkan, -1, "the application's own"};
  session.options_ = std::move(options);
  TUFF_ASSIGN(session.device_, adopt_device(given, session.options_.open()));
  return session;
}

Result<LoadedModel> Session::load(const Graph& graph, LoadOptions how) const {
  TUFF_CHECK(!is_reference(), "the reference evaluator loads nothing");
  CompileReport report;
  TUFF_ASSIGN(auto program, compile(graph, &report));
  how.timeline = options_.timeline;
  how.code = options_.code;
  how.progress = options_.hooks.progress ? options_.hooks.progress("compile", "kernels") : nullptr;
  TUFF_ASSIGN(Executable executable, Executable::create(*device_, program, how));
  return LoadedModel(device_, std::move(program), std::move(report), std::move(executable));
}

Result<bool> Session::fall_back(const std::string& why) {
  if (chosen_by_user_) return false;
  device_.reset();
  choice_ = {DeviceSpec::Kind::kCpu, 0, why};
  TUFF_ASSIGN(device_, open_device(choice_, options_.open()));
  return true;
}

}  // namespace tuff
