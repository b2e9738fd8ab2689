#include "frontend/pjrt/ranks/process_watch.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

namespace tuff::pjrt {

namespace {

// Of the numbers of processes: the namespace, and when its machine was started.
std::string numbering() {
  struct stat space {};
  if (stat("/proc/self/ns/pid", &space) != 0) return "";
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return boot.empty() ? "" : boot + '/' + std::to_string(space.st_ino);
}

}  // namespace

std::string own_process() { return std::to_string(getpid()) + '/' + numbering(); }

int watch_process(const std::string& process, bool* ended) {
  *ended = false;
  size_t slash = process.find('/');
  std::string own = numbering();
  if (slash == std::string::npos || own.empty() || process.substr(slash + 1) != own) return -1;
  int pid = std::atoi(process.c_str());
  int watched = pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1;
  *ended = watched < 0 && errno == ESRCH;
  return watched;
}

}  // namespace tuff::pjrt
