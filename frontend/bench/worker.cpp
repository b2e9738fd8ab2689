#include "frontend/bench/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

extern char** environ;

namespace tuff::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kInterruptPeriod{50};
constexpr size_t kLogShown = 600;  // bytes of a dead worker's stderr in its message

Error system_error(const char* what) {
  return {ErrorCode::kRunFailed,
          fmt::format("The system does not let tuff {} ({}).", what, std::strerror(errno)), ""};
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) merged.push_back(std::move(text));
  }
  for (const auto& [name, value] : changes) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

struct Pipe {
  int read = -1, write = -1;
};
Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("make a pipe");
  return Pipe{ends[0], ends[1]};
}

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become(const Launch& launch, char* const* arguments, char* const* environment,
                         int input, int output, int log) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  if (!launch.cpus.empty()) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int cpu : launch.cpus) CPU_SET(cpu, &cpus);
    ::sched_setaffinity(0, sizeof cpus, &cpus);
  }
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  if (launch.directory.empty() || ::chdir(launch.directory.c_str()) == 0)
    ::execvpe(arguments[0], arguments, environment);
  constexpr char kText[] = "The program cannot be started.\n";
  [[maybe_unused]] ssize_t ignored = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(127);
}

struct Child {
  pid_t pid = -1;
  int to = -1, from = -1;
};
// With an `output` other than -1 its stdout goes there.
Result<Child> spawn(const Launch& launch, int output = -1) {
  std::vector<std::string> environment = merged_environment(launch.environment);
  std::vector<char*> arguments = pointers(launch.command), variables = pointers(environment);
  const char* log_path = launch.log_path.empty() ? "/dev/null" : launch.log_path.c_str();
  int log = ::open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (log < 0) return system_error("write a log");
  TUFF_ASSIGN(Pipe requests, make_pipe());
  TUFF_ASSIGN(Pipe answers, make_pipe());
  pid_t pid = ::fork();
  if (pid == 0)
    become(launch, arguments.data(), variables.data(), requests.read,
           output >= 0 ? output : answers.write, log);
  ::close(requests.read), ::close(answers.write), ::close(log);
  if (pid < 0) return system_error("start a process");
  ::setpgid(pid, pid);  // also here: it must hold before the first signal
  return Child{pid, requests.write, answers.read};
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("The process ends by signal {} ({}).", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  return fmt::format("The process ends with exit code {}.", WEXITSTATUS(status));
}

std::string end_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  std::string text = all.str();
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text.size() > kLogShown ? "..." + text.substr(text.size() - kLogShown) : text;
}

// A number from /proc/PID/status, in KiB there.
int64_t status_bytes(pid_t pid, const std::string& key) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return 1024 * std::atoll(line.c_str() + key.size() + 1);
  return 0;
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::start(const Launch& launch, Interrupted interrupted) {
  ::signal(SIGPIPE, SIG_IGN);  // a write to a dead worker fails; its end is read as a crash
  TUFF_ASSIGN(Child child, spawn(launch));
  std::unique_ptr<Worker> worker(new Worker);
  worker->pid_ = child.pid;
  worker->to_ = child.to;
  worker->from_ = child.from;
  worker->log_path_ = launch.log_path;
  worker->interrupted_ = std::move(interrupted);
  return worker;
}

Worker::~Worker() { kill(); }

// A worker with gigabytes takes a while to go; whoever starts the next one wants
// that memory, but an interrupted bench must not wait.
void Worker::kill() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  ::close(to_), ::close(from_);
  int status = 0;
  ::waitpid(pid_, &status, interrupted_() ? WNOHANG : 0);
  pid_ = -1;
}

std::string Worker::end_of_log() const {
  std::string text = end_of_file(log_path_);
  return text.empty() ? "" : " Its last words: " + text;
}

Answer Worker::dead(const std::string& trouble, const std::string& message) {
  Answer answer{{}, trouble, message + end_of_log()};
  kill();
  return answer;
}

