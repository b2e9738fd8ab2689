#include "frontend/report/step_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace tuff {

namespace {

// Of more operands than these the rest are only counted.
constexpr size_t kShownTypes = 4;

std::string batch_text(const std::vector<int64_t>& batch) {
  return batch.empty() ? "" : fmt::format("{} x ", fmt::join(batch, "x"));
}

std::string text_of(std::monostate) { return ""; }
std::string text_of(const MatmulCall& m) {
  return fmt::format("matmul {}{}x{}x{} (m, n, k)", batch_text(m.batch), m.m, m.n, m.k);
}
std::string text_of(const ConvolutionCall& c) {
  constexpr const char* kKinds[] = {"convolution", "gradient of a convolution's input",
                                    "gradient of a convolution's kernel"};
  int64_t tile = winograd_tile(c);
  return fmt::format("{} {} * {} -> {}{}", kKinds[static_cast<int>(c.kind)],
                     fmt::join(c.source.sizes, "x"), fmt::join(c.weights.sizes, "x"),
                     fmt::join(c.destination.sizes, "x"),
                     tile > 0 ? fmt::format(", Winograd's {0}x{0}", tile) : "");
}
std::string text_of(const ByteProductCall& p) {
  return fmt::format("byte product {}{}x{}x{} (rows, columns, steps){}", batch_text(p.batch),
                     p.num_rows(), p.columns, p.num_steps(),
                     p.windows.empty() ? "" : " of windows");
}
std::string text_of(const AttentionCall& a) {
  return fmt::format("attention {}{}x{}x{}x{} (rows, columns, depth, outs)", batch_text(a.batch),
                     a.rows, a.columns, a.depth, a.outs);
}
template <typename Rows>
std::string rows_text(const Rows& c) {
  return fmt::format("{} {}x{} (rows, columns)", Rows::kName, c.rows, c.columns);
}
std::string text_of(const LayerNormCall& c) { return rows_text(c); }
std::string text_of(const RmsNormCall& c) { return rows_text(c); }
std::string text_of(const SoftmaxCall& c) { return rows_text(c); }
std::string text_of(const WindowCall& c) {
  std::vector<int64_t> results, windows;
  for (const WindowCall::Dim& dim : c.dims)
    results.push_back(dim.results), windows.push_back(dim.window);
  return fmt::format("window {} over {}x{} (results, columns)", fmt::join(windows, "x"),
                     fmt::join(results, "x"), c.columns);
}
std::string text_of(const CholeskyCall& c) {
  return fmt::format("cholesky {} x {}x{}", c.matrices, c.n, c.n);
}
std::string text_of(const TriangularSolveCall& c) {
  return fmt::format("triangular solve {} x {}x{}, n {}", c.matrices, c.rows, c.columns, c.n);
}
std::string text_of(const FftCall& c) {
  return fmt::format("{} x fft of {}", c.outer, fmt::join(c.form.length, "x"));
}
std::string text_of(const ScatterCall& c) {
  return fmt::format("scatter {} x {} rows of {} into {}", c.outer, c.count, c.width, c.span);
}

std::string text_of(const TopKCall& c) {
  return fmt::format("top {} of {} rows of {}", c.k, c.rows, c.n);
}

std::string text_of(const SortCall& c) { return fmt::format("sort {} rows of {}", c.rows, c.n); }

std::string text_of(const CopyCall& c) {
  return fmt::format("copy of {} elements in {} pieces", c.elements, c.pieces.size());
}

std::string listed(const std::vector<std::string>& types) {
  size_t shown = std::min(types.size(), kShownTypes);
  std::string text = fmt::format("{}", fmt::join(types.begin(), types.begin() + shown, ", "));
  if (types.size() > shown) text += fmt::format(" and {} more", types.size() - shown);
  return text;
}

}  // namespace

std::string call_text(const Step& step) {
  return std::visit([](const auto& call) { return text_of(call); }, step.call);
}

std::string shapes_of(const Step& step) {
  if (!step.region) return "";
  std::vector<std::string> read, written;
  for (const Node& node : step.region->nodes())
    if (node.op == Op::kParameter) read.push_back(node.types[0].to_string());
  for (Value v : step.region->outputs()) written.push_back(step.region->type(v).to_string());
  return fmt::format("{}{}-> {}", listed(read), read.empty() ? "" : " ", listed(written));
}

std::vector<std::string> places_of(const Step& step) {
  std::vector<std::string> places;
  if (!step.region) return places;
  std::set<std::string> seen;
  for (const Node& node : step.region->nodes())
    if (!node.loc.empty() && seen.insert(node.loc).second) places.push_back(node.loc);
  return places;
}

}  // namespace tuff
