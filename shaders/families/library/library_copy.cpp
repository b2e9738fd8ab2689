// A map of views alone as a copy: its result is cut into boxes, each of which comes from one place.
// A kernel asks for each element where it comes from; a copy moves rows.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ir/group/copies.h"
#include "shaders/emit/emit_value.h"
#include "shaders/families/family.h"

namespace tuff {

namespace {

// More boxes are rows too short to gain, or views that no boxes describe.
constexpr size_t kMaxPieces = 64, kMaxSteps = 512;

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t ceiling_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

// A part of the result: its places, by a symbol for each of its dimensions.
struct Box {
  struct Dim {
    IndexExpr var;  // in [0, size)
    int64_t size;
    uint32_t atom() const { return var.terms[0].first; }
  };
  IndexVector at;
  std::vector<Dim> dims;
};

// How a box has to be refined before it comes from one place: dimension `dim` is cut at `count`,
// or split into runs of `count`.
struct Refinement {
  enum class Kind : uint8_t { kCut, kSplit };
  Kind kind;
  size_t dim;
  int64_t count;
};

// Lives for one call of lower_copy_call.
class Cutter {
 public:
  Cutter(const Graph& region, IndexContext& context, Value result)
      : region_(region), context_(context), result_(result) {}

  // Nothing where the result is no copy, or one of too many pieces.
  std::optional<std::vector<CopyCall::Piece>> run() {
    std::vector<Box> pending{whole()};
    for (; !pending.empty(); ++steps_) {
      if (steps_ > kMaxSteps || pieces_.size() + pending.size() > kMaxPieces) return std::nullopt;
      Box box = std::move(pending.back());
      pending.pop_back();
      refinement_.reset();
      if (take(box)) continue;
      if (!refinement_) return std::nullopt;
      refine(box, pending);
    }
    return std::move(pieces_);
  }

  bool refined() const { return steps_ > 1; }
  // Region parameters in the order of the pieces' operands.
  const std::vector<uint32_t>& operands() const { return operands_; }

 private:
  IndexExpr var(int64_t size) { return context_.symbol("b", 0, size - 1); }

  Box whole() {
    Box box;
    for (int64_t size : region_.type(result_).shape) {
      box.at.push_back(var(size));
      if (size > 1) box.dims.push_back({box.at.back(), size});
    }
    return box;
  }

  // Adds the piece that the box is; false where it has to be refined, or cannot be.
  bool take(const Box& box) {
    Value v = result_;
    IndexVector at = box.at;
    while (is_free_view(region_, region_.node(v))) {
      const Node& node = region_.node(v);
      std::vector<Shape> shapes;
      for (Value operand : node.operands) shapes.push_back(region_.type(operand).shape);
      std::vector<ViewSource> sources = view_sources(context_, node, shapes, at);
      if (sources.empty()) return false;
      for (const IndexCondition& condition : sources[0].conditions)
        return decide(box, condition), false;
      v = node.operands[sources[0].operand];
      at = std::move(sources[0].index);
    }
    return region_.node(v).op == Op::kConstant ? take_value(box, v) : take_operand(box, v, at);
  }

  bool take_value(const Box& box, Value v) {
    const Literal& literal = region_.node(v).attrs.as<ConstantAttrs>().value;
    if (!literal.is_splat()) return false;
    CopyCall::Piece piece = piece_of(box, 0);
    piece.bits = immediate_of(literal, 0).bits;
    pieces_.push_back(std::move(piece));
    return true;
  }

  bool take_operand(const Box& box, Value v, const IndexVector& at) {
    if (region_.node(v).op != Op::kParameter) return false;
    IndexExpr from = linearize(at, region_.type(v).shape);
    for (auto [id, coefficient] : from.terms)
      if (context_.atom(id).divisor > 0) return undo(box, id), false;
    CopyCall::Piece piece = piece_of(box, from);
    auto known = std::find(operands_.begin(), operands_.end(), v.node);
    piece.operand = static_cast<uint32_t>(known - operands_.begin());
    if (known == operands_.end()) operands_.push_back(v.node);
    pieces_.push_back(std::move(piece));
    return true;
  }

  static int64_t coefficient_of(const IndexExpr& e, uint32_t atom) {
    for (auto [id, coefficient] : e.terms)
      if (id == atom) return coefficient;
    return 0;
  }

