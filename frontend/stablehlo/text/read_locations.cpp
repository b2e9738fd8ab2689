// Locations: loc("model.py":12:3), loc("name"(...)), callsite, fused, aliases.
#include <fmt/format.h>

#include "frontend/stablehlo/text/parser.h"

namespace tuff::stablehlo {

namespace {

std::string_view base_name(std::string_view path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

Location Parser::parse_location_body() {
  Nest nest(*this);
  Location location;
  if (at(Tok::kHash)) {
    location.alias = token_.text;
    advance();
  } else if (at(Tok::kString)) {
    std::string text = unescape(token_.text);
    advance();
    if (eat(':')) {
      int64_t line = parse_integer();
      location.position = fmt::format("{}:{}", base_name(text), line);
      if (eat(':')) location.position += fmt::format(":{}", parse_integer());
      if (eat_word("to")) {  // a range; its start says enough
        if (eat(':'))
          parse_integer();
        else
          parse_integer(), expect(':'), parse_integer();
      }
    } else {
      if (eat('(')) {
        location = parse_location_body();
        expect(')');
      }
      location.name = std::move(text);
    }
  } else if (eat_word("callsite")) {  // the callee's place; the caller's is dropped
    expect('(');
    location = parse_location_body();
    expect_word("at");
    parse_location_body();
    expect(')');
  } else if (eat_word("fused")) {
    if (at('<')) skip_balanced();
    expect('[');
    parse_list(']', [&] {
      Location part = parse_location_body();
      if (location.name.empty() && location.position.empty() && location.alias.empty())
        location = std::move(part);
    });
  } else if (!eat_word("unknown")) {
    fail("Expected a location here.");
  }
  return location;
}

uint32_t Parser::add_location(Location location) {
  if (location.name.empty() && location.position.empty() && location.alias.empty()) return 0;
  locations_.push_back(std::move(location));
  return static_cast<uint32_t>(locations_.size() - 1);
}

uint32_t Parser::parse_optional_location() {
  if (!at_word("loc")) return 0;
  advance();
  expect('(');
  Location location = parse_location_body();
  expect(')');
  return add_location(std::move(location));
}

const Location* Parser::follow(const Location& location) const {
  auto it = location_aliases_.find(location.alias);
  return it == location_aliases_.end() ? nullptr : &it->second;
}

void Parser::resolve_locations() {
  constexpr int kMaxHops = 64;  // aliases of a hostile file may form a ring
  module_.locations.resize(locations_.size());
  for (size_t i = 0; i < locations_.size(); ++i) {
    std::string name = locations_[i].name, position = locations_[i].position;
    const Location* at = &locations_[i];
    for (int hop = 0; hop < kMaxHops && position.empty() && (at = follow(*at)); ++hop) {
      if (name.empty()) name = at->name;
      position = at->position;
    }
    module_.locations[i] = place_text(name, position);
  }
  // An argument's location is its name in the model ("params['w']"), not a place.
  for (Function& function : module_.functions)
    for (size_t i = 0; i < function.input_locs.size(); ++i) {
      const Location* at = &locations_[function.input_locs[i]];
      for (int hop = 0; hop < kMaxHops && at && at->name.empty(); ++hop) at = follow(*at);
      if (at && !at->name.empty()) function.input_names[i] = at->name;
    }
}

}  // namespace tuff::stablehlo
