// What a run through the C interface costs beside the call that it makes: run_cost MODEL [DEVICE
// [ROUNDS]]. In each round a program is made anew. Runs of it through tuff.h and calls of the
// device, on the same buffers, take turns, so that whatever else the machine does, and how the
// driver has placed its threads, falls on both alike.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "frontend/c/objects.h"

namespace {

constexpr double kSeconds = 1;

void check(bool ok, const char* message) {
  if (ok) return;
  std::fprintf(stderr, "%s\n", message);
  std::exit(1);
}
void check(tuff_status status) { check(status == TUFF_OK, tuff_last_error()); }

class RunCost {
 public:
  RunCost(const char* path, const char* device) {
    check(tuff_context_create(nullptr, &context_));
    check(tuff_device_open(context_, device, &device_));
    tuff_compile_options options = TUFF_INIT(tuff_compile_options);
    options.path = path;
    check(tuff_program_compile(device_, &options, &program_));
    tuff_program_info info = TUFF_INIT(tuff_program_info);
    check(tuff_program_get_info(program_, &info));
    tuff_value_info value = TUFF_INIT(tuff_value_info);
    for (size_t i = 0; i < info.num_arguments; ++i) {
      check(tuff_program_argument(program_, i, &value));
      arguments_.push_back(value.is_bound ? nullptr : create(value));
      argument_memory_.push_back(
          memory(value.is_bound ? *program_->state->bound[i] : *arguments_.back()->state));
    }
    // As the device's call does it, into the same memory each time.
    for (size_t i = 0; i < info.num_results; ++i) {
      check(tuff_program_result(program_, i, &value));
      outputs_.push_back(create(value));
      output_memory_.push_back(memory(*outputs_.back()->state));
    }
    results_.resize(outputs_.size());
    options_.outputs = outputs_.data();
  }
  RunCost(const RunCost&) = delete;
  RunCost& operator=(const RunCost&) = delete;
  ~RunCost() {
    argument_memory_.clear(), output_memory_.clear();
    for (const auto& list : {arguments_, outputs_})
      for (tuff_buffer* buffer : list) tuff_buffer_destroy(buffer);
    tuff_program_destroy(program_), tuff_device_destroy(device_), tuff_context_destroy(context_);
  }

  void through_interface() {
    check(tuff_program_run(program_, &options_, arguments_.data(), arguments_.size(),
                           results_.data(), results_.size()));
  }
  void by_device() {
    const tuff::c::ProgramState& program = *program_->state;
    check(program.device->device()
              .run(*program.loaded, argument_memory_, output_memory_, nullptr)
              .ok(),
          "The device's call fails.");
  }

 private:
  tuff_buffer* create(const tuff_value_info& value) {
    tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
    type.dtype = value.dtype, type.rank = value.rank, type.shape = value.shape;
    tuff_buffer* buffer = nullptr;
    check(tuff_buffer_create(device_, &type, nullptr, &buffer));
    return buffer;
  }
  static tuff::BufferPtr memory(const tuff::c::BufferState& buffer) {
    auto memory = buffer.ready_memory();
    check(memory.ok(), "A buffer has no memory.");
    return *memory;
  }

  tuff_context* context_ = nullptr;
  tuff_device* device_ = nullptr;
  tuff_program* program_ = nullptr;
  tuff_run_options options_ = TUFF_INIT(tuff_run_options);
  std::vector<tuff_buffer*> arguments_, outputs_, results_;
  std::vector<tuff::BufferPtr> argument_memory_, output_memory_;
};

template <typename Call>
double microseconds(Call call) {
  auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 3 ? std::atoi(argv[3]) : 10;
  if (argc < 2 || rounds < 1) return 2;
  const char* device = argc > 2 ? argv[2] : "cpu";
  std::vector<double> inner, outer, differences;
  for (int round = 0; round < rounds; ++round) {
    RunCost cost(argv[1], device);
    std::vector<double> pairs;
    for (double us = 0; us < kSeconds * 1e6;) {
      // Whatever the first of a pair leaves to the second, each is the first every other time.
      double times[2];
      size_t first = pairs.size() % 2;
      for (size_t which : {first, 1 - first})
        times[which] = microseconds([&] { which ? cost.through_interface() : cost.by_device(); });
      inner.push_back(times[0]), outer.push_back(times[1]);
      pairs.push_back(times[1] - times[0]);
      us += times[0] + times[1];
    }
    differences.push_back(median(pairs));
  }
  std::printf(
      "inner call %.1f us, through the C interface %.1f us, difference %.1f us (median of %d "
      "rounds, %.1f to %.1f)\n",
      median(inner), median(outer), median(differences), rounds,
      *std::min_element(differences.begin(), differences.end()),
      *std::max_element(differences.begin(), differences.end()));
  return 0;
}