  CopyCall::Piece piece_of(const Box& box, const IndexExpr& from) const {
    IndexExpr to = linearize(box.at, region_.type(result_).shape);
    CopyCall::Piece piece;
    piece.from = from.constant, piece.to = to.constant;
    for (const Box::Dim& dim : box.dims)
      piece.loops.push_back(
          {dim.size, coefficient_of(from, dim.atom()), coefficient_of(to, dim.atom())});
    std::sort(piece.loops.begin(), piece.loops.end(),
              [](const auto& a, const auto& b) { return a.to > b.to; });
    for (size_t i = piece.loops.size(); i-- > 1;) {
      CopyCall::Loop& outer = piece.loops[i - 1];
      const CopyCall::Loop& inner = piece.loops[i];
      if (outer.to != inner.to * inner.size || outer.from != inner.from * inner.size) continue;
      outer = {outer.size * inner.size, inner.from, inner.to};
      piece.loops.erase(piece.loops.begin() + static_cast<long>(i));
    }
    return piece;
  }

  // Makes the condition hold for all of the box, or for nothing of it.
  void decide(const Box& box, const IndexCondition& condition) {
    for (auto [id, coefficient] : condition.e.terms)
      if (context_.atom(id).divisor > 0) return undo(box, id);
    std::optional<size_t> widest = widest_dim(box, condition.e);
    if (!widest) return;
    int64_t c = coefficient_of(condition.e, box.dims[*widest].atom()), k = condition.e.constant;
    int64_t size = box.dims[*widest].size;
    if (condition.e.terms.size() > 1) return cut(*widest, size / 2, size);
    if (condition.kind == IndexCondition::Kind::kZero) {
      int64_t zero = -k / c;
      return cut(*widest, zero > 0 ? zero : 1, size);
    }
    cut(*widest, c > 0 ? ceiling_div(-k, c) : floor_div(k, -c) + 1, size);
  }

  // The dimension of the largest step in the sum.
  static std::optional<size_t> widest_dim(const Box& box, const IndexExpr& e) {
    std::optional<size_t> widest;
    int64_t most = 0;
    for (size_t d = 0; d < box.dims.size(); ++d) {
      int64_t step = std::abs(coefficient_of(e, box.dims[d].atom()));
      if (step > most) most = step, widest = d;
    }
    return widest;
  }

  // Makes a quotient a sum: a dimension of whole periods of it is split, a shorter one is cut
  // where the quotient changes.
  void undo(const Box& box, uint32_t quotient) {
    const IndexContext::Atom atom = context_.atom(quotient);
    for (auto [id, coefficient] : atom.numerator.terms)
      if (context_.atom(id).divisor > 0) return undo(box, id);
    for (size_t d = 0; d < box.dims.size(); ++d) {
      int64_t c = coefficient_of(atom.numerator, box.dims[d].atom()), size = box.dims[d].size;
      if (c == 0 || c % atom.divisor == 0) continue;
      int64_t period = atom.divisor / std::gcd(std::abs(c), atom.divisor);
      if (period >= size) continue;
      if (size % period != 0) return cut(d, size / period * period, size);
      refinement_ = {Refinement::Kind::kSplit, d, period};
      return;
    }
    std::optional<size_t> widest = widest_dim(box, atom.numerator);
    if (!widest) return;
    int64_t c = coefficient_of(atom.numerator, box.dims[*widest].atom());
    int64_t k = atom.numerator.constant, size = box.dims[*widest].size;
    if (atom.numerator.terms.size() > 1) return cut(*widest, size / 2, size);
    int64_t first = floor_div(k, atom.divisor) * atom.divisor;
    cut(*widest, c > 0 ? ceiling_div(first + atom.divisor - k, c) : floor_div(k - first, -c) + 1,
        size);
  }

  void cut(size_t dim, int64_t at, int64_t size) {
    if (at > 0 && at < size) refinement_ = {Refinement::Kind::kCut, dim, at};
  }

  void refine(const Box& box, std::vector<Box>& pending) {
    auto [kind, d, count] = *refinement_;
    int64_t size = box.dims[d].size;
    if (kind == Refinement::Kind::kCut) {
      IndexExpr first = var(count), rest = var(size - count);
      pending.push_back(replaced(box, d, rest + count, {{rest, size - count}}));
      pending.push_back(replaced(box, d, first, {{first, count}}));
      return;
    }
    IndexExpr run = var(size / count), within = var(count);
    pending.push_back(
        replaced(box, d, run * count + within, {{run, size / count}, {within, count}}));
  }

  Box replaced(const Box& box, size_t d, const IndexExpr& by, std::vector<Box::Dim> dims) {
    Box made;
    for (const IndexExpr& e : box.at)
      made.at.push_back(context_.substitute(e, {{box.dims[d].atom(), by}}));
    for (size_t i = 0; i < box.dims.size(); ++i)
      if (i != d) made.dims.push_back(box.dims[i]);
    for (Box::Dim& dim : dims)
      if (dim.size > 1) made.dims.push_back(std::move(dim));
    return made;
  }

