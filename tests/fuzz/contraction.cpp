#include "tests/fuzz/contraction.h"

#include <algorithm>
#include <numeric>

namespace tuff::fuzz {

namespace {

using Place = Sketch::Place;

// Sums of products of whole numbers up to 8 stay exact in f32 with so many terms, after some
// multiplications as well.
constexpr int64_t kMaxTerms = 96;
constexpr int64_t kMaxElements = 1500;

Ints shuffled(GraphBuilder& b, size_t count) {
  Ints order(count);
  std::iota(order.begin(), order.end(), 0);
  if (!b.chance(4)) std::shuffle(order.begin(), order.end(), b.random());
  return order;
}

// Dimensions of one role: how many, and their sizes.
Shape pick_sizes(GraphBuilder& b, int64_t count, int64_t most) {
  constexpr int64_t kSizes[] = {1, 2, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64};
  Shape sizes;
  for (int64_t i = 0; i < count; ++i) {
    int64_t size = kSizes[b.pick(12)];
    while (num_elements(sizes) * size > most) size = (size + 1) / 2;
    if (num_elements(sizes) * size > most) size = 1;
    sizes.push_back(size);
  }
  return sizes;
}

// f32 mostly; what sums of the type are given as.
std::pair<DType, DType> pick_types(GraphBuilder& b) {
  constexpr DType kTypes[] = {DType::kF32,  DType::kF32, DType::kF32,
                              DType::kBF16, DType::kF16, DType::kI32};
  DType dtype = kTypes[b.pick(6)];
  return {dtype, is_float(dtype) && b.chance(2) ? DType::kF32 : dtype};
}

// --- products ---------------------------------------------------------------

// Batch, row, column (0 to 2 dimensions each) and summed dimensions (1 or 2).
constexpr int64_t kProducts = 3 * 3 * 3 * 2;

// One side of a product: `parts` are the sizes of its roles, its dimensions in any order. Returns
// where the roles' dimensions have come to.
std::vector<Ints> place_roles(GraphBuilder& b, const std::vector<Shape>& parts, Shape& shape) {
  size_t rank = 0;
  for (const Shape& part : parts) rank += part.size();
  Ints order = shuffled(b, rank);
  shape.assign(rank, 0);
  std::vector<Ints> places;
  size_t next = 0;
  for (const Shape& part : parts) {
    places.emplace_back();
    for (int64_t size : part) {
      places.back().push_back(order[next]);
      shape[static_cast<size_t>(order[next++])] = size;
    }
  }
  return places;
}

Place sketch_product(GraphBuilder& b, Sketch& s, int64_t kind) {
  auto [dtype, result] = pick_types(b);
  auto take = [&kind](int64_t n) {
    int64_t digit = kind % n;
    kind /= n;
    return digit;
  };
  int64_t batches = take(3), rows = take(3), columns = take(3), sums = 1 + take(2);
  Shape batch = pick_sizes(b, batches, 12), k = pick_sizes(b, sums, kMaxTerms);
  int64_t most = kMaxElements / (num_elements(batch) * num_elements(k));
  Shape m = pick_sizes(b, rows, std::clamp<int64_t>(most, 1, 40));
  most = std::min(most, GraphBuilder::kMaxElements / (num_elements(batch) * num_elements(m) * 2));
  Shape n = pick_sizes(b, columns, std::clamp<int64_t>(most, 1, 40));
  Shape left, right;
  std::vector<Ints> of_left = place_roles(b, {batch, k, m}, left);
  std::vector<Ints> of_right = place_roles(b, {batch, k, n}, right);
  Place x = s.view(b, {dtype, left}), y = s.view(b, {dtype, right});
  return s.must_add(Op::kDotGeneral, {x, y},
                    DotGeneralAttrs{.lhs_batching_dimensions = of_left[0],
                                    .rhs_batching_dimensions = of_right[0],
                                    .lhs_contracting_dimensions = of_left[1],
                                    .rhs_contracting_dimensions = of_right[1]},
                    {result, {}});
}

// --- convolutions -----------------------------------------------------------

enum class Window : uint8_t {
  kPlain,
  kPadded,
  kCut,  // by negative padding
  kDilatedInput,
  kDilated,
  kReversed,
  kFeatureGroups,
  kBatchGroups,
  kWhole,      // the input
  kPointwise,  // one pixel
  kWinograd,
  kLong  // longer than what comes out: a gradient of weights
};
constexpr int64_t kWindows = 12, kSpatialRanks = 2;

struct Convolution {
  int64_t batch = 1, in = 1, out = 1;  // in: features of a group
  int64_t feature_groups = 1, batch_groups = 1;
  Shape sizes, taps;
  Ints padding, strides, base, dilation, reversal;
};

Convolution pick_convolution(GraphBuilder& b, Window window, int64_t rank) {
  constexpr int64_t kFeatures[] = {1, 2, 3, 8, 16, 17};
  Convolution c;
  c.batch = 1 + b.pick(3), c.in = kFeatures[b.pick(6)], c.out = kFeatures[b.pick(6)];
  if (window == Window::kFeatureGroups) c.feature_groups = b.chance(2) ? 2 : c.in;
  if (window == Window::kFeatureGroups && c.feature_groups > 2) c.in = 1;
  if (window == Window::kBatchGroups) c.batch_groups = 2;
  c.batch *= c.batch_groups;
  c.out *= c.feature_groups * c.batch_groups;
  auto most = [&](int64_t low, int64_t high) { return low + b.pick(high - low + 1); };
  for (int64_t d = 0; d < rank; ++d) {
    int64_t taps = window == Window::kWinograd ? 3 : most(1, 3), size = most(taps, 7);
    int64_t low = 0, high = 0, stride = most(1, 2);
    if (window == Window::kPointwise) taps = 1;
    if (window == Window::kWinograd) size = 6 + b.pick(3), low = high = stride = 1;
    if (window == Window::kPadded || window == Window::kReversed) low = b.pick(3), high = b.pick(3);
    if (window == Window::kCut && size > taps) low = -1;
    if (window == Window::kWhole) taps = size, stride = 1;
    if (window == Window::kLong) size = 5 + b.pick(3), taps = size - b.pick(2), stride = 1;
    if (window == Window::kDilatedInput) stride = 1;
    c.sizes.push_back(size);
    c.taps.push_back(taps);
    c.padding.insert(c.padding.end(), {low, high});
    c.strides.push_back(stride);
    c.base.push_back(window == Window::kDilatedInput ? 2 : 1);
    bool dilated = window == Window::kDilated && 2 * taps - 1 <= size;
    c.dilation.push_back(dilated ? 2 : 1);
    c.reversal.push_back(window == Window::kReversed && b.chance(2));
  }
  return c;
}

// batch, feature, spatial.. in any order; the attributes say which.
Shape lay_out(GraphBuilder& b, int64_t first, int64_t second, const Shape& spatial,
              int64_t* first_dim, int64_t* second_dim, Ints* spatial_dims) {
  size_t rank = spatial.size() + 2;
  Ints order(rank);
  std::iota(order.begin(), order.end(), 1);  // channels last
  order[0] = 0, order[1] = static_cast<int64_t>(rank) - 1;
  for (size_t d = 2; d < rank; ++d) order[d] = static_cast<int64_t>(d) - 1;
  if (b.chance(3)) std::shuffle(order.begin(), order.end(), b.random());
  *first_dim = order[0], *second_dim = order[1];
  spatial_dims->assign(order.begin() + 2, order.end());
  Shape shape(rank);
  shape[static_cast<size_t>(order[0])] = first;
  shape[static_cast<size_t>(order[1])] = second;
  for (size_t d = 2; d < rank; ++d) shape[static_cast<size_t>(order[d])] = spatial[d - 2];
  return shape;
}

int64_t source_elements(const Convolution& c) {
  return c.batch * c.in * c.feature_groups * num_elements(c.sizes);
}
int64_t weights(const Convolution& c) { return c.in * c.out * num_elements(c.taps); }
// At most: with everything padded and dilated.
int64_t result_elements(const Convolution& c) {
  int64_t count = c.batch * c.out;
  for (int64_t size : c.sizes) count *= 2 * size + 1;
  return count;
}

Place sketch_convolution(GraphBuilder& b, Sketch& s, Window window, int64_t rank) {
  auto [dtype, result] = pick_types(b);
  Convolution c;
  do {
    c = pick_convolution(b, window, rank);
  } while (source_elements(c) > kMaxElements || weights(c) > kMaxElements ||
           result_elements(c) > 2 * kMaxElements);
  ConvolutionAttrs attrs{.window_strides = c.strides,
                         .padding = c.padding,
                         .lhs_dilation = c.base,
                         .rhs_dilation = c.dilation,
                         .window_reversal = c.reversal,
                         .feature_group_count = c.feature_groups,
                         .batch_group_count = c.batch_groups};
  Shape input = lay_out(b, c.batch, c.in * c.feature_groups, c.sizes, &attrs.input_batch_dimension,
                        &attrs.input_feature_dimension, &attrs.input_spatial_dimensions);
  Shape kernel = lay_out(b, c.in, c.out, c.taps, &attrs.kernel_input_feature_dimension,
                         &attrs.kernel_output_feature_dimension, &attrs.kernel_spatial_dimensions);
  lay_out(b, 1, 1, c.sizes, &attrs.output_batch_dimension, &attrs.output_feature_dimension,
          &attrs.output_spatial_dimensions);
  // Without it, results may be those of a filtering that rounds (precision.h).
  if (b.chance(2)) attrs.precision_config = {tuff::Precision::kHighest, tuff::Precision::kHighest};
  Place x = s.view(b, {dtype, input}), w = s.view(b, {dtype, kernel});
  return s.must_add(Op::kConvolution, {x, w}, attrs, {result, {}});
}

// --- what follows -----------------------------------------------------------

// What a binary operation takes besides the result so far.
enum class With : uint8_t { kElements, kSome, kColumns, kRows, kScalar, kConstant };
constexpr Op kArithmetic[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kMaximum};
constexpr int64_t kBinaries = 4 * 2 * 6;  // operations, sides, operands

enum class Store : uint8_t {
  kNothing,
  kRelu,
  kTanh,
  kNarrow,
  kNarrowAndBack,
  kUpdate,
  kTranspose,
  kReshape,
  kReduce,
  kSelect,
  kDivide,
  kSquare,
  kItself
};
constexpr int64_t kStores = 13;

class Stores {
 public:
  Stores(GraphBuilder& b, Sketch& s, Place x) : b_(b), s_(s), x_(x) {}

