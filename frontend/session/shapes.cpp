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

// One --input: the name, or the number, of its argument, and the file.
struct InputSpec {
  std::string name, file;
};

std::vector<InputSpec> read_inputs(const ShapeSources& sources) {
  std::vector<InputSpec> inputs;
  size_t nameless = 0;
  for (const std::string& spec : sources.inputs) {
    size_t equals = spec.find('=');
    std::error_code ignored;
    bool named = equals != std::string::npos && !std::filesystem::exists(spec, ignored);
    if (named)
      inputs.push_back({spec.substr(0, equals), spec.substr(equals + 1)});
    else
      inputs.push_back({std::to_string(nameless++), spec});
  }
  return inputs;
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
  for (const InputSpec& input : read_inputs(sources)) {
    TUFF_ASSIGN(Literal array, read_npy(input.file));
    shapes.try_emplace(input.name, array.type().shape);
  }
  return shapes;
}

Result<std::optional<Literal>> find_input(const ShapeSources& sources, const std::string& name,
                                          size_t index) {
  for (const InputSpec& input : read_inputs(sources)) {
    if (input.name != name && input.name != std::to_string(index)) continue;
    TUFF_ASSIGN(Literal array, read_npy(input.file));
    return std::optional<Literal>(std::move(array));
  }
  return std::optional<Literal>();
}

}  // namespace tuff
