#include "frontend/conformance/worker_pool.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

namespace tuff::conformance {

namespace {

using Clock = std::chrono::steady_clock;

bool read_all(int fd, void* data, size_t size) {
  for (size_t used = 0; used < size;) {
    ssize_t got = ::read(fd, static_cast<char*>(data) + used, size - used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    used += static_cast<size_t>(got);
  }
  return true;
}

bool write_all(int fd, const void* data, size_t size) {
  for (size_t used = 0; used < size;) {
    ssize_t put = ::write(fd, static_cast<const char*>(data) + used, size - used);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    used += static_cast<size_t>(put);
  }
  return true;
}

// One child. It reads item numbers and writes answers as {length, text}.
struct Worker {
  pid_t pid = -1;
  int to = -1, from = -1;
  int64_t item = -1;  // what it works on; -1: nothing
  bool fresh = true;  // it has answered nothing yet: opening a device takes time
  Clock::time_point deadline;
};

[[noreturn]] void serve(int requests, int answers,
                        const std::function<std::string(int64_t)>& work) {
  ::signal(SIGINT, SIG_IGN);  // the parent decides when to end
  ::signal(SIGTERM, SIG_DFL);
  int64_t item = 0;
  while (read_all(requests, &item, sizeof item)) {
    std::string text = work(item);
    auto length = static_cast<uint64_t>(text.size());
    if (!write_all(answers, &length, sizeof length) ||
        !write_all(answers, text.data(), text.size()))
      break;
  }
  // No destructors: the parent's state is not ours to end.
  std::_Exit(0);
}

class Pool {
 public:
  Pool(int64_t count, const WorkerPoolOptions& options,
       const std::function<std::string(int64_t)>& work,
       const std::function<void(int64_t, const WorkerAnswer&)>& done,
       const std::function<Status()>& check)
      : count_(count), options_(options), work_(work), done_(done), check_(check) {}

  ~Pool() {
    for (Worker& worker : workers_) stop(worker, SIGKILL);
  }

  Status run() {
    workers_.resize(
        static_cast<size_t>(std::clamp<int64_t>(options_.jobs, 1, std::max<int64_t>(count_, 1))));
    while (next_done_ < count_) {
      if (check_) TUFF_RETURN_IF_ERROR(check_());
      for (Worker& worker : workers_) TUFF_RETURN_IF_ERROR(feed(worker));
      wait_for_answers();
    }
    return {};
  }

 private:
  Status start(Worker& worker) {
    int requests[2], answers[2];
    if (::pipe(requests) != 0) return system_error("make a pipe");
    if (::pipe(answers) != 0) return system_error("make a pipe");
    pid_t pid = ::fork();
    if (pid < 0) return system_error("start a process");
    if (pid == 0) {
      ::close(requests[1]), ::close(answers[0]);
      // Ends of the siblings' pipes, or they would never see theirs closed.
      for (const Worker& other : workers_)
        if (other.pid > 0) ::close(other.to), ::close(other.from);
      serve(requests[0], answers[1], work_);
    }
    ::close(requests[0]), ::close(answers[1]);
    worker = {pid, requests[1], answers[0], -1, true, {}};
    return {};
  }

  // Gives an idle worker its next item.
  Status feed(Worker& worker) {
    if (worker.item >= 0 || next_item_ >= count_) return {};
    if (worker.pid < 0) TUFF_RETURN_IF_ERROR(start(worker));
    worker.item = next_item_++;
    worker.deadline = Clock::now() + options_.timeout * (worker.fresh ? 2 : 1);
    // A write to a child that has died fails; its end is then read as a crash.
    write_all(worker.to, &worker.item, sizeof worker.item);
    return {};
  }

  void wait_for_answers() {
    std::vector<pollfd> polled;
    std::vector<Worker*> busy;
    auto nearest =
        Clock::now() + std::chrono::milliseconds(200);  // Ctrl-C is looked for that often
    for (Worker& worker : workers_) {
      if (worker.item < 0) continue;
      polled.push_back({worker.from, POLLIN, 0});
      busy.push_back(&worker);
      nearest = std::min(nearest, worker.deadline);
    }
    auto wait =
        std::chrono::duration_cast<std::chrono::milliseconds>(nearest - Clock::now()).count();
    ::poll(polled.data(), polled.size(), static_cast<int>(std::max<long>(wait, 0)) + 1);
    for (size_t i = 0; i < busy.size(); ++i) {
      if (polled[i].revents != 0)
        take_answer(*busy[i]);
      else if (Clock::now() > busy[i]->deadline)
        give_up(*busy[i]);
    }
  }

  void take_answer(Worker& worker) {
    uint64_t length = 0;
    WorkerAnswer answer;
    bool complete = read_all(worker.from, &length, sizeof length);
    if (complete) {
      answer.text.resize(length);
      complete = read_all(worker.from, answer.text.data(), length);
    }
    int64_t item = std::exchange(worker.item, -1);
    worker.fresh = false;
    if (!complete) answer = {WorkerAnswer::End::kCrash, stop(worker, SIGKILL)};
    finish(item, std::move(answer));
  }

  void give_up(Worker& worker) {
    int64_t item = std::exchange(worker.item, -1);
    stop(worker, SIGKILL);
    finish(item, {WorkerAnswer::End::kTimeout, "The case is not done in time."});
  }

  // Ends the child and says how it had ended.
  static std::string stop(Worker& worker, int signal) {
    if (worker.pid < 0) return "";
    ::close(worker.to), ::close(worker.from);
    ::kill(worker.pid, signal);
    int status = 0;
    ::waitpid(worker.pid, &status, 0);
    worker = Worker();
    if (WIFSIGNALED(status))
      return fmt::format("The process ends by signal {} ({}).", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    return fmt::format("The process ends with exit code {}.", WEXITSTATUS(status));
  }

  // Answers are handed on in the order of the items.
  void finish(int64_t item, WorkerAnswer answer) {
    waiting_.emplace(item, std::move(answer));
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_done_;
         first = waiting_.erase(first))
      done_(next_done_++, first->second);
  }

  static Error system_error(const char* what) {
    return {ErrorCode::kRunFailed,
            fmt::format("The system does not let tuff {} ({}).", what, std::strerror(errno)), ""};
  }

  int64_t count_;
  const WorkerPoolOptions& options_;
  const std::function<std::string(int64_t)>& work_;
  const std::function<void(int64_t, const WorkerAnswer&)>& done_;
  const std::function<Status()>& check_;
  std::vector<Worker> workers_;
  std::map<int64_t, WorkerAnswer> waiting_;
  int64_t next_item_ = 0, next_done_ = 0;
};

}  // namespace

Status run_in_workers(int64_t count, const WorkerPoolOptions& options,
                      const std::function<std::string(int64_t)>& work,
                      const std::function<void(int64_t, const WorkerAnswer&)>& done,
                      const std::function<Status()>& check) {
  ::signal(SIGPIPE, SIG_IGN);
  return Pool(count, options, work, done, check).run();
}

}  // namespace tuff::conformance