  void add(int64_t kind) {
    if (done_) return;
    if (kind < kBinaries) return binary(kind);
    special(static_cast<Store>(kind - kBinaries));
  }

 private:
  const TensorType& type() const { return s_.type(x_); }
  size_t rank() const { return type().shape.size(); }

  Place operand(With with, const std::string& name = kWholeName) {
    std::vector<bool> kept(rank(), with == With::kElements);
    for (size_t d = 0; d < rank(); ++d) {
      if (with == With::kSome) kept[d] = b_.chance(2);
      if (with == With::kRows) kept[d] = d + 1 < rank();
      if (with == With::kColumns) kept[d] = d + 1 == rank();
    }
    if (with == With::kConstant) return splat(b_.pick(7) - 3);
    return s_.repeated(b_, type(), kept, name);
  }

  Place splat(int64_t value) {
    Place one = s_.constant(Literal::scalar(type().dtype, static_cast<double>(value)));
    if (rank() == 0) return one;
    return s_.must_add(Op::kBroadcastInDim, {one}, BroadcastInDimAttrs{}, type());
  }

  void binary(int64_t kind) {
    Op op = kArithmetic[kind % 4];
    bool right = kind / 4 % 2 == 0;
    Place y = operand(static_cast<With>(kind / 8));
    apply(op, right ? std::vector<Place>{x_, y} : std::vector<Place>{y, x_}, type());
  }