Answer Worker::read_answer(milliseconds timeout) {
  if (pid_ < 0) return {{}, "crash", "The process has ended already."};
  Clock::time_point deadline = Clock::now() + timeout;
  for (;;) {
    size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      Json line = Json::parse(buffer_.substr(0, end), nullptr, false);
      buffer_.erase(0, end + 1);
      if (line.is_object() && line.contains("ok")) return {line["ok"], "", ""};
      if (line.is_object() && line.contains("error") && line["error"].is_object())
        return {{},
                line["error"].value("kind", "failed"),
                line["error"].value("message", "The worker gives no reason.")};
      return dead("failed", "The worker does not speak the protocol.");
    }
    if (interrupted_()) return {{}, "interrupted", "The bench is interrupted."};
    if (Clock::now() > deadline)
      return dead("hang", fmt::format("There is no answer within {} s.", timeout.count() / 1000.0));
    pollfd polled{from_, POLLIN, 0};
    if (::poll(&polled, 1, static_cast<int>(kInterruptPeriod.count())) <= 0) continue;
    char chunk[4096];
    ssize_t got = ::read(from_, chunk, sizeof chunk);
    if (got > 0) {
      buffer_.append(chunk, static_cast<size_t>(got));
    } else if (got == 0) {
      int status = 0;
      ::kill(-pid_, SIGKILL);  // it cannot answer any more, whatever it still does
      ::waitpid(pid_, &status, 0);
      Answer answer{{}, "crash", describe_end(status) + end_of_log()};
      ::close(to_), ::close(from_);
      pid_ = -1;
      return answer;
    }
  }
}

Answer Worker::ask(const Json& request, milliseconds timeout) {
  if (pid_ < 0) return {{}, "crash", "The process has ended already."};
  std::string line = request.dump() + "\n";
  // A line is far smaller than a pipe's buffer, so this neither blocks nor splits.
  [[maybe_unused]] ssize_t ignored = ::write(to_, line.data(), line.size());
  return read_answer(timeout);
}

void Worker::pause() {
  if (pid_ > 0) ::kill(-pid_, SIGSTOP);
}
void Worker::resume() {
  if (pid_ > 0) ::kill(-pid_, SIGCONT);
}

int64_t Worker::peak_bytes() const { return pid_ < 0 ? 0 : status_bytes(pid_, "VmHWM"); }

double Worker::cpu_ms() const {
  if (pid_ < 0) return 0;
  std::ifstream file(fmt::format("/proc/{}/stat", pid_));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  size_t name_end = text.rfind(')');  // the name before it may hold anything
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  constexpr int kFieldsBeforeUserTime = 11;
  for (int i = 0; i < kFieldsBeforeUserTime; ++i) fields >> skipped;
  double user = 0, system = 0, child_user = 0, child_system = 0;
  fields >> user >> system >> child_user >> child_system;
  return 1e3 * (user + system + child_user + child_system) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Status run_to_end(const Launch& launch, milliseconds timeout, const Interrupted& interrupted) {
  int output = -1;
  if (!launch.output_path.empty()) {
    output = ::open(launch.output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (output < 0) return system_error("write a file");
  }
  Result<Child> spawned = spawn(launch, output);
  if (output >= 0) ::close(output);
  if (!spawned) return spawned.take_error();
  Child child = *spawned;
  struct Ends {
    const Child& child;
    ~Ends() { ::close(child.to), ::close(child.from); }
  } ends{child};
  Clock::time_point deadline = Clock::now() + timeout;
  int status = 0;
  while (::waitpid(child.pid, &status, WNOHANG) == 0) {
    bool stop = interrupted();
    if (!stop && Clock::now() < deadline) {
      ::usleep(10'000);
      continue;
    }
    ::kill(-child.pid, SIGKILL);
    if (stop) return Error{ErrorCode::kInterrupted, "The bench is interrupted.", ""};
    ::waitpid(child.pid, &status, 0);
    return Error{ErrorCode::kRunFailed,
                 fmt::format("It is not done within {} s.", timeout.count() / 1000), ""};
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Error{ErrorCode::kRunFailed,
               describe_end(status) + " Its last words: " + end_of_file(launch.log_path), ""};
}

}  // namespace tuff::bench
