// Executable: a Program loaded on a Device, with its argument and output buffers.
// What the command line, the C API and the plugin run.
#pragma once

#include <memory>
#include <vector>

#include "backend/compile.h"
#include "backend/device.h"
#include "ir/literal.h"

namespace tuff {

class Executable {
 public:
  // The device must outlive the executable.
  static Result<Executable> create(Device& device, std::shared_ptr<const Program> program,
                                   const LoadOptions& options);

  const Program& program() const { return *program_; }
  const LoadStats& load_stats() const { return load_stats_; }

  // Uploads an argument; it stays on the device until replaced. A device that reads the host's
  // memory takes no copy, so that weights may be a mapped file. Errors: kBadInput
  // naming the argument when the type differs from the program's.
  Status set_argument(uint32_t index, const Literal& value);
  // Runs with the arguments set (all must be; see LoadOptions::donate). Outputs stay on the
  // device.
  Status run(RunStats* stats);
  // Downloads output `index` of the last run. One that took an argument's memory is there
  // until that is set again.
  Result<Literal> output(uint32_t index);

  // set_argument for all, run, download all.
  Result<std::vector<Literal>> operator()(const std::vector<Literal>& arguments);

 private:
  const Donation* donation_to(uint32_t output) const;
  Status allocate(const TensorType& type, BufferPtr& buffer) const;

  Device* device_ = nullptr;
  std::shared_ptr<const Program> program_;
  std::unique_ptr<LoadedProgram> loaded_;
  LoadStats load_stats_;  // of the program, and the output buffers
  std::vector<BufferPtr> arguments_, outputs_;
  std::vector<Donation> donations_;  // those in place; none where arguments are kept
};

// What a first run was made of, from the graph to its outputs on the device: the
// compile, the load and the first run of one executable. In order; passes that run
// twice are one entry. The sum is the time between, less what nobody measures.
std::vector<PhaseTime> first_run_phases(const CompileReport& compile, const LoadStats& load,
                                        const RunStats& first_run);

}  // namespace tuff
