#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <sstream>

#include "shaders/schedule/contraction_schedule.h"

namespace tuff {

namespace {

struct Number {
  const char* name;
  int64_t& value;
};
struct Flag {
  const char* name;
  bool& value;
};
struct Fields {
  std::vector<Number> numbers;
  std::vector<Flag> flags;
};

Fields fields(MatmulSchedule& s) {
  return {{{"lanes", s.lanes},
           {"tile_m", s.tile_m},
           {"tile_n", s.tile_n},
           {"k_unroll", s.k_unroll},
           {"k_split", s.k_split}},
          {{"share_rows", s.share_rows},
           {"rows_fastest", s.rows_fastest},
           {"wide_loads", s.wide_loads}}};
}

Fields fields(TileSchedule& s) {
  return {{{"rows", s.rows},
           {"columns", s.columns},
           {"k", s.k},
           {"lane_rows", s.lane_rows},
           {"lane_columns", s.lane_columns},
           {"run", s.run}},
          {}};
}

Fields fields(MatrixTileSchedule& s) {
  return {{{"m", s.m},
           {"n", s.n},
           {"k", s.k},
           {"per_word", s.per_word},
           {"subgroup", s.subgroup},
           {"down", s.down},
           {"across", s.across},
           {"rows", s.rows},
           {"columns", s.columns},
           {"depth", s.depth}},
          {}};
}

Fields fields(StreamSchedule& s) {
  return {{{"rows", s.rows},
           {"run", s.run},
           {"across", s.across},
           {"down", s.down},
           {"lines", s.lines},
           {"unroll", s.unroll}},
          {{"swapped", s.swapped}, {"along_k", s.along_k}}};
}

// KSplit as numbers of one type.
struct SplitNumbers {
  int64_t parts = 0, dim = 0, length = 0;
};
Fields fields(SplitNumbers& s) {
  return {{{"parts", s.parts}, {"dim", s.dim}, {"length", s.length}}, {}};
}

std::string print_fields(const Fields& fields) {
  std::string text;
  for (const Number& number : fields.numbers)
    text += fmt::format(" {}={}", number.name, number.value);
  for (const Flag& flag : fields.flags)
    if (flag.value) text += fmt::format(" {}", flag.name);
  return text;
}

bool set_field(const Fields& fields, const std::string& word) {
  for (const Flag& flag : fields.flags)
    if (word == flag.name) return flag.value = true;
  size_t equals = word.find('=');
  if (equals == std::string::npos) return false;
  for (const Number& number : fields.numbers) {
    if (word.compare(0, equals, number.name) != 0) continue;
    const char* end = word.data() + word.size();
    auto [stop, error] = std::from_chars(word.data() + equals + 1, end, number.value);
    return error == std::errc() && stop == end;
  }
  return false;
}

}  // namespace

std::string print_contraction_problem(const ContractionProblem& problem) {
  const MatmulSizes& sizes = problem.sizes;
  std::string text = fmt::format("{} {} {} {}x{}x{}", dtype_name(problem.a), dtype_name(problem.b),
                                 dtype_name(problem.sum), sizes.batch, sizes.m, sizes.n);
  for (int64_t k : sizes.k) text += fmt::format("x{}", k);
  // Where it is not the element's own.
  if (problem.a_bytes != dtype_size(problem.a)) text += fmt::format(" a_bytes={}", problem.a_bytes);
  if (problem.b_bytes != dtype_size(problem.b)) text += fmt::format(" b_bytes={}", problem.b_bytes);
  if (problem.a_along_k) text += " a_along_k";
  if (problem.b_along_k) text += " b_along_k";
  if (problem.windows) text += " windows";
  return text;
}

std::string print_contraction_schedule(const ContractionSchedule& schedule) {
  ContractionSchedule s = schedule;
  std::string text = s.matrices ? "matrices" + print_fields(fields(*s.matrices))
                     : s.stream ? "stream" + print_fields(fields(*s.stream))
                     : s.tiles  ? "tiles" + print_fields(fields(*s.tiles))
                                : "registers" + print_fields(fields(s.registers));
  if (!s.split) return text;
  SplitNumbers split{s.split->parts, static_cast<int64_t>(s.split->dim), s.split->length};
  return text + " split" + print_fields(fields(split));
}

// What is printed is what is read, word for word: no other text is a schedule.
std::optional<ContractionSchedule> parse_contraction_schedule(const std::string& text) {
  ContractionSchedule schedule;
  SplitNumbers split;
  std::optional<Fields> present;
  bool has_split = false;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!present && word == "registers") {
      present.emplace(fields(schedule.registers));
    } else if (!present && word == "tiles") {
      present.emplace(fields(schedule.tiles.emplace()));
    } else if (!present && word == "matrices") {
      present.emplace(fields(schedule.matrices.emplace()));
    } else if (!present && word == "stream") {
      present.emplace(fields(schedule.stream.emplace()));
    } else if (present && word == "split" && !has_split) {
      has_split = true;
      present.emplace(fields(split));
    } else if (!present || !set_field(*present, word)) {
      return std::nullopt;
    }
  }
  if (has_split) schedule.split = KSplit{static_cast<size_t>(split.dim), split.parts, split.length};
  if (print_contraction_schedule(schedule) != text) return std::nullopt;
  return schedule;
}

}  // namespace tuff
