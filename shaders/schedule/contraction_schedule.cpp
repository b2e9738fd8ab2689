#include "shaders/schedule/contraction_schedule.h"

#include <algorithm>
#include <utility>

#include "shaders/schedule/schedule_rules.h"

namespace tuff {

namespace {

// Beyond these no schedule was seen to gain, and drivers take seconds to compile a kernel.
constexpr int64_t kMostSums = 64;           // that a lane holds
constexpr int64_t kMostProducts = 1024;     // of a lane in one iteration
constexpr int64_t kMostParts = 256;         // of k
constexpr int64_t kMostPartSums = 1 << 22;  // of all parts, which go through memory

bool is_power_of_two(int64_t n) { return n > 0 && power_of_two_at_least(n) == n; }

int64_t k_step(const ContractionSchedule& s) {
  if (s.matrices) return s.matrices->depth;
  if (s.stream) return s.stream->round_steps();
  return s.tiles ? s.tiles->k : s.registers.k_unroll;
}

// Workgroups; of a stream, which may be large, as many as would have the usual lanes.
int64_t groups(const ContractionSchedule& s, const MatmulSizes& sizes, const Caps& caps) {
  if (s.matrices) return s.matrices->groups(sizes);
  if (s.stream) return ceil_div(s.stream->groups(sizes) * s.stream->lanes(), preferred_lanes(caps));
  return s.tiles ? s.tiles->groups(sizes) : s.registers.groups(sizes);
}

std::vector<MatrixTileSchedule> matrix_tiles(const ContractionProblem& problem, const Caps& caps) {
  if (problem.a != problem.b) return {};
  return matrix_tiles(caps, problem.sizes, problem.a, problem.sum);
}

bool is_legal_split(const KSplit& split, const ContractionProblem& problem, int64_t step) {
  const MatmulSizes& sizes = problem.sizes;
  if (problem.sum == DType::kBool || split.dim >= sizes.k.size()) return false;
  int64_t size = sizes.k[split.dim];
  bool innermost = split.dim + 1 == sizes.k.size();
  return split.parts >= 2 && split.parts <= kMostParts && split.length >= 1 &&
         split.length < size && ceil_div(size, split.length) == split.parts &&
         (!innermost || split.length % step == 0);
}

// Part sums lie in a buffer of their own.
bool fits_memory(const KSplit& split, const ContractionProblem& problem, const Caps& caps) {
  const MatmulSizes& sizes = problem.sizes;
  int64_t sums = split.parts * sizes.batch * sizes.m * sizes.n;
  return sums <= kMostPartSums &&
         sums * dtype_size(problem.sum) <=
             std::min(caps.max_storage_buffer_range, caps.max_allocation_bytes);
}

// Of all loops of a lane: those around count their own as well.
int64_t loop_iterations(std::vector<int64_t> k, const ContractionSchedule& s) {
  if (k.empty()) k.push_back(1);
  if (s.split) k[s.split->dim] = s.split->length;
  k.back() = ceil_div(k.back(), s.registers.k_unroll);
  int64_t rounds = 1, all = 0;
  for (int64_t size : k) all += rounds *= size;
  return all;
}

bool are_legal_registers(const MatmulSchedule& s, const ContractionProblem& problem,
                         const Caps& caps) {
  if (!is_power_of_two(s.lanes) || s.lanes > caps.max_group_invocations) return false;
  if (s.tile_m < 1 || s.tile_m > kMostSums || s.tile_n < 1 || s.tile_n > kMostSums ||
      s.tile_m * s.tile_n > kMostSums)
    return false;
  if (s.k_unroll < 1 || s.k_unroll > kMostProducts ||
      s.tile_m * s.tile_n * s.k_unroll > kMostProducts)
    return false;
  if (s.wide_loads && !caps.int64) return false;
  if (!s.share_rows) return s.k_split == 1;
  if (!is_power_of_two(s.k_split) || s.k_split > s.lanes || s.k_unroll % s.k_split != 0)
    return false;
  int64_t arrays = ceil_div(s.tile_m, s.lanes / s.k_split) * (s.k_unroll / s.k_split);
  return arrays * s.lanes * dtype_size(problem.sum) <= caps.max_shared_bytes;
}

bool is_legal_tile(TileSchedule tile, const ContractionProblem& problem, const Caps& caps) {
  if (dtype_size(problem.sum) != 4 || problem.sum == DType::kBool) return false;
  if (tile.run != 1 && (tile.run != 2 || !caps.int64)) return false;
  if (!takes_tile(caps, problem.sizes, tile)) return false;
  tile.run = 1;
  return std::count(all_tiles().begin(), all_tiles().end(), tile) > 0;
}

bool has_legal_walk(const ContractionSchedule& s, const ContractionProblem& problem,
                    const Caps& caps) {
  if (s.matrices) {
    std::vector<MatrixTileSchedule> all = matrix_tiles(problem, caps);
    return !s.tiles && !s.stream && std::count(all.begin(), all.end(), *s.matrices) > 0;
  }
  if (s.stream) return !s.tiles && is_legal_stream(*s.stream, problem, caps);
  return s.tiles ? is_legal_tile(*s.tiles, problem, caps)
                 : are_legal_registers(s.registers, problem, caps);
}

ContractionSchedule schedule_by_rule(const Caps& caps, const ContractionProblem& problem) {
  const MatmulSizes& sizes = problem.sizes;
  ContractionSchedule chosen;
  chosen.stream = choose_stream_schedule(caps, problem);
  if (!chosen.stream && problem.a == problem.b)
    chosen.matrices = choose_matrix_schedule(caps, sizes, problem.a, problem.sum);
  bool open = !chosen.stream && !chosen.matrices;
  if (open && dtype_size(problem.sum) == 4)
    if (auto choice = choose_tile_schedule(caps, sizes, problem.b_along_k)) {
      chosen.tiles = choice->tile;
      chosen.split = choice->split;
      return chosen;
    }
  if (open) chosen.registers = choose_matmul_schedule(caps, sizes);
  if (problem.sum == DType::kBool) return chosen;
  chosen.split = choose_k_split(caps, sizes, groups(chosen, sizes, caps), k_step(chosen));
  return chosen;
}

// Gathers what differs from a schedule in one decision.
class Variations {
 public:
  Variations(const Caps& caps, const ContractionProblem& problem, const ContractionSchedule& from)
      : caps_(caps), problem_(problem), from_(from) {}

