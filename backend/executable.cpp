#include "backend/executable.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/storage_convert.h"
#include "shaders/storage.h"

namespace tuff {

Result<Executable> Executable::create(Device& device, std::shared_ptr<const Program> program,
                                      const LoadOptions& options) {
  Executable executable;
  executable.device_ = &device;
  TUFF_ASSIGN(executable.loaded_, device.load(program, options));
  executable.load_stats_ = executable.loaded_->stats();
  Stopwatch prepare(options.timeline, "phase", phase::kPrepare);
  executable.arguments_.resize(program->arguments.size());
  executable.outputs_.resize(program->outputs.size());
  if (options.donate)
    std::copy_if(program->donations.begin(), program->donations.end(),
                 std::back_inserter(executable.donations_),
                 [](const Donation& donation) { return donation.in_place; });
  for (uint32_t i = 0; i < program->outputs.size(); ++i)
    if (executable.donation_to(i) == nullptr)
      TUFF_RETURN_IF_ERROR(executable.allocate(program->outputs[i], executable.outputs_[i]));
  executable.load_stats_.prepare_ms += prepare.stop("output buffers");
  executable.program_ = std::move(program);
  return executable;
}

Status Executable::allocate(const TensorType& type, BufferPtr& buffer) const {
  TUFF_ASSIGN(buffer, device_->allocate(storage_bytes(type, device_->caps())));
  return {};
}

Status Executable::set_argument(uint32_t index, const Literal& value) {
  const TensorType& type = program_->arguments[index];
  if (value.type() != type)
    return Error{
        ErrorCode::kBadInput,
        fmt::format("Argument {} ({}) must have type ({}), not ({}).", index,
                    program_->argument_names[index], type.to_string(), value.type().to_string()),
        ""};
  auto stored = std::make_shared<const Literal>(to_storage(value, device_->caps()));
  const std::span<const std::byte> bytes(stored->bytes(),
                                         static_cast<size_t>(stored->size_bytes()));
  auto donation = std::find_if(donations_.begin(), donations_.end(),
                               [&](const Donation& d) { return d.argument == index; });
  if (donation == donations_.end()) {
    TUFF_ASSIGN(BufferPtr wrapped, device_->wrap(bytes, stored));
    if (wrapped) {
      arguments_[index] = std::move(wrapped);
      return {};
    }
  } else if (!arguments_[index]) {
    arguments_[index] = std::move(outputs_[donation->output]);
  }
  if (!arguments_[index]) {
    TUFF_ASSIGN(arguments_[index], device_->allocate(stored->size_bytes()));
  }
  return bytes.empty() ? Status() : device_->write(*arguments_[index], 0, bytes);
}

Status Executable::run(RunStats* stats) {
  for (size_t i = 0; i < arguments_.size(); ++i)
    if (!arguments_[i])
      return Error{ErrorCode::kUsage,
                   fmt::format("Argument {} ({}) is not set.", i, program_->argument_names[i]), ""};
  for (const Donation& donation : donations_)
    outputs_[donation.output] = arguments_[donation.argument];
  Status status = device_->run(*loaded_, arguments_, outputs_, stats);
  for (const Donation& donation : donations_) arguments_[donation.argument].reset();
  return status;
}

const Donation* Executable::donation_to(uint32_t output) const {
  auto it = std::find_if(donations_.begin(), donations_.end(),
                         [&](const Donation& donation) { return donation.output == output; });
  return it == donations_.end() ? nullptr : &*it;
}

Result<Literal> Executable::output(uint32_t index) {
  const TensorType& type = program_->outputs[index];
  if (!outputs_[index])
    return Error{ErrorCode::kUsage,
                 fmt::format("Output {} lies in an argument that no run has used up.", index), ""};
  Literal stored(TensorType{storage_dtype(type.dtype, device_->caps()), type.shape});
  if (stored.size_bytes() > 0)
    TUFF_RETURN_IF_ERROR(device_->read(
        *outputs_[index], 0, {stored.mutable_bytes(), static_cast<size_t>(stored.size_bytes())}));
  return from_storage(stored, type);
}

Result<std::vector<Literal>> Executable::operator()(const std::vector<Literal>& arguments) {
  if (arguments.size() != arguments_.size())
    return Error{
        ErrorCode::kUsage,
        fmt::format("The program takes {} arguments, not {}.", arguments_.size(), arguments.size()),
        ""};
  for (uint32_t i = 0; i < arguments.size(); ++i)
    TUFF_RETURN_IF_ERROR(set_argument(i, arguments[i]));
  TUFF_RETURN_IF_ERROR(run(nullptr));
  std::vector<Literal> outputs;
  for (uint32_t i = 0; i < outputs_.size(); ++i) {
    TUFF_ASSIGN(Literal value, output(i));
    outputs.push_back(std::move(value));
  }
  return outputs;
}

std::vector<PhaseTime> first_run_phases(const CompileReport& compile, const LoadStats& load,
                                        const RunStats& first_run) {
  std::vector<PhaseTime> phases;
  for (const PhaseTime& stop : compile.stops) {
    auto known = std::find_if(phases.begin(), phases.end(),
                              [&](const PhaseTime& p) { return p.name == stop.name; });
    if (known != phases.end())
      known->ms += stop.ms;
    else
      phases.push_back(stop);
  }
  phases.insert(phases.end(), {{phase::kEmit, load.emit_ms},
                               {phase::kGlsl, load.glsl_ms},
                               {phase::kPipelines, load.pipeline_ms},
                               {phase::kPrepare, load.prepare_ms},
                               {phase::kRecord, first_run.record_ms},
                               {phase::kExecute, first_run.wall_ms - first_run.record_ms}});
  return phases;
}

}  // namespace tuff
