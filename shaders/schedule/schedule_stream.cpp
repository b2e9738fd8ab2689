// Products of few rows: how the large operand streams by.
#include <algorithm>

#include "shaders/schedule/contraction_schedule.h"
#include "shaders/schedule/schedule_rules.h"

namespace tuff {

namespace {

constexpr int64_t kSharedWords = 4096;   // that a workgroup adds up at once
constexpr int64_t kMostStreamSums = 64;  // that a lane holds
constexpr int64_t kMostReduced = 16;     // sums that lanes along k reduce together
constexpr int64_t kWordBytes = 16;

// The problem as seen from the operand that streams.
struct Streamed {
  Streamed(const ContractionProblem& p, bool swapped)
      : rows(swapped ? p.sizes.n : p.sizes.m),
        lines(swapped ? p.sizes.m : p.sizes.n),
        bytes(swapped ? p.a_bytes : p.b_bytes),
        along_k(swapped ? p.a_along_k : p.b_along_k),
        k(p.sizes.inner_k()) {}

  int64_t rows, lines, bytes;
  bool along_k;
  int64_t k;  // the innermost dimension
};

// Neighbours in one word, where all words of `size` elements are whole.
int64_t longest_run(int64_t bytes, int64_t size) {
  int64_t run = std::min<int64_t>(8, kWordBytes / bytes);
  while (size % run != 0) run /= 2;
  return run;
}

int64_t registers(const StreamSchedule& s) {
  constexpr int64_t kAddresses = 32;
  int64_t loads = s.along_k ? (s.lines + s.rows) * s.run : s.run + s.rows;
  return s.rows * s.lane_lines() + s.unroll * loads + kAddresses;
}

std::optional<StreamSchedule> stream_along_k(const Caps& caps, const ContractionProblem& problem,
                                             const Streamed& of) {
  constexpr int64_t kLoads = 16;  // that a lane has under way
  StreamSchedule s;
  s.along_k = true;
  s.rows = power_of_two_at_least(of.rows);
  s.down = 1;
  s.across = std::min<int64_t>(caps.subgroup_shuffle ? caps.subgroup_size : 64,
                               power_of_two_at_least(caps.max_group_invocations + 1) / 2);
  s.run = longest_run(of.bytes, of.k);
  // Half of a word is better than lanes that idle.
  bool halves = s.run * of.bytes == kWordBytes && s.run > 4 && of.k % (s.across * s.run) != 0;
  if (halves && of.k % (s.across * s.run / 2) == 0) s.run /= 2;
  if (s.across * s.run > 2 * of.k) return std::nullopt;
  s.lines = 4;
  auto too_many = [&] { return s.rows * s.lines > std::min(kMostReduced, s.across); };
  auto too_few = [&] { return s.groups(problem.sizes) * s.lanes() < enough_lanes(caps); };
  while (s.lines > 1 && (too_many() || too_few())) s.lines /= 2;
  int64_t rounds = ceil_div(of.k, s.across * s.run), most = std::min(kLoads / s.lines, rounds);
  s.unroll = divisor_or(rounds, (most + 1) / 2, most);
  while (s.unroll > 1 && registers(s) > caps.lane_registers) s.unroll = (s.unroll + 1) / 2;
  return s;
}

std::optional<StreamSchedule> stream_along_lines(const Caps& caps,
                                                 const ContractionProblem& problem,
                                                 const Streamed& of) {
  constexpr int64_t kMostRows = 8, kLeastSteps = 32, kUsualLanes = 256, kMostLanes = 512;
  if (of.k < kLeastSteps) return std::nullopt;
  StreamSchedule s;
  s.rows = std::min(power_of_two_at_least(of.rows), kMostRows);
  s.run = longest_run(of.bytes, of.lines);
  s.unroll = s.rows <= 2 ? 8 : 4;
  int64_t most_lanes = power_of_two_at_least(caps.max_group_invocations + 1) / 2;
  // Lanes beside each other read whole cache lines; shorter parts of them make more workgroups.
  for (int64_t bytes : {256, 128, 64}) {
    s.across = std::max<int64_t>(1, bytes / (s.run * of.bytes));
    while (s.across > 1 && s.across / 2 * s.run >= of.lines) s.across /= 2;
    s.down = std::max<int64_t>(1, std::min(kUsualLanes, most_lanes) / s.across);
    if (s.groups(problem.sizes) * s.lanes() >= enough_lanes(caps)) break;
  }
  bool busy = s.groups(problem.sizes) * s.lanes() >= enough_lanes(caps);
  if (!busy && 2 * s.lanes() <= std::min(kMostLanes, most_lanes)) s.down *= 2;
  while (s.round_steps() > of.k && s.lanes() > caps.subgroup_size && s.down > 1) s.down /= 2;
  while (s.round_steps() > of.k && s.unroll > 1) s.unroll /= 2;
  // Whole rounds: else all that is loaded has a guard.
  if (of.k % s.down == 0) s.unroll = divisor_or(of.k / s.down, (s.unroll + 1) / 2, s.unroll);
  return s;
}

}  // namespace

int64_t StreamSchedule::shared_rows() const {
  int64_t at_once = rows;
  while (at_once > 1 && at_once * run * (lanes() + across) > kSharedWords) at_once /= 2;
  return at_once;
}

int64_t StreamSchedule::groups(const MatmulSizes& sizes) const {
  int64_t of_rows = swapped ? sizes.n : sizes.m, of_lines = swapped ? sizes.m : sizes.n;
  return sizes.batch * ceil_div(of_rows, rows) * ceil_div(of_lines, group_lines());
}

bool is_legal_stream(const StreamSchedule& s, const ContractionProblem& problem, const Caps& caps) {
  if (dtype_size(problem.sum) != 4 || problem.sum == DType::kBool) return false;
  for (int64_t count : {s.rows, s.run, s.across, s.down, s.lines})
    if (count < 1 || power_of_two_at_least(count) != count) return false;
  Streamed of(problem, s.swapped);
  bool fits = s.unroll >= 1 && s.lanes() <= caps.max_group_invocations &&
              s.rows * s.lane_lines() <= kMostStreamSums && registers(s) <= caps.lane_registers;
  if (!fits || s.along_k != of.along_k || s.run > kWordBytes) return false;
  int64_t rounds = 1, all = 0;
  for (size_t d = 0; d + 1 < problem.sizes.k.size(); ++d) all += rounds *= problem.sizes.k[d];
  all += rounds * ceil_div(of.k, s.round_steps());
  if (all > caps.max_loop_iterations) return false;
  if (s.along_k) {
    int64_t sums = s.rows * s.lines;
    return s.down == 1 && sums <= std::min(kMostReduced, s.lanes()) &&
           sums * s.lanes() * 4 <= caps.max_shared_bytes;
  }
  int64_t words = s.shared_rows() * s.run * (s.lanes() + s.across);
  return s.lines == 1 && of.lines % s.run == 0 && words * 4 <= caps.max_shared_bytes;
}

std::optional<StreamSchedule> choose_stream_schedule(const Caps& caps,
                                                     const ContractionProblem& problem) {
  // Beyond these the products, not the way of the operand, take the time.
  constexpr int64_t kFewAlongK = 8, kFew = 16, kFewOfSoftware = 2;
  const bool software = caps.device_class == DeviceClass::kSoftwareRasteriser;
  if (caps.device_class == DeviceClass::kCpu || problem.sizes.all_k() == 0) return std::nullopt;
  for (bool swapped : {false, true}) {
    Streamed of(problem, swapped);
    if (swapped && problem.windows) break;  // windows overlap: tiles share what they see
    if (of.rows > (of.along_k ? kFewAlongK : kFew) || of.lines < of.rows) continue;
    // Tiles are better there: it is the lanes, not the memory, that it waits for.
    if (software && (!of.along_k || of.rows > kFewOfSoftware)) continue;
    std::optional<StreamSchedule> s =
        of.along_k ? stream_along_k(caps, problem, of) : stream_along_lines(caps, problem, of);
    if (!s) continue;
    s->swapped = swapped;
    if (is_legal_stream(*s, problem, caps)) return s;
  }
  return std::nullopt;
}

}  // namespace tuff
