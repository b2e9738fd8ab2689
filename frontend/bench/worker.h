// A worker: one process that measures one system on one workload, asked by lines of
// JSON (the protocol: bench/README.md). tuff's own devices are workers too.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/support/result.h"

namespace tuff::bench {

// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

// True once the user wants everything to end.
using Interrupted = std::function<bool()>;

struct Launch {
  std::vector<std::string> command;                // the first is the program
  std::map<std::string, std::string> environment;  // over this process's own
  std::string directory;                           // working directory; empty: this process's
  std::vector<int> cpus;                           // affinity; empty: this process's
  std::string log_path;                            // what it writes on stderr
  std::string output_path;  // of run_to_end: what it writes on stdout; empty: it goes nowhere
};

// What a worker said, or why it said nothing.
struct Answer {
  Json value;           // the object under "ok"
  std::string trouble;  // empty iff ok: missing, unsupported, failed, crash, hang, interrupted
  std::string message;
  bool ok() const { return trouble.empty(); }
};

class Worker {
 public:
  // The process leads a process group of its own: Ctrl-C reaches this process only.
  static Result<std::unique_ptr<Worker>> start(const Launch& launch, Interrupted interrupted);
  ~Worker();  // kills it, and what it has started
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The next line the worker writes. After a crash or a hang it is dead.
  Answer read_answer(std::chrono::milliseconds timeout);
  // Writes a request and reads its answer.
  Answer ask(const Json& request, std::chrono::milliseconds timeout);

  // Stops and continues it and what it has started, so that idle workers are idle.
  void pause();
  void resume();

  // Largest resident size until now, and CPU time, of the process itself; 0 if it is dead.
  int64_t peak_bytes() const;
  double cpu_ms() const;

 private:
  Worker() = default;
  Answer dead(const std::string& trouble, const std::string& message);
  std::string end_of_log() const;
  void kill();

  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string buffer_, log_path_;
  Interrupted interrupted_;
};

// Runs a command to its end; what it wrote on stderr is in launch.log_path. Errors:
// kRunFailed with the end of that, kInterrupted.
Status run_to_end(const Launch& launch, std::chrono::milliseconds timeout,
                  const Interrupted& interrupted);

}  // namespace tuff::bench