  void apply(Op op, const std::vector<Place>& operands, const TensorType& type, Attrs attrs = {}) {
    x_ = s_.must_add(op, operands, std::move(attrs), type);
  }

  void special(Store store) {
    switch (store) {
      case Store::kNothing: return;
      case Store::kRelu: return apply(Op::kMaximum, {x_, splat(0)}, type());
      case Store::kTanh: return finish(Op::kTanh, {x_});
      case Store::kNarrow:
      case Store::kNarrowAndBack: return narrow(store == Store::kNarrowAndBack);
      case Store::kUpdate: return update();
      case Store::kTranspose: return transpose();
      case Store::kReshape: return reshape();
      case Store::kReduce: return reduce();
      case Store::kSelect: {
        Place mask = s_.parameter({DType::kBool, type().shape}, kWholeName);
        return apply(Op::kSelect, {mask, x_, operand(With::kElements)}, type());
      }
      case Store::kDivide: return finish(Op::kDivide, {x_, operand(With::kSome, kPowerName)});
      case Store::kSquare: return apply(Op::kMultiply, {x_, x_}, type());
      case Store::kItself: {
        Place relu = s_.must_add(Op::kMaximum, {x_, splat(0)}, {}, type());
        return apply(Op::kAdd, {relu, x_}, type());
      }
    }
  }

