// Products by matrices that subgroups hold (cooperative matrices): both operands' tiles stand in
// shared memory as they are, the sums in the subgroups. Lanes load the next pair of tiles while
// subgroups multiply the present one. In the end the sums go through shared memory too, a matrix
// of each subgroup at a time, to the lanes, which store the group's outputs.
#include <numeric>

#include "shaders/families/contraction/contraction_k_tiles.h"
#include "shaders/families/contraction/contraction_matrix_loader.h"

namespace tuff {

namespace {

// The power of two that divides n, up to the elements of 16 bytes.
int64_t together(int64_t n) { return std::gcd(n, int64_t{16}); }

class MatrixTiles {
 public:
  MatrixTiles(GroupContext& group, const Contraction& c, const MatrixTileSchedule& schedule,
              const std::optional<KSplit>& split)
      : group_(group),
        c_(c),
        s_(schedule),
        m_(num_elements(c.m)),
        n_(num_elements(c.n)),
        kernel_(group, c, s_.lanes(), split),
        b_(kernel_.family.builder),
        steps_together_(c.k.empty() ? 1 : together(std::gcd(c.k.back(), kernel_.k().back()))),
        k_tiles_(group, kernel_, s_.depth) {}

  Result<LoweredStep> build() {
    kernel_.open_outer();
    m_block_ = b_.grid("mt", (m_ + s_.tile_rows() - 1) / s_.tile_rows());
    n_block_ = b_.grid("nt", (n_ + s_.tile_columns() - 1) / s_.tile_columns());
    b_.matrix_clear();
    MatrixTileLoader a(
        group_, kernel_.family, s_,
        {c_.m, s_.tile_rows(), c_.a_along_k, c_.splits_m,
         [this](const IndexVector& m, const KStep& k) { return kernel_.element_a(m, k); }},
        m_block_, steps_together_);
    MatrixTileLoader b(
        group_, kernel_.family, s_,
        {c_.n, s_.tile_columns(), c_.b_along_k, false,
         [this](const IndexVector& n, const KStep& k) { return kernel_.element_b(n, k); }},
        n_block_, steps_together_);
    MatrixShape shape{s_.m, s_.n, s_.k, kernel_.element_type(), kernel_.sum_type()};
    b_.set_matrices({shape, s_.subgroup, s_.rows, s_.columns, s_.across, s_.depth, c_.a_along_k,
                     c_.b_along_k, a.pitch(), b.pitch()});
    if (num_elements(c_.k) > 0) accumulate(a, b);  // else the operands have no memory
    store();
    return kernel_.finish();
  }

 private:
  IndexExpr all_lanes() { return b_.begin_lanes(Operand::i32(s_.lanes())); }

  struct Pair {
    uint32_t a = 0, b = 0;
  };
  Pair add_pair(Scope scope, int64_t a_words, int64_t b_words) {
    return {b_.add_array(scope, DType::kU32, a_words), b_.add_array(scope, DType::kU32, b_words)};
  }

  void accumulate(MatrixTileLoader& a, MatrixTileLoader& b) {
    a.prepare();
    b.prepare();
    Pair even = add_pair(Scope::kShared, a.words(), b.words());
    IndexExpr lane = all_lanes();
    Words first = fetch(a, b, lane, 0);
    a.put(lane, even.a, first.a);
    b.put(lane, even.b, first.b);
    b_.end();
    if (k_tiles_.count() == 1) return b_.matrix_multiply(even.a, even.b);
    Pair odd = add_pair(Scope::kShared, a.words(), b.words());
    // Words under way: loads stand ahead of the products, which cover their latency.
    Pair next = add_pair(Scope::kRegister, a.words_per_lane(), b.words_per_lane());
    if (k_tiles_.count() == 2) {
      multiply_and_load(a, b, even, 1, odd, next);
      return b_.matrix_multiply(odd.a, odd.b);
    }
    IndexExpr pair = b_.begin_serial("tiles", (k_tiles_.count() + 1) / 2);
    multiply_and_load(a, b, even, pair * 2 + 1, odd, next);
    multiply_and_load(a, b, odd, k_tiles_.behind_pair(b_, pair), even, next);
    b_.end();
  }

