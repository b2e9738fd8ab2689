#include <fmt/format.h>

#include "backend/plan/assemble.h"
#include "backend/plan/ranges.h"

namespace tuff {

namespace {

class PlanPrinter {
 public:
  std::string print(const Program& program) {
    print_steps(program.steps, 0);
    return fmt::format("arena {} bytes, {} steps, {} kernels\n", program.arena_bytes, count_,
                       program.kernels.size()) +
           text_;
  }

 private:
  void print_steps(const Steps& steps, int depth) {
    for (const Step& step : steps) {
      std::vector<std::string> ranges;
      for (const Range& r : step.bindings) ranges.push_back(range_text(r));
      text_ +=
          fmt::format("{:4} {}{:{}}{} [{}] ({})", count_++, step.barrier ? "| " : "  ", "",
                      2 * depth, step.label, fmt::join(ranges, ", "), fmt::join(step.ops, " "));
      if (step.trip_count) text_ += fmt::format(" {} times", *step.trip_count);
      text_ += "\n";
      for (size_t b = 0; b < step.blocks.size(); ++b) {
        if (step.kind == Step::Kind::kCase)
          text_ += fmt::format("{:{}}branch {}\n", "", 7 + 2 * depth, b);
        else if (!step.trip_count)
          text_ += fmt::format("{:{}}{}\n", "", 7 + 2 * depth, b == 0 ? "condition" : "body");
        print_steps(step.blocks[b], depth + 1);
      }
    }
  }

  std::string text_;
  int64_t count_ = 0;
};

}  // namespace

std::string print_plan(const Program& program) { return PlanPrinter().print(program); }

}  // namespace tuff
