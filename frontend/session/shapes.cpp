#include "frontend/session/shapes.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "frontend/weights/npy.h"

namespace tuff {

namespace {

Error not_a_shape(const std::string& spec) {
  return {ErrorCode::kUsage, "A shape is given as NAME=2x64.", "--shape " + spec};
}

Result<Shape> parse_shape(const std::string& spec, std::string_view text) {
  Shape shape;
  while (!text.empty()) {
    int64_t size = -1;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 0) return not_a_shape(spec);
    shape.push_back(size);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) break;
    if (text[0] != 'x' || text.size() == 1) return not_a_shape(spec);
    text.remove_prefix(1);
  }
  return shape;
}

}  // namespace

Result<ArgumentShapes> gather_shapes(const ShapeSources& sources) {
  ArgumentShapes shapes;
  for (const std::string& spec : sources.shapes) {
    size_t equals = spec.rfind('=');
    if (equals == std::string::npos) return not_a_shape(spec);
    TUFF_ASSIGN(Shape shape, parse_shape(spec, std::string_view(spec).substr(equals + 1)));
    shapes[spec.substr(0, equals)] = std::move(shape);
  }
  size_t nameless = 0;
  for (const std::string& spec : sources.inputs) {
    size_t equals = spec.find('=');
    std::error_code ignored;
    bool named = equals != std::string::npos && !std::filesystem::exists(spec, ignored);
    std::string name = named ? spec.substr(0, equals) : std::to_string(nameless++);
    TUFF_ASSIGN(Literal array, read_npy(named ? spec.substr(equals + 1) : spec));
    shapes.try_emplace(name, array.type().shape);
  }
  return shapes;
}

}  // namespace tuff
