// What a run through the C interface costs beside the call that it makes: run_cost MODEL [DEVICE
// [ROUNDS]]. The two take turns, each in a process of its own, and tell the median of many runs.
#include <tuff.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "frontend/session/arguments.h"
#include "frontend/session/model.h"
#include "frontend/session/session.h"

namespace {

constexpr double kSeconds = 0.5;

template <typename Run>
double median_us(Run&& run) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (Clock::time_point begin = Clock::now(), last = begin;
       std::chrono::duration<double>(last - begin).count() < kSeconds;) {
    Clock::time_point start = Clock::now();
    run();
    last = Clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(last - start).count());
  }
  auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

void check(tuff_status status) {
  if (status == TUFF_OK) return;
  std::fprintf(stderr, "%s\n", tuff_last_error());
  std::exit(1);
}
void check(const tuff::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  std::exit(1);
}

double inner(const char* path, const char* device) {
  auto session = tuff::Session::open(tuff::parse_device(device).value(), {});
  auto model = tuff::import_model(path);
  if (!model.ok()) check(tuff::Status(model.error()));
  auto arguments = tuff::gather_arguments(*model, {{}, "", true}).value();
  auto loaded = session->load(model->graph);
  if (!loaded.ok()) check(tuff::Status(loaded.error()));
  check(loaded->set_arguments(arguments.values));
  return median_us([&] { check(loaded->run(nullptr)); });
}

double outer(const char* path, const char* id) {
  tuff_context* context = nullptr;
  tuff_device* device = nullptr;
  tuff_program* program = nullptr;
  check(tuff_context_create(nullptr, &context));
  check(tuff_device_open(context, id, &device));
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.path = path;
  check(tuff_program_compile(device, &options, &program));
  tuff_program_info info = TUFF_INIT(tuff_program_info);
  check(tuff_program_get_info(program, &info));
  std::vector<tuff_buffer*> arguments(info.num_arguments), results(info.num_results);
  for (size_t i = 0; i < arguments.size(); ++i) {
    tuff_value_info value = TUFF_INIT(tuff_value_info);
    check(tuff_program_argument(program, i, &value));
    tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
    type.dtype = value.dtype, type.rank = value.rank, type.shape = value.shape;
    if (!value.is_bound) check(tuff_buffer_create(device, &type, nullptr, &arguments[i]));
  }
  // As the inner call's, results lie where the last run's did.
  std::vector<tuff_buffer*> outputs(results.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    tuff_value_info value = TUFF_INIT(tuff_value_info);
    check(tuff_program_result(program, i, &value));
    tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
    type.dtype = value.dtype, type.rank = value.rank, type.shape = value.shape;
    check(tuff_buffer_create(device, &type, nullptr, &outputs[i]));
  }
  tuff_run_options run = TUFF_INIT(tuff_run_options);
  run.outputs = outputs.data();
  double us = median_us([&] {
    check(tuff_program_run(program, &run, arguments.data(), arguments.size(), results.data(),
                           results.size()));
  });
  for (tuff_buffer* argument : arguments) tuff_buffer_destroy(argument);
  for (tuff_buffer* output : outputs) tuff_buffer_destroy(output);
  tuff_program_destroy(program), tuff_device_destroy(device), tuff_context_destroy(context);
  return us;
}

// The same program, asked for one of the two.
double in_a_process(const std::string& command) {
  double us = -1;
  std::FILE* told = popen(command.c_str(), "r");
  if (told == nullptr || std::fscanf(told, "%lf", &us) != 1) std::exit(1);
  pclose(told);
  return us;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char* device = argc > 2 ? argv[2] : "cpu";
  std::string asked = argc > 3 ? argv[3] : "10";
  if (asked == "inner" || asked == "outer")
    return std::printf("%.3f\n",
                       asked == "inner" ? inner(argv[1], device) : outer(argv[1], device)) < 0;
  std::vector<double> times[2], differences;
  for (int round = 0; round < std::atoi(asked.c_str()); ++round) {
    std::string command = std::string(argv[0]) + " " + argv[1] + " " + device;
    for (int i : {round % 2, 1 - round % 2})
      times[i].push_back(in_a_process(command + (i ? " outer" : " inner")));
    differences.push_back(times[1].back() - times[0].back());
  }
  if (differences.empty()) return 2;
  for (std::vector<double>* list : {&times[0], &times[1], &differences})
    std::sort(list->begin(), list->end());
  size_t middle = differences.size() / 2;
  std::printf(
      "inner call %.1f us, through the C interface %.1f us, difference %.1f us (median of %zu)\n",
      times[0][middle], times[1][middle], differences[middle], differences.size());
  return 0;
}
