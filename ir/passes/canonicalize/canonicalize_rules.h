// The rules of canonicalize, by what they are about. Each is tried on every node;
// the first that answers replaces it, and the whole is repeated until none does.
#pragma once

#include <optional>
#include <vector>

#include "ir/rewrite.h"

namespace tuff::canonical {

using Values = std::optional<std::vector<Value>>;

Values arithmetic(const RewriteSite& site);
Values conversions(const RewriteSite& site);
Values views(const RewriteSite& site);
Values broadcasts(const RewriteSite& site);
Values indexing(const RewriteSite& site);
Values contractions(const RewriteSite& site);
Values windows(const RewriteSite& site);
Values control_flow(const RewriteSite& site);

inline size_t at(int64_t i) { return static_cast<size_t>(i); }

inline Values one(Value v) { return std::vector<Value>{v}; }

// Rules that replace a node with one result; tried in order.
struct Rule {
  Op op;
  std::optional<Value> (*apply)(const RewriteSite& site);
};
template <size_t N>
Values first_that_applies(const Rule (&rules)[N], const RewriteSite& site) {
  for (const Rule& rule : rules)
    if (rule.op == site.node.op)
      if (std::optional<Value> v = rule.apply(site)) return one(*v);
  return std::nullopt;
}

// The value as a view of the given op, made with this node's location.
Value add_reshape(const RewriteSite& site, Value v, const Shape& shape);
Value add_broadcast(const RewriteSite& site, Value v, const Shape& shape,
                    std::vector<int64_t> dims);

}  // namespace tuff::canonical
