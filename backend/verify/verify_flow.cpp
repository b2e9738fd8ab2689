// verify_program: what a step reads is there, and what it writes is apart from the rest.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "backend/plan/kernel_in_place.h"
#include "backend/plan/ranges.h"
#include "backend/verify/rules.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

// True iff the step may find operand `read` in the memory that it writes as `written`.
bool runs_in_place(const Step& step, const Program& program, size_t read, size_t written) {
  switch (step.kind) {
    case Step::Kind::kDispatch:
      return writes_where_it_reads(program.kernels[step.kernel], static_cast<uint32_t>(read),
                                   static_cast<uint32_t>(written));
    case Step::Kind::kCall: return updates_in_place(step.call, read);
    case Step::Kind::kCopy:  // left out where an argument is its output
      return step.bindings[read].space == Range::Space::kArgument;
    case Step::Kind::kHost: return true;  // takes everything before it gives anything
    case Step::Kind::kWhile:
    case Step::Kind::kCase: break;
  }
  return false;
}

class FlowWalk {
 public:
  FlowWalk(const Program& program, const Caps& caps, const std::vector<Donation>& donations)
      : program_(program), caps_(caps), donations_(donations) {}

  Status run() {
    for (const Donation& donation : donations_)
      if (donation.in_place)
        live_[place_of(whole_output(donation.output))] = whole_output(donation.output).size_bytes;
    walk(program_.steps);
    for (uint32_t i = 0; i < program_.outputs.size(); ++i) {
      Range output = whole_output(i);
      if (status_.ok() && output.size_bytes > 0 && !is_live(output))
        status_ = Error{ErrorCode::kRunFailed,
                        "The program is not valid, a bug in tuff: no step leaves a value there.",
                        range_text(output)};
    }
    return status_;
  }

 private:
  // Ranges that hold what one step wrote there as a whole: where they begin, their bytes.
  using Place = std::tuple<Range::Space, uint32_t, int64_t>;
  using Live = std::map<Place, int64_t>;

  static Place place_of(const Range& range) {
    return {range.space, range.index, range.offset_bytes};
  }
  static Range range_of(const Live::value_type& entry) {
    auto [space, index, offset] = entry.first;
    return {space, index, offset, entry.second};
  }
  static bool is_constant(const Range& range) {
    return range.space == Range::Space::kArgument || range.space == Range::Space::kConstants;
  }

  Range whole_output(uint32_t index) const {
    const TensorType& type = program_.outputs[index];
    return {Range::Space::kOutput, index, 0, type.num_elements() * storage_size(type.dtype, caps_)};
  }

  bool is_live(const Range& range) const {
    if (is_constant(range)) return true;
    auto found = live_.find(place_of(range));
    return found != live_.end() && found->second == range.size_bytes;
  }

  void write(const Range& range) {
    auto at = live_.lower_bound(place_of(range));
    if (at != live_.begin() && overlaps(range_of(*std::prev(at)), range)) --at;
    while (at != live_.end() && overlaps(range_of(*at), range)) at = live_.erase(at);
    live_[place_of(range)] = range.size_bytes;
  }

  void fail(const Step& step, const std::string& message) {
    if (status_.ok()) status_ = plan_error(step, message);
  }

  void walk(const Steps& steps) {
    for (const Step& step : steps) {
      if (!status_.ok()) return;
      if (step.kind == Step::Kind::kWhile)
        walk_while(step);
      else if (step.kind == Step::Kind::kCase)
        walk_case(step);
      else
        walk_work(step);
    }
  }

  void need(const Step& step, const Range& range) {
    if (!is_live(range))
      fail(step,
           fmt::format("it reads {} ({} bytes), which was not written as a whole or not since "
                       "other steps wrote to a part of it.",
                       range_text(range), range.size_bytes));
  }

  void walk_work(const Step& step) {
    std::vector<StepAccess> accesses = accesses_of(step, program_, donations_);
    for (const StepAccess& access : accesses)
      if (!access.writes && !access.among_steps) need(step, access.range);
    for (size_t w = 0; w < accesses.size(); ++w) {
      if (!accesses[w].writes) continue;
      if (is_constant(step.bindings[w]))
        fail(step, fmt::format("it writes to {}.", range_text(step.bindings[w])));
      check_apart(step, accesses, w);
      write(accesses[w].range);
    }
  }

  void check_apart(const Step& step, const std::vector<StepAccess>& accesses, size_t written) {
    for (size_t other = 0; other < accesses.size(); ++other) {
      const Range &a = accesses[written].range, &b = accesses[other].range;
      if (other == written || !overlaps(a, b)) continue;
      if (accesses[written].among_steps && accesses[other].among_steps) continue;
      bool fine =
          !accesses[other].writes && a == b && runs_in_place(step, program_, other, written);
      if (!fine)
        fail(step, fmt::format("it writes binding {} where binding {} lies ({} and {}).", written,
                               other, range_text(a), range_text(b)));
    }
  }

  // Round after round, until one more would begin no worse than the one before it.
  void walk_while(const Step& loop) {
    for (;;) {
      Live begin = live_;
      walk(loop.blocks[0]);
      for (const Range& range : loop.bindings) need(loop, shared_range(range, donations_));
      Live end = live_;
      walk(loop.blocks[1]);
      live_ = both(begin, live_);
      if (!status_.ok() || live_ == begin) {
        live_ = std::move(end);
        return;
      }
    }
  }

  void walk_case(const Step& step) {
    need(step, shared_range(step.bindings[0], donations_));
    Live begin = live_;
    std::optional<Live> after;
    for (const Steps& branch : step.blocks) {
      live_ = begin;
      walk(branch);
      after = after ? both(*after, live_) : live_;
    }
    live_ = std::move(*after);
  }

  static Live both(const Live& a, const Live& b) {
    Live result;
    for (const auto& [place, size] : a)
      if (auto found = b.find(place); found != b.end() && found->second == size)
        result.emplace(place, size);
    return result;
  }

  const Program& program_;
  const Caps& caps_;
  const std::vector<Donation>& donations_;
  Live live_;
  Status status_;
};

}  // namespace

Status verify_flow(const Program& program, const Caps& caps,
                   const std::vector<Donation>& donations) {
  return FlowWalk(program, caps, donations).run();
}

}  // namespace tuff
