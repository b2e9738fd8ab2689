// Both operands' tiles stand in shared memory: each element is loaded once by a workgroup, and
// next to its neighbours, however it lies in memory. There are two pairs of tiles. Lanes load
// the next pair while they multiply the present one, so one barrier a tile is enough.
#include <numeric>

#include "shaders/families/contraction/contraction_k_tiles.h"
#include "shaders/families/contraction/contraction_tile_loader.h"

namespace tuff {

namespace {

class SharedTiles {
 public:
  SharedTiles(GroupContext& group, const Contraction& c, const TileSchedule& schedule,
              const std::optional<KSplit>& split)
      : group_(group),
        c_(c),
        s_(schedule),
        m_(num_elements(c.m)),
        n_(num_elements(c.n)),
        kernel_(group, c, s_.lanes(), split),
        b_(kernel_.family.builder),
        steps_together_(c.k.empty() ? 1 : neighbours(std::gcd(c.k.back(), kernel_.k().back()))),
        k_tiles_(group, kernel_, s_.k) {}

  Result<LoweredStep> build() {
    kernel_.open_outer();
    m_block_ = b_.grid("mt", (m_ + s_.rows - 1) / s_.rows);
    n_block_ = b_.grid("nt", (n_ + s_.columns - 1) / s_.columns);
    sums_ = b_.add_array(Scope::kRegister, kernel_.sum_type(), s_.lane_rows * s_.lane_columns);
    clear_sums();
    if (num_elements(c_.k) > 0) accumulate();  // else the operands have no memory
    store();
    return kernel_.finish();
  }

 private:
  IndexExpr all_lanes() { return b_.begin_lanes(Operand::i32(s_.lanes())); }

  void clear_sums() {
    all_lanes();
    Operand zero = immediate_of(Literal::scalar(kernel_.sum_type(), 0));
    for (int64_t i = 0; i < s_.lane_rows * s_.lane_columns; ++i) b_.write(sums_, i, zero);
    b_.end();
  }

  struct TilePair {
    uint32_t a = 0, b = 0;
  };
  TilePair add_tiles(const TileLoader& a, const TileLoader& b) {
    DType word = tile_word_type(kernel_.sum_type(), s_.run);
    return {b_.add_array(Scope::kShared, word, a.words()),
            b_.add_array(Scope::kShared, word, b.words())};
  }

  void accumulate() {
    TileLoader a(group_, b_, s_,
                 {c_.m, s_.rows, c_.a_along_k, c_.splits_m,
                  [this](const IndexVector& m, const KStep& k) { return kernel_.load_a(m, k); }},
                 m_block_, steps_together_);
    TileLoader b(group_, b_, s_,
                 {c_.n, s_.columns, c_.b_along_k, false,
                  [this](const IndexVector& n, const KStep& k) { return kernel_.load_b(n, k); }},
                 n_block_, steps_together_);
    a.prepare();
    b.prepare();
    TilePair even = add_tiles(a, b), odd = add_tiles(a, b);
    int64_t tiles = k_tiles_.count();
    IndexExpr lane = all_lanes();
    load(a, b, lane, 0, even);
    b_.end();
    if (tiles > 2) {
      IndexExpr pair = b_.begin_serial("tiles", (tiles + 1) / 2);
      multiply_and_load(a, b, even, pair * 2 + 1, odd);
      multiply_and_load(a, b, odd, k_tiles_.behind_pair(b_, pair), even);
      b_.end();
      return;
    }
    if (tiles == 2) multiply_and_load(a, b, even, 1, odd);
    multiply(all_lanes(), tiles == 2 ? odd : even);
    b_.end();
  }

  void load(TileLoader& a, TileLoader& b, const IndexExpr& lane, const IndexExpr& tile,
            const TilePair& into) {
    Fetched next = fetch(a, b, lane, tile);
    a.put(into.a, next.a);
    b.put(into.b, next.b);
  }

