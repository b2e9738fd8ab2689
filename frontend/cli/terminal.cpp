#include "frontend/cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tuff::cli {

namespace {

using Clock = std::chrono::steady_clock;

bool stderr_is_terminal() {
  static const bool value = ::isatty(STDERR_FILENO) == 1;
  return value;
}

bool use_color() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return stderr_is_terminal() && !(no_color && *no_color) &&
         !(term && std::string_view(term) == "dumb");
}

void print_marked(const char* color, const char* mark, const std::string& text) {
  if (use_color())
    std::fputs(fmt::format("\x1b[{}m{}:\x1b[0m {}\n", color, mark, text).c_str(), stderr);
  else
    std::fputs(fmt::format("{}: {}\n", mark, text).c_str(), stderr);
}

}  // namespace

void print_error(const Error& error) {
  std::fflush(stdout);
  print_marked("1;31", "error", error.to_string());
}

void print_warning(const std::string& sentence) { print_marked("1;33", "warning", sentence); }

void print_note(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

Progress::Progress(std::string phase, std::string unit)
    : phase_(std::move(phase)),
      unit_(std::move(unit)),
      terminal_(stderr_is_terminal()),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (terminal_ && drawn_) std::fputs("\r\x1b[K", stderr);  // the bar makes room for results
  if (!terminal_ && total_ > 0) draw(done_, total_);
}

void Progress::update(int64_t done, int64_t total) {
  std::lock_guard lock(mutex_);
  // Threads report out of order.
  done_ = std::max(done_, done), total_ = total;
  auto now = Clock::now();
  auto interval = std::chrono::milliseconds(terminal_ ? 50 : 5000);
  if (now - last_ < interval) return;
  last_ = now;
  draw(done_, total_);
}

void Progress::draw(int64_t done, int64_t total) {
  double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (!terminal_) {
    std::fputs(fmt::format("{} {}/{} {}, {:.1f} s\n", phase_, done, total, unit_, seconds).c_str(),
               stderr);
    return;
  }
  constexpr int64_t kWidth = 24;
  auto filled = static_cast<size_t>(total > 0 ? kWidth * done / total : 0);
  std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '-');
  std::fputs(
      fmt::format("\r{} [{}] {}/{} {}  {:.1f} s\x1b[K", phase_, bar, done, total, unit_, seconds)
          .c_str(),
      stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace tuff::cli
