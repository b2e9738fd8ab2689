// Counts of n-grams: words of a text as numbers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

constexpr int64_t kMaxPlaces = 1 << 24, kMaxSkips = 256;

// The n-grams of one length, and which output each counts in.
struct Grams {
  int64_t length = 0;
  std::map<Ints, int64_t> places;
};

// The pool is all n-grams of length 1, then those of length 2 ...; ngram_counts says where each
// length begins.
std::vector<Grams> read_pool(const Call& call, int64_t shortest, int64_t longest) {
  Ints pool = call.ints("pool_int64s"), begins = call.ints("ngram_counts");
  Ints places = call.ints("ngram_indexes");
  std::vector<Grams> all;
  size_t gram = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    Grams grams;
    grams.length = static_cast<int64_t>(i) + 1;
    int64_t begin = begins[i];
    int64_t end = i + 1 < begins.size() ? begins[i + 1] : static_cast<int64_t>(pool.size());
    if (begin < 0 || begin > end || end > static_cast<int64_t>(pool.size()))
      refuse_input("The attribute (ngram_counts) does not fit the pool.");
    for (; begin + grams.length <= end; begin += grams.length, ++gram) {
      if (gram >= places.size()) refuse_input("There is not an index for each n-gram.");
      auto from = pool.begin() + begin;
      grams.places[Ints(from, from + grams.length)] = places[gram];
    }
    if (grams.length >= shortest && grams.length <= longest && !grams.places.empty())
      all.push_back(std::move(grams));
  }
  return all;
}

// How often each of the n-grams is in each row of x, with `step` from one of its items to the
// next: [rows, n-grams].
Tensor count(const Tensor& x, const Grams& grams, int64_t step) {
  auto number = static_cast<int64_t>(grams.places.size());
  int64_t starts = x.dim(1) - (grams.length - 1) * step;
  Tensor is;
  for (int64_t k = 0; k < grams.length; ++k) {
    Ints items;
    for (const auto& [gram, place] : grams.places) items.push_back(gram[at(k)]);
    Tensor here = x.slice(1, k * step, k * step + starts).unsqueeze({2});
    Tensor same = equal(here, x.ints(items).reshape({1, 1, number}));
    is = is ? is & same : same;
  }
  return is.convert(DType::kI32).sum({1});
}

// Counts in the order of the outputs; those that no n-gram counts in are 0.
Tensor in_places(const Tensor& counts, const Ints& places, int64_t size) {
  Ints from(at(size), counts.dim(1));
  for (size_t i = 0; i < places.size(); ++i) {
    if (from[at(places[i])] != counts.dim(1))
      refuse_unsupported("Two n-grams with one index are not supported.");
    from[at(places[i])] = static_cast<int64_t>(i);
  }
  return counts.pad({0, 0}, {0, 1}).take(counts.ints(from), 1);
}

Items tf_idf_vectorizer(const Call& call) {
  if (call.has("pool_strings")) refuse_unsupported("Strings are not supported.");
  Tensor x = call.need(0).convert(DType::kI64);
  if (x.rank() > 2) refuse_input("The input is no row or matrix.");
  bool is_batch = x.rank() == 2;
  if (!is_batch) x = x.reshape({1, x.num_elements()});
  int64_t shortest = call.required_i("min_gram_length"), longest = call.i("max_gram_length", 1);
  int64_t skips = call.required_i("max_skip_count");
  Ints indices = call.ints("ngram_indexes");
  int64_t size = indices.empty() ? 0 : *std::max_element(indices.begin(), indices.end()) + 1;
  bool fits = std::all_of(indices.begin(), indices.end(), [](int64_t i) { return i >= 0; });
  if (!fits || size < 1 || size > kMaxPlaces)
    refuse_input("The attribute (ngram_indexes) does not fit.");
  if (skips < 0 || std::min(skips, x.dim(1)) > kMaxSkips)
    refuse_unsupported(fmt::format("More than ({}) skips are not supported.", kMaxSkips));

  std::vector<Tensor> counts;
  Ints places;
  for (const Grams& grams : read_pool(call, shortest, longest)) {
    Tensor sum = call.zeros({DType::kI32, {x.dim(0), static_cast<int64_t>(grams.places.size())}});
    int64_t most = grams.length == 1 ? 1 : skips + 1;
    for (int64_t step = 1; step <= most && (grams.length - 1) * step < x.dim(1); ++step)
      sum = sum + count(x, grams, step);
    counts.push_back(sum);
    for (const auto& [gram, place] : grams.places) places.push_back(place);
  }
  Tensor y = call.zeros({DType::kF32, {x.dim(0), size}});
  if (!counts.empty()) y = in_places(concatenate(counts, 1), places, size).convert(DType::kF32);

  std::string mode = call.s("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    refuse_input(fmt::format("The attribute (mode) is ({}), and none that ONNX knows.", mode));
  if (mode == "IDF") y = (y > 0).convert(DType::kF32);
  std::vector<double> weights = call.floats("weights");
  if (mode != "TF" && !weights.empty()) {
    if (static_cast<int64_t>(weights.size()) != size)
      refuse_input("There is not one weight for each output.");
    y = y * call.constant(Literal::from_doubles(DType::kF32, {size}, weights));
  }
  return {is_batch ? y : y.reshape({size})};
}

constexpr OpRow kTextRows[] = {
    {"TfIdfVectorizer", tf_idf_vectorizer, "No strings."},
};

}  // namespace

std::span<const OpRow> text_ops() { return kTextRows; }

}  // namespace tuff::onnx