  // Loads stand ahead of the products, which cover their latency.
  void multiply_and_load(TileLoader& a, TileLoader& b, const TilePair& present,
                         const IndexExpr& next_tile, const TilePair& next) {
    IndexExpr lane = all_lanes();
    Fetched words = fetch(a, b, lane, next_tile);
    multiply(lane, present);
    a.put(next.a, words.a);
    b.put(next.b, words.b);
    b_.end();
  }

  struct Fetched {
    std::vector<Operand> a, b;
  };
  Fetched fetch(TileLoader& a, TileLoader& b, const IndexExpr& lane, const IndexExpr& tile) {
    auto step = [&](const IndexExpr& within) { return k_tiles_.step_at(tile, within); };
    kernel_.family.emitter.run = kNeighbours;
    Fetched words;
    words.a = a.fetch(lane, step);
    words.b = b.fetch(lane, step);
    kernel_.family.emitter.run = 1;
    return words;
  }

  // Neighbouring lanes have neighbouring columns, so that they store to neighbouring places.
  int64_t lanes_across() const { return s_.columns / s_.lane_columns; }
  int64_t lanes_down() const { return s_.rows / s_.lane_rows; }

  SharedTile tile(uint32_t array, int64_t lines) const {
    return {array, kernel_.sum_type(), s_.run, s_.pitch(lines)};
  }

  void multiply(const IndexExpr& lane, const TilePair& tiles) {
    LanePlace place = place_lane(b_, lane, lanes_across());
    Operand step = b_.index(b_.begin_fixed("k", s_.k));
    std::vector<Operand> a =
        read_line(b_, tile(tiles.a, s_.rows), step, place.slow, lanes_down(), s_.lane_rows);
    std::vector<Operand> b =
        read_line(b_, tile(tiles.b, s_.columns), step, place.fast, lanes_across(), s_.lane_columns);
    for (int64_t i = 0; i < s_.lane_rows; ++i)
      for (int64_t j = 0; j < s_.lane_columns; ++j)
        kernel_.multiply_add(sums_, i * s_.lane_columns + j, a[static_cast<size_t>(i)],
                             b[static_cast<size_t>(j)]);
    b_.end();
  }

  void store() {
    IndexExpr lane = all_lanes();
    LanePlace place = place_lane(b_, lane, lanes_across());
    IndexExpr m_tile = b_.block_start(m_block_, s_.rows, m_);
    IndexExpr n_tile = b_.block_start(n_block_, s_.columns, n_);
    for (int64_t i = 0; i < s_.lane_rows; ++i)
      for (int64_t j = 0; j < s_.lane_columns; ++j) {
        IndexExpr m = m_tile + line_of(b_, place.slow, lanes_down(), s_.run, i);
        IndexExpr n = n_tile + line_of(b_, place.fast, lanes_across(), s_.run, j);
        std::vector<IndexCondition> inside;
        require(group_.index, inside, IndexExpr(m_ - 1) - m);
        require(group_.index, inside, IndexExpr(n_ - 1) - n);
        Operand sum = b_.read(sums_, i * s_.lane_columns + j);
        IndexVector columns = delinearize(group_.index, b_.clamp_to(n, n_ - 1), c_.n);
        IndexVector rows = delinearize(group_.index, b_.clamp_to(m, m_ - 1), c_.m);
        kernel_.store(rows, std::move(columns), inside, sum);
      }
    b_.end();
  }

  GroupContext& group_;
  const Contraction& c_;
  const TileSchedule& s_;
  int64_t m_, n_;
  ContractionKernel kernel_;
  KernelBuilder& b_;
  int64_t steps_together_;
  KTiles k_tiles_;
  IndexExpr m_block_, n_block_;
  uint32_t sums_ = 0;
};

}  // namespace

Result<LoweredStep> lower_contraction_tiles(GroupContext& group, const Contraction& c,
                                            const TileSchedule& schedule,
                                            const std::optional<KSplit>& split) {
  return SharedTiles(group, c, schedule, split).build();
}

}  // namespace tuff