  void multiply_and_load(MatrixTileLoader& a, MatrixTileLoader& b, const Pair& present,
                         const IndexExpr& tile, const Pair& into, const Pair& next) {
    Words words = fetch(a, b, all_lanes(), tile);
    write_all(next.a, words.a);
    write_all(next.b, words.b);
    b_.end();
    b_.matrix_multiply(present.a, present.b);
    IndexExpr lane = all_lanes();
    a.put(lane, into.a, read_all(next.a, words.a.size()));
    b.put(lane, into.b, read_all(next.b, words.b.size()));
    b_.end();
  }

  struct Words {
    std::vector<Operand> a, b;
  };
  Words fetch(MatrixTileLoader& a, MatrixTileLoader& b, const IndexExpr& lane,
              const IndexExpr& tile) {
    auto step = [&](const IndexExpr& within) { return k_tiles_.step_at(tile, within); };
    ValueEmitter& emitter = kernel_.family.emitter;
    emitter.keep_words = true;
    Words words;
    emitter.run = a.unit_elements();
    words.a = a.fetch(lane, step);
    emitter.run = b.unit_elements();
    words.b = b.fetch(lane, step);
    emitter.run = 1;
    emitter.keep_words = false;
    return words;
  }

  void write_all(uint32_t array, const std::vector<Operand>& words) {
    for (size_t i = 0; i < words.size(); ++i) b_.write(array, static_cast<int64_t>(i), words[i]);
  }
  std::vector<Operand> read_all(uint32_t array, size_t count) {
    std::vector<Operand> words;
    for (size_t i = 0; i < count; ++i) words.push_back(b_.read(array, static_cast<int64_t>(i)));
    return words;
  }

  void store() {
    uint32_t sums = b_.add_array(Scope::kShared, kernel_.sum_type(), s_.subgroups() * s_.m * s_.n);
    for (int64_t number = 0; number < s_.rows * s_.columns; ++number) {
      b_.matrix_store(number, sums);
      store_matrices(number, sums);
    }
  }

  // One matrix of each subgroup; its own lanes store it, neighbours next to each other.
  void store_matrices(int64_t number, uint32_t sums) {
    int64_t count = s_.m * s_.n;
    LanePlace place = place_lane(b_, all_lanes(), s_.subgroup);
    LanePlace subgroup = place_number(b_, place.slow, s_.subgroups(), s_.across);
    IndexExpr turn = b_.begin_fixed("turn", count / s_.subgroup);
    IndexExpr element = b_.block_start(turn, s_.subgroup, count) + place.fast;
    LanePlace within = place_number(b_, element, count, s_.n);
    IndexExpr m = place_line(m_block_, s_.tile_rows(), m_, subgroup.slow, s_.rows * s_.m,
                             number / s_.columns * s_.m, within.slow);
    IndexExpr n = place_line(n_block_, s_.tile_columns(), n_, subgroup.fast, s_.columns * s_.n,
                             number % s_.columns * s_.n, within.fast);
    std::vector<IndexCondition> inside;
    require(group_.index, inside, IndexExpr(m_ - 1) - m);
    require(group_.index, inside, IndexExpr(n_ - 1) - n);
    IndexExpr at = b_.block_start(place.slow, count, s_.subgroups() * count) + element;
    Operand sum = b_.read(sums, at);
    IndexVector columns = delinearize(group_.index, b_.clamp_to(n, n_ - 1), c_.n);
    IndexVector rows = delinearize(group_.index, b_.clamp_to(m, m_ - 1), c_.m);
    kernel_.store(rows, std::move(columns), inside, sum);
    b_.end();
    b_.end();
  }

  // A row or column: of the workgroup's tile, the subgroup's part of it, its matrix, in it.
  IndexExpr place_line(const IndexExpr& block, int64_t tile, int64_t total,
                       const IndexExpr& subgroup, int64_t part, int64_t matrix,
                       const IndexExpr& line) {
    IndexExpr own = b_.block_start(subgroup, part, tile);
    return b_.block_start(block, tile, total) + b_.stepped(own + line, matrix);
  }

  GroupContext& group_;
  const Contraction& c_;
  const MatrixTileSchedule& s_;
  int64_t m_, n_;
  ContractionKernel kernel_;
  KernelBuilder& b_;
  int64_t steps_together_;
  KTiles k_tiles_;
  IndexExpr m_block_, n_block_;
};

}  // namespace

Result<LoweredStep> lower_contraction_matrices(GroupContext& group, const Contraction& c,
                                               const MatrixTileSchedule& schedule,
                                               const std::optional<KSplit>& split) {
  return MatrixTiles(group, c, schedule, split).build();
}

}  // namespace tuff