  const Graph& region_;
  IndexContext& context_;
  Value result_;
  std::vector<CopyCall::Piece> pieces_;
  std::vector<uint32_t> operands_;
  std::optional<Refinement> refinement_;
  size_t steps_ = 0;
};

// Each element comes a few times one after another: lanes of a kernel repeat within registers.
bool repeats_briefly(const std::vector<CopyCall::Piece>& pieces) {
  constexpr int64_t kMaxTimes = 64;
  if (pieces.size() != 1 || pieces[0].loops.empty()) return false;
  const CopyCall::Loop& inner = pieces[0].loops.back();
  return inner.to == 1 && inner.from == 0 && inner.size < kMaxTimes;
}

constexpr int64_t kMinTile = 8;

// Mirrored ones, too.
bool is_transposition(const CopyCall::Piece& piece) {
  if (piece.loops.size() < 2) return false;
  const CopyCall::Loop& inner = piece.loops.back();
  return inner.to == 1 && std::abs(inner.from) > 1 && inner.size >= kMinTile &&
         std::any_of(piece.loops.begin(), piece.loops.end(), [](const CopyCall::Loop& loop) {
           return std::abs(loop.from) == 1 && loop.size >= kMinTile;
         });
}

// Rows of some cache lines.
bool is_of_rows(const CopyCall::Piece& piece, int64_t element_bytes) {
  constexpr int64_t kMinRowBytes = 128;
  if (piece.loops.size() < 2) return false;
  const CopyCall::Loop& inner = piece.loops.back();
  return inner.to == 1 && inner.from == 1 && inner.size * element_bytes >= kMinRowBytes;
}

// The value as a copy of views of parameters.
struct ViewCopy {
  CopyCall call;
  std::vector<uint32_t> operands;
  bool refined = false;
};
std::optional<ViewCopy> copy_of(GroupContext& group, Value v) {
  const TensorType& type = group.region.type(v);
  if (type.num_elements() < kMinCopyElements || dtype_size(type.dtype) > 8) return std::nullopt;
  Cutter cutter(group.region, group.index, v);
  std::optional<std::vector<CopyCall::Piece>> pieces = cutter.run();
  if (!pieces) return std::nullopt;
  CopyCall call;
  call.dtype = type.dtype;
  call.operands = static_cast<uint32_t>(cutter.operands().size());
  call.elements = type.num_elements();
  call.pieces = std::move(*pieces);
  return ViewCopy{std::move(call), cutter.operands(), cutter.refined()};
}

// Nodes that are read element by element as the output is written: its own, and what operations of
// one shape make it of.
std::vector<bool> aligned_nodes(const Graph& region) {
  std::vector<bool> aligned(region.nodes().size());
  aligned[region.outputs()[0].node] = true;
  for (size_t id = aligned.size(); id-- > 0;) {
    const Node& node = region.node(static_cast<uint32_t>(id));
    if (!aligned[id] || !is_elementwise(node.op)) continue;
    for (Value v : node.operands)
      if (region.type(v).shape == node.types[0].shape) aligned[v.node] = true;
  }
  return aligned;
}

std::vector<int64_t> count_uses(const Graph& region) {
  std::vector<int64_t> uses(region.nodes().size());
  for (Value v : region.outputs()) ++uses[v.node];
  for (const Node& node : region.nodes())
    for (Value v : node.operands) ++uses[v.node];
  return uses;
}

// A transposed operand of a map comes into the result's order first: register tiles take half the
// time of lanes that gather their elements, or less.
std::optional<LibraryLowering> transpose_first(GroupContext& group) {
  const Graph& region = group.region;
  const std::vector<bool> aligned = aligned_nodes(region);
  const std::vector<int64_t> uses = count_uses(region);
  for (uint32_t id = 0; id < aligned.size(); ++id) {
    const Value v{id, 0};
    if (!aligned[id] || uses[id] != 1 || !is_free_view(region, region.node(v))) continue;
    std::optional<ViewCopy> copy = copy_of(group, v);
    if (!copy || copy->refined || !is_transposition(copy->call.pieces[0])) continue;
    LibraryLowering lowering = whole_call(std::move(copy->call), copy->operands);
    lowering.step.bindings.pop_back();  // the result's, which is not the group's
    lowering.is_whole = false;
    lowering.result = v;
    lowering.in_output_order = true;
    return lowering;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LibraryLowering> lower_copy_call(GroupContext& group) {
  const Graph& region = group.region;
  if (region.outputs().size() != 1 || group.space.outputs[0].window) return std::nullopt;
  const Value result = region.outputs()[0];
  std::optional<ViewCopy> copy = copy_of(group, result);
  if (!copy) return transpose_first(group);
  const CopyCall::Piece& first = copy->call.pieces[0];
  if (repeats_briefly(copy->call.pieces)) return std::nullopt;
  if (!copy->refined && !is_transposition(first) &&
      !is_of_rows(first, dtype_size(copy->call.dtype)))
    return std::nullopt;
  return whole_call(std::move(copy->call), copy->operands);
}

}  // namespace tuff
