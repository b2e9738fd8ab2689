// One of tuff's devices as a worker of a benchmark: what it answers to the requests of
// bench/README.md's protocol.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "frontend/bench/bundle.h"
#include "frontend/bench/worker.h"
#include "frontend/session/reader.h"
#include "frontend/session/session.h"

namespace tuff::bench {

class OwnWorker {
 public:
  explicit OwnWorker(Session session) : session_(std::move(session)) {}

  Json greeting() const;
  // Answers a request other than "end".
  Result<Json> answer(const Json& request);

 private:
  // An output that is an argument of the next run.
  struct Carried {
    uint32_t argument = 0, output = 0;
    bool in_place = false;  // in the argument's memory
  };

  Result<Json> load(const std::string& bundle);
  bool is_carried(size_t argument) const;
  Result<BufferPtr> place(std::shared_ptr<const Literal> stored, bool is_written);
  static Result<std::vector<Carried>> read_carried(const std::string& path);
  Result<Json> first();
  Status allocate_outputs(const Program& program);
  Status one_run(RunStats* stats);
  int64_t kept_bytes(const CompileReport& compiled) const;
  Result<Json> burst(double ms);
  Result<Json> write_outputs(const std::string& directory);
  Status check_loaded() const;

  Session session_;
  BundledModel bundle_;  // loaded last
  Model model_;
  std::vector<BufferPtr> arguments_, outputs_;
  std::vector<Carried> carried_;
  bool ran_ = false;  // what is loaded
  std::vector<TensorType> types_;
  std::unique_ptr<LoadedProgram> loaded_;  // before its buffers and its device in death
};

}  // namespace tuff::bench
