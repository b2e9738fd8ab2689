#include "backend/profile.h"

namespace tuff {

void Timeline::add(std::string_view category, std::string_view name, Clock::time_point start,
                   Clock::time_point end, std::string detail) {
  Span span{std::string(category), std::string(name),
            std::move(detail),     std::this_thread::get_id() == caller_,
            us_since_start(start), us_since_start(end)};
  std::lock_guard lock(mutex_);
  spans_.push_back(std::move(span));
}

std::vector<Span> Timeline::spans() const {
  std::lock_guard lock(mutex_);
  return spans_;
}

}  // namespace tuff