  std::vector<ContractionSchedule> gather() {
    if (from_.tiles || from_.matrices || from_.stream)
      add(choose_matmul_schedule(caps_, problem_.sizes));
    else
      vary_registers();
    vary_stream();
    vary_tiles();
    vary_split();
    return std::move(found_);
  }

 private:
  void vary_registers() {
    const MatmulSchedule& s = from_.registers;
    for (auto [tile_m, tile_n] : {std::pair{s.tile_m * 2, s.tile_n},
                                  {s.tile_m, s.tile_n * 2},
                                  {s.tile_m / 2, s.tile_n},
                                  {s.tile_m, s.tile_n / 2},
                                  {s.tile_m * 2, s.tile_n / 2},
                                  {s.tile_m / 2, s.tile_n * 2}})
      add_with(
          [m = tile_m, n = tile_n](MatmulSchedule& other) { other.tile_m = m, other.tile_n = n; });
    for (int64_t k_unroll : {s.k_unroll * 2, s.k_unroll / 2})
      add_with([&](MatmulSchedule& other) {
        other.k_unroll = k_unroll;
        other.k_split = std::min(s.k_split, k_unroll);
      });
    add_with([](MatmulSchedule& other) { other.rows_fastest = !other.rows_fastest; });
    add_with([](MatmulSchedule& other) { other.wide_loads = !other.wide_loads; });
    add_with([](MatmulSchedule& other) {
      other.share_rows = !other.share_rows;
      other.k_split = 1;
    });
    for (int64_t lanes : {s.lanes * 2, s.lanes / 2})
      add_with([&](MatmulSchedule& other) { other.lanes = lanes; });
  }

