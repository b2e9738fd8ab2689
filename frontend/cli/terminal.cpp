#include "frontend/cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tuff::cli {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kWorthTelling{1};
constexpr const char* kClearLine = "\r\x1b[K";

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
  std::string shown = printable(text);
  if (stderr_is_terminal()) std::fputs(kClearLine, stderr);  // an activity may stand there
  if (use_color())
    std::fputs(fmt::format("\x1b[{}m{}:\x1b[0m {}\n", color, mark, shown).c_str(), stderr);
  else
    std::fputs(fmt::format("{}: {}\n", mark, shown).c_str(), stderr);
}

// The length of the UTF-8 character that the text begins with; 0 where there is none, or one
// that controls the terminal: those below a space, DEL and U+0080 to U+009F.
size_t shown_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return first == 0xc2 && byte(1) < 0xa0 ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    size_t length = text[0] == '\n' || text[0] == '\t' ? 1 : shown_length(text);
    if (length > 0)
      shown += text.substr(0, length);
    else
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return shown;
}

void print_text(std::string_view text) { std::fputs(printable(text).c_str(), stdout); }

void print_error(const Error& error) {
  std::fflush(stdout);
  print_marked("1;31", "error", error.to_string());
}

void print_warning(const std::string& sentence) { print_marked("1;33", "warning", sentence); }

void print_note(const std::string& line) {
  if (stderr_is_terminal()) std::fputs(kClearLine, stderr);
  std::fputs((printable(line) + "\n").c_str(), stderr);
}

Progress::Progress(std::string phase, std::string unit)
    : phase_(std::move(phase)),
      unit_(std::move(unit)),
      terminal_(stderr_is_terminal()),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (terminal_ && drawn_) std::fputs(kClearLine, stderr);  // the bar makes room for results
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

Activity::Activity(std::string what) : what_(std::move(what)), start_(Clock::now()) {
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (const std::exception&) {
    // The work goes on without being watched.
  }
}

Activity::~Activity() {
  if (!watcher_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  end_.notify_one();
  watcher_.join();
}

void Activity::watch() {
  using std::chrono::milliseconds;
  std::unique_lock lock(mutex_);
  bool terminal = stderr_is_terminal();
  auto ended = [this] { return ended_; };
  if (end_.wait_for(lock, kWorthTelling, ended)) return;
  do {
    draw();
  } while (!end_.wait_for(lock, milliseconds(terminal ? 100 : 5000), ended));
  if (terminal)
    std::fputs(kClearLine, stderr);
  else
    draw();
}

// Takes no memory: what that threw would end the process, on this thread.
void Activity::draw() const {
  double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const char* line = stderr_is_terminal() ? "\r%s  %.1f s\x1b[K" : "%s, %.1f s\n";
  std::fprintf(stderr, line, what_.c_str(), seconds);
  std::fflush(stderr);
}

}  // namespace tuff::cli
