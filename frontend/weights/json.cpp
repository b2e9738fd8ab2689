#include "frontend/weights/json.h"

#include <fmt/format.h>

#include <set>
#include <vector>

namespace tuff {

// Of this file alone; the lambdas that it is in have its linkage.
namespace json_internal {

// Listens to the parser: what is wrong with the text beyond its syntax.
template <typename Json>
class Watch {
 public:
  explicit Watch(int max_depth) : max_depth_(max_depth) {}

  bool operator()(int depth, typename Json::parse_event_t event, Json& value) {
    using Event = typename Json::parse_event_t;
    bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= max_depth_ && trouble_.empty())
      trouble_ = fmt::format("is nested more than {} lists and objects deep", max_depth_);
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end && !keys_.empty()) keys_.pop_back();
    if (event == Event::key && !keys_.empty() && trouble_.empty()) {
      const auto& key = value.template get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) trouble_ = fmt::format("has the key ({}) twice", key);
    }
    return trouble_.empty();
  }
  const std::string& trouble() const { return trouble_; }

 private:
  const int max_depth_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  std::string trouble_;
};

}  // namespace json_internal

template <typename Json>
Result<Json> parse_json_object(std::string_view text, int max_depth, const std::string& what,
                               const std::string& path) {
  json_internal::Watch<Json> watch(max_depth);
  Json json = Json::parse(
      text.begin(), text.end(),
      [&](int depth, typename Json::parse_event_t event, Json& value) {
        return watch(depth, event, value);
      },
      /*allow_exceptions=*/false);
  auto bad = [&](const std::string& sentence) {
    return Error{ErrorCode::kBadInput, sentence, path};
  };
  if (!watch.trouble().empty()) return bad(what + " " + watch.trouble() + ".");
  if (json.is_discarded() || !json.is_object())
    return bad(fmt::format("{} ({} bytes) is not a JSON object.", what, text.size()));
  return json;
}

template Result<nlohmann::json> parse_json_object(std::string_view, int, const std::string&,
                                                  const std::string&);
template Result<nlohmann::ordered_json> parse_json_object(std::string_view, int, const std::string&,
                                                          const std::string&);

}  // namespace tuff
