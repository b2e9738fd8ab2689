// Recursion over nesting (regions in regions, types in types) is bounded, and gets a stack that
// is large enough for the bound. Recursion over a graph's nodes is a loop instead: their number
// has no bound.
#pragma once

#include <functional>
#include <optional>

namespace tuff {

// How deep nesting may be where the caller stands: more on a deep stack.
int nesting_limit();

// Calls work on a deep stack: on another thread, where the caller has none yet; in place where the
// system refuses one. What work throws reaches the caller.
void run_on_deep_stack(const std::function<void()>& work);

// The same for what gives a result.
template <typename Work>
auto on_deep_stack(const Work& work) -> decltype(work()) {
  std::optional<decltype(work())> result;
  run_on_deep_stack([&] { result.emplace(work()); });
  return std::move(*result);
}

}  // namespace tuff