  // With an operation after which results are known in units of the last place only.
  void finish(Op op, const std::vector<Place>& operands) {
    if (!is_float(type().dtype)) return;
    apply(op, operands, type());
    done_ = true;
  }

  void narrow(bool back) {
    TensorType before = type();
    DType to = !is_float(before.dtype) ? DType::kI8 : b_.chance(2) ? DType::kBF16 : DType::kF16;
    apply(Op::kConvert, {x_}, {to, before.shape});
    if (back) apply(Op::kConvert, {x_}, before);
  }

  // Into a larger tensor, which may be given up for it.
  void update() {
    if (rank() == 0) return;
    TensorType whole = type();
    whole.shape[0] += 1 + b_.pick(3);
    if (whole.num_elements() > GraphBuilder::kMaxElements) return;
    std::vector<Place> operands = {s_.parameter(whole, kWholeName), x_};
    for (size_t d = 0; d < rank(); ++d)
      operands.push_back(d == 0 && b_.chance(2)
                             ? s_.parameter({DType::kI32, {}}, kIndexName)
                             : s_.constant(Literal::scalar(DType::kI32, d == 0 ? 1 : 0)));
    apply(Op::kDynamicUpdateSlice, operands, whole);
  }

  void transpose() {
    Ints order = shuffled(b_, rank());
    std::reverse(order.begin(), order.end());
    apply(Op::kTranspose, {x_}, type(), TransposeAttrs{order});
  }

  void reshape() {
    Shape to = type().shape;
    if (to.size() > 1) to[1] *= to[0], to.erase(to.begin());
    if (b_.chance(2)) to.insert(to.begin() + b_.pick(static_cast<int64_t>(to.size()) + 1), 1);
    apply(Op::kReshape, {x_}, {type().dtype, to});
  }

  // To the largest: sums might be too large to be exact.
  void reduce() {
    Ints dims;
    for (size_t d = 0; d < rank(); ++d)
      if (b_.chance(2)) dims.push_back(static_cast<int64_t>(d));
    DType dtype = type().dtype;
    Place least = s_.constant(Literal::scalar(dtype, -100));
    x_ = s_.must_add(Op::kReduce, {x_, least}, DimensionsAttrs{dims}, type(),
                     {GraphBuilder::binary_region(Op::kMaximum, dtype)});
  }

  GraphBuilder& b_;
  Sketch& s_;
  Place x_;
  bool done_ = false;
};

}  // namespace

int64_t count_contractions() { return kProducts + kWindows * kSpatialRanks; }
int64_t count_stores() { return kBinaries + kStores; }

Sketch sketch_contraction(GraphBuilder& b, int64_t contraction, int64_t store) {
  Sketch s;
  int64_t window = contraction - kProducts;
  Place x = window < 0 ? sketch_product(b, s, contraction)
                       : sketch_convolution(b, s, static_cast<Window>(window % kWindows),
                                            1 + window / kWindows);
  Stores stores(b, s, x);
  if (b.chance(6)) stores.add(kBinaries + static_cast<int64_t>(Store::kTranspose));
  stores.add(store);
  for (int64_t more = b.pick(3); more > 0; --more) stores.add(b.pick(count_stores()));
  return s;
}

Graph make_contraction(uint32_t number) {
  GraphBuilder b(number);
  // Both go round; after so many graphs as have brought both to their start, one moves on.
  int64_t contractions = count_contractions(), stores = count_stores();
  int64_t store = number + number / std::lcm(contractions, stores);
  Sketch s = sketch_contraction(b, number % contractions, store % stores);
  s.add_parameters(b);
  s.add_operations(b);
  return b.finish();
}

}  // namespace tuff::fuzz