  void vary_stream() {
    std::optional<StreamSchedule> stream =
        from_.stream ? from_.stream : choose_stream_schedule(caps_, problem_);
    if (!stream) return;
    auto add_with = [&](auto change) {
      ContractionSchedule other;
      other.split = from_.split;
      other.stream = stream;
      change(*other.stream);
      if (other.stream->round_steps() > 0) add(std::move(other));
    };
    add_with([](StreamSchedule&) {});
    for (bool larger : {true, false}) {
      int64_t up = larger ? 2 : 1, down = larger ? 1 : 2;
      add_with([&](StreamSchedule& s) { s.unroll = s.unroll * up / down; });
      add_with([&](StreamSchedule& s) { s.lines = s.lines * up / down; });
      add_with([&](StreamSchedule& s) { s.down = s.down * up / down; });
      add_with([&](StreamSchedule& s) {
        s.across = s.across * up / down;
        s.down = s.down * down / up;
      });
    }
  }

  void vary_tiles() {
    for (TileSchedule tile : all_tiles())
      for (int64_t run : {2, 1}) {
        tile.run = run;
        add({{}, tile, from_.split, {}, {}});
      }
    for (const MatrixTileSchedule& tile : matrix_tiles(problem_, caps_))
      add({{}, {}, from_.split, tile, {}});
  }

  void vary_split() {
    int64_t parts = from_.split ? from_.split->parts : 1;
    for (int64_t others : {2 * parts, parts / 2, 4 * parts, int64_t{1}}) {
      ContractionSchedule other = from_;
      other.split = split_k(problem_.sizes, others, k_step(other));
      add_as_is(other);
    }
  }

  // Parts are multiples of the step, which may be another one.
  void add(ContractionSchedule other) {
    if (other.split) other.split = split_k(problem_.sizes, other.split->parts, k_step(other));
    add_as_is(other);
  }
  void add(const MatmulSchedule& registers) { add({registers, {}, from_.split, {}, {}}); }
  // Tiles of which more than half is idle are left out.
  template <typename Change>
  void add_with(Change change) {
    MatmulSchedule s = from_.registers;
    change(s);
    bool possible = s.tile_m > 0 && s.tile_n > 0 && s.k_unroll > 0 && s.lanes > 0;
    if (possible && s.tile_m < 2 * problem_.sizes.m &&
        s.tile_n < 2 * ceil_div(problem_.sizes.n, s.lanes))
      add(s);
  }

  void add_as_is(const ContractionSchedule& other) {
    bool known = other == from_ || std::find(found_.begin(), found_.end(), other) != found_.end();
    if (!known && is_legal(other, problem_, caps_)) found_.push_back(other);
  }

  const Caps& caps_;
  const ContractionProblem& problem_;
  const ContractionSchedule& from_;
  std::vector<ContractionSchedule> found_;
};

}  // namespace

bool is_legal(const ContractionSchedule& schedule, const ContractionProblem& problem,
              const Caps& caps) {
  const ContractionSchedule& s = schedule;
  if (!has_legal_walk(s, problem, caps)) return false;
  if (s.split &&
      !(is_legal_split(*s.split, problem, k_step(s)) && fits_memory(*s.split, problem, caps)))
    return false;
  return s.tiles || s.matrices || s.stream ||
         loop_iterations(problem.sizes.k, s) <= caps.max_loop_iterations;
}

std::optional<ContractionSchedule> tuned_contraction_schedule(const Caps& caps,
                                                              const ContractionProblem& problem) {
  if (!caps.tuning) return std::nullopt;
  auto it = caps.tuning->find(print_contraction_problem(problem));
  if (it == caps.tuning->end()) return std::nullopt;
  std::optional<ContractionSchedule> schedule = parse_contraction_schedule(it->second);
  if (!schedule || !is_legal(*schedule, problem, caps)) return std::nullopt;
  return schedule;
}

bool owns_products(const Caps& caps, const ContractionProblem& problem) {
  constexpr int64_t kFewFeatures = 4;
  return caps.device_class == DeviceClass::kSoftwareRasteriser && problem.windows &&
         problem.sizes.batch > 1 && problem.sizes.n < kFewFeatures;
}

ContractionSchedule choose_contraction_schedule(const Caps& caps,
                                                const ContractionProblem& problem) {
  if (auto tuned = tuned_contraction_schedule(caps, problem)) return *tuned;
  return schedule_by_rule(caps, problem);
}

std::vector<ContractionSchedule> vary_contraction_schedule(const Caps& caps,
                                                           const ContractionProblem& problem,
                                                           const ContractionSchedule& from) {
  return Variations(caps, problem, from).gather();
}

}  // namespace tuff
