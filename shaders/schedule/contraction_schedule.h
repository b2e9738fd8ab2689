// The whole schedule of a contraction: what it depends on, how it is chosen, and what else the
// device takes. A measured schedule (Caps::tuning) goes before the chosen one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

// All that is known of a contraction when its schedule is chosen.
struct ContractionProblem {
  MatmulSizes sizes;
  DType a = DType::kF32, b = DType::kF32;     // elements of the operands
  int64_t a_bytes = 4, b_bytes = 4;           // of an element as it lies in memory
  DType sum = DType::kF32;                    // what products are summed in
  bool a_along_k = false, b_along_k = false;  // neighbours in memory are steps of k
  bool windows = false;                       // A is what a convolution's windows see
  bool operator==(const ContractionProblem&) const = default;
};

struct ContractionSchedule {
  MatmulSchedule registers;           // unless there are tiles
  std::optional<TileSchedule> tiles;  // then `registers` are the default ones
  std::optional<KSplit> split;
  std::optional<MatrixTileSchedule> matrices;  // then the same, and there are no tiles
  std::optional<StreamSchedule> stream;        // then the same, and there are no matrices either
  bool operator==(const ContractionSchedule&) const = default;
};

// The contraction that a group computes; nothing for other groups.
std::optional<ContractionProblem> contraction_problem(const Graph& region, const Caps& caps);

// Whether each lane owns some results and walks k alone: a software device, whose tiles a
// convolution's groups of few output features leave all but empty.
bool owns_products(const Caps& caps, const ContractionProblem& problem);

// The measured schedule of the problem if there is one and it is legal, else one by rule.
ContractionSchedule choose_contraction_schedule(const Caps& caps,
                                                const ContractionProblem& problem);
// The measured schedule; nothing where there is none, or it cannot be used here.
std::optional<ContractionSchedule> tuned_contraction_schedule(const Caps& caps,
                                                              const ContractionProblem& problem);
// For GPUs: where one operand has so few rows that the other is worth reading once only.
std::optional<StreamSchedule> choose_stream_schedule(const Caps& caps,
                                                     const ContractionProblem& problem);
bool is_legal_stream(const StreamSchedule& schedule, const ContractionProblem& problem,
                     const Caps& caps);
// A kernel by the schedule computes the problem on the device.
bool is_legal(const ContractionSchedule& schedule, const ContractionProblem& problem,
              const Caps& caps);
// Legal schedules that differ from one in a single decision, likelier ones first. Each is
// another; `from` is not among them.
std::vector<ContractionSchedule> vary_contraction_schedule(const Caps& caps,
                                                           const ContractionProblem& problem,
                                                           const ContractionSchedule& from);

// "f32 f32 f32 1x128x768x3072 a_along_k": the operands' elements, the sums', batch x m x n x k.
std::string print_contraction_problem(const ContractionProblem& problem);
// "registers lanes=8 tile_m=16 ... share_rows split parts=4 dim=0 length=512", and back;
// nothing for a text that is none.
std::string print_contraction_schedule(const ContractionSchedule& schedule);
std::optional<ContractionSchedule> parse_contraction_schedule(const std::string& text);

}  // namespace tuff
