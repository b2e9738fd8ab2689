#include "frontend/cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace tuff::cli {

namespace {

volatile sig_atomic_t interrupted = 0;
volatile sig_atomic_t grace_seconds = 1;

// Only calls that are safe in a signal handler.
[[noreturn]] void leave(int) {
  constexpr char kText[] = "\ninterrupted\n";
  [[maybe_unused]] ssize_t ignored = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(static_cast<int>(ErrorCode::kInterrupted));
}

void on_interrupt(int signal) {
  if (interrupted) leave(signal);
  interrupted = 1;
  ::alarm(static_cast<unsigned>(grace_seconds));
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void install_interrupt_handler() {
  handle(SIGINT, on_interrupt);
  handle(SIGTERM, on_interrupt);
  handle(SIGALRM, leave);
}

void allow_seconds_to_end(unsigned seconds) { grace_seconds = static_cast<sig_atomic_t>(seconds); }

Status check_interrupt() {
  if (!interrupted) return {};
  return Error{ErrorCode::kInterrupted, "The run is interrupted.", ""};
}

}  // namespace tuff::cli
