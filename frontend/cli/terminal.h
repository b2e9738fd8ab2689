// How tuff talks: errors, warnings, notes and progress on stderr, with colour
// only on a terminal and only where NO_COLOR is not set.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "frontend/session/measure.h"
#include "ir/support/result.h"

namespace tuff::cli {

// The text with what a terminal would take for a command, or cannot show, as \xNN: names come
// from others' files. Lines and tabs stay.
std::string printable(std::string_view text);

// On stdout, printable.
void print_text(std::string_view text);

void print_error(const Error& error);
void print_warning(const std::string& sentence);
void print_note(const std::string& line);

// The progress of one phase: a bar on a terminal; in a pipe one plain line when
// it ends, and one every few seconds before that. Thread-safe.
class Progress {
 public:
  // "compile", "kernels": "compile [####----] 12/52 kernels".
  Progress(std::string phase, std::string unit);
  ~Progress();
  void update(int64_t done, int64_t total);

 private:
  void draw(int64_t done, int64_t total);

  std::string phase_, unit_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, last_;
  std::mutex mutex_;
  bool drawn_ = false;
  int64_t done_ = 0, total_ = 0;
};

// Work of unknown length: what it is and how long it has taken, from a second on. On a terminal a
// line that goes when it ends; in a pipe plain lines, as Progress has them. One at a time.
class Activity {
 public:
  explicit Activity(std::string what);
  ~Activity();

 private:
  void watch();
  void draw() const;

  std::string what_;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread watcher_;
};

}  // namespace tuff::cli
