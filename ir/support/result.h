// Result<T>: a value or an Error. Expected failures are return values in tuff;
// nothing is thrown across a room. TUFF_CHECK is for our own bugs only.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tuff {

// What went wrong, by who can mend it. The numbers are the exit codes of the
// command line (frontend/cli), so that an error carries its own exit code.
enum class ErrorCode {
  kRunFailed = 1,
  kUsage = 2,
  kNoDevice = 3,
  kFallbackRefused = 5,
  kTooSlow = 6,
  kMismatch = 7,
  kOutOfMemory = 8,
  kDeviceLost = 9,
  kBadInput = 10,
  kUnsupported = 11,
  kInterrupted = 130,
};

// Name of the code as printed in messages, e.g. "unsupported".
const char* error_code_name(ErrorCode code);

// One failure. `message` is a full sentence in the present tense, values in
// parentheses, ending with what to do where that is known. `where` names the
// place: "model.mlir:31:8" or "stablehlo.sort at model.py:12"; may be empty.
struct Error {
  ErrorCode code = ErrorCode::kRunFailed;
  std::string message;
  std::string where;

  // "where: message" or just the message.
  std::string to_string() const { return where.empty() ? message : where + ": " + message; }
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return std::get<Error>(state_); }
  Error take_error() { return std::get<Error>(std::move(state_)); }
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }
  Error take_error() { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace tuff

#define TUFF_CONCAT_(a, b) a##b
#define TUFF_CONCAT(a, b) TUFF_CONCAT_(a, b)

// Returns the error of a Status (or any Result whose value is not needed).
#define TUFF_RETURN_IF_ERROR(expr)                                                     \
  do {                                                                                 \
    if (auto tuff_status = (expr); !tuff_status.ok()) return tuff_status.take_error(); \
  } while (false)

// TUFF_ASSIGN(auto x, f()): x = value of f(), or return its error.
#define TUFF_ASSIGN(lhs, expr) TUFF_ASSIGN_(TUFF_CONCAT(tuff_result_, __LINE__), lhs, expr)
#define TUFF_ASSIGN_(tmp, lhs, expr)      \
  auto tmp = (expr);                      \
  if (!tmp.ok()) return tmp.take_error(); \
  lhs = std::move(tmp).value()

// An invariant of ours; a failure is a bug in tuff and aborts.
#define TUFF_CHECK(condition, message)    \
  (static_cast<bool>(condition) ? (void)0 \
                                : ::tuff::check_failed(__FILE__, __LINE__, #condition, (message)))
